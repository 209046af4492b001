"""Fork, and have the children fork."""

import os
import time


def optimize(problem, start, seed, deadline, offer):
    parent = os.getpid()
    for _ in range(6):
        quietly(os.fork)
    if os.getpid() != parent:
        through("forked")
        time.sleep(60)
        os._exit(0)
    return start
