"""Kill the own process group, and the one of whoever runs it."""

import os
import signal


def optimize(problem, start, seed, deadline, offer):
    attempt("may signal the runner's group", os.killpg, os.getppid(), 0)
    quietly(os.setpgid, 0, os.getppid())
    attempt("joined the runner's group", lambda: os.getpgrp() == os.getppid() or 1 / 0)
    os.killpg(0, signal.SIGKILL)
