"""Close all files, the offers pipe among them, and return."""

import os


def optimize(problem, start, seed, deadline, offer):
    os.closerange(0, 256)
    return start
