"""The lockdown: the filter's verdict on every number, by an interpreter of its program and by the kernel; Landlock."""

import ctypes
import json
import mmap
import os
import platform
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.verifiers import lockdown
from evocore.verifiers.lockdown import ALLOW, CANDIDATE, ENOSYS, EPERM, HOSTILE, KILL, NUMBERS, SCORER, Filter, Ruleset

X86_64 = 0xC000003E
CLONE_THREAD_FLAGS = 0x3D0F00
libc = ctypes.CDLL(None, use_errno=True)


# ---- the filter's program ----------------------------------------------------------------------------------------


def verdict(instructions, number, arguments=(), architecture=X86_64):
    """Run a program of classic BPF on one system call, as the kernel does (Documentation/networking/filter.rst)."""
    words = [number, architecture, 0, 0]
    for argument in (*arguments, *[0] * (6 - len(arguments))):
        words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, k = instructions[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            assert k % 4 == 0
            accumulator = words[k // 4]
        else:
            at += if_true if {0x15: accumulator == k, 0x35: accumulator >= k}[code] else if_false


@pytest.fixture(scope="module", params=["candidate", "scorer"])
def rules(request):
    return {"candidate": CANDIDATE, "scorer": SCORER}[request.param]


@pytest.fixture(scope="module")
def program(rules):
    made = Filter(rules)
    return [(code, jt, jf, 4711 if code == 0x15 and k == 0xFFFFFFFF else k) for code, jt, jf, k in made.instructions]


def test_every_number_gets_what_the_lists_say(rules, program):
    by_number = {number: name for name, number in NUMBERS.items()}
    for number in [*range(2048), 2**20, 2**30 - 1]:
        name = by_number.get(number)
        wanted = ENOSYS if number >= 424 else EPERM
        if name in HOSTILE:
            wanted = KILL
        elif name in rules:
            wanted = ALLOW if rules[name] is None else None
        if wanted is not None:
            assert verdict(program, number) == wanted, (number, name)


def test_other_doors_are_deadly(program):
    for number in [*range(512), 2**31, 2**32 - 1]:
        assert verdict(program, number, architecture=0x40000003) == KILL  # int 0x80
        assert verdict(program, number | 0x40000000) == KILL  # x32


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("clone", (CLONE_THREAD_FLAGS,), ALLOW),
        ("clone", (CLONE_THREAD_FLAGS | 1 << 40,), ALLOW),  # which the kernel cuts off
        ("clone", (0,), EPERM),
        ("clone", (0x1200011,), EPERM),  # fork
        ("clone", (0x4111,), EPERM),  # vfork
        ("clone", (CLONE_THREAD_FLAGS | 0x10000000,), EPERM),  # a thread in a user namespace of its own
        ("clone", (CLONE_THREAD_FLAGS | 0x80,), EPERM),
        ("kill", (4711, 9), ALLOW),
        ("kill", (0, 9), EPERM),
        ("kill", (-1, 9), EPERM),
        ("kill", (4712, 9), EPERM),
        ("kill", (-4711, 9), EPERM),
        ("tgkill", (4711, 4712, 9), ALLOW),
        ("tgkill", (4712, 4711, 9), EPERM),
        ("prlimit64", (0, 9), ALLOW),
        ("prlimit64", (4711, 9), EPERM),
        ("prlimit64", (1, 9), EPERM),
        *[("fcntl", (1, command), ALLOW) for command in (0, 1, 2, 3, 1030)],
        *[("fcntl", (1, command), EPERM) for command in (4, 5, 6, 7, 8, 10, 36, 37, 38, 1024, 1026, 1031, 1033)],
        ("ioctl", (1, 0x5401), ALLOW),  # TCGETS
        ("ioctl", (1, 0x5412), EPERM),  # TIOCSTI
    ],
)
def test_arguments_decide_where_they_can_do_harm(name, arguments, wanted):
    instructions = [
        (code, jt, jf, 4711 if code == 0x15 and k == 0xFFFFFFFF else k)
        for code, jt, jf, k in Filter(CANDIDATE).instructions
    ]
    assert verdict(instructions, NUMBERS[name], arguments) == wanted


NEVER = """
fork vfork execve execveat clone3 wait4 setsid setpgid socket socketpair connect bind sendto shmget shmat msgget semget
mq_open memfd_create creat rename mkdir unlink link symlink chmod chown truncate ftruncate utimensat flock fallocate
prctl arch_prctl seccomp setuid setgid capset sched_setaffinity setpriority personality tkill io_uring_setup
"""
NOT_FOR_SCORERS = "open openat stat newfstatat statx access readlink getdents64 ioctl kill clone"


