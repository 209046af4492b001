"""Hand in past the fast score and past the deadline, until killed."""

import os
import struct


def optimize(problem, start, seed, deadline, offer):
    frame = b"EVOA" + struct.pack("<BBBQ", 1, 1, 1, start.size) + start.tobytes()
    while True:
        os.write(3, struct.pack("<IB", len(frame), 2) + frame)
