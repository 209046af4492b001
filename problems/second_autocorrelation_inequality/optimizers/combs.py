"""Genetic search over comb-shaped starts, each finished by annealed log-sum-exp; the best grow in teeth and in cells.

Good functions are combs: f*f then takes nearly two values only, which is what the score asks for. The number of
teeth is frozen once beta passes about a hundred, so combs have to be in the start: a left block whose teeth widen
until it is solid, with further teeth that set in later in the same periods, and a right block of the same kind.
Twenty-eight numbers describe such a start; the best survive, recombine and shift. A right block that is solid from
its beginning, and a left one with a single tooth a period, are as good on coarse grids and gain little on finer ones:
so neither is among the starts, and the starts have thousands of cells.
"""

from typing import Annotated

import numpy as np

from evocore.optim import ALL_MOVES, Range, Search, climb, grow, hops, ladder, pools, run_stages

GOOD_FOR = ("cold", "warm", "long")

N_START: Annotated[int, Range(800, 12800, log=True)] = 6400
N_LOW: Annotated[float, Range(0.5, 0.95)] = 0.8
N_HIGH: Annotated[float, Range(1.05, 2.0)] = 1.25
CELL_LOW: Annotated[float, Range(10, 50)] = 28.0
CELL_HIGH: Annotated[float, Range(26, 120)] = 72.0
POOL_SECONDS: Annotated[float, Range(8, 240, log=True)] = 90.0
FILL_SHARE: Annotated[float, Range(0.03, 0.9, log=True)] = 0.4
RANDOM_SHARE: Annotated[float, Range(0.1, 0.8)] = 0.35
STEP: Annotated[float, Range(0.02, 0.4, log=True)] = 0.1
PARENTS: Annotated[int, Range(4, 40)] = 12
BETA_START: Annotated[float, Range(20, 300, log=True)] = 60.0
BETA_END: Annotated[float, Range(3e4, 1e6, log=True)] = 1e5
N_STAGES: Annotated[int, Range(5, 16)] = 8
N_ITERATIONS: Annotated[int, Range(40, 300, log=True)] = 80
KEEP_EARLY: Annotated[float, Range(0.03, 0.8, log=True)] = 0.12
MELT_LOW: Annotated[float, Range(20, 200, log=True)] = 30.0
MELT_HIGH: Annotated[float, Range(300, 5000, log=True)] = 1000.0
MELT_STAGES: Annotated[int, Range(4, 14)] = 7
MELT_ITERATIONS: Annotated[int, Range(20, 800, log=True)] = 200
FINE_LEVELS: Annotated[int, Range(1, 5)] = 2
ENTRANTS: Annotated[int, Range(2, 12)] = 10
FINE_RADIUS: Annotated[float, Range(0.005, 0.1, log=True)] = 0.02
BALANCE: Annotated[float, Range(0.5, 6.0, log=True)] = 1.8
GROW_BETA: Annotated[float, Range(30, 1000, log=True)] = 200.0
REHEAT_SPAN: Annotated[float, Range(3, 300, log=True)] = 100.0
GROW_STAGES: Annotated[int, Range(4, 20)] = 10
GROW_LEAST: Annotated[int, Range(30, 300, log=True)] = 120
GROW_MOST: Annotated[int, Range(200, 4000, log=True)] = 500
N_MAX: Annotated[int, Range(12800, 1000000, log=True)] = 800000

OTHER_TEETH_LEFT, OTHER_TEETH_RIGHT = 3, 1
GENES = 16 + 3 * (OTHER_TEETH_LEFT + OTHER_TEETH_RIGHT)


class Genes:
    """Reads numbers in [0, 1] one after the other."""

    def __init__(self, genes):
        self._left = iter(genes)

    def between(self, low, high):
        """Map the next one to [low, high]."""
        return low + (high - low) * next(self._left)


