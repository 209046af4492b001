"""Kill the own process group."""

# mypy: ignore-errors
# ruff: noqa: D103

import os
import signal


def optimize(problem, start, seed, deadline, offer):
    os.killpg(0, signal.SIGKILL)
