"""A set of mutually non-dominated points that knows its hypervolume, and what any other point would add to it."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evocore.kernels import _hypervolume
from evocore.kernels.hypervolume import as_points_of, as_reference, as_signs, hypervolume_contributions
from evocore.kernels.points import Array, as_array

_SPARE_ROWS = 64


def _columns(d: int, n: int) -> Array:
    """Room for n points, one column an objective; the compiled loops take four values at a time."""
    return np.zeros((d, (n + 3) // 4 * 4))


class HypervolumeArchive:
    """Non-dominated points, with the region that none of them dominates kept as disjoint boxes.

    A point enters when no member is as good in every objective and it is better than the reference in every objective;
    members that it dominates leave for good. What a point would add is a sum over the boxes that it reaches.

    Parameters
    ----------
    reference : (d,) array_like of float64
        The worst value of every objective that still counts; at most 32 objectives.
    maximize : bool or sequence of d bools
        For all objectives or for each: larger is better.

    Raises
    ------
    ValueError, TypeError
        A reference that is not finite, not real or of more than 32 objectives.

    Notes
    -----
    Boxes of local upper bounds, as in `evocore.kernels.hypervolume.hypervolume` but in all d objectives: about ``2n``
    for d = 3, ``8n`` for d = 4 and ``50n`` for d = 5, at n = 1000. A query or an insertion looks only at the buckets of
    boxes that it may reach.
    Removing a point has the boxes built anew by the next call that needs them. Not to be used from two threads at once.
    Values far beyond 1e150 overflow to infinite volumes.

    Examples
    --------
    >>> archive = HypervolumeArchive([4.0, 4.0])
    >>> archive.insert([1.0, 3.0])
    3.0
    >>> archive.gain([3.0, 1.0])
    2.0
    >>> archive.insert([3.0, 1.0]), archive.volume
    (2.0, 5.0)
    """

    def __init__(
        self,
        reference: npt.ArrayLike,
        *,
        maximize: bool | Sequence[bool] | npt.NDArray[np.bool_] = False,
    ) -> None:
        r = as_reference(reference)
        if r.size > _hypervolume.MAX_ARCHIVE_OBJECTIVES:
            raise ValueError(
                f"expected a reference of at most {_hypervolume.MAX_ARCHIVE_OBJECTIVES} objectives, got {r.size}: "
                "the boxes of more would not fit into any memory"
            )
        self._signs = as_signs(maximize, r.size)
        self._reference: Array = r * self._signs
        self._boxes = _hypervolume.Boxes(self._reference)
        self._columns = _columns(r.size, 16)
        self._n = 0
        self._volume = 0.0
        self._rest = 0.0
        self._is_stale = False
        self._contributions: Array | None = None

    @property
    def n_objectives(self) -> int:
        """Number of objectives."""
        return int(self._reference.size)

    @property
    def reference(self) -> Array:
        """The reference point: (d,), a copy."""
        return self._reference * self._signs

    @property
    def volume(self) -> float:
        """Hypervolume of the members."""
        self._refresh()
        return self._volume + self._rest

    @property
    def n_boxes(self) -> int:
        """Boxes that the region without members is cut into."""
        self._refresh()
        return self._boxes.n_boxes

    def __len__(self) -> int:
        return self._n

    def __contains__(self, point: npt.ArrayLike) -> bool:
        return self._index(self._row(point)) is not None

    def __repr__(self) -> str:
        return f"HypervolumeArchive({len(self)} points, {self.n_objectives} objectives, volume {self.volume:.6g})"

    def front(self) -> Array:
        """Return the members, oldest first: (n, d), a copy."""
        return np.ascontiguousarray(self._columns[:, : self._n].T) * self._signs

    def gain(self, point: npt.ArrayLike) -> float:
        """Return the volume that a point would add: 0.0 where a member is as good, or beyond the reference."""
        return float(self.gains(self._row(point) * self._signs)[0])

    def gains(self, points: npt.ArrayLike) -> Array:
        """Return the volume that each of the points alone would add.

        Parameters
        ----------
        points : (n, d) array_like of float64
            Finite.

        Returns
        -------
        (n,) float64 array
            As accurate as `evocore.kernels.hypervolume.hypervolume_contributions`.
        """
        rows = self._rows(points)
        self._refresh()
        out = np.zeros(len(rows))
        self._boxes.gains(rows, out)
        return out

    def insert(self, point: npt.ArrayLike) -> float:
        """Insert a point and return the volume that it added: 0.0 if it did not enter."""
        return float(self.insert_all(self._row(point) * self._signs)[0])

    def insert_all(self, points: npt.ArrayLike) -> Array:
        """Insert points one after the other and return the volume that each added.

        Parameters
        ----------
        points : (n, d) array_like of float64
            Finite.

        Raises
        ------
        MemoryError
            The boxes would need more than 2 GiB, or more than there is. The archive is as it was before.
        """
        rows = self._rows(points)
        self._refresh()
        gains = np.zeros(len(rows))
        before = self._columns[:, : self._n].copy()
        self._reserve(len(rows))
        try:
            n = self._boxes.insert(rows, self._columns, self._n, gains)
        except MemoryError:
            self._columns[:, : self._n] = before
            self._is_stale = True
            raise
        self._add(gains)
        self._n = n
        self._contributions = None
        # Points that left stay in the table of the boxes' definers until it is mostly of them.
        self._is_stale = self._boxes.n_rows > 2 * self._n + _SPARE_ROWS
        return gains

    def remove(self, point: npt.ArrayLike) -> None:
        """Remove a member.

        Raises
        ------
        KeyError
            No member has exactly these values.
        """
        row = self._row(point)
        at = self._index(row)
        if at is None:
            raise KeyError(f"expected a member of the archive, got {(row[0] * self._signs).tolist()}, which is none")
        self._columns[:, at : self._n - 1] = self._columns[:, at + 1 : self._n].copy()
        self._n -= 1
        self._is_stale = True
        self._contributions = None

    def contributions(self) -> Array:
        """Return what the set would lose without each member, in the order of `front`: (n,)."""
        if self._contributions is None:
            members = np.ascontiguousarray(self._columns[:, : self._n].T)
            self._contributions = hypervolume_contributions(members, self._reference)
        return self._contributions.copy()

    def least_contributor(self) -> tuple[Array, float]:
        """Return the member that contributes least, and its contribution; the oldest of equals.

        Raises
        ------
        ValueError
            The archive is empty.
        """
        if not self._n:
            raise ValueError("expected an archive with members, got an empty one")
        contributions = self.contributions()
        at = int(np.argmin(contributions))
        return self._columns[:, at] * self._signs, float(contributions[at])

    def _rows(self, points: npt.ArrayLike) -> Array:
        return np.ascontiguousarray(as_points_of(points, self.n_objectives) * self._signs)

    def _row(self, point: npt.ArrayLike) -> Array:
        row = as_array(point, "point")
        if row.shape != (self.n_objectives,):
            raise ValueError(f"expected point of shape ({self.n_objectives},), got {row.shape}")
        return self._rows(row[None, :])

    def _index(self, row: Array) -> int | None:
        equal = np.flatnonzero((self._columns[:, : self._n] == row.T).all(axis=0))
        return int(equal[0]) if equal.size else None

    def _reserve(self, n_more: int) -> None:
        if self._n + n_more > self._columns.shape[1]:
            larger = _columns(self.n_objectives, max(self._n + n_more, 2 * self._columns.shape[1]))
            larger[:, : self._n] = self._columns[:, : self._n]
            self._columns = larger

    def _add(self, gains: Array) -> None:
        """Add to the total without rounding each time: thousands of insertions must not make a visible error."""
        terms = [self._volume, self._rest, *gains[gains > 0.0].tolist()]
        if not math.isfinite(sum(terms)):
            self._volume, self._rest = math.inf, 0.0
            return
        self._volume = math.fsum(terms)
        self._rest = math.fsum([*terms, -self._volume])

    def _refresh(self) -> None:
        """Build the boxes anew where members were removed."""
        if not self._is_stale:
            return
        members = np.ascontiguousarray(self._columns[:, : self._n].T)
        self._boxes.reset(members.min(axis=0) if self._n else self._reference)
        gains = np.zeros(self._n)
        self._boxes.insert(members, _columns(self.n_objectives, self._n), 0, gains)
        self._volume, self._rest = math.fsum(gains), 0.0
        self._is_stale = False
