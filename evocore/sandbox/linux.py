"""The few Linux calls that Python does not wrap, and what /proc tells about processes."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MADV_COLLAPSE = 25
_HUGE_BYTES = 2 << 20


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")


def die_with_parent(signum: int) -> None:
    """Have the kernel send `signum` to this process when the thread that forked it ends."""
    _prctl(_PR_SET_PDEATHSIG, signum)


def become_subreaper() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def pid_of(pidfd: int) -> int | None:
    """Process id, as it is seen from here, of the process that a pidfd from elsewhere stands for.

    None where the process is gone or not to be seen, or the file is no pidfd.
    """
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "Pid":
            return int(value) if int(value) > 0 else None
    return None


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, all its threads together.

    Raises
    ------
    OSError
        There is no such process.
    """
    return time.clock_gettime((~pid << 3) | 2)  # the kernel's encoding of a process' clock, as in clock_getcpuclockid


def gather_pages() -> None:
    """Have the kernel back this process' memory with huge pages, where it can (Linux 6.1 on).

    A fork copies one entry per page: with a huge page one for 512. Measured for the warm runner (100 MB): 3 of 15 ms
    of CPU time a fork.
    """
    for line in Path("/proc/self/maps").read_text().splitlines():
        area, rights, _, _, _, *name = line.split()
        if rights.startswith("rw") and name in ([], ["[heap]"]):
            first, last = (int(end, 16) for end in area.split("-"))
            first, last = -(-first // _HUGE_BYTES) * _HUGE_BYTES, last // _HUGE_BYTES * _HUGE_BYTES
            if first < last:  # a refusal costs nothing but the gain
                _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_COLLAPSE)


def children(pid: int) -> list[int]:
    """Direct children of a process, by all its threads; empty where it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # a Path's glob takes five times as long, and jobs wait for it
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
                found += map(int, listing.read().split())
    return found


def descendants(pid: int) -> list[int]:
    """Children, their children and so on; a snapshot that a forking process outdates at once."""
    found: list[int] = []
    queue = children(pid)
    while queue:
        found += queue
        queue = [c for p in queue for c in children(p)]
    return found


def kill(pid: int, signum: int = signal.SIGKILL) -> None:
    """Send a signal to a process that may be gone already, or not be ours to kill."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)


def kill_group(pgid: int) -> None:
    """Kill a process group that may be empty already."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, signal.SIGKILL)


def processes_with(marker: bytes) -> Iterator[int]:
    """Processes that were started, or forked from one that was, with `marker` in the environment."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError):  # gone meanwhile, or another user's
            if marker in Path(entry.path, "environ").read_bytes():
                yield int(entry.name)


def n_tasks_of_user() -> int:
    """Threads that the user of this process runs, on the whole machine: what RLIMIT_NPROC is compared with."""
    uid = os.getuid()
    total = 0
    for entry in os.scandir("/proc"):
        with suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                total += len(os.listdir(f"{entry.path}/task"))
    return total


def remove_tree(path: Path) -> None:
    """Remove a folder whatever a hostile program built in it: unreadable, nested without end, or full of links.

    Folders inside folders are moved up to the top instead of being descended into, so that neither the depth of the
    recursion nor the length of a path is up to the program. Threads take turns: one may remove what another is in.
    """
    with _removing:
        _remove_tree(path)


_removing = threading.Lock()


def _remove_tree(path: Path) -> None:
    try:
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        os.fchmod(top, 0o700)
        n_moved = 0
        while entries := list(os.scandir(top)):
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    n_moved = _dissolve(top, entry.name, n_moved)
                else:
                    os.unlink(entry.name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path)


def _dissolve(top: int, name: str, n_moved: int) -> int:
    """Move what a folder holds up to `top`, and remove it.

    Not tried first: rmdir. Where the folder is not empty the kernel walks through all that is in it.
    """
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for entry in list(os.scandir(inner)):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.name, 0o700, dir_fd=inner)  # moving a folder rewrites its link to its parent
                n_moved += 1
                os.rename(entry.name, f".moved-{n_moved}-{os.urandom(8).hex()}", src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry.name, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
    return n_moved
