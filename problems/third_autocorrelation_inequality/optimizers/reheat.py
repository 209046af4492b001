"""Reheating and refining one construction: for a start that is already good.

Melting at beta 30 to 300 lets the sign-changing fine structure rearrange; all disturbances help a little. Long quenches
pay more than many: at 1600 cells 1500 iterations a stage gain twice as much in the same time as 500.
"""

from typing import Annotated

from evocore.optim import Range, Search, anneal, ladder, multistart, refine, run_stages, stretch

GOOD_FOR = ("warm",)

N_FRESH: Annotated[int, Range(200, 800, log=True)] = 400
FRESH_BETA: Annotated[float, Range(5, 60, log=True)] = 20.0
N_ITERATIONS: Annotated[int, Range(30, 300, log=True)] = 120
REHEAT_LOW: Annotated[float, Range(10, 60, log=True)] = 30.0
REHEAT_HIGH: Annotated[float, Range(80, 2000, log=True)] = 300.0
REHEAT_END: Annotated[float, Range(100000, 3e06, log=True)] = 1e6
REHEAT_STAGES: Annotated[int, Range(5, 30)] = 12
REFINE_ITERATIONS: Annotated[int, Range(200, 8000, log=True)] = 1500
REFINE_BETA: Annotated[float, Range(20, 1000, log=True)] = 100.0
FACTOR: Annotated[int, Range(2, 4)] = 2
N_MAX: Annotated[int, Range(1600, 51200, log=True)] = 25600


def fresh(search: Search, until: float) -> None:
    """Make something to reheat where the start is only random numbers."""
    if search.is_warm:
        return
    rng = search.rng
    betas = ladder(FRESH_BETA, REHEAT_END, REHEAT_STAGES)
    multistart(
        search,
        until,
        lambda: 1.0 + rng.uniform(0.2, 1.9) * stretch(rng.standard_normal(40), N_FRESH),
        betas,
        N_ITERATIONS,
        keep_early=0.3,
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
