"""What a process gives up, for good, before it touches what strangers wrote: files, network, processes.

Three walls of the Linux kernel, set by a process around itself, without privileges and without a library: Landlock (no
path but those on a list), a seccomp filter (no system call but those on a list), and the flag that keeps other
processes of the same user out of its memory. None of them can be taken down again, and all are inherited.

Rulesets and filters are made once, before a fork; enforcing them in the child takes well under a millisecond. Enforce
Landlock first: the filter leaves no way to. x86-64 only: a filter is a list of numbers, which are others elsewhere.

References
----------
Linux, Documentation/userspace-api/landlock.rst and seccomp_filter.rst, include/uapi/linux/{landlock,seccomp,filter}.h;
numbers: arch/x86/entry/syscalls/syscall_64.tbl.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from evocore.errors import ConfigError, SandboxUnavailable

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CAPGET, _CAPSET, _CAPABILITIES_3 = 125, 126, 0x20080522
_READ_SEARCH = 1 << 2  # of the capabilities, CAP_DAC_READ_SEARCH


def check_machine() -> None:
    """Refuse where the filters' numbers mean other calls, or nothing.

    Raises
    ------
    SandboxUnavailable
        Not Linux, or not x86-64.
    """
    found = f"{sys.platform} on {platform.machine()}"
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 2**32:
        raise SandboxUnavailable(
            f"expected Linux on x86_64 for a lockdown with Landlock and seccomp, got {found}; "
            "the Docker sandbox works on other machines"
        )


def forgo_privileges() -> None:
    """Make set-user-id programs run without their privileges, here and in every descendant."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def forgo_powers() -> None:
    """Give up what makes root more than another user, but for reading others' files: the libraries may be somebody's.

    Calls that everybody needs do more for root: with `mmap` and `madvise` alone it maps address 0 and breaks memory.
    """
    header, held = struct.pack("=Ii", _CAPABILITIES_3, 0), ctypes.create_string_buffer(24)
    _check(_libc.syscall(_CAPGET, header, held), "capget")
    kept = struct.unpack("=6I", held.raw)[1] & _READ_SEARCH
    _check(_libc.syscall(_CAPSET, header, struct.pack("=6I", kept, kept, 0, 0, 0, 0)), "capset")


def hide_memory() -> None:
    """Keep other processes of this user out of this one's memory, and leave no core file. Not inherited by exec."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(0), 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise SandboxUnavailable(f"expected the kernel to accept {what}, got: {os.strerror(number)}")
    return result


# ---- files and network: Landlock --------------------------------------------------------------------------------

_FIRST_FD = 64  # out of the way of the low numbers, which a child gives to its pipes

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
READ = READ_FILE | READ_DIR
_OF_FILES = 1 | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15

# By the version of the interface from which on the kernel knows them.
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: TRUNCATE, 5: 1 << 15}
_NETWORK_RIGHTS = {4: 3}  # bind and connect, of TCP
_SCOPES = {6: 3}  # abstract sockets and signals stay inside
_UNLOGGED = {7: 1}  # a program must not be able to fill the machine's log with refusals


def landlock_version() -> int:
    """Version of the kernel's Landlock interface; 0 where there is none, or it has been switched off."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_ASK_VERSION))))


def _known(by_version: Mapping[int, int], version: int) -> int:
    return sum(rights for since, rights in by_version.items() if since <= version)


