"""Stop the own process."""

# mypy: ignore-errors
# ruff: noqa: D103

import os
import signal


def optimize(problem, start, seed, deadline, offer):
    os.kill(os.getpid(), signal.SIGSTOP)
