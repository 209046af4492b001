"""Ignore and block every signal that can be, and hang."""

import signal


def optimize(problem, start, seed, deadline, offer):
    for number in signal.valid_signals():
        quietly(signal.signal, number, signal.SIG_IGN)
    quietly(signal.pthread_sigmask, signal.SIG_BLOCK, signal.valid_signals())
    offer(start)
    while True:
        pass
