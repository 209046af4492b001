"""Leave processes that go on forking, every one in a session of its own."""

import os
import time


def optimize(problem, start, seed, deadline, offer):
    for _ in range(8):
        child = quietly(os.fork)
        if child == 0:
            for _ in range(3):
                if quietly(os.fork) == 0:
                    quietly(os.setsid)
                    time.sleep(0.02)
            time.sleep(60)
            os._exit(0)
        if child is not None:
            through("forked")
    return start
