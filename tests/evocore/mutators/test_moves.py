import ast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.mutators import NoChild
from evocore.mutators.declarations import Tunable
from evocore.mutators.moves import moved, moved_share, written
from evocore.optim.tunables import Choice, Range

seeds = st.integers(0, 2**32)


@st.composite
def floats_in_range(draw):
    is_log = draw(st.booleans())
    bounds = st.floats(1e-9, 1e9) if is_log else st.floats(-1e9, 1e9)
    lo, hi = sorted(draw(st.tuples(bounds, bounds)))
    hi = hi if hi - lo > 1e-6 * max(abs(lo), abs(hi)) else lo + 1.0
    value = draw(st.floats(lo, hi))
    return Tunable("A", "float", Range(lo, hi, log=is_log), value, 1)


@st.composite
def ints_in_range(draw):
    is_log = draw(st.booleans())
    lo = draw(st.integers(1 if is_log else -(10**6), 10**6))
    hi = lo + draw(st.integers(1, 10**6))
    return Tunable("A", "int", Range(lo, hi, log=is_log), draw(st.integers(lo, hi)), 1)


@settings(deadline=None)
@given(st.one_of(floats_in_range(), ints_in_range()), seeds)
def test_moves_change_the_value_and_stay_in_the_range(tunable, seed):
    value = moved(tunable, np.random.default_rng(seed))
    assert tunable.limits.contains(value)
    assert value != tunable.value
    assert type(value).__name__ == tunable.kind
    assert ast.literal_eval(written(value)) == value
    assert type(ast.literal_eval(written(value))) is type(value)


@pytest.mark.parametrize("seed", range(5))
def test_an_integer_with_one_neighbour_goes_there(seed):
    tunable = Tunable("A", "int", Range(1, 2), 1, 1)
    assert moved(tunable, np.random.default_rng(seed)) == 2


def test_a_range_with_one_integer_has_no_moves():
    with pytest.raises(NoChild, match="A holds one integer"):
        moved(Tunable("A", "int", Range(0.5, 1.5), 1, 1), np.random.default_rng(0))


def test_every_other_choice_is_drawn():
    tunable = Tunable("A", "str", Choice("a", "b", "c"), "b", 1)
    rng = np.random.default_rng(0)
    assert {moved(tunable, rng) for _ in range(40)} == {"a", "c"}


def test_moves_of_a_logarithmic_range_are_factors():
    """In log space the spread does not depend on where the value is."""
    rng = np.random.default_rng(0)
    spreads = []
    for value in (1e3, 1e6):
        tunable = Tunable("A", "float", Range(1e-3, 1e12, log=True), value, 1)
        ratios = np.log([moved(tunable, rng) / value for _ in range(2000)])
        spreads.append(np.median(np.abs(ratios)))
    assert spreads[0] == pytest.approx(spreads[1], rel=0.1)
    assert 1 < spreads[0] < 10


def test_a_small_move_is_written_with_the_digits_that_it_needs():
    tunable = Tunable("A", "float", Range(0.99, 1.0), 0.995, 1)
    rng = np.random.default_rng(0)
    values = [moved(tunable, rng) for _ in range(200)]
    assert len(set(values)) > 50
    assert max(len(written(value)) for value in values) <= 9


def test_values_off_three_digits_are_short():
    tunable = Tunable("A", "float", Range(30, 3000, log=True), 100.0, 1)
    rng = np.random.default_rng(0)
    lengths = sorted(len(written(moved(tunable, rng))) for _ in range(200))
    assert lengths[150] <= 5


@settings(deadline=None)
@given(st.floats(1e-3, 1e3), seeds)
def test_shares_stay_positive(share, seed):
    assert 1e-3 <= float(moved_share(share, np.random.default_rng(seed))) <= 1e3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (63.1, "63.1"),
        (100.0, "100.0"),
        (322000.0, "3.22e5"),
        (1e6, "1e6"),
        (-2.5e-7, "-2.5e-7"),
        (0.001, "0.001"),
        (0.0, "0.0"),
        (64, "64"),
        (True, "True"),
        ("white", '"white"'),
        ('a"b', "'a\"b'"),
        ("a\nb", "'a\\nb'"),
    ],
)
def test_written(value, text):
    assert written(value) == text
    assert ast.literal_eval(text) == value


@settings(deadline=None)
@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.booleans(), st.text()))
def test_written_values_read_back(value):
    assert ast.literal_eval(written(value)) == value
