"""What stands before every attack program: whom it may attack, and how it tells what it got through with."""

import ctypes
import errno
import os

TARGETS = {}
"""Filled in by the harness: paths, ports, process ids and addresses that belong to nobody but the harness."""

_libc = ctypes.CDLL(None, use_errno=True)
_n_attempts = 0


def through(what):
    """Say that something forbidden has worked. Never said on a guess."""
    print(f"got through: {what}", flush=True)


def attempt(what, action, *arguments):
    """Try something forbidden, and tell if it worked. Returns what came of it, None where it was refused.

    Some attempts are answered by death. Attempts are counted aloud, and the harness runs the program once more from
    behind the fatal one on, until none is left.
    """
    if not _is_due():
        return None
    try:
        result = action(*arguments)
    except Exception:
        return None
    if what:
        through(what)
    return result


def reach(what, number, *arguments):
    """Make a call whose arguments have no sense: whatever answers anything but "not permitted" has looked at them."""
    if not _is_due():
        return
    try:
        syscall(number, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP):
            return
    through(f"reached the kernel: {what}")


def quietly(action, *arguments):
    """Try something that is only worth telling by what it leads to."""
    try:
        return action(*arguments)
    except Exception:
        return None


def syscall(number, *arguments):
    """Call the kernel; OSError where it refuses."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), errno.errorcode.get(ctypes.get_errno(), "?"))
    return result


def _is_due():
    global _n_attempts
    _n_attempts += 1
    if _n_attempts <= TARGETS["after"]:
        return False
    print(f"attempt {_n_attempts}", flush=True)
    return True


def _mark():
    """Map a memory file of a telling name: what is forked from here is found by it, whatever else it changes."""
    _libc.mmap.restype = ctypes.c_void_p
    file = os.memfd_create(TARGETS["marker"])
    _libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file, ctypes.c_long(0))
    os.close(file)


quietly(_mark)
