"""Saddle-free Newton on the logarithmic barrier: a slow and accurate finder of basins at a hundred cells or so.

Minimise t subject to c_k(f) <= t for all lags, f within its bounds and with its sum fixed. For a barrier weight mu
the level t is eliminated exactly: the merit function is

    phi(f) = min_t [t - mu sum_k log(t - c_k(f))] - mu sum_i log(f_i - lower) - mu sum_i log(upper - f_i),

and every trial point is strictly feasible. Newton's matrix is indefinite; taking the absolute values of its
eigenvalues instead of shifting them takes a tenth of the iterations and usually ends lower, since only a few are
negative and a shift ruins the step in all other directions (Y. Dauphin et al., arXiv 1406.2572, for the idea). A
Bunch-Kaufman factorisation with absolute pivots looks like the cheap version and fails completely.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh, hankel, toeplitz

Array = npt.NDArray[np.float64]


class _Lags(NamedTuple):
    """Lags at a point with their (n_lags, n) Jacobian."""

    values: Array
    jacobian: Array


class _Bounds(NamedTuple):
    """Bounds on every value; None where there is none."""

    lower: float | None
    upper: float | None


def _overlap_lags(h: Array) -> _Lags:
    """Lags (2/n) sum_i h_i (1 - h_{i+k}), k = -(n-1) .. n-1."""
    n = len(h)
    shifts, cells = np.arange(-(n - 1), n)[:, None], np.arange(n)[None, :]
    padded = np.concatenate((np.zeros(n - 1), h, np.zeros(n - 1)))
    ahead, behind = cells + shifts, cells - shifts
    inside = (ahead >= 0) & (ahead < n)
    jacobian = inside - padded[ahead + n - 1] - padded[behind + n - 1]
    return _Lags(np.correlate(1 - h, h, "full") * (2 / n), jacobian * (2 / n))


def _autoconvolution_lags(f: Array) -> _Lags:
    """Lags of f*f; the sum of f is sqrt(2n), which makes them the scores' unit."""
    n = len(f)
    column = np.concatenate((2 * f, np.zeros(n - 1)))
    return _Lags(np.convolve(f, f), toeplitz(column, np.concatenate((column[:1], np.zeros(n - 1)))))


def _curvature(kind: str, weights: Array, n: int) -> Array:
    """Second derivative of the weighted sum of the lags: (n, n)."""
    if kind == "overlap":
        even = weights[n - 1 :] + weights[n - 1 :: -1]
        return np.asarray(toeplitz(even) * (-2 / n), dtype=np.float64)
    return np.asarray(2 * hankel(weights[:n], weights[n - 1 :]), dtype=np.float64)


def _level(lags: Array, mu: float) -> float:
    """The t with sum_k mu / (t - c_k) = 1, by Newton on the reciprocal sum from the left end."""
    top = float(lags.max())
    t = top + mu
    for _ in range(100):
        slack = t - lags
        total = float((mu / slack).sum())
        if abs(total - 1) < 1e-13:
            break
        slope = float((mu / slack**2).sum())
        t = max(t + total * (total - 1) / slope, top + 0.5 * (t - top))
    return t


class NewtonResult(NamedTuple):
    """Where the barrier method ended: construction, its largest lag, Newton steps."""

    construction: Array
    peak: float
    n_steps: int


