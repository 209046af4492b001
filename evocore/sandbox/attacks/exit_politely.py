"""Exit with code 0 in the way that runs every handler, without having returned."""

import sys


def optimize(problem, start, seed, deadline, offer):
    sys.exit(0)
