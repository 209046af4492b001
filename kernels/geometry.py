"""Points, triples, signs and floor sums: what the problems about configurations ask of many numbers at once.

Integers are exact: `gram_matrix` and `minimum_squared_distance` never round, and refuse or widen where 64 bits do not
suffice. Everything else is float64, refuses values that are not finite, and gives the same bits with and without AVX2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evocore.kernels import _geometry
from evocore.kernels.points import Array, as_array, as_count, as_number, as_points, as_reals, refuse_nonfinite, shown

HAS_AVX2 = _geometry.HAS_AVX2
MAX_SIGNS = 34

_INT64 = 2**63
_LARGEST = 1e150  # squares of differences must not overflow


class Extremes(NamedTuple):
    """Least and largest distance of a configuration, each with the first pair (i < j) that has it."""

    least: float
    least_pair: tuple[int, int]
    largest: float
    largest_pair: tuple[int, int]


# ---- integers ------------------------------------------------------------------------------------------------------


def gram_matrix(points: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Compute all scalar products of integer vectors, exactly.

    Parameters
    ----------
    points : (n, d) array_like of integers
        NumPy integers, or Python integers of any size.

    Returns
    -------
    (n, n) int64 array

    Raises
    ------
    OverflowError
        d times the largest square does not fit into 63 bits.

    Examples
    --------
    >>> gram_matrix([[1, 2], [3, -1]]).tolist()
    [[5, 1], [1, 10]]
    """
    rows, largest = _integers(points)
    n, d = rows.shape
    if d * largest**2 >= _INT64:
        raise OverflowError(
            f"expected d * max|x|^2 below 2^63, got d = {d} and max|x| = {largest}: "
            "take Python integers, or divide by a common factor"
        )
    out = np.zeros((n, n), dtype=np.int64)
    if n and d:
        _geometry.gram(rows.astype(np.int64), out)
    return out


def minimum_squared_distance(points: npt.ArrayLike) -> tuple[int, tuple[int, int]]:
    """Find the least squared distance between two integer points, exactly, and the first pair (i < j) that has it.

    Parameters
    ----------
    points : (n, d) array_like of integers
        At least two; NumPy integers, or Python integers of any size.

    Returns
    -------
    tuple
        Squared distance as a Python integer of whatever size, and the pair.

    Notes
    -----
    O(n^2 d) in 64-bit integers where d (2 max|x|)^2 fits into them, in Python's integers (some hundred times slower)
    elsewhere. Vectors of equal squared length L make a kissing configuration iff this is at least L.

    Examples
    --------
    >>> minimum_squared_distance([[0, 0], [3, 4], [10**20, 0]])
    (25, (0, 1))
    """
    rows, largest = _integers(points)
    n, d = rows.shape
    if n < 2:
        raise ValueError(f"expected at least two points, got {n}")
    if d * (2 * largest) ** 2 < _INT64 and d:
        value, i, j = _geometry.least_square(rows.astype(np.int64))
        return value, (i, j)
    best, pair = None, (0, 1)
    listed = [[int(v) for v in row] for row in rows]
    for i in range(n):
        for j in range(i + 1, n):
            square = sum((a - b) ** 2 for a, b in zip(listed[i], listed[j], strict=True))
            if best is None or square < best:
                best, pair = square, (i, j)
    return best or 0, pair


def _integers(points: npt.ArrayLike) -> tuple[npt.NDArray[Any], int]:
    """Points as an array of integers or of Python integers, and the largest size of a coordinate."""
    array = as_array(points, "points")
    if array.ndim == 2 and not array.size:
        return array.astype(np.int64), 0
    if array.dtype.kind == "f" and not isinstance(points, np.ndarray):
        array = np.asarray(points, dtype=object)  # NumPy rounds Python integers between 2^63 and 2^64 to floats
    if array.ndim != 2:
        raise ValueError(f"expected points of shape (n, d), got {array.shape}")
    if array.dtype.kind == "O":
        for index, value in np.ndenumerate(array):
            if type(value) is not int:
                raise TypeError(f"expected integers, got points[{index[0]}, {index[1]}] = {shown(value)}")
    elif array.dtype.kind not in "iu":
        raise TypeError(f"expected integers, got dtype {array.dtype}")
    return array, max(int(array.max()), -int(array.min()))


# ---- distances -----------------------------------------------------------------------------------------------------


