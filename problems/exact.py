"""Exact arithmetic on vectors of float64: every finite double is an integer times a power of two.

A vector becomes integers over one common power of two, the integers become the digits of one large number in a base
that is too large for carries (Kronecker substitution), and one product of large numbers (FLINT) gives every
coefficient of the product of the two polynomials at once. Packing and unpacking are array operations, so that the
product is most of the cost. Measured on one core: 0.2 s for 100,000 values of ordinary spread (0.5 s for the overlap),
3 s and 0.6 GB where they span all of double's range, 4 s for 2,000,000 values.

Where only the largest coefficient is asked for, `evocore.kernels.exact` finds it from a few lags, some 20 times
faster; FLINT stays for what needs every coefficient, and for vectors made so that very many are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from flint import fmpz

from evocore.kernels.exact import ExactVector, TooManyCandidates
from evocore.problems.base import Enclosure, Exact, ExactResult, Vector

__all__ = [
    "Enclosure",
    "Exact",
    "ExactResult",
    "Integers",
    "Products",
    "Squares",
    "autoconvolution",
    "extreme_squares",
    "largest_overlap",
    "max_overlap",
    "multiply",
    "pack",
    "second_moment_ratio",
    "to_integers",
]

Int64s: TypeAlias = npt.NDArray[np.int64]

KEPT_BITS = 62  # of the largest entry, where an enclosure stands for the rational; fits into int64
PRODUCTS_A_VALUE = 3000  # computed one by one before FLINT's product of everything is cheaper
DIGIT_ROWS = 1 << 16  # rows summed at once in `_digit_products`: bounds the memory


@dataclass(frozen=True)
class Integers:
    """A vector as integers: entry i is `mantissa[i] * 2**(shift[i] + exponent)`.

    Attributes
    ----------
    mantissa : (n,) int64 array
        Signed, below 2^62 in size (2^53 where the entries are the doubles themselves).
    shift : (n,) int64 array
        Not negative; 0 where the mantissa is 0.
    exponent : int
        Common to all.
    bits : int
        Length of the largest `mantissa << shift`.
    """

    mantissa: Int64s
    shift: Int64s
    exponent: int
    bits: int

    def __len__(self) -> int:
        return len(self.mantissa)

    def __getitem__(self, i: int) -> int:
        """Return entry i without the common power of two."""
        return int(self.mantissa[i]) << int(self.shift[i])

    def total(self) -> int:
        """Sum of all entries, without the common power of two."""
        # bincount adds in doubles: with halves of 31 bits every partial sum of up to 2^22 entries is exact.
        high, low = self.mantissa >> 31, self.mantissa & ((1 << 31) - 1)
        highs = np.bincount(self.shift, weights=high.astype(np.float64))
        lows = np.bincount(self.shift, weights=low.astype(np.float64))
        used = np.flatnonzero((highs != 0) | (lows != 0))
        return sum(((int(highs[s]) << 31) + int(lows[s])) << int(s) for s in used.tolist())


def to_integers(x: Vector) -> Integers:
    """Write finite doubles as integers over the largest common power of two, without any rounding."""
    fraction, exponent = np.frexp(x)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    lowest_bit = (mantissa & -mantissa).astype(np.float64)
    zeros = np.frexp(lowest_bit)[1].astype(np.int64) - 1
    nonzero = mantissa != 0
    zeros[~nonzero] = 0
    mantissa >>= zeros
    place = exponent.astype(np.int64) - 53 + zeros
    if not nonzero.any():
        return Integers(mantissa, np.zeros(len(x), np.int64), 0, 0)
    common = int(place[nonzero].min())
    shift = np.where(nonzero, place - common, 0)
    bits = int((exponent.astype(np.int64)[nonzero] - common).max())
    return Integers(mantissa, shift, common, bits)


def pack(values: Integers, slot_bytes: int) -> int:
    """Return `sum(values[i] * 2**(8 * slot_bytes * i))`, for entries that are shorter than a slot."""
    if (values.mantissa < 0).any():
        positive = Integers(np.maximum(values.mantissa, 0), values.shift, 0, values.bits)
        negative = Integers(np.maximum(-values.mantissa, 0), values.shift, 0, values.bits)
        return pack(positive, slot_bytes) - pack(negative, slot_bytes)
    n = len(values)
    buffer = np.zeros(n * slot_bytes + 8, dtype=np.uint8)
    first = np.arange(n, dtype=np.int64) * slot_bytes + (values.shift >> 3)
    words = values.mantissa << (values.shift & 7)
    for j in range(8):
        # Added, not stored: the empty high bytes of one entry may lie over the low bytes of the next.
        buffer[first + j] |= ((words >> (8 * j)) & 255).astype(np.uint8)
    return int.from_bytes(buffer.data, "little")


def multiply(a: int, b: int) -> int:
    """Return a * b by FLINT, whose product of large numbers is nearly linear in their length."""
    left = fmpz(a)
    return int(left * left if a is b else left * fmpz(b))


@dataclass(frozen=True)
class Products:
    """Coefficients of a product of two polynomials, as bytes: coefficient k is row k, little endian, minus offset.

    Attributes
    ----------
    rows : (m, slot_bytes) uint8 array
        One coefficient a row.
    offset : int
        Subtracted from every row; 0 where no coefficient can be negative.
    """

    rows: npt.NDArray[np.uint8]
    offset: int

    @classmethod
    def of(cls, number: int, count: int, slot_bytes: int, *, is_signed: bool) -> Products:
        """Cut a packed product into its coefficients."""
        offset = 0
        if is_signed:
            offset = 1 << (8 * slot_bytes - 1)
            number += int.from_bytes(offset.to_bytes(slot_bytes, "little") * count, "little")
        raw = np.frombuffer(number.to_bytes(count * slot_bytes, "little"), dtype=np.uint8)
        return cls(raw.reshape(count, slot_bytes), offset)

    def __getitem__(self, k: int) -> int:
        return int.from_bytes(self.rows[k].tobytes(), "little") - self.offset

    def largest(self) -> int:
        """The largest coefficient."""
        return self[self._extreme(is_largest=True)]

    def smallest(self) -> int:
        """The smallest coefficient."""
        return self[self._extreme(is_largest=False)]

    def _extreme(self, *, is_largest: bool) -> int:
        """Compare words from the most significant down, keeping the rows that are still level."""
        slot = self.rows.shape[1]
        level: Int64s | slice = slice(None)
        index = np.arange(len(self.rows))
        for end in range(slot, 0, -8):
            start = max(end - 8, 0)
            padded = np.zeros((len(index), 8), dtype=np.uint8)
            padded[:, : end - start] = self.rows[level, start:end]
            words = padded.view("<u8")[:, 0]
            index = index[words == (words.max() if is_largest else words.min())]
            level = index
            if len(index) == 1:
                break
        return int(index[0])


@dataclass(frozen=True)
class Squares:
    """What the first and third problem need of a vector, in integers: sum, and extreme coefficients of its square.

    All over one power of two (the coefficients over its square), which a ratio of them does not show.
    """

    total: int
    largest: int
    smallest: int


def extreme_squares(x: Vector) -> Squares:
    """Return the sum of the entries, and the extreme coefficients of the square of the polynomial, exactly."""
    values = ExactVector(x)
    allowed = float(PRODUCTS_A_VALUE) * len(values)
    try:
        found = values.autoconvolution_extremes(max_products=allowed)
    except TooManyCandidates:
        lags = autoconvolution(to_integers(x))
        return Squares(values.total(), lags.largest(), lags.smallest())
    return Squares(values.total(), found.largest, found.smallest)


def largest_overlap(values: ExactVector, x: Vector, clipped: npt.NDArray[np.bool_] | None = None) -> Fraction:
    """Return what `max_overlap` returns first; `values` are the entries of x."""
    allowed = float(PRODUCTS_A_VALUE) * len(values)
    try:
        if clipped is None:
            found = values.overlap_maximum(max_products=allowed)
        else:
            found = values.clipped_overlap_maximum(clipped, max_products=allowed)
    except TooManyCandidates:
        return max_overlap(to_integers(x), clipped)[0]
    return Fraction(found.numerator, 2 * found.total * found.total)


def _slot_bytes(bits: int) -> int:
    return max(1, (bits + 7) // 8)


def autoconvolution(values: Integers) -> Products:
    """Return all `2n - 1` coefficients of the square of the polynomial with these coefficients."""
    n = len(values)
    is_signed = bool((values.mantissa < 0).any())
    slot = _slot_bytes(2 * values.bits + n.bit_length() + is_signed)
    packed = pack(values, slot)
    return Products.of(multiply(packed, packed), 2 * n - 1, slot, is_signed=is_signed)


def max_overlap(values: Integers, clipped: npt.NDArray[np.bool_] | None = None) -> tuple[Fraction, int]:
    """Return the overlap maximum of a vector scaled to mean one half, and the sum that the scaling divides by.

    With integers `a` of sum `A`, the vector `h = n a / (2A)` has mean one half, and the value is
    `2/n * max_k sum_i h_i (1 - h_{i+k})` over the pairs inside the range.

    Parameters
    ----------
    values : Integers
        Not negative, with a positive sum.
    clipped : (n,) bool array, optional
        Where `h` would exceed 1. The canonical repair sets these entries to 1 and spreads the removed mass `m` over
        the others in proportion to their slack `1 - h`. That is one step: the total slack is `n/2 + m`, so that every
        slack shrinks by the same factor `(n/2) / (n/2 + m)`. The repaired vector's complement is therefore the slack
        itself scaled to mean one half, and complements have mirrored overlaps.

    Returns
    -------
    (Fraction, int)
        The value, and `A`, or the sum of the integer slacks `max(0, 2A - n a)` where entries were clipped.
    """
    n = len(values)
    total = values.total()
    if clipped is None:
        slot = _slot_bytes(2 * (2 * total).bit_length() + n.bit_length())
        forward, backward = pack(values, slot), pack(_reversed(values), slot)
    else:
        slot = _slot_bytes(2 * (2 * n * total).bit_length() + n.bit_length())
        forward = _packed_slack(values, clipped, 2 * total, slot)
        backward = _packed_slack(_reversed(values), clipped[::-1], 2 * total, slot)
        kept = Integers(np.where(clipped, 0, values.mantissa), values.shift, 0, values.bits)
        total = 2 * total * int(np.count_nonzero(~clipped)) - n * kept.total()
    ones = int.from_bytes((2 * total).to_bytes(slot, "little") * n, "little")
    product = multiply(n * forward, ones - n * backward)
    peak = Products.of(product, 2 * n - 1, slot, is_signed=False).largest()
    return Fraction(peak, 2 * n * total * total), total


def _packed_slack(values: Integers, clipped: npt.NDArray[np.bool_], top: int, slot_bytes: int) -> int:
    kept = Integers(np.where(clipped, 0, values.mantissa), values.shift, 0, values.bits)
    digit = np.frombuffer(top.to_bytes(slot_bytes, "little"), dtype=np.uint8)
    tops = np.where(clipped[:, None], np.uint8(0), digit)
    return int.from_bytes(tops.tobytes(), "little") - len(values) * pack(kept, slot_bytes)


def _reversed(values: Integers) -> Integers:
    return Integers(values.mantissa[::-1], values.shift[::-1], values.exponent, values.bits)


def second_moment_ratio(values: Integers, *, max_size: float) -> Exact:
    """Return `(2 sum g_k^2 + sum g_k g_{k+1}) / (3 (sum f)^2 max g)` for `g = f * f`.

    Parameters
    ----------
    values : Integers
        f: not negative, with a positive sum.
    max_size : float
        The rational is returned while `n * bits` is at most this, an enclosure above.

    Returns
    -------
    Fraction or Enclosure

    Notes
    -----
    Above `max_size` the entries are rounded down to 62 bits below the largest, `a <= f < a + 1` in that unit. All of
    g, its sum and its maximum grow with f, and `g(a) <= g(f) <= g(a) + E` with `E = 2 sum(a) + n`, so that the ends
    follow by taking numerator and denominator at opposite ends. The relative width is at most about `16 n / 2^62`,
    1e-11 for 2,000,000 values of which all but one are tiny, and 1e-16 for vectors that are not so lopsided.
    """
    n = len(values)
    if n * values.bits <= max_size:
        numerator, total, peak = _moments(values)
        return Fraction(numerator, 3 * total * total * peak)
    numerator, total, peak = _moments(_truncated(values, KEPT_BITS))
    error = 2 * total + n
    low = Fraction(numerator, 3 * (total + n) ** 2 * (peak + error))
    grown = numerator + 6 * error * total * total + 6 * n * error * error
    return Enclosure(low, Fraction(grown, 3 * total * total * peak))


def _truncated(values: Integers, kept_bits: int) -> Integers:
    """Floor of the entries in the unit in which the largest has `kept_bits` bits: at most 62, fewer than it has."""
    up = values.shift - (values.bits - kept_bits)
    left = values.mantissa << np.clip(up, 0, 62)
    floor = np.where(up >= 0, left, values.mantissa >> np.clip(-up, 0, 63))
    return Integers(floor, np.zeros(len(values), np.int64), 0, kept_bits)


def _moments(values: Integers) -> tuple[int, int, int]:
    """`2 sum g_k^2 + sum g_k g_{k+1}`, `sum f` and `max g` for `g = f * f`."""
    g = autoconvolution(values)
    squares, neighbours = _digit_products(g.rows)
    return 2 * squares + neighbours, values.total(), g.largest()


def _digit_products(rows: npt.NDArray[np.uint8]) -> tuple[int, int]:
    """`sum g_k^2` and `sum g_k g_{k+1}` of unsigned integers given as bytes.

    Digits of 16 bits as doubles: products of two below 2^32, sums over 2^16 rows below 2^48, so that the matrix
    product is exact in whatever order the BLAS adds.
    """
    count, width = rows.shape
    digits = (width + 1) // 2
    squares = np.zeros((digits, digits), dtype=object)
    neighbours = np.zeros((digits, digits), dtype=object)
    for start in range(0, count, DIGIT_ROWS):
        block = np.zeros((min(DIGIT_ROWS + 1, count - start), 2 * digits), dtype=np.uint8)
        block[:, :width] = rows[start : start + DIGIT_ROWS + 1]
        values = block.view("<u2").astype(np.float64)
        here = values[:DIGIT_ROWS]
        squares += (here.T @ here).astype(np.int64).astype(object)
        after = values[1:]
        neighbours += (here[: len(after)].T @ after).astype(np.int64).astype(object)
    return _assembled(squares), _assembled(neighbours)


def _assembled(products: npt.NDArray[np.object_]) -> int:
    """Add the digit products at their places."""
    digits = len(products)
    return sum(
        int(np.trace(products[:, ::-1], offset=digits - 1 - place)) << (16 * place) for place in range(2 * digits - 1)
    )
