"""Exact largest sums of products of doubles: autoconvolutions, correlations, overlaps.

Every finite double is an integer times a power of two, so that a sum of products has one exact value; these functions
return it, for one lag out of all: the largest. A fast Fourier transform with a proved error (`error_bound` in
`evocore.kernels.fourier`) says which lags can hold it, usually one or a few, and those are added up in integers.
Where very many compete (flat autoconvolutions), the vectors are cut into slices of 13 to 16 bits, whose transforms
round to integers with certainty: the leading digits of all sums come out exactly and leave few.

Every transform is checked at a point of the unit circle (see `evocore.kernels.fourier`); a failed check raises
`KernelFault`. Results depend on no rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evocore.kernels import _exact
from evocore.kernels.points import as_number, as_reals, shown

Array = npt.NDArray[np.float64]

MAX_PRODUCTS = 4e9
"""Products computed one by one at most, a few seconds of work, before `TooManyCandidates` is raised."""


class TooManyCandidates(Exception):
    """More sums than `max_products` allows are equal to so many digits that only adding all of them up would decide."""


class Extremes(NamedTuple):
    """Largest and smallest sum: integers times `2**exponent`; `n_candidates` is what the first filter left."""

    largest: int
    smallest: int
    exponent: int
    n_candidates: int


class Overlap(NamedTuple):
    """A largest overlap: `numerator / (2 * total**2)`; `n_candidates` is what the first filter left."""

    numerator: int
    total: int
    n_candidates: int


class ExactVector:
    """A vector of doubles as integers: entry i is an integer times `2**exponent`, without any rounding.

    Parameters
    ----------
    x : (n,) array_like of float64
        Finite, n >= 1. Copied.
    use_avx2 : bool, optional
        Only for tests: results are exact on both paths.

    Attributes
    ----------
    exponent : int
        Of the largest common power of two; 0 where all entries are zero.
    bits : int
        Length of the largest entry over `2**exponent`: at most 53 plus the spread of the exponents.
    has_negative : bool
        Whether an entry is negative.

    Examples
    --------
    >>> v = ExactVector([0.5, 0.75, 0.25])
    >>> v.exponent, v.bits, v.total()
    (-2, 2, 6)
    >>> v.autoconvolution_maximum()
    (13, -4)
    """

    def __init__(self, x: npt.ArrayLike, *, use_avx2: bool = _exact.HAS_AVX2) -> None:
        values = np.array(as_reals(x, "x"))
        if values.ndim != 1 or values.size == 0:
            raise ValueError(f"expected a vector of one or more values, got shape {values.shape}")
        if use_avx2 and not _exact.HAS_AVX2:
            raise ValueError("expected a processor with AVX2 for use_avx2=True, got one without")
        self._values = values
        self._vector = _exact.Vector(values)
        self._fast = use_avx2
        if self._vector.bad >= 0:
            raise ValueError(f"expected finite values, got x[{self._vector.bad}] = {values[self._vector.bad]}")
        self.exponent = self._vector.exponent
        self.bits = self._vector.bits
        self.has_negative = self._vector.has_negative

    def __len__(self) -> int:
        return len(self._vector)

    def total(self) -> int:
        """Sum of all entries over `2**exponent`."""
        return self._vector.total()

    def autoconvolution_maximum(self, *, max_products: float = MAX_PRODUCTS) -> tuple[int, int]:
        """Largest of the sums `sum_i x[i] x[k-i]`, k = 0 .. 2n-2.

        Parameters
        ----------
        max_products : float
            See `MAX_PRODUCTS`.

        Returns
        -------
        (int, int)
            Numerator and exponent: the value is `numerator * 2**exponent`, exactly.

        Raises
        ------
        TooManyCandidates
            Where more products are in question.
        """
        found = _exact.extremes(self._vector, self._vector, False, False, _allowed(max_products), self._fast)
        return _decided(found)[0], 2 * self.exponent

    def autoconvolution_extremes(self, *, max_products: float = MAX_PRODUCTS) -> Extremes:
        """Largest and smallest of the sums `sum_i x[i] x[k-i]`; as `autoconvolution_maximum` otherwise."""
        found = _decided(_exact.extremes(self._vector, self._vector, False, True, _allowed(max_products), self._fast))
        return Extremes(found[0], found[1] or 0, 2 * self.exponent, found[2])

    def cross_correlation_maximum(self, other: ExactVector, *, max_products: float = MAX_PRODUCTS) -> tuple[int, int]:
        """Largest of the sums `sum_i x[i+s] y[i]` over all shifts s at which the vectors meet.

        Parameters
        ----------
        other : ExactVector
            y, of any length.
        max_products : float
            See `MAX_PRODUCTS`.

        Returns
        -------
        (int, int)
            Numerator and exponent: the value is `numerator * 2**exponent`, exactly.
        """
        if not isinstance(other, ExactVector):
            raise TypeError(f"expected other as an ExactVector, got {shown(other)}")
        found = _exact.extremes(self._vector, other._vector, True, False, _allowed(max_products), self._fast)
        return _decided(found)[0], self.exponent + other.exponent

    def overlap_maximum(self, *, max_products: float = MAX_PRODUCTS) -> Overlap:
        """Largest overlap of the vector, scaled to mean one half, with its complement, under all shifts.

        With integer entries a of sum A, the scaled vector is `h = n a / (2A)`, and

            2/n * sum_i h[i] (1 - h[i+s]) = (2A * sum a[i] - n * sum a[i] a[i+s]) / (2 A^2)

        over the i for which both are inside. Shifts s and -s share the second sum, and the larger of the sums of the
        first and of the last n-s entries decides between them.

        Parameters
        ----------
        max_products : float
            See `MAX_PRODUCTS`.

        Returns
        -------
        Overlap
            The value is `numerator / (2 * total**2)`, exactly; `total` is A.

        Raises
        ------
        ValueError
            Where an entry is negative or all are zero.
        TooManyCandidates
            Where more products are in question.
        """
        self._require_density()
        parts = _exact.overlap(self._vector, _allowed(max_products), self._fast)
        if parts is None:
            raise TooManyCandidates(_TOO_MANY)
        total, n = self.total(), len(self)
        return Overlap(max(2 * total * head - n * pairs for head, pairs in parts), total, len(parts))

    def clipped_overlap_maximum(self, clipped: npt.NDArray[np.bool_], *, max_products: float = MAX_PRODUCTS) -> Overlap:
        """Largest overlap after entries that scaling lifts above 1 are clipped and their mass is spread over the rest.

        The removed mass goes to the others in proportion to their slack `1 - h`. All slacks then shrink by one
        factor, so that the complement of the repaired vector is the slack, scaled to mean one half; and a vector and
        its complement have mirrored overlaps. With A the sum and S the sum of the slacks `s = max(0, 2A - n a)`, the
        value is that of `overlap_maximum` for s. Slacks are never formed: their sums follow from those of the kept
        entries, `sum s[i] s[i+k] = 4 A^2 pairs - 2 A n sum (a[i] + a[i+k]) + n^2 sum a[i] a[i+k]`.

        Parameters
        ----------
        clipped : (n,) bool array
            Where `n a > 2A`.
        max_products : float
            See `MAX_PRODUCTS`.

        Returns
        -------
        Overlap
            The value is `numerator / (2 * total**2)`, exactly; `total` is S.
        """
        self._require_density()
        n, allowed = len(self), _allowed(max_products)
        if not isinstance(clipped, np.ndarray) or clipped.dtype != np.bool_ or clipped.shape != (n,):
            raise ValueError(f"expected clipped as an array of {n} bools, got {shown(clipped)}")
        kept = ~clipped
        inside = np.where(kept, self._values, 0.0)
        entries = ExactVector(inside, use_avx2=self._fast)
        unit = entries.exponent - self.exponent if entries.bits else 0
        twice = 2 * self.total()
        # Four roundings a slack, each entry below 1: together they move an overlap by less than 16 n u.
        shares = np.ldexp(inside, -self.exponent - self.bits) * ((n << self.bits) / twice)
        slack = ExactVector(np.maximum(np.where(kept, 1.0 - shares, 0.0), 0.0), use_avx2=self._fast)
        found = _exact.clipped_overlap(
            slack._vector, 16.0 * n * 2.0**-53, entries._vector, kept.view(np.uint8), allowed, self._fast
        )
        if found is None:
            raise TooManyCandidates(_TOO_MANY)
        total = twice * int(np.count_nonzero(kept)) - n * (entries.total() << unit)
        best = None
        for first, last, cross, product, n_first, n_last, n_pairs in found:
            head = max(twice * n_first - n * (first << unit), twice * n_last - n * (last << unit))
            pairs = twice * twice * n_pairs - twice * n * (cross << unit) + n * n * (product << (2 * unit))
            value = 2 * total * head - n * pairs
            best = value if best is None or value > best else best
        return Overlap(best or 0, total, len(found))

    def _require_density(self) -> None:
        if self.has_negative or not self.bits:
            raise ValueError("expected entries that are not negative, with a positive sum")


_TOO_MANY = "expected sums that differ in their leading digits, got more equal ones than max_products allows to add up"


def _allowed(max_products: float) -> float:
    allowed = as_number(max_products, "max_products")
    if allowed < 0.0:
        raise ValueError(f"expected max_products >= 0, got {max_products}")
    return allowed


def _decided(found: tuple[int, int | None, int] | None) -> tuple[int, int | None, int]:
    if found is None:
        raise TooManyCandidates(_TOO_MANY)
    return found


def exact_autoconvolution_maximum(f: npt.ArrayLike) -> tuple[int, int]:
    """Return the largest sum `sum_i f[i] f[k-i]` as `(numerator, exponent)`: numerator * 2**exponent, exactly.

    Examples
    --------
    >>> exact_autoconvolution_maximum([1.0, 2.0])
    (4, 0)
    """
    return ExactVector(f).autoconvolution_maximum()


def exact_autoconvolution_extremes(f: npt.ArrayLike) -> Extremes:
    """Return the largest and the smallest sum `sum_i f[i] f[k-i]`, exactly.

    Examples
    --------
    >>> exact_autoconvolution_extremes([1.0, -3.0])
    Extremes(largest=9, smallest=-6, exponent=0, n_candidates=1)
    """
    return ExactVector(f).autoconvolution_extremes()


def exact_cross_correlation_maximum(f: npt.ArrayLike, g: npt.ArrayLike) -> tuple[int, int]:
    """Return the largest sum `sum_i f[i+s] g[i]` over all shifts s as `(numerator, exponent)`, exactly.

    Examples
    --------
    >>> exact_cross_correlation_maximum([1.0, 2.0], [3.0, 0.5])
    (12, -1)
    """
    return ExactVector(f).cross_correlation_maximum(ExactVector(g))


def exact_overlap_maximum(h: npt.ArrayLike) -> Overlap:
    """Return the largest overlap of h, scaled to mean one half, with its complement: see `ExactVector`.

    Examples
    --------
    >>> exact_overlap_maximum([1.0, 0.0])
    Overlap(numerator=2, total=1, n_candidates=1)
    """
    return ExactVector(h).overlap_maximum()


def exact_sum(x: npt.ArrayLike) -> tuple[int, int]:
    """Return the sum of doubles as `(numerator, exponent)`: numerator * 2**exponent, exactly.

    Examples
    --------
    >>> exact_sum([1e300, 1.0, -1e300])
    (1, 0)
    """
    v = ExactVector(x)
    return v.total(), v.exponent
