"""The contract of problems: reading submissions, comparing, targets, a problem of one's own."""

import json
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore import problems
from evocore.errors import InputError, InvalidConstruction
from evocore.problems.base import Enclosure, ExactResult, Problem, Reference, cell_means, near_one, unit_mean


class Spread(Problem):
    """The smallest complete problem: everything else is a default."""

    slug = "spread"
    title = "Largest over smallest"
    statement = "Give positive numbers; the score is the largest over the smallest."
    direction = "minimize"
    min_length = 2
    target = 1.0

    def score(self, x):
        if x.min() <= 0:
            raise InvalidConstruction("expected positive values")
        return float(x.max() / x.min())

    def exact(self, x):
        return ExactResult(Fraction(x.max()) / Fraction(x.min()))


@pytest.fixture
def spread():
    return Spread()


def test_a_small_problem_works(spread):
    x = spread.parse({"values": [3, 1.5]})
    assert spread.score(x) == spread.fast(x) == 2.0
    assert spread.exact(x).value == 2
    assert spread.payload(x) == {"values": [3.0, 1.5]}
    assert spread.alarms(x, 2.0, spread.exact(x)) == ()
    assert spread.target == 1.0
    assert spread.best_reference is None
    assert spread.takes_first_place(2.0)
    assert spread.location == "spread"
    assert spread.start(5, 1).shape == (5,)
    assert np.array_equal(spread.project(x), x)
    assert spread.descriptor(x).shape == (64,)
    assert repr(spread) == "<problem spread>"


def test_a_problem_without_a_goal_has_no_target():
    class Aimless(Spread):
        target = Problem.target

    with pytest.raises(AttributeError, match="neither references nor a target"):
        _ = Aimless().target


def test_missing_methods_say_so():
    class Empty(Problem):
        slug = "empty"

    for method in (Empty().score, Empty().exact):
        with pytest.raises(NotImplementedError, match="Empty has no method"):
            method(np.ones(1))


# ---- reading ------------------------------------------------------------------------------------------------------

BAD = [
    (None, r'expected an object {"values": \[numbers\]}, got null'),
    ([1.0, 2.0], "got a list"),
    ("x", 'got the string "x"'),
    (1.5, "got the number 1.5"),
    ({}, 'expected the key "values", got an empty object'),
    ({"value": [1.0]}, 'got the key "value"'),
    ({"values": [1.0, 2.0], "note": 1}, 'and no other, got the keys "values", "note"'),
    ({"solution": {"values": [1.0, 2.0]}, "by": "me"}, 'stands inside "solution"'),
    ({"values": 1.0}, "expected a list of numbers at values, got the number 1.0"),
    ({"values": "1, 2"}, 'got the string "1, 2"'),
    ({"values": {"0": 1}}, "got an object"),
    ({"values": None}, "got null"),
    ({"values": []}, "expected 2 to 100000 values at values, got 0"),
    ({"values": [1.0]}, "expected 2 to 100000 values at values, got 1"),
    ({"values": [1.0] * 100_001}, "got 100001"),
    ({"values": [1.0, "2"]}, r'expected a number at values\[1\], got the string "2"'),
    ({"values": [1.0, "2" * 99]}, r"values\[1\], got the string \"2{40}\"\.\.\."),
    ({"values": [1.0, True]}, r"expected a number at values\[1\], got true"),
    ({"values": [False, 1.0]}, r"expected a number at values\[0\], got false"),
    ({"values": [1.0, None]}, r"values\[1\], got null"),
    ({"values": [1.0, [2.0]]}, r"values\[1\], got a list"),
    ({"values": [[1.0, 2.0]] * 2}, r"values\[0\], got a list"),
    ({"values": [1.0, {"x": 1}]}, r"values\[1\], got an object"),
    ({"values": [1.0, math.nan]}, r"expected a finite number at values\[1\], got nan"),
    ({"values": [math.inf, 1.0]}, r"expected a finite number at values\[0\], got inf"),
    ({"values": [1.0, 2**53 + 1]}, r"up to 2\^53 in size at values\[1\], got 9007199254740993"),
    ({"values": [1.0, -(2**53) - 1]}, r"values\[1\], got -9007199254740993"),
    ({"values": [1.0, 10**400]}, r"values\[1\], got one of 1329 bits"),
    ({"values": [1.0, 2 + 0j]}, r"values\[1\], got a complex"),
]


