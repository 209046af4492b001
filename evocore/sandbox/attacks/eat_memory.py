"""Allocate without end."""

import numpy as np


def optimize(problem, start, seed, deadline, offer):
    hoard = []
    while True:
        hoard.append(np.ones(1 << 20))
