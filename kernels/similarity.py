"""How alike candidates behave: 1 minus the mean absolute difference of their rows, and what selection makes of it.

A behaviour is a row of m numbers, such as pass rates. Four kinds of rows are taken:

===========  =====================================================================  =================================
dtype        what                                                                   similarities
===========  =====================================================================  =================================
``float64``  any numbers                                                            within (m + 9) 2^-51 max|x|
``float32``  the same, half the memory traffic                                      within (m + 9) 2^-22 max|x|
``uint8``    pass rates as counts out of ``levels`` attempts                        exact, rounded once
``bool``     passed or not                                                          exact, rounded once
===========  =====================================================================  =================================

Other real types become ``float64``. Every kind gives exactly 1 for equal rows, never more than 1, the same value for
(i, j) and (j, i), and 1 where there are no columns (m = 0).

Notes
-----
For floats ``sum |x - y| = sum x + sum y - 2 sum min(x, y)``: two vector operations an element instead of three. The
sums of the rows are added in the order in which the kernel adds the minima, so that for x = y the difference is exactly
0. Rows are worked on in blocks of 48 x 48 pairs, in panels of 1 KiB and in tiles of 3 x 3 pairs that live in registers;
bytes by the processor's sum of absolute differences, bits by counting.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evocore.kernels import _similarity
from evocore.kernels.points import (
    MAX_POINTS,
    Array,
    as_array,
    as_count,
    as_number,
    as_points,
    output,
    raise_nonfinite,
    refuse_nonfinite,
)

Floats = npt.NDArray[np.float64] | npt.NDArray[np.float32]

HAS_AVX2 = _similarity.HAS_AVX2
MAX_EXACT = 16

_FLOAT64, _FLOAT32, _BYTES, _BITS = range(4)
_LIMITS: dict[int, float] = {_FLOAT64: 1e300, _FLOAT32: 1e37}


class Nearest(NamedTuple):
    """The most similar rows: (n, k) indices, best first, and their similarities."""

    indices: npt.NDArray[np.int64]
    values: Array


def similarity(
    behaviours: npt.ArrayLike,
    others: npt.ArrayLike | None = None,
    *,
    levels: int | None = None,
    out: Floats | None = None,
    use_avx2: bool = HAS_AVX2,
) -> Floats:
    """Compute the matrix of similarities, of all rows with each other or with other rows.

    Parameters
    ----------
    behaviours : (n, m) array_like
        One row a candidate.
    others : (l, m) array_like of the same kind, optional
        Rows to compare with; `behaviours` where left out. A few rows against all: ``similarity(b[rows], b)``.
    levels : int, optional
        For uint8 rows, and only for them: the count that stands for 1; 1 to 255.
    out : (n, l) float64 or float32 array, optional
        Where to write: for large n, fresh memory costs more than the similarities.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    (n, l) float64 or float32 array
        ``float32`` for float32 rows, unless `out` says otherwise; errors as in the table above.

    Raises
    ------
    ValueError
        A value is not finite, or so large that a sum could overflow; shapes or levels do not fit.

    Examples
    --------
    >>> similarity([[1.0, 0.5], [0.5, 0.0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    >>> similarity(np.array([[3, 0], [0, 0]], dtype=np.uint8), levels=3)[0, 1].item()
    0.5
    """
    rows = _Rows(behaviours, levels, "behaviours")
    second = rows if others is None else _Rows(others, levels, "others")
    rows.refuse_other(second)
    dtype = rows.dtype_of(out)
    result = output(out, (rows.n, second.n), dtype)
    if result.size:
        packed = rows.packed(use_avx2)
        other = None if second is rows else second.packed(use_avx2)
        if dtype == np.float64:
            packed.full(other, result)
        else:
            packed.full32(other, result)
    return result


def condensed_similarity(
    behaviours: npt.ArrayLike,
    *,
    levels: int | None = None,
    out: Floats | None = None,
    use_avx2: bool = HAS_AVX2,
) -> Floats:
    """Compute the similarities of all pairs i < j, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Parameters
    ----------
    behaviours, levels, use_avx2
        As in `similarity`.
    out : (n (n - 1) / 2,) float64 or float32 array, optional
        Where to write.

    Returns
    -------
    (n (n - 1) / 2,) float64 or float32 array
        The values of `similarity` above its diagonal, in the order of `scipy.spatial.distance.pdist`.

    Examples
    --------
    >>> condensed_similarity([[1.0], [0.5], [0.0]]).tolist()
    [0.5, 0.0, 0.5]
    """
    rows = _Rows(behaviours, levels, "behaviours")
    dtype = rows.dtype_of(out)
    result = output(out, (rows.n * (rows.n - 1) // 2,), dtype)
    if result.size:
        packed = rows.packed(use_avx2)
        if dtype == np.float64:
            packed.condensed(result)
        else:
            packed.condensed32(result)
    return result


def most_similar(
    behaviours: npt.ArrayLike,
    k: int,
    others: npt.ArrayLike | None = None,
    *,
    levels: int | None = None,
    use_avx2: bool = HAS_AVX2,
) -> Nearest:
    """Find the k most similar rows of each row, without the matrix.

    Parameters
    ----------
    behaviours : (n, m) array_like
        One row a candidate.
    k : int
        How many, 1 to the number of rows to choose from.
    others : (l, m) array_like of the same kind, optional
        Rows to choose from; where left out the other rows of `behaviours`, never the row itself.
    levels, use_avx2
        As in `similarity`.

    Returns
    -------
    Nearest
        Best first; of equally similar rows the lower index comes first.

    Examples
    --------
    >>> most_similar([[1.0], [0.5], [0.0], [0.1]], 1).indices.ravel().tolist()
    [1, 3, 3, 2]
    """
    rows = _Rows(behaviours, levels, "behaviours")
    second = rows if others is None else _Rows(others, levels, "others")
    rows.refuse_other(second)
    choices = second.n - 1 if second is rows else second.n
    k = as_count(k, "k", 1, choices if rows.n else MAX_POINTS, "the rows to choose from")
    found = Nearest(np.empty((rows.n, k), dtype=np.int64), np.empty((rows.n, k)))
    if rows.n:
        other = None if second is rows else second.packed(use_avx2)
        rows.packed(use_avx2).best(other, found.values, found.indices)
    return found


def farthest_points(
    behaviours: npt.ArrayLike,
    k: int,
    *,
    first: int = 0,
    levels: int | None = None,
    use_avx2: bool = HAS_AVX2,
) -> npt.NDArray[np.int64]:
    """Choose k rows, one after the other, each the one whose nearest chosen row is the farthest away.

    Parameters
    ----------
    behaviours : (n, m) array_like
        One row a candidate.
    k : int
        How many, 0 to n.
    first : int
        The row to start from.
    levels, use_avx2
        As in `similarity`.

    Returns
    -------
    (k,) int64 array
        Distinct indices in the order of choice; of equally far rows the lowest index is chosen.

    Notes
    -----
    O(n m k). From float64 rows, a copy rounded to bytes first gives every distance a lower bound; most rows need no
    more than that, and the picks are those of the plain loop. At most half the least distance of the best choice is
    lost.

    References
    ----------
    T. F. Gonzalez, "Clustering to minimize the maximum intercluster distance", Theor. Comput. Sci. 38 (1985) 293.

    Examples
    --------
    >>> farthest_points([[0.0], [0.1], [1.0], [0.6]], 3).tolist()
    [0, 2, 3]
    """
    rows = _Rows(behaviours, levels, "behaviours")
    k = as_count(k, "k", 0, rows.n, "the number of rows")
    first = as_count(first, "first", 0, max(rows.n - 1, 0), "the last row")
    picks = np.empty(k, dtype=np.int64)
    if not k:
        return picks
    picks[0] = first
    if rows.kind in (_FLOAT64, _FLOAT32):
        values = np.ascontiguousarray(rows.array, dtype=np.float64)
        rows.refuse_large(values)
        _similarity.farthest(values, picks, use_avx2)
    else:
        array = rows.array
        padded = np.zeros((rows.n, -(-array.shape[1] // 32) * 32), dtype=np.uint8)
        padded[:, : array.shape[1]] = array
        _similarity.farthest_bytes(padded, rows.kind == _BITS, picks, use_avx2)
    return picks


def most_dispersed(distance: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """Choose the k of up to 16 points whose least mutual distance is the largest.

    Parameters
    ----------
    distance : (n, n) array_like
        Symmetric matrix of distances, n <= 16; for more points `farthest_points` comes within a factor of two.
    k : int
        How many, 0 to n.

    Returns
    -------
    (k,) int64 array
        Rising indices; of equally good choices the first in lexicographic order.

    Notes
    -----
    Every choice is tried, and left as soon as it can no longer be better: at most 12,870 of them.

    Examples
    --------
    >>> most_dispersed([[0.0, 0.1, 1.0], [0.1, 0.0, 0.9], [1.0, 0.9, 0.0]], 2).tolist()
    [0, 2]
    """
    matrix = as_points(distance, "distance")
    n = len(matrix)
    if matrix.shape != (n, n) or n > MAX_EXACT:
        raise ValueError(f"expected distance of shape (n, n) with n <= {MAX_EXACT}, got {matrix.shape}")
    refuse_nonfinite(matrix, "distance")
    if not np.array_equal(matrix, matrix.T):
        raise ValueError("expected a symmetric matrix of distances")
    k = as_count(k, "k", 0, n, "the number of points")
    picks = np.empty(k, dtype=np.int64)
    if k:
        _similarity.dispersion(matrix, picks)
    return picks


def parent_weights(
    fitness: npt.ArrayLike,
    behaviours: npt.ArrayLike,
    *,
    epsilon: float,
    levels: int | None = None,
    use_avx2: bool = HAS_AVX2,
) -> Array:
    """Compute the selection scores eta: minus the similarity to each row that outdoes this one, added up.

    ``eta[i] = - sum over j of similarity(i, j) where j outdoes i`` (`evocore.kernels.dominance.outdoes`): a candidate
    that nothing like it outdoes scores 0, crowded and beaten ones less.

    Parameters
    ----------
    fitness : (n, d) array_like
        Accuracy, then at least one cost axis, all to be maximised.
    behaviours : (n, m) array_like
        Their rows, as in `similarity`.
    epsilon : float
        Tolerance on accuracy, >= 0.
    levels, use_avx2
        As in `similarity`.

    Returns
    -------
    (n,) float64 array
        In [-(n - 1), 0] for behaviours in [0, 1]; each within n 2^-52 of the sum of its similarities.

    Notes
    -----
    One pass over blocks of pairs; no matrix is held. O(n^2 (m + d)).

    Examples
    --------
    >>> parent_weights([[0.9, 0.5], [0.5, 0.5]], [[1.0, 0.5], [1.0, 0.0]], epsilon=0.02).tolist()
    [0.0, -0.75]
    """
    epsilon = as_number(epsilon, "epsilon")
    if not 0.0 <= epsilon < np.inf:
        raise ValueError(f"expected epsilon finite and >= 0, got {epsilon}")
    vectors = as_points(fitness, "fitness")
    rows = _Rows(behaviours, levels, "behaviours")
    if vectors.shape[0] != rows.n or vectors.shape[1] < 2:
        raise ValueError(f"expected fitness of shape ({rows.n}, d) with d >= 2 (accuracy, costs), got {vectors.shape}")
    refuse_nonfinite(vectors, "fitness")
    eta = np.zeros(rows.n)
    if rows.n:
        rows.packed(use_avx2).weights(np.ascontiguousarray(vectors.T), epsilon, eta)
    return eta


class _Rows:
    """Behaviours of one kind, checked."""

    def __init__(self, behaviours: npt.ArrayLike, levels: int | None, name: str) -> None:
        array = as_array(behaviours, name)
        if array.ndim != 2:
            raise ValueError(f"expected {name} of shape (n, m), got {array.shape}")
        if len(array) > MAX_POINTS:
            raise ValueError(f"expected at most {MAX_POINTS} rows of {name}, got {len(array)}")
        self.name = name
        self.n, self.m = array.shape
        self.unit = float(max(self.m, 1))
        if not self.m:  # one column of equal values: every similarity is 1
            array = np.zeros((self.n, 1), dtype=array.dtype)
        if levels is not None and array.dtype != np.uint8:
            raise TypeError(f"expected levels only for {name} of dtype uint8, got {array.dtype}")
        if array.dtype == np.uint8:
            self.kind = _BYTES
            self._check_levels(array, levels)
        elif array.dtype == np.bool_:
            self.kind = _BITS
            array = np.packbits(array, axis=1)
        elif array.dtype == np.float32:
            self.kind = _FLOAT32
        elif array.dtype.kind in "fiu":
            self.kind = _FLOAT64
            array = array.astype(np.float64, copy=False)
        else:
            raise TypeError(f"expected {name} as real numbers or bools, got dtype {array.dtype}")
        self.array: npt.NDArray[Any] = np.ascontiguousarray(array)

    def dtype_of(self, out: Floats | None) -> np.dtype[Any]:
        """Of the similarities that go to `out`."""
        if isinstance(out, np.ndarray) and out.dtype in (np.float64, np.float32):
            return out.dtype
        return np.dtype(np.float32 if self.kind == _FLOAT32 else np.float64)

    def _check_levels(self, array: npt.NDArray[np.uint8], levels: int | None) -> None:
        if levels is None:
            raise TypeError(f"expected levels with {self.name} of dtype uint8: the count that stands for 1")
        levels = as_count(levels, "levels", 1, 255)
        self.unit *= levels
        if array.size and int(array.max()) > levels:
            i, j = (int(v) for v in np.argwhere(array > levels)[0])
            raise ValueError(f"expected counts up to levels = {levels}, got {self.name}[{i}, {j}] = {array[i, j]}")

    def refuse_other(self, second: _Rows) -> None:
        """Raise where two sets of rows cannot be compared."""
        if second.kind != self.kind:
            raise TypeError(
                f"expected {self.name} and {second.name} of one dtype, got {self.array.dtype} and {second.array.dtype}"
            )
        if second.m != self.m:
            raise ValueError(
                f"expected {self.name} and {second.name} with equally many columns, got {self.m} and {second.m}"
            )

    def refuse_large(self, values: npt.NDArray[np.floating]) -> None:
        """Raise where a value is not finite, or a row's sum could overflow."""
        refuse_nonfinite(values, self.name)
        if values.size and max(-float(values.min()), float(values.max())) > self._limit:
            self._raise_large(values)

    @property
    def _limit(self) -> float:
        limit = _LIMITS.get(self.kind, math.inf)
        return limit / float(max(self.m, 1))

    def _raise_large(self, values: npt.NDArray[np.floating]) -> None:
        i, j = (int(v) for v in np.argwhere(~(np.abs(values) <= self._limit))[0])
        raise ValueError(
            f"expected values up to {self._limit:.3g} in size (their sums must not overflow), "
            f"got {self.name}[{i}, {j}] = {values[i, j]}"
        )

    def packed(self, use_avx2: bool) -> _similarity.Rows:
        """In the layout of the kernels; n >= 1."""
        rows = _similarity.Rows(self.array.view(np.uint8), self.kind, self.m, self.unit, self._limit, use_avx2)
        if rows.bad >= 0:
            row = self.array[rows.bad]
            wrong = np.flatnonzero(~np.isfinite(row))
            if len(wrong):
                raise_nonfinite(self.array, rows.bad * self.array.shape[1] + int(wrong[0]), self.name)
            self._raise_large(self.array)
        return rows
