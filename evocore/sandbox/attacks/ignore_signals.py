"""Ignore every signal that can be ignored, and hang."""

# mypy: ignore-errors
# ruff: noqa: D103

import contextlib
import signal


def optimize(problem, start, seed, deadline, offer):
    for signum in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):
            signal.signal(signum, signal.SIG_IGN)
    offer(start)
    while True:
        pass
