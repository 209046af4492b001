"""Hand in arrays of other ranks, sizes and types, with bytes too many, too few, or none."""

import os
import struct


def optimize(problem, start, seed, deadline, offer):
    n, raw = start.size, start.astype("<f8").tobytes()
    headers = [
        struct.pack("<BBBQQ", 1, 1, 2, n, 1),
        struct.pack("<BBBQQQQ", 1, 1, 4, 1, 1, 1, n),
        struct.pack("<BBB", 1, 1, 0),
        struct.pack("<BBB255Q", 1, 1, 255, *[1] * 255),
        struct.pack("<BBBQ", 1, 2, 1, n),
        struct.pack("<BBBQ", 1, 9, 1, n),
        struct.pack("<BBBQ", 7, 1, 1, n),
        struct.pack("<BBBQ", 1, 1, 1, n - 1),
        struct.pack("<BBBQ", 1, 1, 1, n + 1),
    ]
    frames = [b"EVOA" + header + raw for header in headers]
    whole = b"EVOA" + struct.pack("<BBBQ", 1, 1, 1, n) + raw
    frames += [b"", b"E", whole[:-1], whole + b"\0", whole[:8], b"EVOB" + whole[4:], whole + whole]
    for frame in frames:
        os.write(3, struct.pack("<IB", len(frame), 2) + frame)
    return start
