"""Second autocorrelation inequality: a nonnegative function whose self-convolution is nearly flat."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.kernels.fourier import autoconvolve
from evocore.problems.autocorrelation import (
    StepFunctionProblem,
    fft_autoconvolution,
    finite_score,
    index_of,
    moderate,
    step_certificate,
)
from evocore.problems.base import ExactResult, Reference, Vector
from evocore.problems.certificate import Certificate

CLIPPED_FROM = -1e-6
RATIONAL_SIZE = 2e7  # n * bits up to which the exact score is written as a rational

STATEMENT = """\
Find a nonnegative function f for which the ratio

    maximize  ‖f*f‖₂² / (‖f*f‖₁ · ‖f*f‖_∞),   where (f*f)(t) = ∫ f(x) f(t - x) dx,

is as large as possible. By Hölder it is at most 1; the ratio is 1 only for a flat f*f, which no f has.

Submit f as n values f[0..n-1] ≥ 0, 1 ≤ n ≤ 2,000,000, not all zero. With g[k] = Σ_i f[i] f[k-i] at the 2n-1 lags and
zero beyond both ends, f*f is taken as piecewise linear through g, and the score is

    Σ_k (g[k]² + g[k] g[k+1] + g[k+1]²) / (3 · Σ_k g[k] · max_k g[k]).

Values from -1e-6 up to 0 are set to 0 first. Scaling f changes nothing.
"""

CHECKER = """\
if any(value < 0 for value in VALUES) or sum(VALUES) == 0:
    raise SystemExit("false: a value is negative, or all are zero")
g = product(VALUES, VALUES)
numerator = 2 * sum(c * c for c in g) + sum(c * d for c, d in zip(g, g[1:]))
denominator = 3 * sum(VALUES) ** 2 * max(g)
"""


class SecondAutocorrelation(StepFunctionProblem):
    """Maximise `|f*f|_2^2 / (|f*f|_1 |f*f|_inf)` over `f >= 0`."""

    slug = "second-autocorrelation-inequality"
    title = "Second autocorrelation inequality (lower bound)"
    statement = STATEMENT
    direction = "maximize"
    arena_id = 3
    max_length = 2_000_000
    min_improvement = 1e-5
    gain_floor = 1e-3
    proven_bound = 1.0  # Hölder
    alarm_margin = 1e-2
    default_size = 200
    references = (
        Reference("Matolcsi and Vinuesa", 0.88922, 2010, "paper", "arXiv 0907.1379"),
        Reference("AlphaEvolve", 0.8962799441554079, 2025, "paper", "arXiv 2506.13131"),
        Reference("Boyer and Li", 0.901564, 2025, "paper", "arXiv 2506.16750"),
        Reference("AlphaEvolve, second version", 0.9610210777840541, 2025, "paper", "arXiv 2511.02864"),
        Reference("TTT-Discover", 0.9591797711482, 2026, "repository", "test-time-training/discover"),
        Reference("Together AI", 0.9612055422690042, 2026, "arena", "togethercomputer/EinsteinArena-new-SOTA"),
        Reference("ImprovEvolve", 0.96258, 2026, "paper", "arXiv 2602.10233"),
        Reference("ClaudeExplorer", 0.963588110582029, 2026, "arena", "EinsteinArena leaderboard, September 2026"),
    )

    def score(self, x: Vector) -> float:
        """Compute the arena's ratio: f*f by real FFT, trapezoidal squares on `np.linspace` knots, sums by `np.sum`."""
        return _ratio(self._admitted(x))

    def fast(self, x: Vector) -> float:
        """Compute `(2 sum g_k^2 + sum g_k g_{k+1}) / (3 sum g max g)` by FFT, to about 1e-13 at any scale."""
        g = autoconvolve(moderate(self._admitted(x)))
        return float((2.0 * np.dot(g, g) + np.dot(g[1:], g[:-1])) / (3.0 * np.sum(np.abs(g)) * g.max()))

    def exact(self, x: Vector) -> ExactResult:
        """Return the ratio with equal knot distances: a rational while n x bits <= 2e7, else a rigorous enclosure.

        The maximum over integer lags is the true supremum of f*f: between neighbouring multiples of the cell width
        the overlap of every pair of cells changes linearly, so that f*f is linear there and peaks at an end.
        """
        from evocore.problems.exact import second_moment_ratio, to_integers

        f = self.check(x)
        reasons = _broken_conditions(f)
        if reasons:
            return ExactResult.invalid(*reasons)
        value = second_moment_ratio(to_integers(np.maximum(f, 0.0)), max_size=RATIONAL_SIZE)
        kind = "rational" if isinstance(value, Fraction) else "enclosure"
        return ExactResult(value, extras={"kind": kind})

    def alarms(self, x: Vector, arena: float | None, exact: ExactResult) -> tuple[str, ...]:
        """Return the alarms of all step functions, and one where values were clipped."""
        negative = x < 0
        count = int(np.count_nonzero(negative))
        if not count:
            return super().alarms(x, arena, exact)
        clipping = f"clipping: {count} negative values down to {float(x.min())!r} are set to 0 before scoring"
        return (clipping, *super().alarms(np.maximum(x, 0.0), arena, exact))

    def diagnose(self, x: Vector) -> tuple[str, ...]:
        """Share out what the score falls short of 1 over blocks and over the axis."""
        from evocore.problems.second_autocorrelation_inequality.loss_budget import loss_budget

        return loss_budget(moderate(self._admitted(x))).lines()

    def certificate(self, x: Vector) -> Certificate:
        """Return the clipped values in integers, with their score as a rational, whatever its size."""
        from evocore.problems.exact import second_moment_ratio, to_integers

        f = self._admitted(x)
        value = second_moment_ratio(to_integers(f), max_size=math.inf)
        assert isinstance(value, Fraction)
        return step_certificate(f, value, CHECKER)

    def project(self, x: Vector) -> Vector:
        """Clip at zero; ones where nothing is left; another power of two where squares would leave double's range."""
        f = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        return moderate(f) if f.any() else np.ones_like(f)

    def _admitted(self, x: Vector) -> Vector:
        f = self.check(x)
        for reason in _broken_conditions(f):
            raise InvalidConstruction(reason)
        return np.maximum(f, 0.0)


def _broken_conditions(f: Vector) -> tuple[str, ...]:
    if (f < CLIPPED_FROM).any():
        i, value = index_of(f, f < CLIPPED_FROM)
        return (f"expected values[{i}] >= 0 (from -1e-6 up values are clipped to 0), got {value!r}",)
    if not (f > 0).any():
        return ("expected a positive sum of values, got none above 0",)
    return ()


def _ratio(f: Vector) -> float:
    """The arena's formula, operation for operation; f is clipped already."""
    with np.errstate(all="ignore"):
        g = fft_autoconvolution(f)
        knots = len(g) + 2
        widths = np.diff(np.linspace(-0.5, 0.5, knots))
        y = np.concatenate(([0.0], g, [0.0]))
        left, right = y[:-1], y[1:]
        square = np.sum((widths / 3) * (left**2 + left * right + right**2))
        magnitude = np.abs(g)
        return finite_score(float(square / ((np.sum(magnitude) / (knots - 1)) * np.max(magnitude))))


problem = SecondAutocorrelation()
