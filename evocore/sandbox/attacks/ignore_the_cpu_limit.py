"""Use more CPU time than allowed, in several threads and deaf to the signal that says so."""

import signal
import threading


def burn():
    while True:
        sum(range(10_000))


def optimize(problem, start, seed, deadline, offer):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=burn).start()
    burn()
