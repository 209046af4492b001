"""Have more work done at exit, and never end it."""

# mypy: ignore-errors
# ruff: noqa: D103

import atexit
import time


def optimize(problem, start, seed, deadline, offer):
    atexit.register(time.sleep, 60)
    return start
