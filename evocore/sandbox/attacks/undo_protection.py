"""Undo what the sandbox has set on this process."""

import ctypes
import os


def optimize(problem, start, seed, deadline, offer):
    for what, option, value in (
        ("no signal at the parent's end", 1, 0),
        ("readable by others", 4, 1),
        ("parent of orphans", 36, 1),
        ("traceable by anybody", 0x59616D61, -1),
        ("keeps capabilities", 8, 1),
        ("name of its own", 15, ctypes.c_char_p(b"evocore-attack")),
        ("speculates", 53, 0),
    ):
        attempt(f"set: {what}", syscall, 157, option, value, 0, 0, 0)
    for identity in (0, 12345):
        if os.geteuid() != identity:
            attempt("became another user", os.setuid, identity)
            attempt("became another group", os.setgid, identity)
    attempt("dropped its groups", os.setgroups, [])
    attempt("wrote capabilities", syscall, 126, b"\x22\x05\x08\x20" + bytes(4), bytes(24))
    attempt("left its session", os.setsid)
    attempt("changed its root", os.chroot, ".")
    return start
