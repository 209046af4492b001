"""Die of the signal that the sandbox itself kills with."""

import os
import signal


def optimize(problem, start, seed, deadline, offer):
    offer(start)
    os.kill(os.getpid(), signal.SIGKILL)
