"""What the stages of an optimizer program share: the task, the clock, the pool, and the hand-in."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.kernels.smoothmax import SmoothedMaximum
from evocore.optim.pool import Member, Pool, outline
from evocore.optim.ratchet import Ratchet
from evocore.optim.resampling import resample

Array = npt.NDArray[np.float64]

KINDS = {
    "erdos-min-overlap": "overlap",
    "first-autocorrelation-inequality": "autoconvolution",
    "second-autocorrelation-inequality": "spread",
    "third-autocorrelation-inequality": "signed",
}


class Search:
    """One run of an optimizer program on one of the four function problems.

    Parameters
    ----------
    problem : evocore.problems.Problem
        What is asked.
    start : (n,) float64 array
        The construction to improve.
    seed : int
        Seed of `rng`.
    deadline : float
        On `time.monotonic`.
    offer : callable
        Takes a construction; hands it in.
    pool_size, radius : int, float
        See `evocore.optim.Pool`.
    mirrored : float
        Quenches keep this part of the values at either end, 0 to 0.5, mirror images of each other.

    Attributes
    ----------
    rng : numpy.random.Generator
    pool : Pool
        Distinct good members of any length.
    best : Member or None
        The best that was seen.
    start : Member
        The start as a member.
    is_warm : bool
        Whether the start is worth refining: some optimiser has worked on it. Random starts are worse than any quench
        by far, so a margin in the objective tells them apart.
    """

    def __init__(
        self,
        problem: Any,
        start: Array,
        seed: int,
        deadline: float,
        offer: Callable[[Array], Any],
        *,
        pool_size: int = 24,
        radius: float = 0.03,
        mirrored: float = 0.0,
    ) -> None:
        self.problem = problem
        self.kind = KINDS[problem.slug]
        self.rng = np.random.default_rng(seed)
        self.deadline = deadline - 0.01
        self.pool = Pool(pool_size, radius)
        self._mirrored = mirrored
        self.best: Member | None = None
        self._ratchet = Ratchet(problem, offer)
        self._objectives: dict[int, SmoothedMaximum] = {}
        values = np.asarray(start, dtype=np.float64)
        x = self.objective(len(values)).parameters(values)
        self.start = self.member(x)
        self.is_warm = self.start.value < _WARM_BELOW[self.kind]
        if self.is_warm:
            self.consider(self.start)

    def objective(self, n: int) -> SmoothedMaximum:
        """Return the smoothed objective for length n; buffers of the last few lengths are kept."""
        if n not in self._objectives:
            if len(self._objectives) > 40:
                self._objectives.pop(next(iter(self._objectives)))
            self._objectives[n] = SmoothedMaximum(self.kind, n)
        return self._objectives[n]

    def member(self, x: Array) -> Member:
        """Evaluate parameters."""
        objective = self.objective(len(x))
        _, peak, _ = objective.evaluate(x, 1.0)
        return Member(x, peak, outline(objective.construction(x)))

    def quench(
        self, x: Array, betas: Sequence[float] | Array, n_iterations: int | Sequence[int], until: float
    ) -> Member:
        """Run L-BFGS through rising betas and return the best point of the last stage, in time to hand it in."""
        objective = self.objective(len(x))
        mirrored, end = int(self._mirrored * len(x)), self._end(len(x), until)
        found = objective.quench(x, betas, n_iterations, end, mirrored=mirrored)
        return Member(found.x, found.peak, outline(objective.construction(found.x)))

    def affordable(self, x: Array, beta: float, until: float) -> int:
        """Return how many iterations from x on are sure to be done in time, by a trial of a few."""
        objective, end, n_trial = self.objective(len(x)), self._end(len(x), until), 8
        begun = time.monotonic()
        objective.quench(x, [beta], n_trial, end)
        now = time.monotonic()
        return int(max(0.0, end - now) / (_CAUTION * (now - begun) / n_trial))

    def _end(self, n: int, until: float) -> float:
        """When a quench of n values has to end, so that what it found is handed in before the deadline."""
        return min(until, self.deadline - _CLOSING * n)

    def consider(self, member: Member) -> bool:
        """Show a member to the pool and, when it is the best so far, hand it in; says whether the pool took it."""
        if math.isfinite(member.value) and (self.best is None or member.value < self.best.value):
            self.best = member
            self._ratchet.offer(self.construction(member))
        return self.pool.insert(member)

    def construction(self, member: Member) -> Array:
        """Return a member's construction; of combs, in multiples of 2^-40 of the largest value.

        With the digits that rounding leaves, the exact score of a comb is a rational that can be written down. Over
        500,000 values keep fewer digits for that: 800,000 become multiples of 2^-25, and the score changes in the 9th
        digit instead of the 13th.
        """
        found = self.objective(member.n).construction(member.x)
        if self.kind != "spread":
            return found
        digits = min(_DIGITS, int(_ALL_DIGITS / member.n))
        quantum = math.ldexp(1.0, math.frexp(float(found.max()))[1] - digits)
        return np.asarray(np.round(found / quantum) * quantum, dtype=np.float64)

    def unit(self, x: Array) -> float:
        """Size of the parameters that moves refer to: one for logits, else their root mean square."""
        return 1.0 if self.kind == "overlap" else float(np.sqrt(np.mean(x * x))) or 1.0

    def upsample(self, member: Member, n: int) -> Array:
        """Parameters of the same construction on n cells (exact when n is a multiple)."""
        return self.objective(n).parameters(resample(self.construction(member), n))

    def pinned(self, x: Array, below: float) -> Array:
        """Put values under `below` (times the mean) at the bound 0, where they stay; signed ones are left alone.

        A logit or a square lets its value creep towards 0 without ever getting there: cells outside the support then
        carry 1e-4 of it, which costs overlaps 2e-6.
        """
        if self.kind == "signed":
            return x
        f = self.objective(len(x)).construction(x)
        if self.kind == "overlap":
            return np.where(f < below, _PINNED_LOGIT, x)
        return np.where(f < below * f.mean(), 0.0, x)

    @staticmethod
    def clock() -> float:
        """Return the time that deadlines refer to."""
        return time.monotonic()

    def is_over(self, until: float) -> bool:
        """Say whether the stage's time, or the program's, is up."""
        return time.monotonic() >= min(until, self.deadline)


# Bits of one value, and of all: see RATIONAL_SIZE of the second autocorrelation inequality.
_DIGITS, _ALL_DIGITS = 40, 2e7

# Seconds a value for what comes after a quench: outline, projection, score and hand-in.
_CLOSING = 1e-6

# What others do on the machine makes a quench slower than its trial.
_CAUTION = 1.2

# Objectives that no random start reaches and every quench passes.
_PINNED_LOGIT = -14.0
_WARM_BELOW = {"overlap": 0.39, "autoconvolution": 1.6, "spread": -0.80, "signed": 1.6}

Stage = tuple[Callable[[Search, float], None], float]


def run_stages(stages: Sequence[Stage], search: Search) -> Array:
    """Run stages one after the other, each for its share of the time that is left.

    Parameters
    ----------
    stages : sequence of (function, share)
        Functions take the search and the end of their time on `time.monotonic`; shares are positive and relative.
        What a stage leaves over goes to those after it.
    search : Search
        Shared by all stages.

    Returns
    -------
    (n,) float64 array
        The best construction.
    """
    for at, (stage, share) in enumerate(stages):
        now = time.monotonic()
        rest = sum(s for _, s in stages[at:])
        stage(search, now + (search.deadline - now) * share / rest)
        if search.is_over(math.inf):
            break
    return search.construction(search.best or search.start)
