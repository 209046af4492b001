"""Close the offers pipe, and put something else under its number before returning."""

import os


def optimize(problem, start, seed, deadline, offer):
    os.close(3)
    pipe = os.pipe()
    if 3 not in pipe:
        os.dup2(pipe[1], 3)
    offer(start)
    return start
