"""The kernels for loops that Numba compiles: the same functions with the same bits, called without Python in between.

``from evocore.optim import jit``; then ``jit.autoconvolution_maximum(f)`` inside a function under ``numba.njit``, or
outside of one. Arguments are float64 arrays; what is not contiguous is copied. A call costs some nanoseconds more than
its work, so that a program may evaluate single moves. The first use of a function compiles it, a tenth of a second or
two; the sandbox does that with the two maxima before a program starts.

Beside Python's exceptions, which are those of the kernels without their details, and `outdoes`, which compares one
vector with rows, the results are the same: see the functions of
the same names in `evocore.kernels.fourier`, `smoothmax`, `dominance`, `similarity`, `hypervolume`, `geometry`, `blas`.

Examples
--------
>>> import numba, numpy as np
>>> @numba.njit
... def climb(f, rng, n):
...     best = autoconvolution_maximum(f)
...     for _ in range(n):
...         g = f.copy()
...         g[rng.integers(0, f.size)] *= 0.9
...         g *= f.sum() / g.sum()
...         now = autoconvolution_maximum(g)
...         if now < best:
...             best, f = now, g
...     return best
>>> climb(np.ones(8), np.random.default_rng(0), 100) < 8
True
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from evocore.errors import KernelFault
from evocore.kernels import (
    _blas,
    _dominance,
    _fourier,
    _geometry,
    _hypervolume,
    _similarity,
    _smoothmax,
)
from evocore.kernels.smoothmax import KINDS

Array = npt.NDArray[np.float64]

__all__ = [
    "AUTOCONVOLUTION",
    "OVERLAP",
    "SIGNED",
    "SPREAD",
    "autoconvolution_maximum",
    "autoconvolve",
    "convolve",
    "cross_correlate",
    "ddot",
    "distance_extremes",
    "exp",
    "hypervolume",
    "hypervolume_contributions",
    "least_triangle",
    "log_sum_exp",
    "non_dominated",
    "outdoes",
    "overlap_maximum",
    "riesz_energy",
    "similarity",
    "smoothed_maximum",
]

# Kinds of `smoothed_maximum`: compiled code has no use for their names.
AUTOCONVOLUTION, SIGNED, SPREAD, OVERLAP = (
    KINDS.index(kind) for kind in ("autoconvolution", "signed", "spread", "overlap")
)

_INT, _LONG, _DOUBLE = ctypes.c_int, ctypes.c_int64, ctypes.c_double
_DOUBLES, _LONGS, _BYTES = (ctypes.POINTER(t) for t in (ctypes.c_double, ctypes.c_int64, ctypes.c_uint8))


def _function(module: Any, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A C function of a kernel, by its address; Numba calls it directly."""
    return ctypes.CFUNCTYPE(result, *arguments)(module.ADDRESSES[name])


_products = _function(_fourier, "products", _INT, _INT, _DOUBLES, _LONG, _DOUBLES, _LONG, _DOUBLES, _INT, _INT)
_range = _function(_fourier, "range", None, _DOUBLES, _LONG, _DOUBLES)
_maximum = _function(_fourier, "maximum", _INT, _INT, _DOUBLES, _LONG, _DOUBLES, _INT, _INT)
_value = _function(_smoothmax, "value", _INT, _INT, _DOUBLES, _LONG, _DOUBLE, _DOUBLES, _DOUBLES, _DOUBLES)
_log_sum_exp = _function(_smoothmax, "log_sum_exp", _DOUBLE, _DOUBLES, _LONG, _DOUBLE, _DOUBLES)
_exp = _function(_smoothmax, "exp", None, _DOUBLES, _LONG, _DOUBLES)
_filter = _function(_dominance, "filter", _INT, _DOUBLES, _LONG, _INT, _INT, _BYTES)
_matrix = _function(_similarity, "matrix", _INT, _DOUBLES, _LONG, _DOUBLES, _LONG, _LONG, _DOUBLES)
_volume = _function(_hypervolume, "volume", _INT, _DOUBLES, _LONG, _LONG, _DOUBLES, _DOUBLES)
_contributions = _function(_hypervolume, "contributions", _INT, _DOUBLES, _LONG, _LONG, _DOUBLES, _DOUBLES)
_dot = _function(_blas, "dot", _DOUBLE, _INT, _LONG, _DOUBLES, _DOUBLES, _INT, _INT)
_riesz = _function(_geometry, "riesz", _DOUBLE, _DOUBLES, _LONG, _LONG, _LONG, _DOUBLE, _DOUBLES, _LONGS)
_extremes = _function(_geometry, "extremes", None, _DOUBLES, _LONG, _LONG, _LONG, _DOUBLES, _LONGS)
_triangle = _function(_geometry, "triangle", _DOUBLE, _DOUBLES, _LONG, _LONG, _LONGS)