def barrier_newton(
    kind: str,
    construction: Array,
    *,
    mu_start: float,
    mu_end: float,
    mu_factor: float,
    sloppiness: float,
    n_steps: int,
    deadline: float = math.inf,
) -> NewtonResult:
    """Follow the barrier from `mu_start` to `mu_end`.

    Parameters
    ----------
    kind : str
        "overlap" (values in (0, 1), sum n/2), "autoconvolution" (positive) or "signed" (free).
    construction : (n,) float64 array
        Where to start; scaled and moved inside its bounds first.
    mu_start, mu_end : float
        Barrier weights, about 0.1/n and 1e-9/n.
    mu_factor : float
        mu is multiplied by it whenever the Newton decrement falls under `sloppiness * mu * n`: small factors with a
        large sloppiness quench, large ones with a small sloppiness anneal (and forget the start).
    sloppiness : float
        See above, about 0.3 to 1.
    n_steps : int
        At most so many Newton steps.
    deadline : float
        On `time.monotonic`.

    Notes
    -----
    One step costs a symmetric eigendecomposition, 9 n^3 flops or so: meant for n up to 300.
    """
    n = len(construction)
    lags_of = _overlap_lags if kind == "overlap" else _autoconvolution_lags
    lower, upper = (None, None) if kind == "signed" else (0.0, 1.0 if kind == "overlap" else None)
    total = n / 2 if kind == "overlap" else math.sqrt(2 * n)
    f = _inside(np.asarray(construction, dtype=np.float64), total, lower, upper)

    bounds = _Bounds(lower, upper)
    mu, done = mu_start, 0
    lags = lags_of(f)
    best, best_peak = f, float(lags.values.max())
    while done < n_steps and mu > mu_end and time.monotonic() < deadline:
        done += 1
        t = _level(lags.values, mu)
        weights = mu / (t - lags.values)
        d = weights**2 / mu
        pulled = lags.jacobian.T @ d
        matrix = (lags.jacobian.T * d) @ lags.jacobian - np.outer(pulled, pulled) / d.sum()
        matrix += _curvature(kind, weights, n)
        gradient = lags.jacobian.T @ weights
        if lower is not None:
            gradient -= mu / (f - lower)
            matrix[np.diag_indices(n)] += mu / (f - lower) ** 2
        if upper is not None:
            gradient += mu / (upper - f)
            matrix[np.diag_indices(n)] += mu / (upper - f) ** 2
        step, decrement = _saddle_free_step(matrix, gradient)
        moved = _line_search(f, lags, step, decrement, mu, lags_of, bounds)
        if moved is not None:
            f, lags = moved
            peak = float(lags.values.max())
            if peak < best_peak:
                best, best_peak = f, peak
        if moved is None or decrement < sloppiness * mu * n:
            mu *= mu_factor
    return NewtonResult(best, best_peak, done)


def _inside(values: Array, total: float, lower: float | None, upper: float | None) -> Array:
    """Scale to the sum and move strictly inside the bounds."""
    f = values.copy()
    if upper is not None:
        f = np.clip(f, 1e-3, 1 - 1e-3)
        for _ in range(60):  # the shift that restores the sum, by bisection in steps of the remaining gap
            gap = (total - f.sum()) / len(f)
            if abs(gap) < 1e-15:
                break
            f = np.clip(f + gap, 1e-4, 1 - 1e-4)
        return f
    if lower is not None:
        f = np.maximum(f, 1e-3 * max(float(np.abs(f).mean()), 1e-12))
    return np.asarray(f * (total / f.sum()), dtype=np.float64)


def _saddle_free_step(matrix: Array, gradient: Array) -> tuple[Array, float]:
    """Step with |eigenvalues| and a sum of zero, and its Newton decrement -g.step."""
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    values, vectors = eigh(matrix * scale[:, None] * scale[None, :], driver="evd")
    sizes = np.maximum(np.abs(values), 1e-12 * np.abs(values).max())

    def solve(right: Array) -> Array:
        return np.asarray(scale * (vectors @ ((vectors.T @ (scale * right)) / sizes)))

    ones = np.ones(len(gradient))
    a, b = solve(gradient), solve(ones)
    step = -(a - b * (a.sum() / b.sum()))
    return step, float(-(gradient @ step))


def _merit(point: Array, lags: Array, mu: float, bounds: _Bounds) -> float:
    """Barrier function with the level eliminated."""
    t = _level(lags, mu)
    value = t - mu * float(np.log(t - lags).sum())
    if bounds.lower is not None:
        value -= mu * float(np.log(point - bounds.lower).sum())
    if bounds.upper is not None:
        value -= mu * float(np.log(bounds.upper - point).sum())
    return value


def _line_search(
    f: Array,
    lags: _Lags,
    step: Array,
    decrement: float,
    mu: float,
    lags_of: Callable[[Array], _Lags],
    bounds: _Bounds,
) -> tuple[Array, _Lags] | None:
    """Backtrack from the boundary; returns the new point with its lags, or None."""
    reach = 1.0
    if bounds.lower is not None and (step < 0).any():
        reach = min(reach, 0.99 * float(((f - bounds.lower)[step < 0] / -step[step < 0]).min()))
    if bounds.upper is not None and (step > 0).any():
        reach = min(reach, 0.99 * float(((bounds.upper - f)[step > 0] / step[step > 0]).min()))
    value = _merit(f, lags.values, mu, bounds)
    for _ in range(30):
        trial = f + reach * step
        moved = lags_of(trial)
        if _merit(trial, moved.values, mu, bounds) <= value - 1e-4 * reach * decrement:
            return trial, moved
        reach *= 0.5
    return None
