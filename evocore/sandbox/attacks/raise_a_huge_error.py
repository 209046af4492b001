"""Fail with a message of 30 megabytes, and colour the reader's terminal."""


def optimize(problem, start, seed, deadline, offer):
    raise ValueError("\x1b]0;owned\x07\x1b[2J" + "x" * (30 << 20))
