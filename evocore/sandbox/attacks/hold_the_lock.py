"""Compute in C for ever, without letting any other thread of the interpreter run."""


def optimize(problem, start, seed, deadline, offer):
    offer(start)
    return 3 ** (10**9)
