"""Use more CPU time than allowed, with wall time left."""


def optimize(problem, start, seed, deadline, offer):
    while True:
        sum(range(10_000))
