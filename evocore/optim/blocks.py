"""The outer loops that optimizer programs put together: multistart, hop, climb, race, refine.

Each takes the search, the end of its time, and numbers that the program keeps as tunables.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from evocore.optim.moves import ALL_MOVES, MoveBandit, cross
from evocore.optim.newton import barrier_newton
from evocore.optim.pool import Member, Pool
from evocore.optim.search import Search

Array = npt.NDArray[np.float64]
Finish = Callable[[Search, Member, float], Member]

_FINISHED_SHARE = 0.2
_FULL_STARTS, _RECENT = 20, 1000


def ladder(low: float, high: float, n_stages: int) -> Array:
    """Return `n_stages` inverse temperatures from `low` to `high`, in equal ratios."""
    return np.geomspace(low, max(high, low * 1.01), max(2, int(n_stages)))


def multistart(
    search: Search,
    until: float,
    make_start: Callable[[], Array],
    betas: Sequence[float] | Array,
    n_iterations: int,
    *,
    keep_early: float = 1.0,
    keep_middle: float = 1.0,
) -> None:
    """Quench one random start after another into the pool, giving up those that lag.

    A start goes on after the first stage only when it is among the best `keep_early` of the last ones at that point,
    and after a quarter of the stages only when it is among the best `keep_middle`: where the early value ranks the
    final one, most of the work on losers is saved. The first twenty run to their end, and the rank correlations that
    they show are printed on stderr: for the third autocorrelation 0.8 after one of 16 stages and 0.99 after four, for
    the first 0.5 and 0.8, for the minimum overlap none worth using.

    Parameters
    ----------
    make_start : callable
        Returns parameters.
    betas, n_iterations
        The full quench.
    keep_early, keep_middle : float
        Shares in (0, 1]; 1 keeps all.
    """
    quarter = max(1, len(betas) // 4)
    cuts = ((1, keep_early), (quarter, keep_middle), (len(betas), 1.0))
    parts: list[tuple[int, int, float, list[float]]] = []
    for end, share in cuts:
        begin = parts[-1][1] if parts else 0
        if end > begin:
            parts.append((begin, end, share, []))
    while not search.is_over(until):
        x = make_start()
        for begin, end, share, values in parts:
            member = search.quench(x, betas[begin:end], n_iterations, until)
            x = member.x
            values.append(member.value)
            if len(values) > _FULL_STARTS and share < 1 and member.value > np.quantile(values[-_RECENT:], share):
                break
        else:
            search.consider(member)
        ends = parts[-1][3]
        if len(parts[0][3]) == len(ends) == _FULL_STARTS and min(keep_early, keep_middle) < 1:
            told = (f"{_rank_correlation(values, ends):.3f} after {end}" for _, end, _, values in parts[:-1])
            print(f"rank correlation of early values with the ends: {', '.join(told)} of {end} stages", file=sys.stderr)


def _rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's, where no two are equal."""
    ranks = [np.argsort(np.argsort(values)) for values in (a, b)]
    gaps = ranks[0] - ranks[1]
    return 1.0 - 6.0 * float(gaps @ gaps) / (len(a) * (len(a) ** 2 - 1))


def hops(
    search: Search,
    until: float,
    *,
    beta_low: float,
    beta_high: float,
    beta_end: float,
    n_stages: int,
    n_iterations: int,
    moves: tuple[str, ...] = (*ALL_MOVES, "cross"),
    n_limits: tuple[int, int] = (8, 10**9),
    per_cell: float = 0.125,
    finish: Finish | None = None,
) -> None:
    """Disturb members of the pool, quench them from a random temperature, and keep what earns a place.

    Parameters
    ----------
    beta_low, beta_high : float
        The first beta is log-uniform between them.
    beta_end, n_stages, n_iterations
        The quench; `per_cell` times n iterations a stage are added, for fine grids need more of them.
    moves : tuple of str
        Names out of `evocore.optim.ALL_MOVES`, `cross`, and `none`: reheating alone.
    n_limits : (int, int)
        Lengths that `resize` may not leave.
    finish : callable or None
        The best fifth of the results goes through it.
    """
    if not search.pool.members:
        return
    rng, bandit, finished = search.rng, MoveBandit(moves), _finishing_the_best(finish)
    while not search.is_over(until):
        parent = search.pool.draw(rng)
        name = bandit.draw(rng)
        if name == "cross":
            x = cross(rng, parent.x, search.pool.draw(rng).x)
        elif name == "none":
            x = parent.x
        else:
            x = ALL_MOVES[name](rng, parent.x, search.unit(parent.x))
        if len(x) != parent.n and not n_limits[0] <= len(x) <= n_limits[1]:
            continue
        beta = math.exp(rng.uniform(math.log(beta_low), math.log(beta_high)))
        count = n_iterations + int(per_cell * parent.n)
        child = search.quench(x, ladder(beta, beta_end, n_stages), count, until)
        child = finished(search, child, until)
        bandit.reward(name, child.value < parent.value - 1e-9 * abs(parent.value))
        search.consider(child)


