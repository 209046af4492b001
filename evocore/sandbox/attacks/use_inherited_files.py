"""Use files that somebody forgot to close."""

import os
import stat


def optimize(problem, start, seed, deadline, offer):
    for number in range(4, 4096):
        found = quietly(os.fstat, number)
        if found is not None:
            kind = "socket" if stat.S_ISSOCK(found.st_mode) else "folder" if stat.S_ISDIR(found.st_mode) else "file"
            through(f"has an open {kind} under number {number}: {quietly(os.readlink, f'/proc/self/fd/{number}')}")
    attempt("read from stdin", lambda: os.read(0, 1) or 1 / 0)
    attempt("read from stdout", os.read, 1, 1)
    attempt("read from the offers pipe", os.read, 3, 1)
    return start
