"""Warn without end, and log."""

import logging
import warnings


def optimize(problem, start, seed, deadline, offer):
    warnings.simplefilter("always")
    logging.basicConfig(level=logging.DEBUG)
    for i in range(2000):
        warnings.warn("w" * 10_000 + str(i), stacklevel=1)
        logging.error("e" * 10_000)
    return start