@pytest.mark.parametrize(("payload", "message"), BAD, ids=[m[:40] for _, m in BAD])
def test_bad_submissions_are_told_what_and_where(spread, payload, message):
    with pytest.raises(InvalidConstruction, match=message) as caught:
        spread.parse(payload)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize("text", ['{"values": [1.0, 1e400]}', '{"values": [1.0, NaN]}', '{"values": [1.0, -Infinity]}'])
def test_json_beyond_doubles_is_refused(spread, text):
    with pytest.raises(InvalidConstruction, match=r"finite number at values\[1\]"):
        spread.parse(json.loads(text))


def test_largest_integer_is_admitted(spread):
    assert spread.parse({"values": [2**53, -(2**53)]}).tolist() == [2.0**53, -(2.0**53)]


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30))
def test_payload_and_parse_are_inverse_through_json(values):
    spread = Spread()
    x = np.array(values)
    back = spread.parse(json.loads(json.dumps(spread.payload(x))))
    assert back.tobytes() == x.tobytes()


BAD_ARRAYS = [
    (np.ones((2, 2)), r"shape \(2, 2\)"),
    (np.float64(1.0), r"shape \(\)"),
    (np.ones(1), "got 1"),
    (np.array(["1", "2"]), "dtype <U1"),
    (np.array([True, False]), "dtype bool"),
    (np.array([1 + 0j, 2]), "dtype complex128"),
    (np.array([None, 1], dtype=object), "dtype object"),
    ([[1.0], [1.0, 2.0]], "nested lists"),
    (np.array([1, 2**60]), r"2\^53"),
    (np.array([1.0, np.nan]), r"values\[1\], got nan"),
    (np.ones(2, dtype=np.longdouble), "dtype"),
]


@pytest.mark.parametrize(("x", "message"), BAD_ARRAYS, ids=[m for _, m in BAD_ARRAYS])
def test_bad_arrays_are_told_what(spread, x, message):
    with pytest.raises(InvalidConstruction, match=message):
        spread.check(x)


def test_check_gives_contiguous_float64_and_keeps_what_is(spread):
    x = np.arange(1.0, 5.0)
    assert spread.check(x) is x
    strided = spread.check(x[::2])
    assert strided.flags.c_contiguous
    assert strided.tolist() == [1.0, 3.0]
    assert spread.check(np.array([1, 2], dtype=np.int32)).dtype == np.float64
    assert spread.check(np.array([0.5, 2], dtype=np.float16)).tolist() == [0.5, 2.0]


@pytest.mark.parametrize("slug", problems.problems())
def test_solution_model_is_strict(slug):
    problem = problems.problem(slug)
    model = problem.solution
    assert model.model_validate({"values": [0, 0.5]}).values == [0.0, 0.5]
    for bad in (
        {"values": []},
        {"values": ["1"]},
        {"values": [True]},
        {"values": [math.nan]},
        {"values": [1.0], "x": 1},
        {},
    ):
        with pytest.raises(pydantic.ValidationError):
            model.model_validate(bad)
    schema = model.model_json_schema()
    assert schema["properties"]["values"]["maxItems"] == problem.max_length


# ---- comparing ----------------------------------------------------------------------------------------------------


def test_better_is_strict_and_needs_proof(spread):
    third, half = Fraction(1, 3), Fraction(1, 2)
    assert spread.better(third, half)
    assert not spread.better(half, third)
    assert not spread.better(half, 0.5)
    assert spread.better(third, 0.5)
    assert spread.better(0.25, math.inf)
    assert not spread.better(Enclosure(third, half), half)
    assert spread.better(Enclosure(third, half), Fraction(51, 100))
    assert not spread.better(Enclosure(third, half), Enclosure(Fraction(2, 5), Fraction(1)))
    assert not spread.better(math.nan, half)