_NO_MEMORY, _FAULT = -1, -2


@njit()
def _finite_range(x: Array) -> tuple[float, float]:
    """Least and largest value; x is contiguous."""
    if x.ndim != 1:
        raise ValueError("expected a vector, got an array of another dimension")
    if x.size == 0:
        raise ValueError("expected one or more values, got none")
    found = np.empty(2)
    _range(x.ctypes, x.size, found.ctypes)
    if found[1] != found[1]:
        raise ValueError("expected finite values, got one that is not")
    return found[0], found[1]


@njit()
def _require_sound(status: int) -> None:
    if status == _NO_MEMORY:
        raise MemoryError("no memory for a transform")
    if status != 0:
        raise KernelFault("a transform failed its own check: this machine's arithmetic or memory is at fault")


# ---- sums of products ------------------------------------------------------------------------------------------------


@njit()
def _products_of(kind: int, x: Array, y: Array) -> Array:
    _finite_range(x)
    _finite_range(y)
    out = np.empty(x.size + y.size - 1)
    _require_sound(_products(kind, x.ctypes, x.size, y.ctypes, y.size, out.ctypes, 0, 1))
    return out


@njit()
def convolve(x: Array, y: Array) -> Array:
    """Return `evocore.kernels.fourier.convolve(x, y)`."""
    return _products_of(0, np.ascontiguousarray(x), np.ascontiguousarray(y))


@njit()
def autoconvolve(f: Array) -> Array:
    """Return `evocore.kernels.fourier.autoconvolve(f)`."""
    x = np.ascontiguousarray(f)
    return _products_of(0, x, x)


@njit()
def cross_correlate(f: Array, g: Array) -> Array:
    """Return `evocore.kernels.fourier.cross_correlate(f, g)`."""
    return _products_of(1, np.ascontiguousarray(f), np.ascontiguousarray(g))


@njit()
def autoconvolution_maximum(f: Array) -> float:
    """Return `evocore.kernels.fourier.autoconvolution_maximum(f)` of one vector."""
    x = np.ascontiguousarray(f)
    _finite_range(x)
    out = np.empty(1)
    _require_sound(_maximum(0, x.ctypes, x.size, out.ctypes, 0, 1))
    return float(out[0])


@njit()
def overlap_maximum(h: Array) -> float:
    """Return `evocore.kernels.fourier.overlap_maximum(h)` of one vector."""
    x = np.ascontiguousarray(h)
    least, largest = _finite_range(x)
    if least < 0.0 or largest > 1.0:
        raise ValueError("expected values in [0, 1]")
    out = np.empty(1)
    _require_sound(_maximum(1, x.ctypes, x.size, out.ctypes, 0, 1))
    return float(out[0])


@njit()
def smoothed_maximum(kind: int, x: Array, beta: float, gradient: Array) -> tuple[float, float]:
    """Compute what `evocore.kernels.smoothmax.SmoothedMaximum(kind, n).evaluate(x, beta)` gives.

    Parameters
    ----------
    kind : int
        `AUTOCONVOLUTION`, `SIGNED`, `SPREAD` or `OVERLAP`.
    x : (n,) float64 array
        Parameters, n >= 2.
    beta : float
        Inverse temperature.
    gradient : (n,) float64 array
        Receives the gradient.

    Returns
    -------
    tuple
        Smoothed value, true objective.
    """
    values = np.ascontiguousarray(x)
    if values.size < 2 or gradient.size != values.size or not 0 <= kind <= 3:
        raise ValueError("expected a kind, two or more parameters and as many entries of the gradient")
    _finite_range(values)
    out, slope = np.empty(2), np.empty(values.size)  # C writes to what lies in one piece: the caller's may not
    _require_sound(_value(kind, values.ctypes, values.size, beta, slope.ctypes, out[:1].ctypes, out[1:].ctypes))
    gradient[:] = slope
    return out[0], out[1]


