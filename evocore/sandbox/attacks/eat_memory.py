"""Allocate without end."""

# mypy: ignore-errors
# ruff: noqa: D103

import numpy as np


def optimize(problem, start, seed, deadline, offer):
    hoard = []
    while True:
        hoard.append(np.ones(1 << 20))
