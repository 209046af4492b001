"""Hand in nothing, a million times, to keep the reader busy."""

import os
import struct


def optimize(problem, start, seed, deadline, offer):
    empty = struct.pack("<IB", 0, 2) * 13_000
    while True:
        os.write(3, empty)