@njit()
def log_sum_exp(values: Array, beta: float, weights: Array) -> float:
    """Return the value of `evocore.kernels.smoothmax.log_sum_exp`; `weights` receive the gradient."""
    c = np.ascontiguousarray(values)
    _finite_range(c)
    if weights.size != c.size or not 0.0 < beta < np.inf:
        raise ValueError("expected as many weights as values, and beta finite and > 0")
    shares = np.empty(c.size)
    value = float(_log_sum_exp(c.ctypes, c.size, beta, shares.ctypes))
    weights[:] = shares
    return value


@njit()
def exp(x: Array) -> Array:
    """Return `evocore.kernels.smoothmax.exp(x)`."""
    values = np.ascontiguousarray(x)
    out = np.empty(values.shape)
    _exp(values.ctypes, values.size, out.ctypes)
    return out


@njit()
def ddot(x: Array, y: Array) -> float:
    """Return `evocore.kernels.blas.ddot(x, y)`: the bits that NumPy has with OpenBLAS' Haswell kernel, one thread."""
    a, b = np.ascontiguousarray(x), np.ascontiguousarray(y)
    if a.ndim != 1 or b.ndim != 1 or a.size != b.size:
        raise ValueError("expected vectors of one length")
    return _dot(0, a.size, a.ctypes, b.ctypes, 0, 1) if a.size else 0.0


# ---- sets of points --------------------------------------------------------------------------------------------------


@njit()
def outdoes(f: Array, g: Array, epsilon: float) -> npt.NDArray[np.bool_]:
    """Tell which rows of g, (m, d), the vector f outdoes, as `evocore.kernels.dominance.outdoes` does: (m,) bools."""
    if f.ndim != 1 or g.ndim != 2 or f.size < 2 or g.shape[1] != f.size:
        raise ValueError("expected a vector and rows of its length, two or more coordinates")
    if not 0.0 <= epsilon < np.inf:
        raise ValueError("expected epsilon finite and >= 0")
    for value in f:
        if not abs(value) < np.inf:
            raise ValueError("expected finite values, got one that is not")
    out = np.empty(g.shape[0], dtype=np.bool_)
    for j in range(g.shape[0]):
        lead = f[0] - g[j, 0]
        cheaper = True
        for k in range(f.size):
            if not abs(g[j, k]) < np.inf:
                raise ValueError("expected finite values, got one that is not")
            if k > 0:
                cheaper &= f[k] > g[j, k]
        out[j] = lead > epsilon or (abs(lead) <= epsilon and cheaper)
    return out


@njit()
def non_dominated(points: Array) -> npt.NDArray[np.bool_]:
    """Return `evocore.kernels.dominance.non_dominated(points)`: all to be minimised, equal points stay."""
    p = np.ascontiguousarray(points)
    n, d = p.shape
    keep = np.ones(n, dtype=np.uint8)
    if n and d:
        status = _filter(p.ctypes, n, d, 0, keep.ctypes)
        if status == _NO_MEMORY:
            raise MemoryError("no memory for a filter of points")
        if status != 0:
            raise ValueError("expected finite values, got one that is not")
    return keep.astype(np.bool_)


@njit()
def similarity(behaviours: Array, others: Array) -> Array:
    """Return `evocore.kernels.similarity.similarity(behaviours, others)` of float64 rows: (n, l)."""
    a, b = np.ascontiguousarray(behaviours), np.ascontiguousarray(others)
    if a.shape[1] != b.shape[1]:
        raise ValueError("expected rows with equally many columns")
    out = np.ones((a.shape[0], b.shape[0]))
    if out.size and a.shape[1]:
        status = _matrix(a.ctypes, a.shape[0], b.ctypes, b.shape[0], a.shape[1], out.ctypes)
        if status == _NO_MEMORY:
            raise MemoryError("no memory for similarities")
        if status != 0:
            raise ValueError("expected finite values whose sums do not overflow")
    return out


