"""Recurse without end, in Python and in C, with the interpreter's own limit lifted."""

import sys


class Deep:
    def __repr__(self):
        return repr(self)


def optimize(problem, start, seed, deadline, offer):
    sys.setrecursionlimit(10**9)
    return repr(Deep())
