"""Annealed log-sum-exp with a diverse pool at 130 to 200 cells, then pools around its best at finer grids.

h is symmetric where |u| > 0.3 and free inside, where asymmetry is worth 1e-5: what was found without that rule obeys it
to six digits in nearly every cell. With it quenches have a third fewer unknowns. The time goes to the basin: members of
the pool are disturbed and quenched hundreds of times a second; then many of them climb together, for what refinement
gains differs by more than the basins do. From there on results are polished by Newton steps: at two hundred cells that
takes a fifth of a second, and changes the order of the pool. Where all this ends is luck, which is settled after a
minute or two: so a long search is several such expeditions.
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
    polish,
    pools,
    recast,
    refine,
    run_stages,
)

GOOD_FOR = ("cold", "warm", "long")

MIRRORED: Annotated[float, Range(0.0, 0.4)] = 0.35
N_LOW: Annotated[int, Range(60, 150)] = 130
N_HIGH: Annotated[int, Range(151, 300)] = 200
SUPPORT_LOW: Annotated[float, Range(0.6, 0.76)] = 0.7
SUPPORT_HIGH: Annotated[float, Range(0.77, 0.95)] = 0.82
NOISE_LOW: Annotated[float, Range(0.05, 0.6, log=True)] = 0.3
NOISE_HIGH: Annotated[float, Range(0.7, 4.0, log=True)] = 1.6
BETA_START: Annotated[float, Range(30, 500, log=True)] = 100.0
BETA_END: Annotated[float, Range(1e5, 1e7, log=True)] = 1e6
N_STAGES: Annotated[int, Range(4, 16)] = 8
N_ITERATIONS: Annotated[int, Range(20, 200, log=True)] = 60
HOP_BETA_LOW: Annotated[float, Range(100, 2000, log=True)] = 300.0
HOP_BETA_HIGH: Annotated[float, Range(3e3, 3e5, log=True)] = 3e4
POOL_SECONDS: Annotated[float, Range(3, 120, log=True)] = 9.0
EXPEDITION_SECONDS: Annotated[float, Range(20, 600, log=True)] = 130.0
BASIN_SHARE: Annotated[float, Range(0.1, 0.9)] = 0.6
RADIUS: Annotated[float, Range(0.005, 0.1, log=True)] = 0.015
FRESH_SHARE: Annotated[float, Range(0.05, 0.6)] = 0.25
HOP_STAGES: Annotated[int, Range(3, 12)] = 6
ENTRANTS: Annotated[int, Range(2, 24)] = 16
FINE_LEVELS: Annotated[int, Range(1, 4)] = 1
FINE_RADIUS: Annotated[float, Range(0.002, 0.1, log=True)] = 0.01
FINE_STAGES: Annotated[int, Range(5, 24)] = 10
FINE_ITERATIONS: Annotated[int, Range(40, 500, log=True)] = 100
DOUBLE_BETA: Annotated[float, Range(300, 1e4, log=True)] = 1000.0
REFINE_BETA: Annotated[float, Range(1e3, 1e5, log=True)] = 5e3
REHEAT_LOW: Annotated[float, Range(100, 1e4, log=True)] = 300.0
REHEAT_HIGH: Annotated[float, Range(3e3, 1e6, log=True)] = 1e4
REFINE_STAGES: Annotated[int, Range(5, 40)] = 16
REFINE_ITERATIONS: Annotated[int, Range(60, 1000, log=True)] = 300
N_MAX: Annotated[int, Range(400, 6400, log=True)] = 1600
POLISH_MU: Annotated[float, Range(1e-7, 1e-2, log=True)] = 1e-5
POLISH_FACTOR: Annotated[float, Range(0.1, 0.8)] = 0.5
POLISH_PIN: Annotated[float, Range(1e-6, 1e-2, log=True)] = 1e-4
POLISH_STEPS: Annotated[int, Range(20, 400, log=True)] = 100
POLISH_N_MAX: Annotated[int, Range(400, 3200, log=True)] = 2000


def random_start(rng):
    """Logits: white noise, pushed down outside a random support."""
    n = int(rng.integers(N_LOW, N_HIGH + 1))
    x = rng.standard_normal(n) * rng.uniform(NOISE_LOW, NOISE_HIGH)
    u = np.abs((np.arange(n) + 0.5) / n * 2 - 1)
    x[u > rng.uniform(SUPPORT_LOW, SUPPORT_HIGH)] -= 4.0
    return x


def fresh(search: Search, until: float) -> None:
    multistart(search, until, lambda: random_start(search.rng), ladder(BETA_START, BETA_END, N_STAGES), N_ITERATIONS)


def quenched_on(search: Search, member, until: float):
    return search.quench(member.x, ladder(BETA_END / 5, 20 * BETA_END, 4), N_ITERATIONS, until)


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
        finish=quenched_on,
    )


def polished(search: Search, member, until: float):
    return polish(
        search,
        member,
        until,
        mu_start=POLISH_MU,
        mu_factor=POLISH_FACTOR,
        pin_below=POLISH_PIN,
        n_steps=POLISH_STEPS,
        n_max=POLISH_N_MAX,
    )


def hop_finer(search: Search, until: float, factor: int) -> None:
    hops(
        search,
        until,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=100 * BETA_END,
        n_stages=FINE_STAGES,
        n_iterations=FINE_ITERATIONS,
        n_limits=(factor * N_LOW, factor * N_HIGH),
        finish=polished,
    )


def doubled(search: Search, member, until: float):
    return recast(
        search,
        member,
        2 * member.n,
        until,
        ladder(DOUBLE_BETA, 100 * BETA_END, REFINE_STAGES),
        REFINE_ITERATIONS,
        polished,
    )


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
        recast(search, search.start, N_HIGH, until, ladder(DOUBLE_BETA, BETA_END, N_STAGES), N_ITERATIONS)
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
        beta_end=100 * BETA_END,
        n_max=N_MAX,
        n_stages=REFINE_STAGES,
        n_iterations=REFINE_ITERATIONS,
        finish=polished,
    )


STAGES = [
    (explore, 0.8),
    (refine_best, 0.2),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer, radius=RADIUS, mirrored=MIRRORED))
