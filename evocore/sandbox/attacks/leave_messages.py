"""Leave messages in the kernel, and look for those of an earlier run: keys, shared memory, queues, locks."""

import ctypes
import fcntl
import os
import zlib


def optimize(problem, start, seed, deadline, offer):
    name = TARGETS["marker"].encode()
    key = zlib.crc32(name) & 0x7FFFFFFF
    for ring in (-3, -4, -5):  # session, user, user session
        attempt("found a key that an earlier run left", syscall, 250, 10, ring, b"user", name, 0)  # keyctl SEARCH
        attempt("left a key", syscall, 248, b"user", name, b"message", 7, ring)  # add_key
    attempt("gave its keys to the parent", syscall, 250, 18)  # keyctl SESSION_TO_PARENT
    for what, number, arguments in (
        ("shared memory", 29, (key, 4096)),
        ("semaphores", 64, (key, 1)),
        ("a message queue", 68, (key,)),
    ):
        if quietly(syscall, number, *arguments, 0) is not None:
            through(f"found {what} that an earlier run left")
        attempt(f"left {what}", syscall, number, *arguments, 0o1666)  # IPC_CREAT
    if quietly(syscall, 240, name, 0, 0, 0) is not None:  # mq_open
        through("found a named queue that an earlier run left")
    attempt("left a named queue", syscall, 240, name, 0o102, 0o666, 0)
    attempt("locked a file that others can lock", lock)
    attempt("took a lease on a file", lease)
    return start


def lock():
    for path in (os.__file__, "/", "/dev/null"):
        file = quietly(os.open, path, os.O_RDONLY)
        if file is not None and quietly(fcntl.flock, file, fcntl.LOCK_SH | fcntl.LOCK_NB) is None:
            fcntl.flock(file, fcntl.LOCK_UN)
            return
    file = os.open(os.__file__, os.O_RDONLY)
    fcntl.fcntl(file, 37, ctypes.create_string_buffer(32).raw)  # F_OFD_SETLK


def lease():
    fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
