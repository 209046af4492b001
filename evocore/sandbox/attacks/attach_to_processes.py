"""Take hold of another process by the calls made for debuggers."""

import ctypes
import os


class Area(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def optimize(problem, start, seed, deadline, offer):
    target = TARGETS["processes"]["target"]
    buffer = ctypes.create_string_buffer(64)
    here = ctypes.byref(Area(ctypes.addressof(buffer), 47))
    there = ctypes.byref(Area(TARGETS["address"], 47))
    if attempt("read memory by process_vm_readv", syscall, 310, target, here, 1, there, 1, 0) is not None:
        print(buffer.value.decode(errors="replace"))
    buffer.value = b"overwritten"
    attempt("wrote memory by process_vm_writev", syscall, 311, target, here, 1, there, 1, 0)
    for who, pid in TARGETS["processes"].items():
        attempt(f"opened a handle of the {who}", syscall, 434, pid, 0)  # pidfd_open
    handle = quietly(syscall, 434, target, 0)
    if handle is not None:
        taken = attempt("took an open file of the target", syscall, 438, handle, TARGETS["file"], 0)  # pidfd_getfd
        if taken is not None:
            quietly(os.lseek, taken, 7, os.SEEK_SET)
        attempt("advised on another's memory", syscall, 440, handle, there, 1, 20, 0)  # process_madvise, COLD
        attempt("sent a signal by a handle", syscall, 424, handle, 10, 0, 0)  # pidfd_send_signal
    attempt("compared files with another process", syscall, 312, target, os.getpid(), 0, 0, 0)  # kcmp
    if attempt("attached by ptrace", syscall, 101, 0x4206, target, 0, 0) is not None:  # PTRACE_SEIZE
        attempt("", syscall, 101, 17, target, 0, 0)
    attempt("let itself be traced", syscall, 101, 0, 0, 0, 0)  # PTRACE_TRACEME
    return start
