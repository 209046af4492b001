"""Exit with code 0, as if all was well, without having returned."""

import os


def optimize(problem, start, seed, deadline, offer):
    offer(start)
    os._exit(0)
