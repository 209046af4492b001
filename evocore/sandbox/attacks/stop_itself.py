"""Stop the own process."""

import os
import signal
import time


def optimize(problem, start, seed, deadline, offer):
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(3600)
