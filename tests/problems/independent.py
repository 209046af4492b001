"""A second implementation of the exact scores: plain Python integers and fractions, and nothing of evocore.

Written from the definitions, apart from the first one, so that both must be wrong in the same way to agree by mistake.
Autocorrelations go through one product of big integers (Kronecker substitution); `direct` does without even that.
"""

import itertools
import math
from fractions import Fraction


def common_integers(values):
    """Return integers and a denominator: value i is integers[i] / denominator."""
    pairs = [value.as_integer_ratio() for value in values]
    denominator = max(q for _, q in pairs)  # all are powers of two
    return [p * (denominator // q) for p, q in pairs], denominator


def direct(*, a, b):
    """Coefficients of the product of two polynomials, term by term."""
    out = [0] * (len(a) + len(b) - 1)
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            out[i + j] += p * q
    return out


def coefficients(*, a, b):
    """Coefficients of the product of two polynomials with integer coefficients, by one product of integers."""
    size = max(1, max(abs(p) for p in a)) * max(1, max(abs(q) for q in b)) * min(len(a), len(b))
    width = size.bit_length() // 8 + 2
    count = len(a) + len(b) - 1
    # Every slot of the sum below holds a coefficient plus this, so that no slot is negative and none overflows.
    middle = 1 << (8 * width - 1)
    number = evaluate(a, width) * evaluate(b, width) + evaluate([middle] * count, width)
    raw = number.to_bytes(count * width, "little")
    return [int.from_bytes(raw[k * width : (k + 1) * width], "little") - middle for k in range(count)]


def evaluate(integers, width):
    """The polynomial at 256**width."""
    positive = b"".join(max(v, 0).to_bytes(width, "little") for v in integers)
    negative = b"".join(max(-v, 0).to_bytes(width, "little") for v in integers)
    return int.from_bytes(positive, "little") - int.from_bytes(negative, "little")


def first(*, values):
    """2n max(f*f) / (sum f)^2, or None where f is not admitted."""
    if min(values) < 0 or not any(values):
        return None
    f, _ = common_integers(values)
    return Fraction(2 * len(f) * max(coefficients(a=f, b=f)), sum(f) ** 2)


def third(*, values):
    """2n |max(f*f)| / (sum f)^2 and 2n max|f*f| / (sum f)^2, or None where the sum is zero."""
    f, _ = common_integers(values)
    if sum(f) == 0:
        return None
    g = coefficients(a=f, b=f)
    scale = Fraction(2 * len(f), sum(f) ** 2)
    return scale * abs(max(g)), scale * max(abs(v) for v in g)


def second(*, values):
    """The ratio of norms of the piecewise linear f*f by the definition, segment by segment; None if not admitted."""
    if min(values) < -1e-6 or max(values) <= 0:
        return None
    f, _ = common_integers([max(v, 0.0) for v in values])
    y = [0, *coefficients(a=f, b=f), 0]
    step = Fraction(1, len(y) - 1)
    squared = step / 3 * sum(p * p + p * q + q * q for p, q in itertools.pairwise(y))
    integral = step * sum(y)
    return squared / (integral * max(y))


def erdos(*, values):
    """Score, scale and clipped share of the canonical repair; score None where it is not admitted."""
    half = Fraction(len(values), 2)
    if min(values) < 0 or max(values) > 1 or not any(values):
        return None, None, None
    integers, denominator = common_integers(values)
    scale = half * denominator / sum(integers)
    h = [Fraction(p, denominator) * scale for p in integers]
    clipped = Fraction(0)
    while True:
        removed = sum((v - 1 for v in h if v > 1), Fraction(0))
        if removed == 0:
            break
        clipped += removed
        h = [min(v, Fraction(1)) for v in h]
        slack = sum(1 - v for v in h)
        h = [v + removed * (1 - v) / slack for v in h]
    assert sum(h) == half
    assert all(0 <= v <= 1 for v in h)
    if clipped / half > Fraction(1, 10**9):
        return None, scale, clipped / half
    return overlap(h=h), scale, clipped / half


def overlap(*, h):
    """2/n times the largest overlap of h with the shifts of 1 - h."""
    common = math.lcm(*(v.denominator for v in h))
    p = [int(v * common) for v in h]
    c = coefficients(a=p, b=[common - v for v in reversed(p)])
    return Fraction(2 * max(c), len(h) * common * common)