def _finishing_the_best(finish: Finish | None) -> Finish:
    """Make of a finish one that lets all but the best fifth of the last fifty pass as they are."""
    values: list[float] = []

    def finished(search: Search, member: Member, until: float) -> Member:
        if finish is None:
            return member
        values.append(member.value)
        return finish(search, member, until) if member.value <= np.quantile(values[-50:], _FINISHED_SHARE) else member

    return finished


def pools(
    search: Search,
    until: float,
    fill: Callable[[Search, float], None],
    improve: Callable[[Search, float], None],
    *,
    seconds: float,
    fill_share: float,
) -> None:
    """Search several pools one after the other, each from nothing, then go on with the best of all.

    A pool stands still after a while (of overlaps after ten seconds, of signed functions after two minutes); from then
    on several and a merge find more than one. Given time for one only, that one is the result.

    Parameters
    ----------
    fill, improve : callable
        Stages: the first fills an empty pool from random numbers, the second works on it.
    seconds : float
        Time for one pool; what is left over at the end is shared out, the merge counts as one more pool.
    fill_share : float
        Part of a pool's time that `fill` gets.
    """
    now = time.monotonic()
    until = min(until, search.deadline)
    rounds = max(1, int((until - now) / seconds))
    length = (until - now) / (rounds + 1 if rounds > 1 else 1)
    kept: list[Member] = list(search.pool.members)
    for _ in range(rounds):
        begun = time.monotonic()
        search.pool = Pool(search.pool.size, search.pool.radius)
        fill(search, begun + fill_share * length)
        improve(search, begun + length)
        kept += search.pool.members
    search.pool = Pool(search.pool.size, search.pool.radius)
    for member in sorted(kept, key=lambda m: m.value):
        search.pool.insert(member)
    if rounds > 1:
        improve(search, until)


def anneal(
    search: Search,
    member: Member,
    until: float,
    *,
    beta_low: float,
    beta_high: float,
    beta_end: float,
    n_stages: int = 7,
    n_iterations: int = 80,
    patience: int = 1_000_000,
    finish: Finish | None = None,
) -> Member:
    """Reheat one member again and again, to a random temperature, with or without a disturbance; returns the best.

    Iterations grow with the length, `n_iterations` + n/8 a stage: at fine resolution a fixed number stops short of
    convergence.
    With a `finish`, the best fifth of the results goes through it: quenches alone do not come near a polished member.
    """
    rng, best = search.rng, member
    bandit = MoveBandit(("none", "nudge", "scale", "bump", "wave", "patch", "pin"))
    finished, failures = _finishing_the_best(finish), 0
    while not search.is_over(until) and failures < patience:
        name = bandit.draw(rng)
        if name == "none":
            x = best.x
        elif name == "pin":
            x = search.pinned(best.x, 10.0 ** rng.uniform(-4.0, -1.5))
        else:
            x = ALL_MOVES[name](rng, best.x, search.unit(best.x))
        beta = math.exp(rng.uniform(math.log(beta_low), math.log(beta_high)))
        count = n_iterations + best.n // 8
        counts = [count] * (n_stages - 1) + [3 * count]
        child = finished(search, search.quench(x, ladder(beta, beta_end, n_stages), counts, until), until)
        won = child.value < best.value
        bandit.reward(name, won)
        failures = 0 if won else failures + 1
        if won:
            best = child
            search.consider(child)
    return best


def climb(
    search: Search,
    until: float,
    finer: Finish,
    hop: Callable[[Search, float, int], None],
    *,
    levels: int,
    entrants: int,
    radius: float,
) -> None:
    """Take the best members to twice as many cells and search on around all of them, level by level.

    What a basin gains by refinement differs from basin to basin by more than the basins differ, so the order at coarse
    resolution does not carry over: several must be tried. A pool finds more there than the best one reheated alone:
    lengths compete, and what two of them do well is crossed.

    Parameters
    ----------
    finer : callable
        Takes search, member and a time; returns the member with about twice as many cells.
    hop : callable
        Works on the pool until a time, with the factor by which the grid is finer now.
    levels : int
        How often to double; each gets the same time.
    entrants : int
        Members that go on; making them finer takes a third of a level's time, at most.
    radius : float
        Of the pools at finer grids. Members differ in details there, and so by less than at the coarse one.
    """
    until = min(until, search.deadline)
    for level in range(1, levels + 1):
        now = time.monotonic()
        end = now + (until - now) / (levels + 1 - level)
        chosen = search.pool.members[:entrants]
        search.pool = Pool(search.pool.size, radius)
        for at, member in enumerate(chosen):
            if not search.is_over(end):
                search.consider(finer(search, member, now + (end - now) * (at + 1) / (3 * len(chosen))))
        hop(search, end, 2**level)


