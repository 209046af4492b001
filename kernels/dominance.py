"""Dominance among points: who is beaten by nobody, in which front each stands, and by how much one set misses another.

All objectives are minimised unless `maximize` says otherwise, for all of them or one by one. A point *dominates*
another iff it is nowhere worse and somewhere better; equal points do not dominate one another, so that all of them stay
together. Values must be finite. The search's own relation, with its tolerance on the first coordinate, is `outdoes`.

Notes
-----
Everything is exact: values are only compared, and the differences of `excess` and `outdoes` are rounded once. Results
do not depend on the order of the points, except where `keep="first"` asks for the first of equal ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from evocore.kernels import _dominance
from evocore.kernels.points import Array, as_array, as_choice, as_number, as_points, directions, output, raise_nonfinite

Maximize = bool | Sequence[bool] | npt.NDArray[np.bool_]

HAS_AVX2 = _dominance.HAS_AVX2


def non_dominated(
    points: npt.ArrayLike,
    *,
    maximize: Maximize = False,
    keep: Literal["all", "first"] = "all",
    use_avx2: bool = HAS_AVX2,
) -> npt.NDArray[np.bool_]:
    """Mark the points that no other point dominates.

    Parameters
    ----------
    points : (n, d) array_like
        One row a point.
    maximize : bool or sequence of d bools
        Objectives for which larger is better.
    keep : str
        Of equal points ``"all"`` stay, or only the ``"first"``.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    (n,) bool array
        With no objectives all points are equal.

    Raises
    ------
    ValueError
        A value is not finite, or the shape is not (n, d).

    Notes
    -----
    First the points that the one with the least mean of scaled objectives dominates are dropped, in one pass. What is
    left is

    - d = 1: compared with the least value;
    - d = 2: sorted by radix and swept with the least second coordinate;
    - d = 3: sorted by radix and swept over a Fenwick tree of least second coordinates, O(n log n) whatever the front;
    - d >= 4: sorted by that mean, and each compared with those that stayed: as bit sets, one for each objective and
      each of 256 of its buckets, whose intersection leaves few candidates for an exact comparison. O(n^2 d / 256) at
      worst.

    References
    ----------
    J. L. Bentley, K. L. Clarkson, D. B. Levine, "Fast linear expected-time algorithms for computing maxima and convex
    hulls", Algorithmica 9 (1993) 168, for the first pass. H. T. Kung, F. Luccio, F. P. Preparata, "On finding the
    maxima of a set of vectors", J. ACM 22 (1975) 469, for the sweeps.

    Examples
    --------
    >>> non_dominated([[1, 3], [2, 2], [3, 1], [3, 3], [2, 2]]).tolist()
    [True, True, True, False, True]
    >>> non_dominated([[1, 3], [2, 2], [2, 2]], maximize=[True, False], keep="first").tolist()
    [False, True, False]
    """
    as_choice(keep, "keep", ("all", "first"))
    array = as_points(points)
    n, d = array.shape
    mask = np.empty(n, dtype=np.uint8)
    if n and d:
        _packed(array, maximize, "points").filter(keep == "first", use_avx2, mask)
    else:
        directions(maximize, d)
        mask[:] = 1
        mask[1:] = keep == "all"
    return mask.view(np.bool_)


def ranks(points: npt.ArrayLike, *, maximize: Maximize = False, use_avx2: bool = HAS_AVX2) -> npt.NDArray[np.int64]:
    """Number the fronts: 0 for the points that nothing dominates, 1 for those that only front 0 dominates, and so on.

    Parameters
    ----------
    points : (n, d) array_like
        One row a point.
    maximize : bool or sequence of d bools
        Objectives for which larger is better.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    (n,) int64 array
        Equal points share a rank.

    Notes
    -----
    d <= 2: sorting and bisection, O(n log n). Above: points in the order of the mean of scaled objectives; the first
    front that does not dominate a point is found by bisection over the fronts, each kept as in `non_dominated`.

    References
    ----------
    X. Zhang, Y. Tian, R. Cheng, Y. Jin, "An efficient approach to nondominated sorting", IEEE Trans. Evol. Comput. 19
    (2015) 201.

    Examples
    --------
    >>> ranks([[1, 3], [2, 2], [3, 3], [4, 4], [2, 2]]).tolist()
    [0, 0, 1, 2, 0]
    """
    array = as_points(points)
    n, d = array.shape
    out = np.zeros(n, dtype=np.int64)
    if n and d:
        _packed(array, maximize, "points").ranks(use_avx2, out)
    else:
        directions(maximize, d)
    return out


def excess(
    p: npt.ArrayLike,
    q: npt.ArrayLike,
    *,
    maximize: Maximize = False,
    out: npt.NDArray[np.float64] | None = None,
    use_avx2: bool = HAS_AVX2,
) -> Array:
    """Compute by how much each point of one set misses each point of another: the matrix max over k of (p_ik - q_jk).

    Additive epsilon-dominance: p_i dominates q_j weakly as soon as its objectives are shifted by that much.

    Parameters
    ----------
    p : (n, d) array_like
        Points, d >= 1.
    q : (m, d) array_like
        Points.
    maximize : bool or sequence of d bools
        Objectives for which larger is better: there it is q_jk - p_ik.
    out : (n, m) float64 array, optional
        Where to write; in memory of its own.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    (n, m) float64 array
        Differences, each rounded once.

    Examples
    --------
    >>> excess([[1, 4], [2, 2]], [[1, 3]]).tolist()
    [[1.0], [1.0]]
    """
    a, b = _two(p, q, "p", "q")
    result = output(out, (len(a), len(b)), np.float64, p=a, q=b)
    if result.size:
        _dominance.excess(_packed(a, maximize, "p"), _packed(b, maximize, "q"), use_avx2, result)
    return result


def epsilon_indicator(
    p: npt.ArrayLike, q: npt.ArrayLike, *, maximize: Maximize = False, use_avx2: bool = HAS_AVX2
) -> float:
    """Compute the additive epsilon indicator of two sets: max over j of min over i of max over k of (p_ik - q_jk).

    The least shift after which every point of q is weakly dominated by one of p.

    Parameters
    ----------
    p, q : (n, d), (m, d) array_like
        Points, n, m, d >= 1.
    maximize : bool or sequence of d bools
        Objectives for which larger is better.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    float
        A difference of two of the values, rounded once.

    Notes
    -----
    Without the matrix: a point of q is left as soon as one of p comes near enough not to raise the maximum so far.

    References
    ----------
    E. Zitzler, L. Thiele, M. Laumanns, C. M. Fonseca, V. Grunert da Fonseca, "Performance assessment of multiobjective
    optimizers", IEEE Trans. Evol. Comput. 7 (2003) 117.

    Examples
    --------
    >>> epsilon_indicator([[1, 4], [2, 2]], [[1, 3], [0, 2]])
    2.0
    """
    a, b = _two(p, q, "p", "q")
    if not len(a) or not len(b):
        raise ValueError(f"expected at least one point in p and in q, got {len(a)} and {len(b)}")
    return float(_dominance.indicator(_packed(a, maximize, "p"), _packed(b, maximize, "q"), use_avx2))


def outdoes(
    f: npt.ArrayLike,
    g: npt.ArrayLike | None = None,
    *,
    epsilon: float,
    out: npt.NDArray[np.bool_] | None = None,
    use_avx2: bool = HAS_AVX2,
) -> npt.NDArray[np.bool_]:
    """Tell which fitness vectors outdo which, by the search's relation: accuracy first, then every cost axis.

    f outdoes g iff ``f[0] - g[0] > epsilon``, or ``abs(f[0] - g[0]) <= epsilon`` and f is strictly larger in every
    other coordinate. All coordinates are to be maximised. The relation is not transitive: never sort by it.

    Parameters
    ----------
    f : (n, d) or (d,) array_like
        Accuracy, then at least one cost axis; a single vector asks about that one alone.
    g : (m, d) or (d,) array_like, optional
        The others; f itself where left out.
    epsilon : float
        Tolerance on accuracy, >= 0.
    out : (n, m) bool array, optional
        Where to write, in memory of its own; only where both are matrices.
    use_avx2 : bool
        Only for tests: both paths give the same bits.

    Returns
    -------
    bool array
        (n, m): whether f_i outdoes g_j; without the axis of an argument that was a single vector. Nothing outdoes
        itself.

    Examples
    --------
    >>> outdoes([[0.9, 0.1], [0.8, 0.9], [0.81, 0.4]], epsilon=0.02).tolist()
    [[False, True, True], [False, False, True], [False, False, False]]
    >>> outdoes([0.8, 0.9], [[0.9, 0.1], [0.81, 0.4]], epsilon=0.02).tolist()
    [False, True]
    """
    epsilon = as_number(epsilon, "epsilon")
    if not 0.0 <= epsilon < np.inf:
        raise ValueError(f"expected epsilon finite and >= 0, got {epsilon}")
    a, a_is_one = _vectors(f, "f")
    b, b_is_one = (a, a_is_one) if g is None else _vectors(g, "g")
    if a.shape[1] != b.shape[1] or a.shape[1] < 2:
        raise ValueError(
            f"expected f and g with the same 2 or more coordinates (accuracy, costs), got {a.shape[1]} and {b.shape[1]}"
        )
    if out is not None and (a_is_one or b_is_one):
        raise ValueError("expected out only for two matrices, got it for a single vector")
    result = output(out, (len(a), len(b)), np.bool_, f=a, g=b)
    if result.size:
        first = _packed(a, False, "f")
        second = first if b is a else _packed(b, False, "g")
        _dominance.outdoes(first, second, epsilon, use_avx2, result.view(np.uint8))
    if a_is_one:
        result = result[0]
    return result[..., 0] if b_is_one else result


def _packed(array: Array, maximize: Maximize, name: str) -> _dominance.Packed:
    packed = _dominance.Packed(array, directions(maximize, array.shape[1]))
    if packed.bad >= 0:
        raise_nonfinite(array, packed.bad, name)
    return packed


def _two(p: npt.ArrayLike, q: npt.ArrayLike, p_name: str, q_name: str) -> tuple[Array, Array]:
    a, b = as_points(p, p_name), as_points(q, q_name)
    if a.shape[1] != b.shape[1] or not a.shape[1]:
        raise ValueError(
            f"expected {p_name} and {q_name} with the same number of objectives, at least one, "
            f"got {a.shape[1]} and {b.shape[1]}"
        )
    return a, b


def _vectors(f: npt.ArrayLike, name: str) -> tuple[Array, bool]:
    array = as_array(f, name)
    is_one = array.ndim == 1
    return as_points(array[None, :] if is_one else array, name), is_one
