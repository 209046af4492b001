"""Die in a way that leaves the whole memory in a file."""

import os
import resource
import signal


def optimize(problem, start, seed, deadline, offer):
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    quietly(resource.setrlimit, resource.RLIMIT_CORE, (hard, hard))
    os.kill(os.getpid(), signal.SIGQUIT)
