"""Hand in more bytes in all than a program may, every hand-in a small one."""

import os
import struct


def optimize(problem, start, seed, deadline, offer):
    size = 1 << 16
    frame = b"EVOA" + struct.pack("<BBBQ", 1, 1, 1, size) + b"\0" * 8 * size
    while True:
        os.write(3, struct.pack("<IB", len(frame), 2) + frame)
