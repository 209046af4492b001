"""Reheating and refining one construction: for a start that is already good.

A reheat to beta near a hundred moves the construction to a lower basin nearby; the refinement gains about as much
again.
"""

from typing import Annotated

from evocore.optim import Range, Search, anneal, ladder, multistart, refine, run_stages, stretch

GOOD_FOR = ("warm",)

N_FRESH: Annotated[int, Range(100, 800, log=True)] = 200
FRESH_BETA: Annotated[float, Range(10, 200, log=True)] = 30.0
N_ITERATIONS: Annotated[int, Range(30, 300, log=True)] = 80
REHEAT_LOW: Annotated[float, Range(30, 500, log=True)] = 60.0
REHEAT_HIGH: Annotated[float, Range(600, 20000, log=True)] = 3000.0
REHEAT_END: Annotated[float, Range(100000, 3e06, log=True)] = 3e5
REHEAT_STAGES: Annotated[int, Range(5, 40)] = 20
REFINE_ITERATIONS: Annotated[int, Range(80, 1500, log=True)] = 400
REFINE_BETA: Annotated[float, Range(30, 1000, log=True)] = 100.0
FACTOR: Annotated[int, Range(2, 4)] = 2
N_MAX: Annotated[int, Range(800, 25600, log=True)] = 6400


def fresh(search: Search, until: float) -> None:
    """Make something to reheat where the start is only random numbers."""
    if search.is_warm:
        return
    rng = search.rng
    betas = ladder(FRESH_BETA, REHEAT_END, REHEAT_STAGES)
    multistart(
        search, until, lambda: abs(1.0 + stretch(rng.standard_normal(30), N_FRESH)), betas, N_ITERATIONS, keep_early=0.3
    )


def reheat(search: Search, until: float) -> None:
    """Reheat the best at its own resolution."""
    if search.best is not None:
        anneal(
            search,
            search.best,
            until,
            beta_low=REHEAT_LOW,
            beta_high=REHEAT_HIGH,
            beta_end=REHEAT_END,
            n_stages=REHEAT_STAGES,
            n_iterations=REFINE_ITERATIONS,
        )


def refine_best(search: Search, until: float) -> None:
    """Go to a finer grid, then reheat there."""
    refine(
        search,
        until,
        factor=FACTOR,
        beta_first=REFINE_BETA,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=REHEAT_END,
        n_max=N_MAX,
        n_stages=REHEAT_STAGES,
        n_iterations=REFINE_ITERATIONS,
    )


STAGES = [
    (fresh, 0.2),
    (reheat, 0.4),
    (refine_best, 0.6),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer))
