"""Certificates: an exact score as integers with a checker that anyone can read and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

# Kronecker substitution: the coefficients are digits of one product of large integers, in a base so large that no
# coefficient overflows its digit; half the base on top of each makes negative ones digits as well.
PRODUCT = '''\
def product(a, b):
    """All coefficients of the product of two polynomials with integer coefficients."""
    most = max(1, max(map(abs, a))) * max(1, max(map(abs, b))) * min(len(a), len(b))
    size = most.bit_length() // 8 + 1  # bytes a coefficient: |c| <= most < half
    half = 256**size // 2

    def joined(digits):
        return int.from_bytes(b"".join((half + d).to_bytes(size, "little") for d in digits), "little")

    def packed(c):
        return joined(c) - joined([0] * len(c))

    count = len(a) + len(b) - 1
    digits = (packed(a) * packed(b) + joined([0] * count)).to_bytes(size * count, "little")
    return [int.from_bytes(digits[size * k : size * k + size], "little") - half for k in range(count)]
'''


@dataclass(frozen=True)
class Certificate:
    """What proves an exact score.

    Attributes
    ----------
    score : Fraction
        The exact score.
    integers : mapping of str to int or sequence of int
        The construction in integers, by the names that the checker uses.
    meaning : str
        One sentence: what the integers are.
    checker : str
        Plain Python without imports. It finds `product` and the integers defined, ends with `SystemExit` where a
        condition is broken, and leaves the score as `numerator` and `denominator`.
    """

    score: Fraction
    integers: Mapping[str, int | Sequence[int]]
    meaning: str
    checker: str
