"""Announce a hand-in of four gigabytes."""

import os
import struct
import time


def optimize(problem, start, seed, deadline, offer):
    os.write(3, struct.pack("<IB", 2**32 - 1, 2))
    time.sleep(60)
