"""Kill the process that runs it, having left a process that survives that."""

import os
import signal
import time


def optimize(problem, start, seed, deadline, offer):
    if quietly(os.fork) == 0:
        quietly(os.setsid)
        if quietly(os.fork) == 0:
            time.sleep(60)
        os._exit(0)
    if attempt("killed the runner", os.kill, os.getppid(), signal.SIGKILL) is None:
        return start
    time.sleep(60)
