"""Third autocorrelation inequality: like the first, with f of either sign."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.kernels.blas import possible_maxima
from evocore.kernels.fourier import autoconvolution_maximum
from evocore.problems.autocorrelation import (
    StepFunctionProblem,
    finite_score,
    moderate,
    peak_convolution,
    step_certificate,
)
from evocore.problems.base import ExactResult, Reference, Vector, to_float
from evocore.problems.certificate import Certificate

SMALLEST_INTEGRAL_SQUARED = 1e-9
LARGEST_SCORE = 10**300  # the sum may cancel to almost nothing; beyond this a double cannot hold the score

STATEMENT = """\
Find a real function f on [-1/4, 1/4], of either sign, for which the maximum of f*f is as small as possible against the
square of its integral:

    minimize  |max (f*f)(t)| / (∫ f)²,   where (f*f)(t) = ∫ f(x) f(t - x) dx.

Submit f as a step function: n values f[0..n-1] on n equal cells, 1 ≤ n ≤ 100,000, with (∫ f)² ≥ 1e-9 for
∫ f = Σ f[i] / (2n). The score is

    2n · |max_k Σ_i f[i] f[k-i]| / (Σ_i f[i])².

Only the positive peak counts: very negative values of f*f cost nothing. (Where the literature takes max |f*f| instead,
that value is reported as `max_abs`.)
"""

CHECKER = """\
if sum(VALUES) == 0:
    raise SystemExit("false: the sum is zero")
numerator, denominator = 2 * len(VALUES) * abs(max(product(VALUES, VALUES))), sum(VALUES) ** 2
"""


class ThirdAutocorrelation(StepFunctionProblem):
    """Minimise `|max f*f| / (∫f)^2` over real f."""

    slug = "third-autocorrelation-inequality"
    title = "Third autocorrelation inequality (upper bound)"
    statement = STATEMENT
    direction = "minimize"
    arena_id = 4
    max_length = 100_000
    min_improvement = 1e-5
    gain_floor = 1e-4
    # f*f has integral (∫f)^2 over an interval of length 1, so that its maximum is at least (∫f)^2.
    proven_bound = 1.0
    alarm_margin = 5e-3
    default_size = 200
    references = (
        Reference("Vinuesa", 1.45810, 2010, "paper", "thesis Generalized Sidon sets, Madrid"),
        Reference("AlphaEvolve", 1.4556427953745403, 2025, "paper", "arXiv 2506.13131"),
        Reference("Together AI", 1.4545548626983, 2026, "arena", "togethercomputer/EinsteinArena-new-SOTA"),
        Reference("Poolish", 1.4508066395, 2026, "arena", "EinsteinArena leaderboard, August 2026"),
        Reference("MILO", 1.4488860143, 2026, "paper", "arXiv 2609.38349"),
    )

    def score(self, x: Vector) -> float:
        """Compute `abs(max(np.convolve(f, f) * dx)) / (np.sum(f) * dx)**2` with `dx = 0.5 / n`."""
        f = self.check(x)
        integral_squared = self._integral_squared(f)
        return self._of_peak(f, peak_convolution(f), integral_squared)

    def possible_scores(self, x: Vector) -> tuple[float, ...]:
        """Return what `score` may be on a machine that is not known: one value for each known order of adding."""
        f = self.check(x)
        integral_squared = self._integral_squared(f)
        return tuple(sorted({self._of_peak(f, peak, integral_squared) for peak in possible_maxima(f).values()}))

    def _integral_squared(self, f: Vector) -> float:
        with np.errstate(all="ignore"):
            integral_squared = (np.sum(f) * (0.5 / len(f))) ** 2
        if integral_squared < SMALLEST_INTEGRAL_SQUARED:
            raise InvalidConstruction(
                f"expected (sum of values / (2n))^2 >= 1e-9, got {float(integral_squared)!r}: multiply all values "
                f"by a power of two"
            )
        return float(integral_squared)

    def _of_peak(self, f: Vector, peak: float, integral_squared: float) -> float:
        with np.errstate(all="ignore"):
            return finite_score(abs(peak * (0.5 / len(f))) / integral_squared)

    def fast(self, x: Vector) -> float:
        """Compute the same by FFT, to about 1e-13 where the values do not cancel."""
        f = self.check(x)
        dx = 0.5 / len(f)
        self._integral_squared(f)
        f = moderate(f)
        peak = float(autoconvolution_maximum(f)) * dx
        return finite_score(abs(peak) / (float(np.sum(f)) * dx) ** 2)

    def exact(self, x: Vector) -> ExactResult:
        """Return `2n |max_k sum_i f_i f_{k-i}| / (sum f)^2` as a rational, and `max_abs`, the same with `max |.|`.

        The maximum over integer lags is the true supremum of f*f: between neighbouring multiples of the cell width
        the overlap of every pair of cells changes linearly, so that f*f is linear there and peaks at an end.
        """
        from evocore.problems.exact import extreme_squares

        f = self.check(x)
        squares = extreme_squares(f)
        if not squares.total:
            return ExactResult.invalid("expected a sum of values that is not zero, got exactly zero")
        largest, smallest = squares.largest, squares.smallest
        scale = Fraction(2 * len(f), squares.total**2)
        value = scale * abs(largest)
        if value > LARGEST_SCORE:
            return ExactResult.invalid("expected a score below 1e300, got more: positive and negative values cancel")
        return ExactResult(value, extras={"max_abs": repr(to_float(scale * max(abs(largest), abs(smallest))))})

    def certificate(self, x: Vector) -> Certificate:
        """Return the values in integers, with their score."""
        f = self.check(x)
        value = self.exact(f).value
        if not isinstance(value, Fraction):
            raise InvalidConstruction("expected a valid construction, got one that breaks a condition")
        return step_certificate(f, value, CHECKER)

    def project(self, x: Vector) -> Vector:
        """Add a constant where the integral is too small, scale where squares would leave double's range."""
        f = moderate(np.array(x, dtype=np.float64))
        mean = float(np.mean(f))
        least = 2.5 * math.sqrt(SMALLEST_INTEGRAL_SQUARED)
        return f if abs(mean) >= least else f + (math.copysign(least, mean) - mean)

    def start(self, size: int, seed: int) -> Vector:
        """Return random numbers between -1/2 and 3/2."""
        return self.project(2.0 * super().start(size, seed) - 0.5)


problem = ThirdAutocorrelation()
