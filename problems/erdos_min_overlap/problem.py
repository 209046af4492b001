"""Erdős' minimum overlap problem: the least overlap of a set and its complement under every shift."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.kernels.blas import possible_maxima
from evocore.kernels.exact import ExactVector
from evocore.kernels.fourier import overlap_maximum, value_range
from evocore.problems.autocorrelation import (
    StepFunctionProblem,
    finite_score,
    index_of,
    mirrored,
    peak_correlation,
)
from evocore.problems.base import (
    DESCRIPTOR_CELLS,
    ExactResult,
    Reference,
    Vector,
    cell_means,
    near_one,
    to_float,
    unit_mean,
)
from evocore.problems.certificate import Certificate

LARGEST_CLIPPED_SHARE = Fraction(1, 10**9)

STATEMENT = """\
Find a function h on [0, 2] with values in [0, 1] and integral 1 whose overlap with its complement is small under every
shift:

    minimize  max_k ∫ h(x) (1 - h(x+k)) dx,

over the x for which both arguments are in [0, 2]. Every such h gives an upper bound on Erdős' constant.

Submit h as a step function: n values h[0..n-1] in [0, 1] on n equal cells, 1 ≤ n ≤ 100,000. Where their sum is not n/2
all are multiplied by (n/2) / Σ h[i]; after that they must still be in [0, 1]. The score is

    (2/n) · max_k Σ_i h[i] (1 - h[i+k]).

The constant is at least 0.379005.
"""

CHECKER = """\
n = len(VALUES)
if not all(0 <= value <= DENOMINATOR for value in VALUES):
    raise SystemExit("false: a value is not in [0, 1]")
if 2 * sum(VALUES) != n * DENOMINATOR:
    raise SystemExit("false: the sum is not n/2")
