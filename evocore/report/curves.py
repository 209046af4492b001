"""What is drawn of a construction: the function itself, and the curve whose maximum the problem bounds.

The four function problems are known here by their slug. Any other problem may say what to draw with a method
`curve(x) -> (xs, ys, label)`; without one its values are drawn alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evocore.problems.base import Problem

FloatArray = NDArray[np.float64]

PLATEAU = 1e-4
"""A lag is near-maximal when its value is within this fraction of the maximum."""


@dataclass(frozen=True)
class Curve:
    """One curve to draw: its points, the names of its axes, and whether its values are steps.

    Attributes
    ----------
    xs : (n,) or (n + 1,) float64 array
        Abscissas; one more than `ys` when `is_steps` (the edges of the steps).
    ys : (n,) float64 array
        Values.
    title, x_label : str
        What the curve is, and what its abscissa is.
    is_steps : bool
        Steps between the abscissas instead of a line through the points.
    has_plateau : bool
        Whether the maximum is what the problem bounds, so that the near-maximal points are worth seeing.
    """

    xs: FloatArray
    ys: FloatArray
    title: str
    x_label: str
    is_steps: bool = False
    has_plateau: bool = False


def function_curve(problem: Problem, x: FloatArray) -> Curve:
    """Return the construction as the step function on its interval (or its plain values)."""
    if problem.slug in _INTERVALS:
        name, start, stop = _INTERVALS[problem.slug]
        title = f"{name}: step function, {len(x):,} values on [{start:g}, {stop:g}]"
        return Curve(
            start + (stop - start) * np.arange(len(x) + 1, dtype=np.float64) / len(x), x, title, "x", is_steps=True
        )
    edges = np.arange(len(x) + 1, dtype=np.float64) - 0.5
    return Curve(edges, x, f"the {len(x):,} values", "index", is_steps=True)


def objective_curve(problem: Problem, x: FloatArray) -> Curve | None:
    """Return the curve whose maximum is bounded, or None for a problem that names none."""
    if problem.slug in _OBJECTIVES:
        return _OBJECTIVES[problem.slug](x)
    own = getattr(problem, "curve", None)
    if own is None:
        return None
    xs, ys, label = own(x)
    return Curve(np.asarray(xs, np.float64), np.asarray(ys, np.float64), str(label), "", has_plateau=True)


def plateau(values: FloatArray) -> NDArray[np.bool_]:
    """Mark the values within `PLATEAU` of the maximum, relative to it.

    Examples
    --------
    >>> plateau(np.array([1.0, 0.99995, 0.9])).tolist()
    [True, True, False]
    """
    top = values.max()
    return np.asarray(values >= top - PLATEAU * abs(top))


def _convolve(a: FloatArray, b: FloatArray) -> FloatArray:
    """Full linear convolution by FFT: a picture needs no more than its 1e-15 relative to the maximum."""
    n = len(a) + len(b) - 1
    size = 1 << (n - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:n], np.float64)


def _moderate(x: FloatArray) -> FloatArray:
    """Scale by a power of two to values of at most 1, so that no product underflows or overflows."""
    largest = float(np.abs(x).max(initial=0.0))
    return np.asarray(np.ldexp(x, -math.frexp(largest)[1]), np.float64)


def _overlap(x: FloatArray) -> Curve:
    """M(s) = ∫ h(t) (1 - h(t + s)) dt at the lags s = 2k/n; h is scaled to integral 1 as the scoring does."""
    n = len(x)
    x = _moderate(x)
    h = x * (n / 2 / x.sum())
    values = _convolve(h, (1 - h)[::-1])[::-1] * (2 / n)
    shifts = np.arange(1 - n, n, dtype=np.float64) * (2 / n)
    return Curve(shifts, values, "overlap  ∫ h(t) (1 − h(t + s)) dt", "shift s", has_plateau=True)


def _autoconvolution(x: FloatArray) -> Curve:
    """(f∗f)(t) / (∫f)² at the breakpoints t = -1/2 + (k+1)/(2n), for f on [-1/4, 1/4]."""
    n = len(x)
    x = _moderate(x)
    values = _convolve(x, x) * (2 * n / x.sum() ** 2)
    points = (np.arange(2 * n - 1, dtype=np.float64) + 1) / (2 * n) - 0.5
    return Curve(points, values, "autoconvolution  (f∗f)(t) / (∫f)²", "t", has_plateau=True)


_INTERVALS: dict[str, tuple[str, float, float]] = {
    "erdos-min-overlap": ("h", 0.0, 2.0),
    "first-autocorrelation-inequality": ("f", -0.25, 0.25),
    "second-autocorrelation-inequality": ("f", -0.25, 0.25),
    "third-autocorrelation-inequality": ("f", -0.25, 0.25),
}

_OBJECTIVES: dict[str, Callable[[FloatArray], Curve]] = {
    "erdos-min-overlap": _overlap,
    "first-autocorrelation-inequality": _autoconvolution,
    "second-autocorrelation-inequality": _autoconvolution,
    "third-autocorrelation-inequality": _autoconvolution,
}


def drawable(curve: Curve) -> Curve:
    """Return a curve whose values axes can show: scaled by a power of two, named in its title, if they cannot.

    Examples
    --------
    >>> one = Curve(np.arange(2.0), np.array([2.0**-600]), "f", "x", is_steps=True)
    >>> drawable(one).title, drawable(one).ys.tolist()
    ('f, times 2^599', [0.5])
    """
    largest = float(np.abs(curve.ys).max(initial=0.0))
    if largest == 0.0 or 1e-60 < largest < 1e60 or not math.isfinite(largest):
        return curve
    power = -math.frexp(largest)[1]
    return replace(curve, ys=_moderate(curve.ys), title=f"{curve.title}, times 2^{power}")


def envelope(xs: FloatArray, ys: FloatArray, buckets: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thin a long curve to `buckets` places, keeping the least and the greatest value of each.

    Parameters
    ----------
    xs, ys : (n,) float64 array
        The curve, n > `buckets`.
    buckets : int
        How many places remain.

    Returns
    -------
    tuple of (buckets,) float64 arrays
        Left abscissa, minimum and maximum of every bucket.

    Examples
    --------
    >>> [a.tolist() for a in envelope(np.arange(4.0), np.array([1.0, 3.0, 2.0, 0.0]), 2)]
    [[0.0, 2.0], [1.0, 0.0], [3.0, 2.0]]
    """
    starts: Any = np.linspace(0, len(ys), buckets, endpoint=False).astype(np.intp)
    return xs[starts], np.minimum.reduceat(ys, starts), np.maximum.reduceat(ys, starts)
