"""First autocorrelation inequality: a nonnegative function whose self-convolution is nowhere high."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.kernels.blas import possible_maxima
from evocore.kernels.fourier import autoconvolution_maximum, value_range
from evocore.problems.autocorrelation import (
    StepFunctionProblem,
    finite_score,
    index_of,
    moderate,
    peak_convolution,
    step_certificate,
)
from evocore.problems.base import ExactResult, Reference, Vector
from evocore.problems.certificate import Certificate

STATEMENT = """\
Find a nonnegative function f on [-1/4, 1/4] for which the maximum of f*f is as small as possible against the square
of its integral:

    minimize  max (f*f)(t) / (∫ f)²,   where (f*f)(t) = ∫ f(x) f(t - x) dx.

Submit f as a step function: n values f[0..n-1] ≥ 0 on n equal cells, 1 ≤ n ≤ 100,000, not all zero. The score is

    2n · max_k Σ_i f[i] f[k-i] / (Σ_i f[i])².

The infimum over all f is between 1.28 and the best value known. Scaling f changes nothing.
"""

CHECKER = """\
if any(value < 0 for value in VALUES) or sum(VALUES) == 0:
    raise SystemExit("false: a value is negative, or all are zero")
numerator, denominator = 2 * len(VALUES) * max(product(VALUES, VALUES)), sum(VALUES) ** 2
"""


class FirstAutocorrelation(StepFunctionProblem):
    """Minimise `max f*f / (∫f)^2` over `f >= 0`."""

    slug = "first-autocorrelation-inequality"
    title = "First autocorrelation inequality (upper bound)"
    statement = STATEMENT
    direction = "minimize"
    arena_id = 2
    max_length = 100_000
    min_improvement = 1e-8
    gain_floor = 1e-4
    proven_bound = 1.28  # Cloninger and Steinerberger, 2017, arXiv 1403.7988
    alarm_margin = 1e-3
    default_size = 200
    references = (
        Reference("Matolcsi and Vinuesa", 1.50972, 2010, "paper", "arXiv 0907.1379"),
        Reference("AlphaEvolve", 1.5052939684401607, 2025, "paper", "arXiv 2506.13131"),
        Reference("AlphaEvolve, second version", 1.5031635546815607, 2025, "paper", "arXiv 2511.02864"),
        Reference("ThetaEvolve", 1.503132, 2025, "paper", "arXiv 2511.23473"),
        Reference("TTT-Discover", 1.5028628982558, 2026, "repository", "test-time-training/discover"),
        Reference("Together AI", 1.5028628587053, 2026, "arena", "togethercomputer/EinsteinArena-new-SOTA"),
        Reference("CodexProLong", 1.5027436492326165, 2026, "arena", "EinsteinArena leaderboard, August 2026"),
        Reference("MILO", 1.5027435984, 2026, "paper", "arXiv 2609.38349"),
    )

    def score(self, x: Vector) -> float:
        """Compute `max(np.convolve(f, f) * dx) / (np.sum(f) * dx)**2` with `dx = 0.5 / n`."""
        f = self._admitted(x)
        return self._of_peak(f, peak_convolution(f))

    def possible_scores(self, x: Vector) -> tuple[float, ...]:
        """Return what `score` may be on a machine that is not known: one value for each known order of adding."""
        f = self._admitted(x)
        return tuple(sorted({self._of_peak(f, peak) for peak in possible_maxima(f).values()}))

    def _of_peak(self, f: Vector, peak: float) -> float:
        dx = 0.5 / len(f)
        with np.errstate(all="ignore"):
            integral_squared = (np.sum(f) * dx) ** 2
            return finite_score(peak * dx / integral_squared)

    def fast(self, x: Vector) -> float:
        """Compute the same by FFT, to about 1e-13 of the true value at any scale."""
        f = moderate(self._admitted(x))
        dx = 0.5 / len(f)
        return float(autoconvolution_maximum(f) * dx / (np.sum(f) * dx) ** 2)

    def exact(self, x: Vector) -> ExactResult:
        """Return `2n max_k sum_i f_i f_{k-i} / (sum f)^2` as a rational; the same at every scale of f.

        The maximum over integer lags is the true supremum of f*f: between neighbouring multiples of the cell width
        the overlap of every pair of cells changes linearly, so that f*f is linear there and peaks at an end.
        """
        from evocore.problems.exact import extreme_squares

        f = self.check(x)
        reasons = _broken_conditions(f)
        if reasons:
            return ExactResult.invalid(*reasons)
        squares = extreme_squares(f)
        return ExactResult(Fraction(2 * len(f) * squares.largest, squares.total**2))

    def certificate(self, x: Vector) -> Certificate:
        """Return the values in integers, with their score."""
        f = self.check(x)
        value = self.exact(f).value
        if not isinstance(value, Fraction):
            raise InvalidConstruction("expected a valid construction, got one that breaks a condition")
        return step_certificate(f, value, CHECKER)

    def project(self, x: Vector) -> Vector:
        """Clip at zero; ones where nothing is left; another power of two where squares would leave double's range."""
        f = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        return moderate(f) if f.any() else np.ones_like(f)

    def _admitted(self, x: Vector) -> Vector:
        f = self.check(x)
        for reason in _broken_conditions(f):
            raise InvalidConstruction(reason)
        return f


def _broken_conditions(f: Vector) -> tuple[str, ...]:
    least, largest = value_range(f)
    if least < 0:
        i, value = index_of(f, f < 0)
        return (f"expected values[{i}] >= 0, got {value!r}",)
    if largest == 0:
        return ("expected a positive sum of values, got all zeros",)
    return ()


problem = FirstAutocorrelation()
