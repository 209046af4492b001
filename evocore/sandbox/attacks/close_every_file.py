"""Close all files, the offers pipe among them, and return."""

# mypy: ignore-errors
# ruff: noqa: D103

import os


def optimize(problem, start, seed, deadline, offer):
    os.closerange(0, 256)
    return start
