"""Hand in headers that promise more numbers than there are, and shapes whose product overflows."""

import os
import struct


def optimize(problem, start, seed, deadline, offer):
    for shape in ((2**40, 2**40), (2**63, 2), (2**32, 2**32, 2**32, 2**32), (2**61,), (0, 2**63), (2**64 - 1,)):
        frame = b"EVOA" + struct.pack(f"<BBB{len(shape)}Q", 1, 1, len(shape), *shape) + b"\0" * 16
        os.write(3, struct.pack("<IB", len(frame), 2) + frame)
    return start
