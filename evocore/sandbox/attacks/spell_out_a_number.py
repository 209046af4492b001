"""Write an integer of many digits in decimal."""

import sys


def optimize(problem, start, seed, deadline, offer):
    sys.set_int_max_str_digits(0)
    return len(str(7 << 60_000_000))
