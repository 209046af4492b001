"""Open files without end."""

import os


def optimize(problem, start, seed, deadline, offer):
    for _ in range(100_000):
        os.dup(0)
    through("opened 100 000 files")
