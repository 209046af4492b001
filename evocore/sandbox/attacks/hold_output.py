"""Return, with a child left that holds stdout, stderr and the offers pipe open."""

import os
import time


def optimize(problem, start, seed, deadline, offer):
    child = quietly(os.fork)
    if child == 0:
        quietly(os.setsid)
        time.sleep(60)
        os._exit(0)
    if child is not None:
        through("forked")
    return start
