"""Allocate 32 GiB at once."""

import numpy as np


def optimize(problem, start, seed, deadline, offer):
    np.ones(1 << 32)
    through("allocated 32 GiB")
