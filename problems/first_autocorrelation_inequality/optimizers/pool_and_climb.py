"""Annealed log-sum-exp with a diverse pool at one to two hundred cells, then pools around its best at finer grids.

f = x^2 keeps f positive. Random starts are cheap and mostly bad; hops among a pool of distinct members find the
basin. Many iterations pay: twenty stages of 400 end as low as Newton's steps do, for a fifth of the time. All good
functions look alike from afar; what makes the difference is found by pools at four hundred to sixteen hundred cells,
whose members may be near each other and have different lengths. Where they end is luck: so a long search is several
such expeditions.
"""

from typing import Annotated

import numpy as np

from evocore.optim import (
    Pool,
    Range,
    Search,
    climb,
    hops,
    ladder,
    multistart,
    pools,
    recast,
    refine,
    run_stages,
    stretch,
)

GOOD_FOR = ("cold", "warm", "long")

N_LOW: Annotated[int, Range(60, 140)] = 90
N_HIGH: Annotated[int, Range(141, 300)] = 200
ROUGHNESS: Annotated[float, Range(0.2, 3.0, log=True)] = 1.0
BETA_START: Annotated[float, Range(10, 200, log=True)] = 30.0
BETA_END: Annotated[float, Range(1e4, 3e5, log=True)] = 3e4
N_STAGES: Annotated[int, Range(5, 20)] = 10
N_ITERATIONS: Annotated[int, Range(30, 500, log=True)] = 160
HOP_BETA_LOW: Annotated[float, Range(20, 300, log=True)] = 50.0
HOP_BETA_HIGH: Annotated[float, Range(400, 2e4, log=True)] = 3000.0
POOL_SECONDS: Annotated[float, Range(3, 120, log=True)] = 10.0
EXPEDITION_SECONDS: Annotated[float, Range(20, 600, log=True)] = 140.0
BASIN_SHARE: Annotated[float, Range(0.1, 0.9)] = 0.45
RADIUS: Annotated[float, Range(0.02, 0.2, log=True)] = 0.1
FRESH_SHARE: Annotated[float, Range(0.05, 0.6)] = 0.25
HOP_STAGES: Annotated[int, Range(3, 24)] = 14
ENTRANTS: Annotated[int, Range(2, 24)] = 12
FINE_LEVELS: Annotated[int, Range(1, 4)] = 3
FINE_RADIUS: Annotated[float, Range(0.005, 0.1, log=True)] = 0.02
FINE_BETA_LOW: Annotated[float, Range(10, 300, log=True)] = 30.0
FINE_BETA_HIGH: Annotated[float, Range(400, 2e4, log=True)] = 1000.0
FINE_STAGES: Annotated[int, Range(5, 24)] = 12
FINE_ITERATIONS: Annotated[int, Range(80, 1500, log=True)] = 400
REFINE_BETA: Annotated[float, Range(30, 1000, log=True)] = 100.0
REHEAT_LOW: Annotated[float, Range(30, 500, log=True)] = 60.0
REHEAT_HIGH: Annotated[float, Range(600, 2e4, log=True)] = 3000.0
REFINE_END: Annotated[float, Range(1e5, 3e6, log=True)] = 3e5
REFINE_STAGES: Annotated[int, Range(5, 40)] = 20
REFINE_ITERATIONS: Annotated[int, Range(80, 1500, log=True)] = 400
N_MAX: Annotated[int, Range(800, 12800, log=True)] = 6400


def random_start(rng):
    """Square roots of heights: noise of random smoothness."""
    n = int(rng.integers(N_LOW, N_HIGH + 1))
    knots = int(np.exp(rng.uniform(np.log(5), np.log(n))))
    return np.abs(1.0 + ROUGHNESS * stretch(rng.standard_normal(knots), n))


def fresh(search: Search, until: float) -> None:
    multistart(search, until, lambda: random_start(search.rng), ladder(BETA_START, BETA_END, N_STAGES), N_ITERATIONS)


def hop(search: Search, until: float) -> None:
    hops(
        search,
        until,
        beta_low=HOP_BETA_LOW,
        beta_high=HOP_BETA_HIGH,
        beta_end=BETA_END,
        n_stages=HOP_STAGES,
        n_iterations=N_ITERATIONS,
        n_limits=(N_LOW, N_HIGH),
    )


def hop_finer(search: Search, until: float, factor: int) -> None:
    hops(
        search,
        until,
        beta_low=FINE_BETA_LOW,
        beta_high=FINE_BETA_HIGH,
        beta_end=REFINE_END,
        n_stages=FINE_STAGES,
        n_iterations=FINE_ITERATIONS,
        n_limits=(factor * N_LOW, factor * N_HIGH),
    )


def doubled(search: Search, member, until: float):
    return recast(search, member, 2 * member.n, until, ladder(REFINE_BETA, REFINE_END, FINE_STAGES), REFINE_ITERATIONS)


def expedition(search: Search, until: float) -> None:
    """From random numbers to a pool of distinct basins, and with the best of them to finer grids."""
    search.pool = Pool(search.pool.size, RADIUS)
    now = search.clock()
    pools(search, now + BASIN_SHARE * (until - now), fresh, hop, seconds=POOL_SECONDS, fill_share=FRESH_SHARE)
    climb_finer(search, until)


def climb_finer(search: Search, until: float) -> None:
    climb(search, until, doubled, hop_finer, levels=FINE_LEVELS, entrants=ENTRANTS, radius=FINE_RADIUS)


def hop_finest(search: Search, until: float) -> None:
    hop_finer(search, until, 2**FINE_LEVELS)


def explore(search: Search, until: float) -> None:
    """Several expeditions, then hops among what they found; from a good start hops around it on a coarse grid."""
    if not search.is_warm:
        pools(search, until, expedition, hop_finest, seconds=EXPEDITION_SECONDS, fill_share=0.9)
        return
    if search.start.n > N_HIGH:
        search.pool.members.clear()  # the fine start would keep all coarser ones near it out
        recast(search, search.start, N_HIGH, until, ladder(REFINE_BETA, BETA_END, N_STAGES), N_ITERATIONS)
    now = search.clock()
    hop(search, now + BASIN_SHARE * (until - now))
    climb_finer(search, until)


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
    (explore, 0.75),
    (refine_best, 0.25),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer, radius=RADIUS))
