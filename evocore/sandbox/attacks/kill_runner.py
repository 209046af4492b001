"""Kill the process that runs it, having left a process that survives that."""

# mypy: ignore-errors
# ruff: noqa: D103

import os
import signal
import time


def optimize(problem, start, seed, deadline, offer):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
