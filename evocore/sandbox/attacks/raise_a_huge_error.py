"""Fail with a message of 100 megabytes, and colour the reader's terminal."""


def optimize(problem, start, seed, deadline, offer):
    raise ValueError("\x1b]0;owned\x07\x1b[2J" + "x" * (100 << 20))
