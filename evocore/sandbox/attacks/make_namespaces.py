"""Make namespaces, in which a program is root and may mount and trace, and enter those of others."""

import ctypes
import os

KINDS = {"mount": 0x20000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000}


def optimize(problem, start, seed, deadline, offer):
    for kind, flag in KINDS.items():
        child = attempt("", syscall, 56, flag | 17, 0, 0, 0, 0)  # clone, as fork does
        if child == 0:
            os._exit(0)
        if child is not None:
            through(f"has a child in a {kind} namespace")
    child = attempt("", clone3, KINDS["user"])
    if child == 0:
        os._exit(0)
    if child is not None:
        through("has a child by clone3")
    for who in (1, TARGETS["processes"]["target"], os.getppid()):
        attempt("opened another's namespaces", os.open, f"/proc/{who}/ns/mnt", os.O_RDONLY)
    for kind, flag in KINDS.items():
        attempt(f"moved into a new {kind} namespace", syscall, 272, flag)  # unshare, of this process alone
    return start


def clone3(flags):
    arguments = (ctypes.c_uint64 * 8)(flags, 0, 0, 0, 17)
    return syscall(435, ctypes.byref(arguments), 64)