class Ruleset:
    """The paths that a process keeps. Everything else is refused: reading, writing, TCP, signals to outsiders.

    What Landlock leaves alone: `stat`, and whatever goes through files that are open already.

    Attributes
    ----------
    fd : int
        File descriptor that holds it, for `close` and for whoever closes all others.

    Raises
    ------
    SandboxUnavailable
        The kernel has no Landlock.
    """

    def __init__(self) -> None:
        self._version = landlock_version()
        if self._version < 1:
            raise SandboxUnavailable(
                "expected a kernel with Landlock (Linux 5.13 or newer, with landlock in the boot parameter lsm=), "
                f"got Linux {platform.release()} without it; the Docker sandbox does not need it"
            )
        self._rights = _known(_FILE_RIGHTS, self._version)
        network, scopes = _known(_NETWORK_RIGHTS, self._version), _known(_SCOPES, self._version)
        attributes = struct.pack("=QQQ", self._rights, network, scopes)
        size = 8 if self._version < 4 else 16 if self._version < 6 else 24
        made = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
        low = _check(made, "a Landlock ruleset")
        self.fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)
        os.close(low)

    def allow(self, path: str | Path, rights: int = READ) -> None:
        """Let a file, or a folder with everything beneath it, be used. Where there is nothing, nothing is allowed."""
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                allowed = rights & self._rights & (-1 if os.path.isdir(path) else _OF_FILES)
                rule = struct.pack("=Qi", allowed, fd)
                added = _libc.syscall(_ADD_RULE, self.fd, ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
                _check(added, f"a Landlock rule for {path}")
            finally:
                os.close(fd)

    def enforce(self) -> None:
        """Refuse everything else from here on, to this thread and to all that it starts. Forgo privileges first.

        Raises
        ------
        SandboxUnavailable
            The kernel refuses, or there is another thread: it would go free, and could be handed any work.
        """
        n_threads = len(os.listdir("/proc/self/task"))
        if n_threads > 1:
            raise SandboxUnavailable(
                f"expected a process with one thread to confine, got {n_threads}: Landlock holds the thread that asks "
                "and no other; let the problem start its threads when it scores, not while it is loaded"
            )
        flags = ctypes.c_uint(_known(_UNLOGGED, self._version))
        _check(_libc.syscall(_RESTRICT_SELF, self.fd, flags), "a Landlock ruleset for this process")

    def close(self) -> None:
        """Let go of it; where it is enforced, it stays so."""
        os.close(self.fd)


# ---- system calls: seccomp --------------------------------------------------------------------------------------

_SECCOMP = 317
_SET_MODE_FILTER = 1
_ALL_THREADS = 1

_X86_64 = 0xC000003E
_X32 = 0x40000000
_FIRST_NEW = 424  # of Linux 5.1 and later, clone3 and io_uring among them: libraries that try them expect ENOSYS
_FARTHEST_JUMP = 255

KILL, ALLOW = 0x80000000, 0x7FFF0000
EPERM, ENOSYS = 0x00050000 | 1, 0x00050000 | 38

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06

OWN_PID = -1
"""Stands for the process' own id in `Only.values`; filled in when the filter is installed."""


@dataclass(frozen=True)
class Only:
    """Allow a call where the lower half of one argument has one of some values.

    Every argument that is compared is an `int` or `unsigned int` to the kernel: it does not look at the upper half.

    Attributes
    ----------
    argument : int
        Counted from 0.
    values : tuple of int
    """

    argument: int
    values: tuple[int, ...]


Rules: TypeAlias = Mapping[str, Only | None]
"""Calls that are allowed, by name: always (None) or sometimes."""


def _always(names: str) -> dict[str, Only | None]:
    return dict.fromkeys(names.split())


# What Python, NumPy and a compiled loop need once everything is loaded: memory, clocks, open files, their own signals.
COMPUTE: Rules = {
    **_always(
        "read write readv writev pread64 pwrite64 preadv lseek close dup dup2 dup3 fstat poll ppoll select pselect6 "
        "mmap munmap mprotect mremap madvise brk futex membarrier sched_yield sched_getaffinity getcpu "
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause "
        "restart_syscall set_robust_list rseq set_tid_address exit exit_group getpid gettid getppid getpgrp getpgid "
        "getsid getuid geteuid getgid getegid getrusage getrlimit sysinfo uname times time gettimeofday clock_gettime "
        "clock_getres clock_nanosleep nanosleep getrandom"
    ),
    "tgkill": Only(0, (OWN_PID,)),  # how a process aborts
    "fcntl": Only(1, (0, 1, 2, 3, 1030)),  # duplicate, and read flags; no locks, leases or owners
    "prlimit64": Only(0, (0,)),
}

# Threads as the C library makes them, all of whose flags are fixed (the second by musl). clone3 hides its flags behind
# a pointer: refused as unknown, so that the libraries fall back.
THREADS: Rules = {"clone": Only(0, (0x3D0F00, 0x7D0F00))}

# A candidate may look at files, those that Landlock leaves it, start threads, set timers and lower its limits.
CANDIDATE: Rules = {
    **COMPUTE,
    **THREADS,
    **_always(
        "open openat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents getdents64 "
        "getcwd statfs fstatfs fadvise64 pipe pipe2 alarm setitimer getitimer setrlimit"
    ),
    "kill": Only(0, (OWN_PID,)),
    # Is it a terminal, how wide, how much is there to read, do (not) wait, do (not) close on exec.
    "ioctl": Only(1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
}

# A scoring process reads a pipe, computes, and writes a pipe.
SCORER: Rules = COMPUTE

# No program of good will calls these: they attack the kernel or other processes. Whoever tries is killed.
HOSTILE = tuple(
    _always(
        "ptrace process_vm_readv process_vm_writev kcmp bpf userfaultfd perf_event_open add_key request_key keyctl "
        "mount umount2 pivot_root chroot unshare setns name_to_handle_at open_by_handle_at fanotify_init quotactl "
        "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff iopl ioperm acct "
        "settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname syslog"
    )
)

NUMBERS = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
    "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16,
    "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23,
    "sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32, "dup2": 33, "pause": 34, "nanosleep": 35,
    "getitimer": 36, "alarm": 37, "setitimer": 38, "getpid": 39, "clone": 56, "exit": 60, "kill": 62,
    "uname": 63, "fcntl": 72, "getdents": 78, "getcwd": 79, "readlink": 89, "gettimeofday": 96, "getrlimit": 97,
    "getrusage": 98, "sysinfo": 99, "times": 100, "ptrace": 101, "getuid": 102, "syslog": 103, "getgid": 104,
    "geteuid": 107, "getegid": 108, "getppid": 110, "getpgrp": 111, "getpgid": 121, "getsid": 124,
    "rt_sigpending": 127, "rt_sigtimedwait": 128, "rt_sigsuspend": 130, "sigaltstack": 131, "statfs": 137,
    "fstatfs": 138, "pivot_root": 155, "adjtimex": 159, "setrlimit": 160, "chroot": 161, "acct": 163,
    "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
    "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
    "quotactl": 179, "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217,
    "set_tid_address": 218, "restart_syscall": 219, "fadvise64": 221, "clock_settime": 227, "clock_gettime": 228,
    "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "tgkill": 234, "kexec_load": 246,
    "add_key": 248, "request_key": 249, "keyctl": 250, "openat": 257, "newfstatat": 262, "readlinkat": 267,
    "faccessat": 269, "pselect6": 270, "ppoll": 271, "unshare": 272, "set_robust_list": 273, "dup3": 292, "pipe2": 293,
    "preadv": 295, "perf_event_open": 298, "fanotify_init": 300, "prlimit64": 302, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "getcpu": 309, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "getrandom": 318, "kexec_file_load": 320, "bpf": 321,
    "userfaultfd": 323, "membarrier": 324, "statx": 332, "rseq": 334,
    "faccessat2": 439,
}  # fmt: skip


_Step: TypeAlias = tuple[int, int, int, int]


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint))


