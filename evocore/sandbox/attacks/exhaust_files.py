"""Open files without end."""

# mypy: ignore-errors
# ruff: noqa: D103

import os


def optimize(problem, start, seed, deadline, offer):
    while True:
        os.dup(0)
