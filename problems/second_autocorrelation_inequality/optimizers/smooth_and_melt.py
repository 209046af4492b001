"""Starts of random smoothness with losers dropped early, melting, then upsampling.

Knows nothing of combs: it grows its own from noise, fewer and less regular ones, and ends lower. It is here for
what it finds that the comb family does not contain.
"""

from typing import Annotated

import numpy as np

from evocore.optim import Range, Search, hops, ladder, multistart, race, refine, run_stages, stretch

GOOD_FOR = ("cold",)

N_START: Annotated[int, Range(200, 1600, log=True)] = 400
POWER: Annotated[float, Range(0.5, 3.0)] = 2.0
BETA_START: Annotated[float, Range(20, 200, log=True)] = 60.0
BETA_END: Annotated[float, Range(3e4, 1e6, log=True)] = 1e5
N_STAGES: Annotated[int, Range(6, 20)] = 12
N_ITERATIONS: Annotated[int, Range(40, 300, log=True)] = 100
KEEP_EARLY: Annotated[float, Range(0.05, 0.8, log=True)] = 0.2
MELT_LOW: Annotated[float, Range(20, 200, log=True)] = 50.0
MELT_HIGH: Annotated[float, Range(300, 5000, log=True)] = 1000.0
MELT_STAGES: Annotated[int, Range(4, 14)] = 8
RACE_ENTRANTS: Annotated[int, Range(1, 8)] = 3
REFINE_BETA: Annotated[float, Range(30, 1000, log=True)] = 60.0
REFINE_END: Annotated[float, Range(1e5, 3e6, log=True)] = 3e5
N_MAX: Annotated[int, Range(6400, 102400, log=True)] = 25600


def random_start(rng):
    """Square roots of a power of smooth noise."""
    knots = int(np.exp(rng.uniform(np.log(20), np.log(N_START))))
    return np.abs(stretch(rng.standard_normal(knots), N_START)) ** (POWER / 2) + 0.03


def fresh(search: Search, until: float) -> None:
    if not search.is_warm:
        multistart(
            search,
            until,
            lambda: random_start(search.rng),
            ladder(BETA_START, BETA_END, N_STAGES),
            N_ITERATIONS,
            keep_early=KEEP_EARLY,
        )


def melt(search: Search, until: float) -> None:
    hops(
        search,
        until,
        beta_low=MELT_LOW,
        beta_high=MELT_HIGH,
        beta_end=BETA_END,
        n_stages=MELT_STAGES,
        n_iterations=N_ITERATIONS,
        moves=("nudge", "scale", "bump", "wave", "copy", "slide", "cross"),
    )


def race_finer(search: Search, until: float) -> None:
    race(
        search,
        until,
        entrants=RACE_ENTRANTS,
        factor=4,
        beta_first=REFINE_BETA,
        beta_low=MELT_LOW,
        beta_high=MELT_HIGH,
        beta_end=REFINE_END,
        n_max=N_MAX,
    )


def refine_best(search: Search, until: float) -> None:
    refine(
        search,
        until,
        factor=4,
        beta_first=REFINE_BETA,
        beta_low=MELT_LOW,
        beta_high=MELT_HIGH,
        beta_end=REFINE_END,
        n_max=N_MAX,
    )


STAGES = [
    (fresh, 0.4),
    (melt, 0.25),
    (race_finer, 0.2),
    (refine_best, 0.15),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer, radius=0.05))
