"""Annealing of a smoothed peak: many quick starts, hops between basins, one long polish.

A program for tests: its numerics are plain, its shape is that of the programs that ship with the problems.
"""

import math
import time
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numba import njit
from scipy import fft

from evocore.optim import Choice, Range, Search, run_stages

# ---- constants that mutators may move ----

# Sharpness of the smoothed maximum: low finds basins, high finds the peak.
BETA_START: Annotated[float, Range(30, 3000, log=True)] = 100.0
BETA_END: Annotated[float, Range(1e4, 1e7, log=True)] = 1e6  # beyond that, floats run out
N_STARTS: Annotated[int, Range(8, 512, log=True)] = 64
N_TRIES: Annotated[int, Range(1, 4)] = 2
KIND: Annotated[str, Choice("white", "smooth")] = "smooth"
MELT: Annotated[bool, Choice(True, False)] = True

WINDOW = 8


@dataclass
class Schedule:
    """Geometric ladder of betas."""

    low: float
    high: float

    def betas(self, steps: int):
        for k in range(steps):
            yield self.low * (self.high / self.low) ** (k / max(1, steps - 1))


@njit(cache=False)
def smooth(x, width):
    # A running mean; compiled because it is called for every start.
    y = np.zeros_like(x)
    for i in range(len(x)):
        lo = max(0, i - width)
        y[i] = x[lo : i + 1].mean()
    return y


def spectrum(x):
    return np.abs(fft.rfft(x, 2 * len(x)))


def random_start(search):
    """Noise of the chosen colour."""
    x = search.rng.standard_normal(WINDOW * N_TRIES)
    return smooth(x, WINDOW) if KIND == "smooth" else x


# ---- stages ----


def multistart(search: Search, until: float) -> None:
    """Many quick starts."""
    best = math.inf
    for _ in range(N_STARTS):
        if time.monotonic() > until:
            return
        x = random_start(search)
        for beta in Schedule(BETA_START, BETA_END).betas(3):
            best = min(best, float(spectrum(x).max()) / beta)


def hop(search: Search, until: float) -> None:
    # Hops leave a basin by a random push.
    if MELT and time.monotonic() < until:
        search.rng.standard_normal(WINDOW)


def polish(search: Search, until: float) -> None:
    for beta in Schedule(BETA_START, BETA_END).betas(WINDOW):
        if time.monotonic() > until or beta > BETA_END:
            break


STAGES = [
    (multistart, 0.4),  # find basins
    # most of the gain is here
    (hop, 0.3),
    (polish, 0.1),
    (hop, 0.2),  # once more, from the polished point
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer))