def riesz_energy(points: npt.ArrayLike, exponent: float = 1.0, *, use_avx2: bool = HAS_AVX2) -> tuple[float, Array]:
    """Compute the Riesz energy of a configuration and its gradient.

    The sum over pairs of ``|x_i - x_j|^-s``; for s = 0 of ``-log |x_i - x_j|``. Thomson's problem is s = 1 on the
    sphere.

    Parameters
    ----------
    points : (n, d) array_like
        Distinct points, up to 1e150 in size.
    exponent : float
        s >= 0, finite.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    energy : float
        Within about (n + d + s) 2^-52 relative, for s > 0.
    gradient : (n, d) float64 array
        In the ambient space: project it where the points live on a sphere.

    Raises
    ------
    ValueError
        Two points coincide.
    OverflowError
        Two points come so near that energy, gradient or ``s |x_i - x_j|^-(s + 2)`` leaves the range of a double, for
        any s where their distance is below 1.5e-154. The message names them. Terms that are too small are 0.

    Notes
    -----
    O(n^2 d). Square roots and divisions for whole s up to 64, the C library's `pow` for others.

    Examples
    --------
    >>> energy, gradient = riesz_energy([[0.0, 0.0], [2.0, 0.0]])
    >>> energy, gradient.tolist()
    (0.5, [[0.25, 0.0], [-0.25, 0.0]])
    """
    exponent = as_number(exponent, "exponent")
    if not 0.0 <= exponent < math.inf:
        raise ValueError(f"expected exponent finite and >= 0, got {exponent}")
    array = _floats(points, 0)
    n, d = array.shape
    if n < 2:
        return 0.0, np.zeros((n, d))
    if not d:
        raise ValueError(f"expected distinct points, got {n} points without coordinates")
    columns = _columns(array)
    gradient = np.zeros_like(columns)
    energy, i, j = _geometry.riesz(columns, n, exponent, gradient, use_avx2)
    if i >= 0:
        apart = math.dist(array[i], array[j])
        if not apart:
            raise ValueError(f"expected distinct points, got points {i} and {j} at distance 0")
        raise OverflowError(
            f"expected an energy and a gradient within the range of a double, got points {i} and {j} at distance "
            f"{apart:.3g} with exponent {exponent:g}: scale the points up, or take a smaller exponent"
        )
    return energy, np.ascontiguousarray(gradient[:, :n].T)


def distance_extremes(points: npt.ArrayLike, *, use_avx2: bool = HAS_AVX2) -> Extremes:
    """Find the least and the largest distance between two points.

    Parameters
    ----------
    points : (n, d) array_like
        At least two, up to 1e150 in size.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    Extremes
        Distances within (d + 3) 2^-53 relative; a squared distance below 1e-308 loses digits.

    Notes
    -----
    O(n^2 d), in the order of the pairs; of equal ones the first in lexicographic order.

    Examples
    --------
    >>> distance_extremes([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]])
    Extremes(least=3.0, least_pair=(0, 2), largest=5.0, largest_pair=(0, 1))
    """
    array = _floats(points, 2)
    if not array.shape[1]:
        return Extremes(0.0, (0, 1), 0.0, (0, 1))
    least, least_pair, largest, largest_pair = _geometry.extremes(_columns(array), len(array), use_avx2)
    return Extremes(math.sqrt(least), least_pair, math.sqrt(largest), largest_pair)


def least_triangle(points: npt.ArrayLike, *, use_avx2: bool = HAS_AVX2) -> tuple[float, tuple[int, int, int]]:
    """Find the triangle of least area among points in the plane (Heilbronn's problem).

    Parameters
    ----------
    points : (n, 2) array_like
        At least three, up to 1e150 in size.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    tuple
        Area, and the first triple i < j < k that has it. The area is ``|(x_j - x_i)(y_k - y_i) - (x_k - x_i)(y_j -
        y_i)| / 2`` in float64: absolute error at most 4 2^-53 times the sum of the sizes of the two products.

    Notes
    -----
    O(n^3 / 24) vector operations.

    Examples
    --------
    >>> least_triangle([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [4.0, 4.0]])
    (0.5, (0, 1, 2))
    """
    array = _floats(points, 3)
    if array.shape[1] != 2:
        raise ValueError(f"expected points of shape (n, 2), got {array.shape}")
    doubled, triple = _geometry.triangle(_columns(array), len(array), use_avx2)
    return 0.5 * doubled, triple


def _floats(points: npt.ArrayLike, at_least: int) -> Array:
    array = as_points(points)
    if len(array) < at_least:
        raise ValueError(f"expected at least {at_least} points, got {len(array)}")
    refuse_nonfinite(array, "points")
    wrong = np.argwhere(np.abs(array) > _LARGEST)
    if len(wrong):
        i, j = (int(v) for v in wrong[0])
        raise ValueError(f"expected coordinates up to {_LARGEST:g} in size, got points[{i}, {j}] = {array[i, j]}")
    return array


def _columns(array: Array) -> Array:
    """Columns whose length is a multiple of 4, the last point repeated."""
    n = len(array)
    return np.ascontiguousarray(np.pad(array, ((0, -n % 4), (0, 0)), mode="edge").T)


