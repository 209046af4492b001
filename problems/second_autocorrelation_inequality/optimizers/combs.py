"""Genetic search over comb-shaped starts, each finished by annealed log-sum-exp, then upsampling.

Good functions are combs: f*f then takes nearly two values only, which is what the score asks for. The number of
teeth is frozen once beta passes about a hundred, so combs have to be in the start: a left block whose teeth widen
until it is solid, and a right block of the same kind. Sixteen numbers describe such a start; the best survive,
recombine and shift.
"""

from typing import Annotated

import numpy as np

from evocore.optim import Range, Search, ladder, race, refine, run_stages

GOOD_FOR = ("cold", "warm", "long")

N_START: Annotated[int, Range(800, 6400, log=True)] = 1600
CELL_LOW: Annotated[float, Range(10, 25)] = 18.0
CELL_HIGH: Annotated[float, Range(26, 80)] = 40.0
RANDOM_SHARE: Annotated[float, Range(0.1, 0.8)] = 0.35
STEP: Annotated[float, Range(0.02, 0.4, log=True)] = 0.1
PARENTS: Annotated[int, Range(4, 40)] = 12
BETA_START: Annotated[float, Range(20, 300, log=True)] = 60.0
BETA_END: Annotated[float, Range(3e4, 1e6, log=True)] = 1e5
N_STAGES: Annotated[int, Range(5, 16)] = 8
N_ITERATIONS: Annotated[int, Range(40, 300, log=True)] = 80
KEEP_EARLY: Annotated[float, Range(0.05, 0.8, log=True)] = 0.15
RACE_ENTRANTS: Annotated[int, Range(1, 8)] = 4
REFINE_BETA: Annotated[float, Range(30, 1000, log=True)] = 60.0
REHEAT_LOW: Annotated[float, Range(20, 200, log=True)] = 60.0
REHEAT_HIGH: Annotated[float, Range(300, 2e4, log=True)] = 1000.0
REFINE_END: Annotated[float, Range(1e5, 3e6, log=True)] = 3e5
N_MAX: Annotated[int, Range(6400, 102400, log=True)] = 51200

GENES = 16


def between(gene, low, high):
    """Map a gene in [0, 1] to [low, high]."""
    return low + (high - low) * gene


def teeth(length, period, width_scale, width_power, mass_power, edge, solid):
    """One block: teeth at multiples of the period, widening and growing along the block, solid at the end."""
    heights = np.zeros(length)
    first_solid = (1.0 - solid) * length
    for at in range(0, int(first_solid), max(2, int(period))):
        along = (at + period) / length
        width = max(1, min(int(period), round(period * width_scale * along**width_power)))
        across = (np.arange(width) - (width - 1) / 2) / (width / 2)
        profile = (1.05 - across**2) ** -edge
        mass = min(1.0, (1.6 * along) ** mass_power) * period
        stop = min(length, at + width)
        heights[at:stop] = (mass * profile / profile.sum())[: stop - at]
    heights[int(first_solid) :] = 1.0
    return heights


def comb(genes, n, rng):
    """Heights of the start that the genes describe."""
    left = int(n * between(genes[0], 0.5, 0.8))
    period = between(genes[1], CELL_LOW, CELL_HIGH)
    f = np.zeros(n)
    f[:left] = teeth(
        left,
        period,
        between(genes[2], 0.3, 1.0),
        between(genes[3], 0.5, 2.0),
        between(genes[4], 0.3, 1.2),
        between(genes[5], 0.0, 0.8),
        between(genes[6], 0.0, 0.15),
    )
    right = int(n * between(genes[7], max(0.7, left / n), 0.95))
    f[right:] = teeth(
        n - right,
        max(2.0, period * between(genes[8], 0.3, 1.0)),
        between(genes[9], 0.2, 1.0),
        between(genes[10], 0.5, 2.5),
        between(genes[11], 0.3, 1.5),
        between(genes[12], 0.0, 0.8),
        between(genes[13], 0.05, 0.8),
    )
    share = between(genes[14], 0.2, 0.5)
    f[:left] *= (1 - share) / max(f[:left].sum(), 1e-9)
    f[right:] *= share / max(f[right:].sum(), 1e-9)
    f *= n
    f *= np.exp(between(genes[15], 0.1, 1.0) * rng.standard_normal(n))
    return f + 1e-3


def breed(search: Search, until: float) -> None:
    """Random combs first, then children of the best ones; losers are dropped after the first stage."""
    if search.is_warm:
        return
    rng, n = search.rng, N_START
    objective = search.objective(n)
    betas = ladder(BETA_START, BETA_END, N_STAGES)
    population: list = []
    early: list = []
    begun, now = search.clock(), search.clock()
    while not search.is_over(until):
        now = search.clock()
        if now < begun + RANDOM_SHARE * (until - begun) or len(population) < 4:
            genes = rng.random(GENES)
        else:
            mother, father = (population[int(len(population) * rng.random() ** 2)][1] for _ in range(2))
            genes = np.where(rng.random(GENES) < 0.7, mother, father)
            genes = np.clip(genes + STEP * rng.standard_normal(GENES) * (rng.random(GENES) < 0.4), 0, 1)
        x = objective.parameters(comb(genes, n, rng))
        member = search.quench(x, betas[:1], N_ITERATIONS, until)
        early.append(member.value)
        if len(early) > 8 and member.value > np.quantile(early[-200:], KEEP_EARLY):
            continue
        member = search.quench(member.x, betas[1:], N_ITERATIONS, until)
        search.consider(member)
        population.append((member.value, genes))
        population.sort(key=lambda entry: entry[0])
        del population[PARENTS:]


def race_finer(search: Search, until: float) -> None:
    race(
        search,
        until,
        entrants=RACE_ENTRANTS,
        factor=4,
        beta_first=REFINE_BETA,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=REFINE_END,
        n_max=N_MAX,
    )


def refine_best(search: Search, until: float) -> None:
    refine(
        search,
        until,
        factor=4,
        beta_first=REFINE_BETA,
        beta_low=REHEAT_LOW,
        beta_high=REHEAT_HIGH,
        beta_end=REFINE_END,
        n_max=N_MAX,
    )


STAGES = [
    (breed, 0.5),
    (race_finer, 0.25),
    (refine_best, 0.25),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer, radius=0.02))
