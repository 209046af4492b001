"""End with a claim that is nested deeper than a parser can go."""

import os
import struct
import time


def optimize(problem, start, seed, deadline, offer):
    claim = b"[" * 4000
    os.write(3, struct.pack("<IB", len(claim), 3) + claim)
    time.sleep(60)
