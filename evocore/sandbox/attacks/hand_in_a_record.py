"""Hand in what is known already, found by nobody."""


def optimize(problem, start, seed, deadline, offer):
    offer(start)
    offer(start.copy())
    offer(start[::-1])
    return start