def block(genes, length, period, *, width, width_power, mass_power, solid, others):
    """Heights of one block; the ranges are those of its genes.

    In each period stands a tooth, edge-heavy, that begins with a single cell and grows to one side; so do `others`, but
    they set in later on, each at a place of its own. The last part of the block is solid.
    """
    rate, power = genes.between(*width), genes.between(*width_power)
    growth, edge = genes.between(*mass_power), genes.between(0.0, 0.8)
    n_rows, n_cells = -(-length // period), period
    along = (np.arange(n_rows)[:, None] + 1) * period / length
    first_solid = int((1.0 - genes.between(*solid)) * length)
    rows = np.zeros((n_rows, n_cells))
    for at in range(1 + others):
        onset, offset, pace = 0.0, 0.0, 1.0
        if at:
            onset, offset, pace = genes.between(0.2, 0.5), genes.between(0.1, 0.9), genes.between(0.5, 1.5)
        since = np.maximum(along - onset, 0.0) / (1.0 - onset)
        widths = np.clip(np.round(period * rate * pace * since**power), 1, period)
        cells = (np.arange(n_cells) - int(offset * period)) % period
        across = np.minimum(1.0, np.abs(2 * cells - (widths - 1)) / widths)
        rows = np.maximum(rows, np.where((cells < widths) & (since > 0), (1.05 - across**2) ** -edge, 0.0))
    rows *= np.minimum(1.0, (1.6 * along) ** growth) * period / rows.sum(axis=1, keepdims=True)
    heights = rows.ravel()[:length]
    heights[first_solid:] = 1.0
    return heights


def comb(numbers, n, rng):
    """Heights of the start that the genes describe: two blocks, the left one with up to four teeth a period."""
    genes = Genes(numbers)
    left, share = int(n * genes.between(0.5, 0.8)), genes.between(0.2, 0.5)
    right = int(n * genes.between(max(0.7, left / n), 0.95))
    noise = genes.between(0.0, 1.0)
    period = genes.between(CELL_LOW, CELL_HIGH)
    right_period = max(2, int(period * genes.between(0.3, 1.0)))
    f = np.zeros(n)
    f[:left] = block(
        genes,
        left,
        int(period),
        width=(0.3, 1.2),
        width_power=(0.0, 2.0),
        mass_power=(0.0, 1.2),
        solid=(0.0, 0.15),
        others=OTHER_TEETH_LEFT,
    )
    f[right:] = block(
        genes,
        n - right,
        right_period,
        width=(0.2, 1.0),
        width_power=(0.4, 2.5),
        mass_power=(0.3, 1.5),
        solid=(0.05, 0.4),
        others=OTHER_TEETH_RIGHT,
    )
    f[:left] *= (1 - share) * n / f[:left].sum()
    f[right:] *= share * n / f[right:].sum()
    f *= np.exp(noise * rng.standard_normal(n))
    return f + 1e-3


def breed(search: Search, until: float) -> None:
    """Random combs first, then children of the best ones; losers are dropped after the first stage."""
    rng, n = search.rng, N_START
    objective = search.objective(n)
    betas = ladder(BETA_START, BETA_END, N_STAGES)
    population: list = []
    early: list = []
    begun = search.clock()
    while not search.is_over(until):
        if search.clock() < begun + RANDOM_SHARE * (until - begun) or len(population) < 4:
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


def melt(search: Search, until: float) -> None:
    """Disturb the combs of the pool and anneal them again."""
    melt_finer(search, until, 1)


def melt_finer(search: Search, until: float, factor: int) -> None:
    n = factor * N_START
    hops(
        search,
        until,
        beta_low=MELT_LOW,
        beta_high=MELT_HIGH,
        beta_end=BETA_END,
        n_stages=MELT_STAGES,
        n_iterations=MELT_ITERATIONS,
        per_cell=0.0,
        moves=(*ALL_MOVES, "cross", "none"),
        n_limits=(int(N_LOW * n), int(N_HIGH * n)),
    )


def search_combs(search: Search, until: float) -> None:
    if not search.is_warm:
        pools(search, until, breed, melt, seconds=POOL_SECONDS, fill_share=FILL_SHARE)


def climb_finer(search: Search, until: float) -> None:
    """Take the best few to finer grids and melt them there; what they lose or gain on the way cannot be foreseen."""
    if not search.is_warm:
        climb(search, until, doubled, melt_finer, levels=FINE_LEVELS, entrants=ENTRANTS, radius=FINE_RADIUS)


def finish(search: Search, until: float) -> None:
    """Grow the best as far as time allows, then reheat it until the end."""
    best = grow_to(search, search.best or search.start, until, N_MAX)
    while not search.is_over(until):
        betas = ladder(GROW_BETA * REHEAT_SPAN ** search.rng.random(), BETA_END, GROW_STAGES)
        count = max(1, search.affordable(best.x, betas[0], until) // GROW_STAGES)
        search.consider(search.quench(best.x, betas, count, until))
        best = search.best or best


def grow_to(search, member, until, n_max):
    betas = ladder(GROW_BETA, BETA_END, GROW_STAGES)
    return grow(search, member, until, balance=BALANCE, betas=betas, least=GROW_LEAST, most=GROW_MOST, n_max=n_max)


def doubled(search: Search, member, until: float):
    return grow_to(search, member, until, 2.5 * member.n)


STAGES = [
    (search_combs, 0.25),
    (climb_finer, 0.4),
    (finish, 0.35),
]


def optimize(problem, start, seed, deadline, offer):
    """Improve `start` until the deadline."""
    return run_stages(STAGES, Search(problem, start, seed, deadline, offer, pool_size=12, radius=0.05))