near = st.tuples(
    st.floats(allow_nan=False) | st.sampled_from([0.1, 0.3, 1e308, 5e-324, -0.0]),
    st.sampled_from([0, 1, -1]).map(lambda n: Fraction(n, 10**40)) | st.just(Fraction(10) ** 400),
)


@given(near, near)
def test_better_is_exact_whatever_floats_say(a, b):
    """Values that differ by less than doubles do, and such as no double holds."""
    for left in _forms(*a):
        for right in _forms(*b):
            assert Spread().better(left, right) == (left < right)


def _forms(value, offset):
    return [value] if math.isinf(value) else [value, Fraction(value) + offset]


def test_better_follows_the_direction(second):
    assert second.better(Fraction(2, 3), Fraction(1, 3))
    assert second.better(Enclosure(Fraction(2, 3), Fraction(1)), 0.5)
    assert not second.better(Enclosure(Fraction(1, 3), Fraction(1)), 0.5)


def test_enclosure_keeps_its_order():
    assert float(Enclosure(Fraction(1), Fraction(2))) == 1.5
    assert Enclosure(Fraction(1), Fraction(2)).width == 1
    with pytest.raises(ValueError, match="lo <= hi"):
        Enclosure(Fraction(2), Fraction(1))
    with pytest.raises(FrozenInstanceError):
        Enclosure(Fraction(1), Fraction(2)).lo = Fraction(0)


def test_targets_lie_one_minimum_improvement_beyond_the_best(erdos, first, second, third):
    assert erdos.target == 0.3808567744 - 1e-7
    assert first.target == 1.5027435984 - 1e-8
    assert second.target == 0.963588110582029 + 1e-5
    assert third.target == 1.4488860143 - 1e-5
    assert second.best_reference.who == "ClaudeExplorer"


def test_first_place_needs_the_minimum_improvement(erdos):
    best = erdos.best_reference.score
    assert not erdos.takes_first_place(best)
    assert not erdos.takes_first_place(best - 0.9e-7)
    assert erdos.takes_first_place(best - 1.1e-7)
    assert not erdos.takes_first_place(best + 1.0)
    tie_refused = Spread()
    tie_refused.references = (Reference("A", 2.0, 2020, "paper", "p. 1"),)
    assert not tie_refused.takes_first_place(2.0)
    assert tie_refused.takes_first_place(np.nextafter(2.0, 1.0))


@pytest.mark.parametrize("slug", problems.problems())
def test_built_in_problems_state_everything(slug):
    problem = problems.problem(slug)
    assert problem.slug == slug
    assert problem.arena_id
    assert len(problem.statement) > 200
    assert "$" not in problem.statement
    assert "\\" not in problem.statement
    assert problem.min_improvement > 0
    assert problem.gain_floor > problem.min_improvement
    for reference in problem.references:
        assert reference.who
        assert reference.source
        assert 1990 < reference.year < 2100
        assert not problem.better(reference.score, problem.proven_bound)
        assert not problem.better(reference.score, problem.best_reference.score)


# ---- resampling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5e-324, 1e-308, 1.0, 1e308])
def test_descriptors_know_no_size(size):
    x = np.array([0.0, size, size, 0.0, -size])
    assert 0.5 <= near_one(x).max() < 1.0
    told = Problem.descriptor(Problem(), x)
    assert told == pytest.approx(Problem.descriptor(Problem(), np.array([0.0, 1.0, 1.0, 0.0, -1.0])))
    assert near_one(np.zeros(2)).tolist() == [0.0, 0.0]


def test_cell_means_by_hand():
    assert cell_means(np.array([1.0, 3.0]), 4).tolist() == [1, 1, 3, 3]
    assert cell_means(np.array([1.0, 2.0, 6.0]), 1).tolist() == [3]
    assert cell_means(np.array([0.0, 3.0, 6.0]), 2) == pytest.approx([1.0, 5.0])


def test_unit_mean_by_hand():
    assert unit_mean(np.array([1.0, 3.0])).tolist() == [0.5, 1.5]
    assert unit_mean(np.array([-1.0, -3.0])).tolist() == [0.5, 1.5]
    assert unit_mean(np.array([1.0, -1.0])).tolist() == [1.0, -1.0]
    assert unit_mean(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
