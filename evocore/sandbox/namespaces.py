"""A machine with nothing in it: no process, file or network but what a runner needs.

A process steps into namespaces of its own and its first child lives in them: as process 1 of its own count, which takes
all others with it when it ends, over a root of its own, a small file system in memory with the given paths mounted into
it for reading. Its powers are gone: root becomes nobody, anyone else loses what the user namespace had given.

Standard library only, so that `python -I -S namespaces.py`, with a list of paths as JSON on stdin, can try it out in
little time: exit code 0, or the reason on stderr.

References
----------
Linux manual pages namespaces(7), user_namespaces(7), pid_namespaces(7), pivot_root(2), mount(2), capset(2).
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

SCRATCH = "/run/evocore-scratch"
_SCRATCH_OPTIONS = "size=64m,nr_inodes=4096,mode=0700"
NOBODY = 65534

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_RELATIME = 4096, 16384, 1 << 18, 1 << 21
_MNT_DETACH = 2
_PIVOT_ROOT, _CAPSET = 155, 126
_CAPABILITIES_3 = 0x20080522
_ST_RELATIME = 4096
_ST_LIKE_MS = 1 | 2 | 4 | 8 | 1024 | 2048  # flags of statvfs that have the same numbers among those of mount

_libc = ctypes.CDLL(None, use_errno=True)


def fork_inside(paths: Iterable[str], folder: str) -> int:
    """Fork a child that sees nothing of this machine but some paths.

    Parameters
    ----------
    paths : iterable of str
        Files and folders that it may read, where they are; those that do not exist are left out.
    folder : str
        One of this process' own. The child's root is mounted over it, where only the child sees it.

    Returns
    -------
    int
        0 in the child, its process id in the parent.

    Raises
    ------
    OSError
        The machine does not allow it. The child may raise it as well.
    """
    is_root = _begin()
    pid = os.fork()
    if pid == 0:
        _call("unshare", ctypes.c_int(_CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS))
        present = _outermost(paths)
        _build(present, folder, NOBODY if is_root else os.geteuid())
        _weaken(is_root=is_root)
        _check(present)
    return pid


def _begin() -> bool:
    """Give the next child a count of processes of its own; True where root could do it, and has to become nobody."""
    if os.geteuid() == 0:
        with suppress(PermissionError):  # root in name only, in a container
            _call("unshare", ctypes.c_int(_CLONE_NEWPID))
            return True
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", ctypes.c_int(_CLONE_NEWUSER | _CLONE_NEWPID))
    for name, content in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path("/proc/self", name).write_text(content)
    return False


def _outermost(paths: Iterable[str]) -> list[str]:
    """Those that exist and do not lie in another."""
    found: list[str] = []
    for path in sorted({os.path.abspath(p) for p in paths if os.path.exists(p)}):
        if not any(path.startswith(f"{other}/") for other in found):
            found.append(path)
    return found


def _build(paths: Sequence[str], folder: str, owner: int) -> None:
    """Make a root with the paths in it, and step into it."""
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=4m,mode=0755")
    for path in paths:
        place = folder + path
        if os.path.isdir(path):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o444))
        _mount(path, place, None, _MS_BIND | _MS_REC)
        kept = os.statvfs(path).f_flag  # a user may only add to the flags of a mount
        flags = kept & _ST_LIKE_MS | (_MS_RELATIME if kept & _ST_RELATIME else 0)
        _mount("none", place, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | flags)
    for name in ("/proc", SCRATCH):
        os.makedirs(folder + name)
    quiet = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("proc", f"{folder}/proc", "proc", quiet)
    _mount("tmpfs", folder + SCRATCH, "tmpfs", quiet, f"{_SCRATCH_OPTIONS},uid={owner}")
    _mount("none", folder, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    os.chdir(folder)
    if _libc.syscall(_PIVOT_ROOT, b".", b".") != 0:
        raise _error("pivot_root")
    _call("umount2", b".", ctypes.c_int(_MNT_DETACH))
    os.chdir("/")


def _weaken(*, is_root: bool) -> None:
    """Give up every power."""
    if is_root:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    header, none = struct.pack("=Ii", _CAPABILITIES_3, 0), bytes(24)
    if _libc.syscall(_CAPSET, header, none) != 0:
        raise _error("capset")


def _check(paths: Iterable[str]) -> None:
    """Make sure that whoever this process is now may read what it needs."""
    for path in paths:
        for one in (path, f"{path}/__init__.py"):
            if os.path.exists(one) and not os.access(one, os.R_OK):
                raise PermissionError(f"expected a path that every user can read, got one that {NOBODY} cannot: {one}")


def _mount(source: str, place: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encoded = (None if text is None else os.fsencode(text) for text in (kind, options))
    kind_, options_ = encoded
    _call("mount", os.fsencode(source), os.fsencode(place), kind_, ctypes.c_ulong(flags), options_)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        raise _error(name)


def _error(name: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{name}: {os.strerror(number)}")


def main() -> None:
    """Try it out."""
    folder = tempfile.mkdtemp(prefix="evocore-sandbox-")
    try:
        pid = fork_inside(json.load(sys.stdin), folder)
        if pid == 0:
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except OSError as error:  # in the parent or in the child
        print(error, file=sys.stderr)
        code = 1
    with suppress(OSError):  # the child's root is not this one's
        os.rmdir(folder)
    os._exit(code)


if __name__ == "__main__":
    main()