@njit()
def _require_boxes(status: int) -> None:
    if status == 1:
        raise MemoryError("a hypervolume needs more memory than there is, or than the limit for one computation")
    if status != 0:
        raise ValueError("expected finite values, got one that is not")


@njit()
def hypervolume(points: Array, reference: Array) -> float:
    """Return `evocore.kernels.hypervolume.hypervolume(points, reference)`: all to be minimised."""
    p, r = np.ascontiguousarray(points), np.ascontiguousarray(reference)
    if r.size == 0 or p.shape[1] != r.size:
        raise ValueError("expected points with as many objectives as the reference, at least one")
    _finite_range(r)
    if p.shape[0] == 0:
        return 0.0
    out = np.empty(1)
    _require_boxes(_volume(p.ctypes, p.shape[0], r.size, r.ctypes, out.ctypes))
    return float(out[0])


@njit()
def hypervolume_contributions(points: Array, reference: Array) -> Array:
    """Return `evocore.kernels.hypervolume.hypervolume_contributions(points, reference)`: all to be minimised."""
    p, r = np.ascontiguousarray(points), np.ascontiguousarray(reference)
    if r.size == 0 or p.shape[1] != r.size:
        raise ValueError("expected points with as many objectives as the reference, at least one")
    _finite_range(r)
    out = np.zeros(p.shape[0])
    if p.shape[0]:
        _require_boxes(_contributions(p.ctypes, p.shape[0], r.size, r.ctypes, out.ctypes))
    return out


# ---- distances -------------------------------------------------------------------------------------------------------


@njit()
def _columns(points: Array, least: int) -> Array:
    """Columns whose length is a multiple of 4, the last point repeated."""
    n, d = points.shape
    if n < least or d < 1:
        raise ValueError("expected more points, with coordinates")
    columns = np.empty((d, (n + 3) // 4 * 4))
    for k in range(d):
        for i in range(columns.shape[1]):
            value = points[min(i, n - 1), k]
            if not abs(value) <= 1e150:
                raise ValueError("expected coordinates up to 1e150 in size")
            columns[k, i] = value
    return columns


@njit()
def riesz_energy(points: Array, exponent: float) -> tuple[float, Array]:
    """Return `evocore.kernels.geometry.riesz_energy(points, exponent)`, energy and gradient, of two or more points."""
    columns = _columns(points, 2)
    gradient, pair = np.zeros(columns.shape), np.empty(2, dtype=np.int64)
    if not 0.0 <= exponent < np.inf:
        raise ValueError("expected exponent finite and >= 0")
    n, d = points.shape
    energy = _riesz(columns.ctypes, n, columns.shape[1], d, exponent, gradient.ctypes, pair.ctypes)
    if pair[0] >= 0:
        raise ValueError("expected distinct points whose terms do not overflow")
    out = np.empty((n, d))
    for i in range(n):
        for k in range(d):
            out[i, k] = gradient[k, i]
    return energy, out


@njit()
def distance_extremes(points: Array) -> tuple[float, tuple[int, int], float, tuple[int, int]]:
    """Return `evocore.kernels.geometry.distance_extremes(points)`."""
    columns, square, pairs = _columns(points, 2), np.empty(2), np.empty(4, dtype=np.int64)
    _extremes(columns.ctypes, points.shape[0], columns.shape[1], columns.shape[0], square.ctypes, pairs.ctypes)
    return np.sqrt(square[0]), (pairs[0], pairs[1]), np.sqrt(square[1]), (pairs[2], pairs[3])


@njit()
def least_triangle(points: Array) -> tuple[float, tuple[int, int, int]]:
    """Return `evocore.kernels.geometry.least_triangle(points)`."""
    if points.shape[1] != 2:
        raise ValueError("expected points of shape (n, 2)")
    columns, triple = _columns(points, 3), np.empty(3, dtype=np.int64)
    doubled = _triangle(columns.ctypes, points.shape[0], columns.shape[1], triple.ctypes)
    return 0.5 * doubled, (triple[0], triple[1], triple[2])


def warm_up() -> None:
    """Compile the two functions that programs call most, and what all share: the others take a tenth of a second."""
    x = np.array([0.5, 0.25])
    autoconvolution_maximum(x)
    overlap_maximum(x)