def test_what_must_never_be_allowed_is_not():
    assert not set(NEVER.split()) & {*CANDIDATE, *SCORER}
    assert not set(NOT_FOR_SCORERS.split()) & {*SCORER}
    assert {*SCORER} <= {*CANDIDATE}


def test_a_rule_for_a_call_without_a_number_is_an_error():
    with pytest.raises(ConfigError, match="nonsense"):
        Filter({"nonsense": None})


# ---- the kernel's verdict ----------------------------------------------------------------------------------------


def in_child(act, prepare):
    """What `act` returns in a forked child that `prepare` has locked down, or the signal that it died of."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            lockdown.forgo_privileges()
            prepare()
            said = act()
        except BaseException as error:
            said = repr(error)
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return json.loads(said) if code == 0 else signal.Signals(-code).name


def errno_of(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(number, *(ctypes.c_long(a) for a in arguments))
    return ctypes.get_errno() if result == -1 else 0


def test_the_kernel_refuses_every_number_that_is_on_no_list(rules):
    made = Filter(rules)
    # 335 and 336 are uretprobe and uprobe: traps that the kernel sets itself, and lets through no filter.
    numbers = [n for n in range(480) if n not in {335, 336, *(NUMBERS[name] for name in (*rules, *HOSTILE))}]
    wanted = [[n, 38 if n >= 424 else 1] for n in numbers]
    assert in_child(lambda: [[n, errno_of(n, 0, 0, 0, 0, 0, 0)] for n in numbers], made.install) == wanted


@pytest.mark.parametrize("name", HOSTILE)
def test_the_kernel_kills_the_hostile(name):
    made = Filter(CANDIDATE)
    assert in_child(lambda: errno_of(NUMBERS[name], -1, 0, 0, 0, 0, 0), made.install) == "SIGSYS"


def test_the_kernel_looks_at_the_arguments():
    def probe():
        me, parent = os.getpid(), os.getppid()
        return [
            errno_of(NUMBERS["kill"], me, 0),
            errno_of(NUMBERS["kill"], parent, 0),
            errno_of(NUMBERS["kill"], -1, 0),
            errno_of(NUMBERS["tgkill"], me, me, 0),
            errno_of(NUMBERS["tgkill"], parent, parent, 0),
            errno_of(NUMBERS["clone"], 0x1200011, 0),
            errno_of(NUMBERS["prlimit64"], parent, 0, 0, 0),
            errno_of(NUMBERS["fcntl"], 1, 4, 0),
            errno_of(435, 0, 0),
        ]

    assert in_child(probe, Filter(CANDIDATE).install) == [0, 1, 1, 0, 1, 1, 1, 1, 38]


def machine_code(code):
    """Call a few bytes of x86-64 machine code."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()


@pytest.mark.parametrize(
    "code",
    [
        b"\xb8\x14\x00\x00\x00\xcd\x80\xc3",  # mov eax, 20 (getpid of 32 bits); int 0x80; ret
        b"\xb8\x27\x00\x00\x40\x0f\x05\xc3",  # mov eax, 0x40000027 (getpid of x32); syscall; ret
    ],
    ids=["int80", "x32"],
)
def test_the_kernel_kills_who_comes_by_another_door(code):
    assert in_child(lambda: machine_code(code), Filter(CANDIDATE).install) == "SIGSYS"


def test_the_filter_holds_for_threads_that_run_already():
    go, done, seen = threading.Event(), threading.Event(), []

    def probe():
        go.wait()
        seen.append(errno_of(41, 1, 1, 0))  # socket
        done.set()

    def install():
        threading.Thread(target=probe, daemon=True).start()
        Filter(CANDIDATE).install()

    def act():
        go.set()
        done.wait()
        later = []
        thread = threading.Thread(target=lambda: later.append(errno_of(41, 1, 1, 0)))
        thread.start()
        thread.join()
        return seen + later

    assert in_child(act, install) == [1, 1]


def test_python_works_on_under_the_candidates_filter():
    def act():
        import time

        numbers = [None]
        thread = threading.Thread(target=lambda: numbers.__setitem__(0, sum(range(1000))))
        thread.start()
        thread.join()
        time.sleep(0.001)
        return [numbers[0], len(os.urandom(8)), open(__file__).readline()[:3]]

    assert in_child(act, Filter(CANDIDATE).install) == [499500, 8, '"""']


def test_a_scorer_opens_nothing_and_starts_nothing():
    def act():
        said = []
        for what in (
            lambda: os.open(__file__, os.O_RDONLY),
            lambda: os.stat("/"),
            threading.Thread(target=print).start,
            os.fork,
        ):
            try:
                said.append(bool(what()))
            except (OSError, RuntimeError) as error:
                said.append(type(error).__name__)
        return [*said, sum(bytes(10_000_000))]

    wanted = ["PermissionError", "PermissionError", "RuntimeError", "PermissionError", 0]
    assert in_child(act, Filter(SCORER).install) == wanted