class _Program(ctypes.Structure):
    _fields_ = (("n", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


class Filter:
    """A seccomp filter: what is not on a list is refused.

    A call is refused with EPERM; with ENOSYS where its number is a new one, as libraries try those and fall back; by
    death (SIGSYS) where it is hostile, or comes by another door than the 64-bit one.

    Parameters
    ----------
    rules : Rules
        What is allowed.

    Attributes
    ----------
    instructions : list of (code, jump if true, jump if false, operand)
        The program, in classic BPF. `OWN_PID` stands for what is not known yet.
    """

    def __init__(self, rules: Rules) -> None:
        missing = sorted({*rules, *HOSTILE} - NUMBERS.keys())
        if missing:
            raise ConfigError(f"expected system calls whose numbers are known here, got {', '.join(missing)}")
        self.instructions, self._own_pid_at = _compile(rules)
        self._array = (_Instruction * len(self.instructions))(*(_Instruction(*step) for step in self.instructions))
        self._program = _Program(len(self.instructions), ctypes.cast(self._array, ctypes.POINTER(_Instruction)))

    def install(self) -> None:
        """Refuse everything else from here on, to every thread of this process and all that comes of it.

        Forgo privileges first.
        """
        for position in self._own_pid_at:
            self._array[position].k = os.getpid()
        mode, flags = ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(_ALL_THREADS)
        installed = _libc.syscall(_SECCOMP, mode, flags, ctypes.byref(self._program))
        if _check(installed, "a seccomp filter") > 0:
            raise SandboxUnavailable(f"expected a seccomp filter for every thread, got none for thread {installed}")


def _compile(rules: Rules) -> tuple[list[_Step], list[int]]:
    """Write the program; the positions are those of operands that stand for the process' own id.

    A search tree over ranges of numbers: the kernel walks the program once for every number when it is installed, and
    a plain list took 140 microseconds longer.
    """
    program = [(LOAD, 0, 0, 4), (JUMP_EQUAL, 1, 0, _X86_64), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    program += _tree(_ranges(rules))
    own_pid_at = [i for i, (code, _, _, k) in enumerate(program) if code == JUMP_EQUAL and k == OWN_PID & 0xFFFFFFFF]
    return program, own_pid_at


def _ranges(rules: Rules) -> list[tuple[int, list[_Step]]]:
    """What to do with which numbers: the first of each range, and the steps for it."""
    special = {NUMBERS[name]: _steps(only) for name, only in rules.items()}
    special |= {NUMBERS[name]: [(RETURN, 0, 0, KILL)] for name in HOSTILE}
    refusals = {0: EPERM, _FIRST_NEW: ENOSYS, _X32: KILL}
    starts = sorted({*special, *(n + 1 for n in special), *refusals})
    found: list[tuple[int, list[_Step]]] = []
    for first in starts:
        refusal = refusals[max(n for n in refusals if n <= first)]
        steps = special.get(first, [(RETURN, 0, 0, refusal)])
        if not found or found[-1][1] != steps:
            found.append((first, steps))
    return found


def _steps(only: Only | None) -> list[_Step]:
    if only is None:
        return [(RETURN, 0, 0, ALLOW)]
    steps = [(LOAD, 0, 0, 16 + 8 * only.argument)]
    for value in only.values:
        steps += [(JUMP_EQUAL, 0, 1, value & 0xFFFFFFFF), (RETURN, 0, 0, ALLOW)]
    return [*steps, (RETURN, 0, 0, EPERM)]


def _tree(ranges: list[tuple[int, list[_Step]]]) -> list[_Step]:
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _tree(ranges[:middle]), _tree(ranges[middle:])
    if len(below) > _FARTHEST_JUMP:
        raise ConfigError(f"expected rules of at most {_FARTHEST_JUMP} steps on either side, got {len(below)}")
    return [(JUMP_AT_LEAST, len(below), 0, ranges[middle][0]), *below, *above]
