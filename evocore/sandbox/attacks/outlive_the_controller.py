"""Stay when everybody else has gone: undo the tie to the parent, be deaf to signals, leave the session, and wait."""

import os
import signal
import time


def optimize(problem, start, seed, deadline, offer):
    attempt("will not be told of its parent's end", syscall, 157, 1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
    for number in signal.valid_signals():
        quietly(signal.signal, number, signal.SIG_IGN)
    quietly(signal.pthread_sigmask, signal.SIG_BLOCK, signal.valid_signals())
    if quietly(os.fork) == 0:
        quietly(os.setsid)
    offer(start)
    while True:
        time.sleep(3600)