overlaps = product(VALUES, [DENOMINATOR - value for value in reversed(VALUES)])
numerator, denominator = 2 * max(overlaps), n * DENOMINATOR**2
"""


class ErdosMinOverlap(StepFunctionProblem):
    """Minimise the largest overlap of h with the shifts of 1 - h."""

    slug = "erdos-min-overlap"
    title = "Erdős minimum overlap (upper bound)"
    statement = STATEMENT
    direction = "minimize"
    arena_id = 1
    max_length = 100_000
    min_improvement = 1e-7
    gain_floor = 1e-5
    proven_bound = 0.379005  # White, 2022, arXiv 2201.05704
    alarm_margin = 1e-4
    default_size = 100
    is_scale_free = False  # the score rescales to sum n/2 itself
    references = (
        Reference("Haugland", 0.380927, 2016, "paper", "arXiv 1609.08000"),
        Reference("AlphaEvolve", 0.38092303510845016, 2025, "paper", "arXiv 2506.13131"),
        Reference("TTT-Discover", 0.3808753232177, 2026, "repository", "test-time-training/discover"),
        Reference("Together AI", 0.3808703105862199, 2026, "arena", "togethercomputer/EinsteinArena-new-SOTA"),
        Reference("SimpleTES", 0.380868, 2026, "paper", "reported in 2026"),
        Reference("CodexProLong", 0.3808585749, 2026, "arena", "EinsteinArena leaderboard, August 2026"),
        Reference("MILO", 0.3808567744, 2026, "paper", "arXiv 2609.38349"),
    )

    def score(self, x: Vector) -> float:
        """Compute `max(np.correlate(h, 1 - h, "full")) / n * 2` after the arena's rescaling to sum n/2."""
        h = self._admitted(x)
        return finite_score(peak_correlation(h, 1.0 - h) / len(h) * 2)

    def possible_scores(self, x: Vector) -> tuple[float, ...]:
        """Return what `score` may be on a machine that is not known: one value for each known order of adding."""
        h = self._admitted(x)
        return tuple(sorted({peak / len(h) * 2 for peak in possible_maxima(h, 1.0 - h).values()}))

    def fast(self, x: Vector) -> float:
        """Compute the same by FFT, to about 1e-14."""
        return float(overlap_maximum(self._admitted(x)))

    def exact(self, x: Vector) -> ExactResult:
        """Return the score of the canonical repair as a rational.

        Published vectors miss the sum n/2 by an ulp or so. The repair multiplies all values by (n/2) / sum; entries
        that this lifts above 1 are set to 1 and the removed mass goes to the others in proportion to their slack 1 - h.
        The repaired vector is exactly feasible (see `repaired`). Scaling is the arena's own definition and not limited;
        a removed mass above 1e-9 of n/2 makes the construction invalid.

        The maximum over integer lags is the true supremum: between neighbouring multiples of the cell width the
        overlap of every pair of cells changes linearly, so that the correlation is linear there and peaks at an end.
        """
        from evocore.problems.exact import largest_overlap

        h = self.check(x)
        reasons = _broken_conditions(h)
        if reasons:
            return ExactResult.invalid(*reasons)
        values = ExactVector(h)
        # sum h = total * 2**exponent, and the exponent of values up to 1 that are not all whole is negative
        up, down = max(0, values.exponent), max(0, -values.exponent)
        scale = Fraction(len(h) << down, values.total() << (up + 1))
        if scale == 1:
            return ExactResult(largest_overlap(values, h))
        too_large = _above_one(h, scale)
        if not too_large.any():
            return ExactResult(largest_overlap(values, h), repair={"scale": scale, "clipped_share": Fraction(0)})
        excess = sum((Fraction(v) * scale - 1 for v in h[too_large].tolist()), Fraction(0))
        share = excess / Fraction(len(h), 2)
        repair = {"scale": scale, "clipped_share": share}
        if share > LARGEST_CLIPPED_SHARE:
            i, value = index_of(h, too_large)
            return ExactResult.invalid(
                f"expected values that stay in [0, 1] after scaling to sum n/2, got values[{i}] = {value!r} times "
                f"{to_float(scale)!r}; clipping would remove {to_float(share):.3g} of the sum, at most 1e-9 is "
                "repaired",
                repair=repair,
            )
        return ExactResult(largest_overlap(values, h, too_large), repair=repair)

    def repaired(self, x: Vector) -> tuple[list[int], int]:
        """Return the canonical repair as integers: entry i is `numerators[i] / denominator`.

        Returns
        -------
        (list of int, int)
            Exactly feasible: `0 <= numerators[i] <= denominator` and `2 sum(numerators) == n denominator`.
        """
        from evocore.problems.exact import to_integers

        values = to_integers(self.check(x))
        n, total = len(values), values.total()
        slack = [max(0, 2 * total - n * values[i]) for i in range(n)]
        top = 2 * sum(slack)
        return [top - n * s for s in slack], top

    def certificate(self, x: Vector) -> Certificate:
        """Return the canonical repair in lowest terms, with its score."""
        value = self.exact(x).value
        if not isinstance(value, Fraction):
            raise InvalidConstruction("expected a valid construction, got one that breaks a condition")
        numerators, denominator = self.repaired(x)
        common = math.gcd(denominator, *numerators)
        values = [numerator // common for numerator in numerators]
        return Certificate(
            value, {"VALUES": values, "DENOMINATOR": denominator // common}, "h[i] = VALUES[i] / DENOMINATOR.", CHECKER
        )

    def project(self, x: Vector) -> Vector:
        """Return the nearest h in [0, 1] with sum n/2; its float sum is n/2 or a few ulp more, never less."""
        h = np.asarray(x, dtype=np.float64)
        low, high = -float(h.max()), 1.0 - float(h.min())
        for _ in range(100):  # the sum of clip(h + t) grows with t from 0 to n
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            if float(np.sum(np.clip(h + middle, 0.0, 1.0))) < len(h) / 2:
                low = middle
            else:
                high = middle
        return _lifted(np.clip(h + high, 0.0, 1.0))

    def descriptor(self, x: Vector) -> Vector:
        """Return 64 cell means scaled to mean 1, of the one form that h shares with its complement and mirror image.

        Of h and 1 - h the one with more mass in the middle; of that and its mirror image the one heavier on the left.
        """
        cells = unit_mean(cell_means(near_one(x), DESCRIPTOR_CELLS))
        distance = np.abs(np.arange(DESCRIPTOR_CELLS) - (DESCRIPTOR_CELLS - 1) / 2)
        outside = float((cells - 1.0) @ (distance - distance.mean()))
        cells = 2.0 - cells if outside > 0 else cells
        return mirrored(cells, cells)

    def _admitted(self, x: Vector) -> Vector:
        """The arena's test and rescaling, operation for operation."""
        h = self.check(x)
        for reason in _broken_conditions(h):
            raise InvalidConstruction(reason)
        total = np.sum(h)
        if total == len(h) / 2:
            return h
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.asarray(h * ((len(h) / 2) / total), dtype=np.float64)
        if not value_range(scaled)[1] <= 1.0:  # NaN where one is infinite
            i, value = index_of(scaled, ~(scaled <= 1))
            raise InvalidConstruction(
                f"expected values in [0, 1] after scaling to sum n/2, got values[{i}] = {value!r} (the sum is "
                f"{float(total)!r}, n/2 is {len(h) / 2!r}): raise the other values until the sum is n/2"
            )
        return scaled


def _broken_conditions(h: Vector) -> tuple[str, ...]:
    least, largest = value_range(h)
    if least < 0 or largest > 1:
        i, value = index_of(h, (h < 0) | (h > 1))
        return (f"expected 0 <= values[{i}] <= 1, got {value!r}",)
    if largest == 0:
        return ("expected a positive sum of values, got all zeros",)
    return ()


def _above_one(h: Vector, scale: Fraction) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark where `h * scale > 1` exactly."""
    limit = 1 / scale
    rounded = float(limit)  # correctly rounded, so that only its equals need the exact comparison
    above = h > rounded
    if Fraction(rounded) > limit:
        above |= h == rounded
    return above


def _lifted(h: Vector) -> Vector:
    """Raise values with room until the float sum is at least n/2, so that the arena never scales one above 1."""
    half = len(h) / 2
    for _ in range(50):
        missing = half - float(np.sum(h))
        if missing <= 0:
            break
        room = 1.0 - h
        h = np.minimum(h + np.maximum(missing / float(np.sum(room)), 2.0**-53) * room, 1.0)
    return h


problem = ErdosMinOverlap()
