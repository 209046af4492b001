"""Hand in one array of more bytes than a hand-in may have."""

import os
import struct


def optimize(problem, start, seed, deadline, offer):
    size = 8 << 20
    header = b"EVOA" + struct.pack("<BBBQ", 1, 1, 1, size)
    os.write(3, struct.pack("<IB", len(header) + 8 * size, 2) + header)
    for _ in range(8 * size // 65536):
        os.write(3, b"\0" * 65536)
    return start
