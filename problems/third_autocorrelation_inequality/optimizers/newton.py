"""Saddle-free Newton on the barrier at a coarse grid, hops, then annealed log-sum-exp at finer ones.

Coarse for this problem, whose optima change sign on a fine scale, and therefore different from the multistart.
"""

from typing import Annotated

import numpy as np

from evocore.optim import ALL_MOVES, Range, Search, barrier_newton, race, refine, run_stages

GOOD_FOR = ("cold",)

N_START: Annotated[int, Range(40, 200)] = 80
MU_START: Annotated[float, Range(0.01, 1.0, log=True)] = 0.1
MU_FACTOR: Annotated[float, Range(0.05, 0.7)] = 0.2
SLOPPINESS: Annotated[float, Range(0.003, 0.3, log=True)] = 0.03
MAX_STEPS: Annotated[int, Range(40, 400, log=True)] = 150
HOP_MU: Annotated[float, Range(1e-4, 1e-1, log=True)] = 5e-3
RACE_ENTRANTS: Annotated[int, Range(1, 8)] = 4
REFINE_BETA: Annotated[float, Range(20, 1000, log=True)] = 100.0
REHEAT_LOW: Annotated[float, Range(10, 60, log=True)] = 20.0
REHEAT_HIGH: Annotated[float, Range(80, 2000, log=True)] = 400.0
REHEAT_END: Annotated[float, Range(100000, 3e06, log=True)] = 5e5
FACTOR: Annotated[int, Range(2, 4)] = 4
N_MAX: Annotated[int, Range(1600, 25600, log=True)] = 6400


def follow(search: Search, until: float, construction, mu_start):
    """One barrier quench; the result is shown to the pool."""
    found = barrier_newton(
        search.kind,
        construction,
        mu_start=mu_start / len(construction),
        mu_end=1e-7 / len(construction),
        mu_factor=MU_FACTOR,
        sloppiness=SLOPPINESS,
        n_steps=MAX_STEPS,
        deadline=until,
    )
    search.consider(search.member(search.objective(len(construction)).parameters(found.construction)))


def fresh(search: Search, until: float) -> None:
    """Barrier quenches from random numbers."""
    while not search.is_warm and not search.is_over(until):
        follow(search, until, 1.0 + 0.3 * search.rng.standard_normal(N_START), MU_START)


def hop(search: Search, until: float) -> None:
    """Disturb a member and quench it again from a small barrier weight."""
    rng = search.rng
    coarse = [m for m in search.pool.members if m.n <= 2 * N_START]
    while coarse and not search.is_over(until):
        parent = coarse[int(len(coarse) * rng.random() ** 2)]
        name = str(rng.choice(("nudge", "shake", "scale", "bump", "wave")))
        x = ALL_MOVES[name](rng, parent.x, search.unit(parent.x))
        follow(search, until, search.objective(parent.n).construction(x), HOP_MU * np.exp(rng.uniform(-2, 2)))
        coarse = [m for m in search.pool.members if m.n <= 2 * N_START]


def race_finer(search: Search, until: float) -> None:
    """Refine the best few for the same time each."""
    race(
        search,
        until,
        entrants=RACE_ENTRANTS,
        factor=FACTOR,
        beta_first=REFINE_BETA,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=REHEAT_END,
        n_max=N_MAX,
    )


def refine_best(search: Search, until: float) -> None:
    """Refine the best one, then reheat it."""
    refine(
        search,
        until,
        factor=FACTOR,
        beta_first=REFINE_BETA,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=REHEAT_END,
        n_max=N_MAX,
    )


STAGES = [
    (fresh, 0.25),
    (hop, 0.35),
    (race_finer, 0.2),
    (refine_best, 0.2),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer))