# ---- Landlock ----------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    for name in ("open", "listed", "shut"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    return tmp_path


def attempts(*acts):
    """Run them one by one; the name of the error, or what came out."""
    said = []
    for act in acts:
        try:
            said.append(act())
        except OSError as error:
            said.append(type(error).__name__)
    return said


def test_only_what_was_allowed_can_be_read_and_nothing_written(tree):
    ruleset = Ruleset()
    ruleset.allow(tree / "open")
    ruleset.allow(tree / "listed", lockdown.READ_DIR)
    ruleset.allow(tree / "shut" / "missing")
    ruleset.allow("/dev/null", lockdown.READ_FILE | lockdown.WRITE_FILE | lockdown.TRUNCATE)

    def act():
        return attempts(
            lambda: (tree / "open" / "file").read_text(),
            lambda: os.listdir(tree / "open"),
            lambda: os.listdir(tree / "listed"),
            lambda: (tree / "listed" / "file").read_text(),
            lambda: os.listdir(tree / "shut"),
            lambda: (tree / "shut" / "file").read_text(),
            lambda: os.listdir(tree),
            lambda: (tree / "open" / "file").write_text("x"),
            lambda: (tree / "open" / "new").write_text("x"),
            lambda: os.truncate(tree / "open" / "file", 0),
            lambda: os.unlink(tree / "open" / "file"),
            lambda: os.rename(tree / "open" / "file", tree / "open" / "other"),
            lambda: os.mkdir(tree / "open" / "sub"),
            lambda: os.symlink("x", tree / "open" / "link"),
            lambda: open(f"/proc/{os.getppid()}/mem", "rb").read(1),
            lambda: open(f"/proc/{os.getppid()}/environ", "rb").read(1),
            lambda: open(os.devnull, "w").write("x"),
            lambda: open(os.devnull).read(),
        )

    refused = ["PermissionError"]
    wanted = ["open", ["file"], ["file"], *refused * 13, 1, ""]
    assert in_child(act, ruleset.enforce) == wanted
    ruleset.close()
    assert (tree / "open" / "file").read_text() == "open"


@pytest.mark.skipif(lockdown.landlock_version() < 6, reason="Landlock on this kernel does not know of signals")
def test_outsiders_get_no_connection_and_no_signal():
    ruleset = Ruleset()
    server = socket.create_server(("127.0.0.1", 0))

    def act():
        return attempts(
            lambda: socket.create_connection(server.getsockname(), timeout=5.0) and "connected",
            lambda: socket.create_server(("127.0.0.1", 0)) and "bound",
            lambda: os.kill(os.getppid(), 0),
            lambda: os.kill(os.getpid(), 0),
        )

    assert in_child(act, ruleset.enforce) == ["PermissionError", "PermissionError", "PermissionError", None]
    ruleset.close()
    server.close()


def test_memory_is_hidden():
    def act():
        return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)  # PR_GET_DUMPABLE

    def show():
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: this process may have hidden its own

    assert in_child(act, show) == 1
    assert in_child(act, lockdown.hide_memory) == 0


def test_root_is_left_with_reading_alone():
    def act():
        lines = Path("/proc/self/status").read_text().splitlines()
        return [int(line.split()[1], 16) for line in lines if line.startswith(("CapPrm", "CapEff"))]

    held = in_child(act, lambda: None)[0]
    assert in_child(act, lockdown.forgo_powers) == [held & 4] * 2  # CAP_DAC_READ_SEARCH
    if os.geteuid() == 0:
        with_powers = in_child(lambda: errno_of(9, 0, 4096, 3, 0x32, -1, 0), lambda: None)  # mmap of address 0
        assert with_powers == 0 or not held & 1 << 17
        assert in_child(lambda: errno_of(9, 0, 4096, 3, 0x32, -1, 0), lockdown.forgo_powers) == 1


# ---- other machines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("system", "processor"), [("darwin", "arm64"), ("linux", "aarch64"), ("linux", "i686")])
def test_other_machines_are_refused_with_the_reason_and_a_way_out(monkeypatch, system, processor):
    lockdown.check_machine()
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    with pytest.raises(SandboxUnavailable, match=f"got {system} on {processor}.*Docker"):
        lockdown.check_machine()


def test_a_kernel_without_landlock_is_refused_with_what_it_takes(monkeypatch):
    monkeypatch.setattr(lockdown, "landlock_version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match=r"Linux 5\.13.*lsm=.*Docker"):
        Ruleset()
