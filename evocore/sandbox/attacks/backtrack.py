"""Match a pattern that takes longer than the universe has."""

import re


def optimize(problem, start, seed, deadline, offer):
    re.match("(a|a)*$", "a" * 200 + "b")
