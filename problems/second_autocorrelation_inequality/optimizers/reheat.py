"""Reheating and growing one construction: for a start that is already good.

Finer grids and more teeth are worth real score here, and need many iterations; where neither fits into the time, the
whole of it goes into few long quenches, from temperatures that melt the teeth's shapes but not the comb.
"""

from typing import Annotated

import numpy as np

from evocore.optim import ALL_MOVES, MoveBandit, Range, Search, grow, ladder, multistart, run_stages, stretch

GOOD_FOR = ("warm",)

N_FRESH: Annotated[int, Range(400, 3200, log=True)] = 800
FRESH_BETA: Annotated[float, Range(30, 300, log=True)] = 60.0
FRESH_ITERATIONS: Annotated[int, Range(30, 300, log=True)] = 100
FRESH_STAGES: Annotated[int, Range(3, 14)] = 7
BETA_END: Annotated[float, Range(1e4, 1e6, log=True)] = 1e5
REHEAT_LOW: Annotated[float, Range(20, 300, log=True)] = 100.0
REHEAT_HIGH: Annotated[float, Range(301, 20000, log=True)] = 3000.0
REHEAT_STAGES: Annotated[int, Range(4, 20)] = 10
REHEAT_MOST: Annotated[int, Range(50, 4000, log=True)] = 400
BALANCE: Annotated[float, Range(0.5, 6.0, log=True)] = 1.8
GROW_BETA: Annotated[float, Range(30, 1000, log=True)] = 300.0
GROW_STAGES: Annotated[int, Range(4, 20)] = 10
GROW_LEAST: Annotated[int, Range(30, 300, log=True)] = 100
GROW_MOST: Annotated[int, Range(200, 8000, log=True)] = 1500
N_MAX: Annotated[int, Range(12800, 1000000, log=True)] = 800000


def fresh(search: Search, until: float) -> None:
    """Make something to reheat where the start is only random numbers."""
    if not search.is_warm:
        multistart(
            search,
            until,
            lambda: abs(stretch(search.rng.standard_normal(N_FRESH // 4), N_FRESH)),
            ladder(FRESH_BETA, BETA_END, FRESH_STAGES),
            FRESH_ITERATIONS,
            keep_early=0.3,
        )


def bigger(search: Search, until: float) -> None:
    """Add teeth or cells as long as there is time for enough iterations."""
    if search.best is not None:
        betas = ladder(GROW_BETA, BETA_END, GROW_STAGES)
        grow(
            search,
            search.best,
            until,
            balance=BALANCE,
            betas=betas,
            least=GROW_LEAST,
            most=GROW_MOST,
            n_max=N_MAX,
        )


def reheat(search: Search, until: float) -> None:
    """Reheat the best, disturbed or not, to a random temperature."""
    bandit = MoveBandit(("none", "nudge", "scale", "swell"))
    rng = search.rng
    while search.best is not None and not search.is_over(until):
        best, name = search.best, bandit.draw(rng)
        x = best.x if name == "none" else ALL_MOVES[name](rng, best.x, search.unit(best.x))
        first = np.exp(rng.uniform(np.log(REHEAT_LOW), np.log(REHEAT_HIGH)))
        betas = ladder(first, BETA_END, REHEAT_STAGES)
        count = min(REHEAT_MOST, search.affordable(x, first, until) // REHEAT_STAGES)
        child = search.quench(x, betas, max(1, count), until)
        bandit.reward(name, child.value < best.value)
        search.consider(child)


STAGES = [
    (fresh, 0.2),
    (bigger, 0.5),
    (reheat, 0.5),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer))
