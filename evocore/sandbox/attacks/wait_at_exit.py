"""Have more work done at exit, and never end it."""

import atexit
import time


class Late:
    def __del__(self):
        time.sleep(60)


def optimize(problem, start, seed, deadline, offer):
    atexit.register(time.sleep, 60)
    globals()["late"] = Late()
    return start
