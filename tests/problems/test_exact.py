"""Exact scores: equal to the second implementation, laws, repair, enclosures, extreme spreads."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.problems.base import to_float
from evocore.problems.exact import Integers, Products, autoconvolution, max_overlap, second_moment_ratio, to_integers

unit = st.floats(0.0, 1.0)
wide = st.one_of(
    unit,
    st.sampled_from([0.0, 5e-324, 2.0**-1022, 1e-300, 3.3e-162, 1e-6, 0.5, 1.0, 1e150, 1.7e308]),
    st.integers(-1074, 1023).map(lambda e: 2.0**e),
)
nonnegative = st.lists(wide, min_size=1, max_size=24)
signed = st.lists(st.one_of(wide, wide.map(lambda v: -v)), min_size=1, max_size=24)
density = st.lists(unit, min_size=1, max_size=24)


def array(values):
    return np.array(values, dtype=np.float64)


@given(values=signed)
def test_to_integers_loses_nothing(values):
    integers = to_integers(array(values))
    unit_value = Fraction(2) ** integers.exponent
    assert [integers[i] * unit_value for i in range(len(values))] == [Fraction(v) for v in values]
    assert integers.total() * unit_value == sum(map(Fraction, values))
    assert integers.bits == max(abs(integers[i]) for i in range(len(values))).bit_length()


def test_total_is_exact_where_doubles_are_not():
    n = 100_000
    integers = Integers(np.full(n, 2**62 - 1), np.zeros(n, np.int64), 0, 62)
    assert integers.total() == n * (2**62 - 1)


@given(values=signed)
def test_autoconvolution_equals_the_direct_sum(independent, values):
    integers = to_integers(array(values))
    lags = autoconvolution(integers)
    plain = [integers[i] for i in range(len(values))]
    expected = independent.direct(a=plain, b=plain)
    assert [lags[k] for k in range(len(expected))] == expected
    assert lags.largest() == max(expected)
    assert lags.smallest() == min(expected)


@given(numbers=st.lists(st.integers(-(2**100), 2**100), min_size=1, max_size=9))
def test_products_find_their_extremes(numbers):
    slot = 14
    packed = sum(v << (8 * slot * i) for i, v in enumerate(numbers))
    products = Products.of(packed, len(numbers), slot, is_signed=True)
    assert [products[k] for k in range(len(numbers))] == numbers
    assert (products.largest(), products.smallest()) == (max(numbers), min(numbers))


@given(values=nonnegative)
def test_first_equals_the_second_implementation(first, independent, values):
    result = first.exact(array(values))
    assert result.value == independent.first(values=values)
    assert result.valid == (result.value is not None)
    assert bool(result.reasons) == (not result.valid)


@given(values=signed)
def test_third_equals_the_second_implementation(third, independent, values):
    result = third.exact(array(values))
    expected = independent.third(values=values)
    if expected is None or expected[0] > 10**300:
        assert not result.valid
        assert result.value is None
        return
    assert result.value == expected[0]
    assert result.extras["max_abs"] == repr(to_float(expected[1]))


@given(values=nonnegative)
@settings(max_examples=60)
def test_second_equals_the_second_implementation(second, independent, values):
    result = second.exact(array(values))
    assert result.value == independent.second(values=values)
    if result.valid:
        assert result.extras["kind"] == "rational"


@given(values=density)
def test_erdos_equals_the_second_implementation(erdos, independent, values):
    result = erdos.exact(array(values))
    score, scale, share = independent.erdos(values=values)
    assert result.value == score
    assert result.valid == (score is not None)
    if scale is not None and scale != 1:
        assert result.repair == {"scale": scale, "clipped_share": share}
    else:
        assert result.repair is None


@given(values=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=20), seed=st.integers(0, 99))
def test_erdos_repairs_what_scaling_lifts_above_one(erdos, independent, values, seed):
    h = erdos.project(array(values) + 1e-3 * np.random.default_rng(seed).random(len(values)))
    h[np.argmax(h)] -= 2.0**-50 if h.max() > 0.5 else 0.0  # the sum is a little short now
    result = erdos.exact(h)
    score, scale, share = independent.erdos(values=h.tolist())
    assert result.valid
    assert result.value == score
    if scale != 1:
        assert result.repair == {"scale": scale, "clipped_share": share}
    numerators, denominator = erdos.repaired(h)
    assert 2 * sum(numerators) == len(h) * denominator
    assert all(0 <= p <= denominator for p in numerators)
    assert independent.overlap(h=[Fraction(p, denominator) for p in numerators]) == result.value


def test_erdos_clipping_by_hand(independent):
    """(1, 1/2, 1/4, 0) to sum 2 is (8/7, 4/7, 2/7, 0); 1/7 is removed and the slack (3, 5, 7)/7 shrinks by 14/15."""
    values = to_integers(array([1.0, 0.5, 0.25, 0.0]))
    score, _ = max_overlap(values, np.array([True, False, False, False]))
    repaired = [Fraction(1), Fraction(3, 5), Fraction(1, 3), Fraction(1, 15)]
    assert score == independent.overlap(h=repaired)


def test_erdos_clipped_share_boundary(erdos):
    """A removed mass of exactly 1e-9 of n/2 would be accepted; just above is not."""
    n = 1000
    for short, valid in ((0.9e-9, True), (1.2e-9, False)):
        h = np.concatenate([np.ones(n // 2), np.zeros(n // 2)])
        h[: n // 4] -= 2 * short  # the sum is short by n/2 * short; scaling lifts the other quarter by about `short`
        result = erdos.exact(h)
        share = float(result.repair["clipped_share"])
        assert share == pytest.approx(short / 2, rel=1e-6)
        assert result.valid
        h = np.concatenate([np.ones(n // 2), np.zeros(n // 2)])
        h[: n // 4] -= 4 * short
        result = erdos.exact(h)
        assert result.valid is valid
        assert (result.value is None) is not valid


@given(values=nonnegative, power=st.integers(-40, 40))
@settings(max_examples=50)
def test_scaling_changes_nothing(first, second, third, values, power):
    x = array(values)
    with np.errstate(over="ignore"):
        scaled = np.ldexp(x, power)
    if not np.isfinite(scaled).all() or not (np.ldexp(scaled, -power) == x).all() or not x.any():
        return
    for problem in (first, second, third):
        assert problem.exact(scaled).value == problem.exact(x).value


@given(values=signed)
def test_reversal_changes_nothing(third, values):
    assert third.exact(array(values[::-1])).value == third.exact(array(values)).value


@given(values=density)
def test_erdos_reversal_and_complement_change_nothing(erdos, values):
    h = erdos.project(array(values))
    value = erdos.exact(h).value
    assert erdos.exact(h[::-1].copy()).value == value
    if sum(map(Fraction, h.tolist())) == Fraction(len(h), 2):
        complement = 1.0 - h
        if all(Fraction(a) + Fraction(b) == 1 for a, b in zip(h.tolist(), complement.tolist(), strict=True)):
            assert erdos.exact(complement).value == value


@given(values=nonnegative, repeat=st.integers(2, 4))
def test_refining_the_grid_changes_nothing(first, second, third, values, repeat):
    """The same step function on a finer grid: the maximum over integer lags is the true supremum."""
    x = array(values)
    if not x.any():
        return
    fine = np.repeat(x, repeat)
    assert first.exact(fine).value == first.exact(x).value
    assert third.exact(fine).value == third.exact(x).value


@given(values=st.lists(unit, min_size=2, max_size=40), power=st.integers(0, 900))
@settings(max_examples=60)
def test_enclosure_holds_the_rational_and_is_narrow(second, values, power):
    x = array(values)
    x[0] = np.ldexp(1.0, -power)
    integers = to_integers(x)
    if integers.total() == 0 or integers.bits <= 62:
        return
    rational = second_moment_ratio(integers, max_size=1e9)
    enclosure = second_moment_ratio(integers, max_size=0)
    assert enclosure.lo <= rational <= enclosure.hi
    assert enclosure.width < Fraction(1, 10**14)


def test_enclosure_of_a_lopsided_vector_is_narrow_enough(second):
    x = np.full(200_000, 1e-12)
    x[777] = 1.0
    x[5] = 1e-300
    result = second.exact(x)
    assert result.extras["kind"] == "enclosure"
    assert result.value.width < Fraction(second.min_improvement) / 1000
    assert abs(second.score(x) - float(result.value)) < 1e-11


def test_hundred_thousand_values(third):
    """Every one of 199,999 coefficients counts: the polynomial identity holds at a point modulo a large prime."""
    n, prime, point = 100_000, 2**127 - 1, 3**70
    x = 2.0 * np.random.default_rng(5).random(n) - 0.5
    integers = to_integers(x)
    lags = autoconvolution(integers)
    coefficients = [lags[k] for k in range(2 * n - 1)]

    def at_point(numbers):
        value = 0
        for number in reversed(numbers):
            value = (value * point + number) % prime
        return value

    assert at_point(coefficients) == at_point([integers[i] for i in range(n)]) ** 2 % prime
    assert third.exact(x).value == Fraction(2 * n * max(coefficients), integers.total() ** 2)


def test_scores_beyond_doubles_are_refused(third):
    result = third.exact(array([1e300, -1e300, 1e100]))
    assert result.valid is False
    assert "cancel" in result.reasons[0]


def test_wide_spread_of_many_values_is_exact(first, erdos):
    """Beside the ones the others decide nothing before the 300th digit, and are still counted."""
    n = 5000
    x = np.exp2(np.random.default_rng(3).uniform(-1000, -600, n))
    x[0] = 1.0
    value = first.exact(x).value
    total = sum(map(Fraction, x.tolist()))
    # Lag 0 is 1; lag k is 2 x_k and products of tiny numbers: far below 1.
    assert value == 2 * n / total**2
    h = np.where(np.arange(n) < n // 2, 1.0, x)
    h[0] = 0.5
    result = erdos.exact(h)
    assert result.valid is False  # half a cell is missing: scaling lifts the ones far above 1


def test_loophole_of_tiny_values_has_its_true_value(first):
    x = np.full(1000, 3.3e-162)
    assert first.exact(x).value == 2
    assert first.score(x) < 1.28


@pytest.mark.parametrize(
    ("slug", "names"),
    [
        ("erdos-min-overlap", ["alphaevolve_arena_baseline", "haugland_2016", "together_ai_2026"]),
        (
            "first-autocorrelation-inequality",
            [
                "alphaevolve_arena_baseline",
                "alphaevolve_repo_1.5032",
                "alphaevolve_repo_1.5036",
                "alphaevolve_repo_1.5040",
                "alphaevolve_v1_600",
                "alphaevolve_v2_1319",
                "matolcsi_vinuesa_human",
                "thetaevolve_wo_rl",
                "together_ai_2026",
            ],
        ),
        ("second-autocorrelation-inequality", ["alphaevolve_b2_50", "alphaevolve_arena_baseline"]),
        (
            "third-autocorrelation-inequality",
            ["alphaevolve_arena_baseline", "alphaevolve_b3_400", "together_ai_2026"],
        ),
    ],
)
def test_published_constructions_agree(request, independent, published, slug, names):
    short = slug.split("-")[0]
    problem = request.getfixturevalue(short)
    for name in names:
        x = published(slug, name)
        expected = getattr(independent, short)(values=x.tolist())
        value = expected[0] if isinstance(expected, tuple) else expected
        assert problem.exact(x).value == value, name


def test_published_enclosure_holds_the_rational(second, published):
    x = published("second-autocorrelation-inequality", "together_ai_2026")
    enclosure = second.exact(x).value
    rational = second_moment_ratio(to_integers(np.maximum(x, 0.0)), max_size=1e9)
    assert enclosure.lo <= rational <= enclosure.hi
    assert enclosure.width < Fraction(1, 10**15)


def test_the_other_convention_of_the_third_problem(third, published):
    x = published("third-autocorrelation-abs-variant", "alphaevolve_b3prime")
    assert float(third.exact(x).extras["max_abs"]) == pytest.approx(1.4687620697410229, rel=1e-14)
