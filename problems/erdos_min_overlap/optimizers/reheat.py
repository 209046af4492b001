"""Reheating and refining one construction: for a start that is already good.

Fine grids gain from reheating alone, without any disturbance, and from more iterations than coarse ones need.
"""

from typing import Annotated

from evocore.optim import Range, Search, anneal, ladder, multistart, polish, refine, run_stages

GOOD_FOR = ("warm",)

N_FRESH: Annotated[int, Range(80, 300, log=True)] = 120
FRESH_BETA: Annotated[float, Range(50, 500, log=True)] = 100.0
N_ITERATIONS: Annotated[int, Range(30, 300, log=True)] = 60
REHEAT_LOW: Annotated[float, Range(300, 10000, log=True)] = 1e3
REHEAT_HIGH: Annotated[float, Range(30000, 1e06, log=True)] = 2e5
REHEAT_END: Annotated[float, Range(1e06, 1e09, log=True)] = 1e8
REHEAT_STAGES: Annotated[int, Range(5, 40)] = 16
REFINE_ITERATIONS: Annotated[int, Range(60, 1000, log=True)] = 300
REFINE_BETA: Annotated[float, Range(1000, 100000, log=True)] = 5e3
FACTOR: Annotated[int, Range(2, 4)] = 2
N_MAX: Annotated[int, Range(400, 6400, log=True)] = 1600
POLISH_MU: Annotated[float, Range(1e-6, 1e-2, log=True)] = 1e-4
POLISH_STEPS: Annotated[int, Range(20, 400, log=True)] = 60
POLISH_N_MAX: Annotated[int, Range(400, 3200, log=True)] = 2000


def fresh(search: Search, until: float) -> None:
    """Make something to reheat where the start is only random numbers."""
    if search.is_warm:
        return
    rng = search.rng
    betas = ladder(FRESH_BETA, REHEAT_END, REHEAT_STAGES)
    multistart(
        search, until, lambda: rng.uniform(0.3, 1.6) * rng.standard_normal(N_FRESH), betas, N_ITERATIONS, keep_early=0.3
    )


def polished(search: Search, member, until: float):
    return polish(
        search,
        member,
        until,
        mu_start=POLISH_MU,
        mu_factor=0.5,
        pin_below=1e-4,
        n_steps=POLISH_STEPS,
        n_max=POLISH_N_MAX,
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
            finish=polished,
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
        finish=polished,
    )


STAGES = [
    (fresh, 0.2),
    (reheat, 0.4),
    (refine_best, 0.6),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer))
