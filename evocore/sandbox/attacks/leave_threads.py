"""Leave threads that never end."""

# mypy: ignore-errors
# ruff: noqa: D103

import threading
import time


def optimize(problem, start, seed, deadline, offer):
    for _ in range(4):
        threading.Thread(target=time.sleep, args=(60,)).start()
    return start
