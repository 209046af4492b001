"""Leave processes that go on forking, every one in a session of its own."""

# mypy: ignore-errors
# ruff: noqa: D103

import os
import time


def optimize(problem, start, seed, deadline, offer):
    for _ in range(8):
        if os.fork() == 0:
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(0.02)
            time.sleep(60)
            os._exit(0)
    return start
