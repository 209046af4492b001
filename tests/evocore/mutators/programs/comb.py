"""Comb-like starts and a descent that melts the worst teeth (a program for tests)."""

from typing import Annotated

import numpy as np
from numba import njit
from numpy import fft

from evocore.optim import Range, Search, run_stages

BETA_START: Annotated[float, Range(10, 2000, log=True)] = 63.1
N_TRIES: Annotated[float, Range(0.5, 4)] = 2.5
TOOTH: Annotated[int, Range(2, 40)] = 12

DEPTHS = {}
DEPTHS["shallow"] = 0.25
DEPTHS["deep"] = 0.75


@njit(cache=False)
def smooth(x, width):
    # The same as in the other program, with another comment.
    y = np.zeros_like(x)
    for i in range(len(x)):
        lo = max(0, i - width)
        y[i] = x[lo : i + 1].mean()
    return y


def spectrum(x):
    """Power, not amplitude: another thing than its namesake."""
    return np.abs(fft.rfft(x)) ** 2


class Comb:
    spacing = TOOTH

    def draw(self, rng, depth):
        x = np.ones(4 * self.spacing)
        x[:: self.spacing] -= DEPTHS[depth] * rng.random()
        return x


def teeth(search: Search, until: float) -> None:
    """Draw combs."""
    x = Comb().draw(search.rng, "deep")
    spectrum(smooth(x, TOOTH))


# The name of this stage means something else in the other program.
def hop(search: Search, until: float) -> None:
    for _ in range(int(2 * N_TRIES)):
        search.rng.random()


def settle(search: Search, until: float) -> None:
    hop(search, until)
    spectrum(np.ones(TOOTH) * BETA_START)


STAGES = [(teeth, 0.5), (hop, 0.25), (settle, 0.25)]


def optimize(problem, start, seed, deadline, offer):
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer))