def race(
    search: Search,
    until: float,
    *,
    entrants: int,
    factor: int,
    beta_first: float,
    beta_low: float,
    beta_high: float,
    beta_end: float,
    n_max: int,
    n_stages: int = 7,
    n_iterations: int = 80,
    finish: Finish | None = None,
) -> None:
    """Give the best few members `factor` times as many cells and the same time each.

    What a basin gains by refinement differs from basin to basin by more than the basins differ, so the order at coarse
    resolution does not carry over: several must be tried.
    """
    chosen = [m for m in search.pool.members if m.n * factor <= n_max][:entrants]
    for at, member in enumerate(chosen):
        now = time.monotonic()
        share = now + (min(until, search.deadline) - now) / (len(chosen) - at)
        if search.is_over(share):
            return
        betas = ladder(beta_first, beta_end, n_stages)
        finer = recast(search, member, member.n * factor, share, betas, n_iterations, finish)
        anneal(
            search,
            finer,
            share,
            beta_low=beta_low,
            beta_high=beta_high,
            beta_end=beta_end,
            n_stages=n_stages,
            n_iterations=n_iterations,
            finish=finish,
        )


def refine(
    search: Search,
    until: float,
    *,
    factor: int,
    beta_first: float,
    beta_low: float,
    beta_high: float,
    beta_end: float,
    n_max: int,
    n_stages: int = 7,
    n_iterations: int = 80,
    finish: Finish | None = None,
) -> None:
    """Refine the pool's best member level by level up to `n_max`; reheat it on each for an equal part of the time."""
    if not search.pool.members:
        return
    member, until = search.pool.members[0], min(until, search.deadline)
    n_levels = max(0, int(math.log(n_max / member.n) / math.log(factor) + 1e-9))
    for left in range(max(1, n_levels), 0, -1):
        if n_levels:
            betas = ladder(beta_first, beta_end, n_stages)
            member = recast(search, member, member.n * factor, until, betas, n_iterations, finish)
        now = time.monotonic()
        member = anneal(
            search,
            member,
            now + (until - now) / left,
            beta_low=beta_low,
            beta_high=beta_high,
            beta_end=beta_end,
            n_stages=n_stages,
            n_iterations=n_iterations,
            finish=finish,
        )


def recast(
    search: Search,
    member: Member,
    n: int,
    until: float,
    betas: Array,
    n_iterations: int,
    finish: Finish | None = None,
) -> Member:
    """Take a member to another number of cells, finer or coarser, as it is and quenched; returns the better one.

    Both are finished and shown to the pool. A polished member is often better as it is, for a quench leaves its basin
    and does not come as near to the bottom of the next.
    """
    x = search.upsample(member, n)
    bare, moved = search.member(x), search.quench(x, betas, [n_iterations + n // 8] * len(betas), until)
    if finish is not None:
        bare, moved = finish(search, bare, until), finish(search, moved, until)
    search.consider(bare)
    search.consider(moved)
    return min(bare, moved, key=lambda one: one.value)


def polish(
    search: Search,
    member: Member,
    until: float,
    *,
    mu_start: float,
    mu_factor: float,
    pin_below: float,
    n_steps: int,
    n_max: int,
) -> Member:
    """Converge a member by Newton steps on the barrier, which L-BFGS on a smoothed maximum never does.

    With hundreds of lags level at the maximum, quenches stop short: at 400 cells, overlaps by 1e-5 and autoconvolutions
    by 2e-4. Returns the member itself where that is better.

    Parameters
    ----------
    mu_start : float
        First barrier weight times n: 1e-4 stays in the basin, 1e-2 may leave it for a lower one nearby.
    mu_factor, pin_below, n_steps
        See `evocore.optim.barrier_newton`.
    n_max : int
        Longer constructions are left alone: a step costs n^3.
    """
    if member.n > n_max or search.kind == "spread":
        return member
    found = barrier_newton(
        search.kind,
        search.construction(member),
        mu_start=mu_start / member.n,
        mu_end=1e-9 / member.n,
        mu_factor=mu_factor,
        sloppiness=0.05,
        n_steps=n_steps,
        pin_below=0.0 if search.kind == "signed" else pin_below,
        margin=1e-9,
        deadline=min(until, search.deadline),
    )
    polished = search.member(search.objective(member.n).parameters(found.construction))
    return polished if polished.value < member.value else member