# ---- sums ----------------------------------------------------------------------------------------------------------


def floor_sum_maximum(
    keys: Sequence[int] | npt.NDArray[np.int64], values: npt.ArrayLike, limit: int
) -> tuple[float, int]:
    """Find the maximum over 1 <= x < limit of ``sum_k values[k] * floor(x / keys[k])``.

    Partial functions that stand in for the Moebius function in proofs of the prime number theorem must keep it at most
    1.

    Parameters
    ----------
    keys : (n,) sequence of int
        Each at least 1.
    values : (n,) array_like
        Their coefficients.
    limit : int
        2 to 2^63 - 1.

    Returns
    -------
    tuple
        Maximum, and the least x that has it. The sum is carried in two doubles; the maximum is within 2^-51 relative
        plus ``limit * n * 2^-104`` times the largest coefficient.

    Notes
    -----
    The sum grows by ``values[k]`` at every multiple of ``keys[k]``: a sieve over windows of 4096 x, those without a
    multiple left out. O(limit * sum 1 / keys) additions, and one division a key in each window: some seconds for a
    limit of 10^9 and a few small keys, centuries for one of 2^62. An interrupt (Ctrl-C) ends it.
    It holds for real x as well, since the sum changes at integers alone.

    Examples
    --------
    >>> floor_sum_maximum([1, 2], [1.0, -2.0], 100)
    (1.0, 1)
    """
    divisors, coefficients = as_array(keys, "keys"), as_reals(values)
    if divisors.ndim != 1 or coefficients.shape != divisors.shape:
        raise ValueError(
            f"expected keys and values of one length, got shapes {divisors.shape} and {coefficients.shape}"
        )
    if divisors.size and divisors.dtype.kind not in "iu":
        raise TypeError(f"expected integer keys below 2^63, got dtype {divisors.dtype}")
    limit = as_count(limit, "limit", 2, _INT64 - 1)
    wrong = np.flatnonzero(divisors < 1)
    if len(wrong):
        raise ValueError(f"expected keys of at least 1, got keys[{wrong[0]}] = {divisors[wrong[0]]}")
    refuse_nonfinite(coefficients, "values")
    # keys from the limit on never count, and might not fit into 64 bits
    counting = divisors < limit
    if not counting.any():
        return 0.0, 1
    divisors, coefficients = divisors[counting].astype(np.int64), coefficients[counting]
    with np.errstate(over="ignore"):
        size = float(np.abs(coefficients) @ (limit / divisors))
    if size > 1e300:
        raise ValueError(f"expected sums that do not overflow, got sizes that add up to {size:.3g}")
    return _geometry.floor_sums(divisors, coefficients, limit)


def least_sign_vector(matrix: npt.ArrayLike, *, use_avx2: bool = HAS_AVX2) -> tuple[float, npt.NDArray[np.int8]]:
    """Find the vector of signs x that makes the largest ``|A x|`` least: the discrepancy of A, exhaustively.

    Parameters
    ----------
    matrix : (m, n) array_like
        1 <= n <= 34 columns.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    value : float
        ``max |A x|`` of that vector. Exact for integers whose rows add up to less than 2^53 in size; for others vectors
        are compared within ``1100 * 2^-53`` times the largest sum of sizes in a row.
    signs : (n,) int8 array
        Of 1 and -1, the last one 1; the first such vector in the order of Gray's code.

    Notes
    -----
    2^(n-1) steps of m additions: all vectors in the order of Gray's code, where neighbours differ in one sign.

    References
    ----------
    F. Gray, "Pulse code communication", US patent 2632058 (1953).

    Examples
    --------
    >>> value, signs = least_sign_vector([[1, 1, 1], [1, -1, 2]])
    >>> value, signs.tolist()
    (1.0, [-1, 1, 1])
    """
    array = as_points(matrix, "matrix")
    m, n = array.shape
    if not 1 <= n <= MAX_SIGNS:
        raise ValueError(f"expected 1 to {MAX_SIGNS} columns (the sweep takes 2^(n-1) steps), got {n}")
    refuse_nonfinite(array, "matrix")
    if not m:
        return 0.0, np.ones(n, dtype=np.int8)
    if n * float(np.abs(array).max()) > 1e300:
        raise ValueError(f"expected rows whose sums do not overflow, got values up to {np.abs(array).max():.3g}")
    columns = np.zeros((n, m + -m % 4))
    columns[:, :m] = array.T
    found = _geometry.signs(columns, np.empty(columns.shape[1]), use_avx2)
    signs = np.array([-1 if found >> k & 1 else 1 for k in range(n)], dtype=np.int8)
    return max(abs(math.fsum(row * signs)) for row in array), signs
