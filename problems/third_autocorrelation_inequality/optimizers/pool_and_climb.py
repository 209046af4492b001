"""Annealed log-sum-exp: pools of short multistarts and long melts, then pools around their best at finer grids.

f may change its sign, so x = f. The early value of a quench ranks its end (rank correlation 0.97 and more after a
quarter of the stages), so most starts are dropped on the way; melting their best for many times as long finds the
basin. A finer grid is worth 1.3e-3 from 400 to 1600 cells and 4e-4 from there on, to those who wait: a quench at 6400
cells that stops short of thousands of iterations a stage loses half of it.
"""

from typing import Annotated

import numpy as np

from evocore.optim import Range, Search, climb, hops, ladder, multistart, pools, recast, refine, run_stages, stretch

GOOD_FOR = ("cold", "warm", "long")

N_START: Annotated[int, Range(200, 800, log=True)] = 400
N_LOW: Annotated[float, Range(0.6, 0.95)] = 0.8
N_HIGH: Annotated[float, Range(1.05, 2.0)] = 1.2
AMPLITUDE_LOW: Annotated[float, Range(0.05, 0.8, log=True)] = 0.2
AMPLITUDE_HIGH: Annotated[float, Range(0.9, 4.0, log=True)] = 1.9
BETA_START: Annotated[float, Range(5, 60, log=True)] = 20.0
BETA_END: Annotated[float, Range(3e4, 1e6, log=True)] = 1e5
N_STAGES: Annotated[int, Range(8, 24)] = 16
N_ITERATIONS: Annotated[int, Range(60, 300, log=True)] = 120
KEEP_EARLY: Annotated[float, Range(0.05, 0.6, log=True)] = 0.2
KEEP_MIDDLE: Annotated[float, Range(0.01, 0.3, log=True)] = 0.06
POOL_SECONDS: Annotated[float, Range(20, 600, log=True)] = 120.0
FRESH_SHARE: Annotated[float, Range(0.02, 0.6, log=True)] = 0.07
MELT_LOW: Annotated[float, Range(10, 60, log=True)] = 20.0
MELT_HIGH: Annotated[float, Range(80, 2000, log=True)] = 400.0
MELT_STAGES: Annotated[int, Range(4, 16)] = 10
MELT_ITERATIONS: Annotated[int, Range(60, 2000, log=True)] = 400
ENTRANTS: Annotated[int, Range(2, 10)] = 6
FINE_LEVELS: Annotated[int, Range(1, 4)] = 2
FINE_RADIUS: Annotated[float, Range(0.005, 0.1, log=True)] = 0.03
FINE_ITERATIONS: Annotated[int, Range(80, 2000, log=True)] = 400
REFINE_BETA: Annotated[float, Range(20, 1000, log=True)] = 100.0
REHEAT_LOW: Annotated[float, Range(10, 60, log=True)] = 30.0
REHEAT_HIGH: Annotated[float, Range(80, 2000, log=True)] = 300.0
REFINE_END: Annotated[float, Range(1e5, 3e6, log=True)] = 1e6
REFINE_STAGES: Annotated[int, Range(5, 30)] = 12
REFINE_ITERATIONS: Annotated[int, Range(200, 8000, log=True)] = 1500
N_MAX: Annotated[int, Range(1600, 25600, log=True)] = 12800

MOVES = ("nudge", "shake", "wave", "patch", "slide", "copy", "bump", "resize", "cross")


def random_start(rng):
    """One plus noise of random smoothness and strength."""
    knots = int(np.exp(rng.uniform(np.log(5), np.log(N_START))))
    return 1.0 + rng.uniform(AMPLITUDE_LOW, AMPLITUDE_HIGH) * stretch(rng.standard_normal(knots), N_START)


def fresh(search: Search, until: float) -> None:
    multistart(
        search,
        until,
        lambda: random_start(search.rng),
        ladder(BETA_START, BETA_END, N_STAGES),
        N_ITERATIONS,
        keep_early=KEEP_EARLY,
        keep_middle=KEEP_MIDDLE,
    )


def melt(search: Search, until: float) -> None:
    hops(
        search,
        until,
        beta_low=MELT_LOW,
        beta_high=MELT_HIGH,
        beta_end=BETA_END,
        n_stages=MELT_STAGES,
        n_iterations=MELT_ITERATIONS,
        moves=MOVES,
        n_limits=(int(N_LOW * N_START), int(N_HIGH * N_START)),
        per_cell=0.0,
    )


def melt_finer(search: Search, until: float, factor: int) -> None:
    hops(
        search,
        until,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=REFINE_END,
        n_stages=REFINE_STAGES,
        n_iterations=FINE_ITERATIONS,
        moves=MOVES,
        n_limits=(int(N_LOW * factor * N_START), int(N_HIGH * factor * N_START)),
        per_cell=0.25,
    )


def basins(search: Search, until: float) -> None:
    """From random numbers to a pool of distinct basins; from a good start to melts around it on a coarse grid."""
    if not search.is_warm:
        pools(search, until, fresh, melt, seconds=POOL_SECONDS, fill_share=FRESH_SHARE)
        return
    if search.start.n > N_START:
        search.pool.members.clear()  # the fine start would keep all coarser ones near it out
        recast(search, search.start, N_START, until, ladder(REFINE_BETA, BETA_END, N_STAGES), MELT_ITERATIONS)
    melt(search, until)


def doubled(search: Search, member, until: float):
    betas = ladder(REFINE_BETA, REFINE_END, REFINE_STAGES)
    return recast(search, member, 2 * member.n, until, betas, REFINE_ITERATIONS)


def climb_finer(search: Search, until: float) -> None:
    climb(search, until, doubled, melt_finer, levels=FINE_LEVELS, entrants=ENTRANTS, radius=FINE_RADIUS)


def refine_best(search: Search, until: float) -> None:
    refine(
        search,
        until,
        factor=2,
        beta_first=REFINE_BETA,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=REFINE_END,
        n_max=N_MAX,
        n_stages=REFINE_STAGES,
        n_iterations=REFINE_ITERATIONS,
    )


STAGES = [
    (basins, 0.45),
    (climb_finer, 0.3),
    (refine_best, 0.25),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer, pool_size=10, radius=0.1))
