"""Read from address 0."""

import ctypes


def optimize(problem, start, seed, deadline, offer):
    ctypes.string_at(0)
