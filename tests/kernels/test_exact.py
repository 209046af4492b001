"""Exact largest sums: equal to FLINT and to fractions; every tier; ties, spreads, repairs; hostile input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.kernels import _exact, reference
from evocore.kernels.exact import (
    ExactVector,
    TooManyCandidates,
    exact_autoconvolution_extremes,
    exact_autoconvolution_maximum,
    exact_cross_correlation_maximum,
    exact_overlap_maximum,
    exact_sum,
)

unit = st.floats(0.0, 1.0)
wide = st.one_of(
    unit,
    st.sampled_from([0.0, -0.0, 5e-324, 2.0**-1022, 1e-300, 3.3e-162, 0.5, 1.0, 1e150, 1.7e308]),
    st.integers(-1074, 1023).map(lambda e: 2.0**e),
)
signed = st.lists(st.one_of(wide, wide.map(lambda v: -v)), min_size=1, max_size=20)


def value(pair):
    numerator, exponent = pair
    return numerator * Fraction(2) ** exponent


def integers_of(x):
    """Entries as Python integers over 2**-1074, and nothing of the code that is tested."""
    return [int(Fraction(float(v)) * 2**1074) for v in x]


def flint_extremes(x):
    product = (fmpz_poly(integers_of(x)) ** 2).coeffs()
    product += [0] * (2 * len(x) - 1 - len(product))
    return Fraction(int(max(product)), 2**2148), Fraction(int(min(product)), 2**2148)


def flat(n):
    """Coefficients of (1-z)^(-1/2): all sums below n are 1 up to the rounding of the entries."""
    k = np.arange(1, n)
    return np.concatenate([[1.0], np.cumprod((k - 0.5) / k)])


FAMILIES = {
    "uniform": lambda rng, n: rng.random(n),
    "signed": lambda rng, n: rng.standard_normal(n),
    "lognormal": lambda rng, n: np.exp(8 * rng.standard_normal(n)),
    "all exponents": lambda rng, n: np.ldexp(rng.random(n), rng.integers(-1000, 400, n)),
    "small integers": lambda rng, n: rng.integers(-3, 4, n).astype(np.float64),
    "ones": lambda rng, n: np.ones(n),
    "one": lambda rng, n: np.eye(1, n)[0],
    "sparse": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
    "flat": lambda rng, n: flat(n),
    "nearly flat": lambda rng, n: flat(n) * np.exp(2.0**-48 * rng.standard_normal(n)),
    "mirrored signs": lambda rng, n: np.where(np.arange(n) % 2, -1.0, 1.0) * flat(n),
    "subnormal": lambda rng, n: 5e-324 * rng.integers(0, 1000, n),
    "one huge": lambda rng, n: np.where(np.arange(n) == n // 2, 1e300, 1e-300),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 17, 33, 100, 700, 1500])
def test_equals_flint(family, n):
    x = FAMILIES[family](np.random.default_rng(n), n)
    before = x.copy()
    found = exact_autoconvolution_extremes(x)
    assert (value((found.largest, found.exponent)), value((found.smallest, found.exponent))) == flint_extremes(x)
    assert np.array_equal(x, before)
    assert exact_autoconvolution_maximum(x) == (found.largest, found.exponent)
    if _exact.HAS_AVX2:
        assert ExactVector(x, use_avx2=False).autoconvolution_extremes() == found


@given(values=signed)
@settings(max_examples=150, deadline=None)
def test_equals_fractions(values):
    found = exact_autoconvolution_extremes(values)
    sums = reference.sums_of_products(x=values, y=values)
    assert value((found.largest, found.exponent)) == max(sums)
    assert value((found.smallest, found.exponent)) == min(sums)
    assert value(exact_sum(values)) == sum(map(Fraction, values))


@given(x=signed, y=signed)
@settings(max_examples=150, deadline=None)
def test_cross_correlation_equals_fractions(x, y):
    expected = max(reference.sums_of_products(x=x, y=y, is_correlation=True))
    assert value(exact_cross_correlation_maximum(x, y)) == expected
    assert value(exact_cross_correlation_maximum(y, x)) == expected


@pytest.mark.parametrize("n", [50, 700])
def test_cross_correlation_of_flat_vectors(n):
    x = flat(n)
    y = x[::-1].copy()
    expected = max((fmpz_poly(integers_of(x)) * fmpz_poly(integers_of(y[::-1]))).coeffs())
    assert value(exact_cross_correlation_maximum(x, y)) == Fraction(int(expected), 2**2148)


@given(values=st.lists(unit, min_size=1, max_size=20).filter(any))
@settings(max_examples=150, deadline=None)
def test_overlap_equals_fractions(values):
    found = exact_overlap_maximum(values)
    n, total = len(values), sum(map(Fraction, values))
    scaled = [Fraction(v) * Fraction(n, 2) / total for v in values]
    assert Fraction(found.numerator, 2 * found.total**2) == reference.overlap_maximum(h=scaled)


@given(values=st.lists(st.sampled_from([0.0, 0.25, 0.3, 1.0, 1e-20]), min_size=2, max_size=16).filter(any))
@settings(max_examples=150, deadline=None)
def test_clipped_overlap_equals_fractions(values):
    h, n = np.array(values), len(values)
    clipped = np.array([Fraction(v) * n > 2 * sum(map(Fraction, values)) for v in values])
    if clipped.all() or sum(reference.repaired(h=values)) != Fraction(n, 2):
        return  # more than half of the mass stands on a few cells: no repair
    repaired = reference.repaired(h=values)
    if max(repaired) > 1:
        return
    found = ExactVector(h).clipped_overlap_maximum(clipped)
    assert Fraction(found.numerator, 2 * found.total**2) == reference.overlap_maximum(h=repaired)
    if not clipped.any():
        other = exact_overlap_maximum(h)
        assert Fraction(other.numerator, other.total**2) == Fraction(found.numerator, found.total**2)


@pytest.mark.parametrize("n", [95, 600])
def test_clipped_overlap_of_a_plateau(n):
    """Half ones, half random, the sum short by an ulp: the case of published vectors."""
    rng = np.random.default_rng(n)
    h = np.clip(1.6 * rng.random(n) - 0.3, 0.0, 1.0)
    h *= (n / 2 - 1e-13) / h.sum() if h.sum() > n / 2 else 1.0
    h = np.minimum(h, 1.0)
    total = sum(map(Fraction, h.tolist()))
    clipped = np.array([Fraction(v) * n > 2 * total for v in h.tolist()])
    if not clipped.any():
        pytest.skip("no entry is lifted above one")
    found = ExactVector(h).clipped_overlap_maximum(clipped)
    repaired = reference.repaired(h=h.tolist())
    common = math.lcm(*(v.denominator for v in repaired))
    a = [int(v * common) for v in repaired]
    product = (fmpz_poly(a) * fmpz_poly([common - v for v in reversed(a)])).coeffs()
    expected = Fraction(2 * int(max(product)), n * common**2)
    assert Fraction(found.numerator, 2 * found.total**2) == expected


@given(values=signed, power=st.integers(-60, 60))
@settings(max_examples=60, deadline=None)
def test_scale_and_mirror_laws(values, power):
    x = np.array(values)
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(x, power)
    if np.isfinite(scaled).all() and np.array_equal(np.ldexp(scaled, -power), x):
        assert value(exact_autoconvolution_maximum(scaled)) == value(exact_autoconvolution_maximum(x)) * Fraction(
            4
        ) ** Fraction(power)
    assert exact_autoconvolution_extremes(x[::-1]) == exact_autoconvolution_extremes(x)
    one, two = exact_autoconvolution_extremes(x), exact_autoconvolution_extremes(-x)
    assert (one.largest, one.smallest, one.exponent) == (two.largest, two.smallest, two.exponent)
    assert value(exact_cross_correlation_maximum(x, x)) == sum((Fraction(v) ** 2 for v in values), Fraction(0))


def test_attributes():
    v = ExactVector([0.0, 3.0, -0.75])
    assert (v.exponent, v.bits, v.total(), v.has_negative, len(v)) == (-2, 4, 9, True, 3)
    v = ExactVector([0.0, -0.0])
    assert (v.exponent, v.bits, v.total(), v.has_negative) == (0, 0, 0, False)
    assert v.autoconvolution_maximum() == (0, 0)
    assert ExactVector([5e-324]).exponent == -1074
    assert ExactVector([1.7976931348623157e308, 5e-324]).bits == 2098


def test_the_filter_leaves_few_and_the_slices_decide_the_rest():
    rng = np.random.default_rng(4)
    assert exact_autoconvolution_extremes(rng.random(4000)).n_candidates <= 3
    found = exact_autoconvolution_extremes(flat(4000))
    assert found.n_candidates >= 4000
    assert value((found.largest, found.exponent)) == flint_extremes(flat(4000))[0]


def test_wide_and_flat_at_once():
    """Low bits that the slices drop, and sums that agree in what is left."""
    x = flat(3000)
    x[1::2] += np.ldexp(1.0, -80) * x[1::2]  # no change in doubles; the next line has bits of its own
    x = np.concatenate([x, np.ldexp(np.random.default_rng(1).random(500), -140)])
    found = exact_autoconvolution_extremes(x)
    assert (value((found.largest, found.exponent)), value((found.smallest, found.exponent))) == flint_extremes(x)


def test_ties_of_many_bits_are_given_up_on_request():
    """Exactly equal sums of full width at a thousand lags: only adding all of them up would decide."""
    x = np.zeros(2000)
    x[0], x[1000:] = 1.0, 0.1 + 2.0**-60 + 0.0
    x[1000] = 1e-200
    with pytest.raises(TooManyCandidates, match="max_products"):
        ExactVector(x).autoconvolution_maximum(max_products=10.0)
    found = exact_autoconvolution_extremes(x)
    assert value((found.largest, found.exponent)) == flint_extremes(x)[0]


def test_hostile_arguments():
    for bad in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=r"x\[1\] = (nan|inf|-inf)"):
            exact_autoconvolution_maximum([1.0, bad, 2.0])
    with pytest.raises(ValueError, match="one or more values"):
        ExactVector([])
    with pytest.raises(ValueError, match="got shape"):
        ExactVector([[1.0]])
    for wrong in ([1.0, -1.0, 5.0], [0.0, 0.0]):
        with pytest.raises(ValueError, match="positive sum"):
            exact_overlap_maximum(wrong)
    with pytest.raises(TypeError, match="expected x as real numbers, got dtype"):
        ExactVector(["a"])
    read_only = np.arange(20, dtype=np.float64)[::2]
    read_only.flags.writeable = False
    assert exact_sum(read_only) == (45, 1)
    assert exact_autoconvolution_maximum(np.arange(3)) == (4, 0)
    changed = np.array([1.0, 2.0])
    v = ExactVector(changed)
    changed[:] = 7.0
    assert v.total() == 3
