"""Exact hypervolume and exclusive contributions of a set of points.

The hypervolume of points P with reference r is the volume of the union of the boxes between each point and r: the usual
measure of a Pareto front's quality. "Exact" is about the method: a value is a sum of products of differences of the
input, all of them positive, so that nothing cancels.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from evocore.kernels import _hypervolume
from evocore.kernels.points import Array, as_array, as_choice, as_points, directions, refuse_nonfinite

Method = Literal["auto", "boxes", "gaps"]

METHODS: tuple[Method, ...] = ("auto", "boxes", "gaps")


def as_reference(reference: npt.ArrayLike) -> Array:
    """Return a finite reference point of at least one objective."""
    r = as_array(reference, "reference")
    if r.ndim != 1 or r.size == 0:
        raise ValueError(f"expected reference of shape (d,) with d >= 1, got {r.shape}")
    row = as_points(r[None, :], "reference").reshape(-1)
    refuse_nonfinite(row, "reference")
    return row


def as_points_of(points: npt.ArrayLike, d: int) -> Array:
    """Return finite points of d objectives; an empty list is no points."""
    p = as_array(points, "points")
    p = np.empty((0, d)) if p.shape == (0,) else as_points(p)
    if p.shape[1] != d:
        raise ValueError(f"expected points of shape (n, {d}), as the reference has {d} objectives, got {p.shape}")
    refuse_nonfinite(p, "points")
    return p


def as_signs(maximize: bool | Sequence[bool] | npt.NDArray[np.bool_], d: int) -> Array:
    """Return +1 for each objective that is minimised and -1 for each that is maximised."""
    return np.asarray(np.where(directions(maximize, d) == 1, -1.0, 1.0), dtype=np.float64)


def hypervolume(
    points: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    maximize: bool | Sequence[bool] | npt.NDArray[np.bool_] = False,
    method: Method = "auto",
) -> float:
    """Return the volume that is dominated by the points and bounded by the reference.

    Parameters
    ----------
    points : (n, d) array_like of float64
        Finite. Dominated points, duplicates and points on or beyond the reference are allowed, and add nothing.
    reference : (d,) array_like of float64
        The worst value of every objective that still counts.
    maximize : bool or sequence of d bools
        For all objectives or for each: larger is better.
    method : str
        For four and more objectives. ``"boxes"``: fast; may need much memory for many objectives. ``"gaps"``: hardly
        any memory. ``"auto"`` chooses.

    Returns
    -------
    float
        Relative error at most ``(d + 70) * 2**-53`` for d <= 4 or few hundred points; larger sets add about
        ``2**-53`` times the boxes a point touches. 0.0 for no points.

    Raises
    ------
    ValueError
        Wrong shapes; NaN or infinity (the message says where).
    TypeError
        Not real numbers.
    MemoryError
        The computation would need more than 2 GiB, or more than there is.

    Notes
    -----
    d = 2: sort and sweep, O(n log n). d = 3: sweep of the third objective over a staircase kept as a set of ranks,
    O(n log n). d = 4 to 9: sweep of the last objective over the boxes of local upper bounds [1]_ (O(n) boxes for d = 4,
    at worst ``n**((d - 1) // 2)``). More objectives: the same sweep, with each point's gain by recursive splitting of
    the box that it adds. An axis whose width is far from 1 is scaled by a power of two first, so that products neither
    overflow nor underflow.

    References
    ----------
    .. [1] R. Lacour, K. Klamroth, C. M. Fonseca, "A box decomposition algorithm to compute the hypervolume indicator",
       Comput. Oper. Res. 79 (2017) 347, arXiv 1510.01963.

    Examples
    --------
    >>> hypervolume([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]], [4.0, 4.0])
    6.0
    >>> hypervolume([[1.0, 5.0]], [0.0, 8.0], maximize=[True, False])
    3.0
    """
    if isinstance(method, str) and method == "auto" and (maximize is False or maximize is True):
        value = _hypervolume.volume_at_once(points, reference, maximize)
        if value is not None:
            return value
    which = METHODS.index(as_choice(method, "method", METHODS))
    r = as_reference(reference)
    p = as_points_of(points, r.size)
    return _hypervolume.volume(p, r, as_signs(maximize, r.size), which)


def hypervolume_contributions(
    points: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    maximize: bool | Sequence[bool] | npt.NDArray[np.bool_] = False,
    method: Method = "auto",
) -> Array:
    """Return for every point the volume that only it dominates: what the set would lose without it.

    Parameters
    ----------
    points, reference, maximize, method
        As in `hypervolume`.

    Returns
    -------
    (n,) float64 array
        Relative error at most 1e-12 each, and never 0.0 for a positive contribution that is a normal double. Exactly
        0.0 for dominated points, for all copies of a duplicate, and for points on or beyond the reference. A dominated
        point counts: it takes from the contribution of a point that alone dominates it.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As in `hypervolume`.

    Notes
    -----
    Never a difference of two hypervolumes, which loses all digits of a small contribution. d = 2, 3: one sweep,
    O(n log n), after [1]_. d >= 4: for each point the others, clipped to the box that it dominates and reduced to those
    that matter; what they leave of the box is added up from boxes times the time that they live in the sweep of the
    last objective.

    References
    ----------
    .. [1] M. T. M. Emmerich, C. M. Fonseca, "Computing hypervolume contributions in low dimensions", EMO 2011, LNCS
       6576, 121.

    Examples
    --------
    >>> hypervolume_contributions([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]], [4.0, 4.0])
    array([1., 1., 1.])
    """
    if isinstance(method, str) and method == "auto" and (maximize is False or maximize is True):
        found: Array | None = _hypervolume.contributions_at_once(points, reference, maximize)
        if found is not None:
            return found
    which = METHODS.index(as_choice(method, "method", METHODS))
    r = as_reference(reference)
    p = as_points_of(points, r.size)
    out = np.zeros(len(p))
    _hypervolume.contributions(p, r, as_signs(maximize, r.size), out, which)
    return out
