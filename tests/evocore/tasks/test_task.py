"""Tasks and gains."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.errors import ConfigError
from evocore.problems import Enclosure
from evocore.sandbox import Limits
from evocore.tasks import OptimizerTask, gain

DOWN, UP = "third-autocorrelation-inequality", "second-autocorrelation-inequality"  # to minimize, to maximize


def task(problem=DOWN, s0=Fraction(2), target=1.0, floor=0.125, variant="log"):
    limits = Limits.for_budget(1.0)
    return OptimizerTask(problem, "cold", np.ones(2), s0, target, floor, variant, 1.0, limits)


@pytest.mark.parametrize(
    ("variant", "score", "expected"),
    [
        ("linear", Fraction(2), 0.0),
        ("linear", Fraction(3), 0.0),
        ("linear", Fraction(7, 4), 0.25),
        ("linear", Fraction(1), 1.0),
        ("linear", Fraction(1, 2), 1.0),
        ("linear", None, 0.0),
        ("log", Fraction(2), 0.0),
        ("log", Fraction(5, 4), 0.5),  # log(1.125 / 0.375) / log(1.125 / 0.125) = log 3 / log 9
        ("log", Fraction(1), 1.0),
        ("log", 1.25, 0.5),
        ("log", Enclosure(Fraction(1), Fraction(5, 4)), 0.5),  # the end that speaks against the program
    ],
)
def test_gain_by_hand(variant, score, expected):
    assert gain(task(variant=variant), score) == pytest.approx(expected, abs=1e-15)


def test_gain_of_maximisation_is_the_mirror_image():
    for variant in ("log", "linear"):
        up = task(UP, Fraction(1, 4), 0.75, 0.125, variant)
        down = task(DOWN, Fraction(3, 4), 0.25, 0.125, variant)
        for score in (Fraction(1, 4), Fraction(3, 8), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)):
            assert gain(up, score) == pytest.approx(gain(down, 1 - score), abs=1e-15)
        wide = Enclosure(Fraction(3, 8), Fraction(1, 2))
        assert gain(up, wide) == gain(up, Fraction(3, 8))


def test_the_logarithmic_gain_tells_apart_what_the_linear_one_does_not():
    """The two Erdős scores of the specification: 0.995 and 0.9995 on the linear scale."""
    near, nearer = Fraction(38150, 10**5), Fraction(38091, 10**5)
    linear = task(s0=Fraction(1, 2), target=0.38085, floor=1e-5, variant="linear")
    log = task(s0=Fraction(1, 2), target=0.38085, floor=1e-5, variant="log")
    assert gain(linear, nearer) - gain(linear, near) < 0.006
    assert gain(log, nearer) - gain(log, near) > 0.2


@given(st.fractions(0, 3), st.fractions(0, 3), st.sampled_from(["log", "linear"]))
def test_gain_is_bounded_and_monotone(a, b, variant):
    t = task(variant=variant)
    better, worse = sorted((gain(t, a), gain(t, b)), reverse=True)
    assert 0.0 <= worse <= better <= 1.0
    assert gain(t, min(a, b)) == better
    assert not math.isnan(gain(t, a))


@pytest.mark.parametrize("s0", [Fraction(1), Fraction(1, 2), Enclosure(Fraction(1), Fraction(2))])
def test_a_start_at_the_target_or_beyond_is_refused(s0):
    with pytest.raises(ConfigError, match=r"a start worse than the target 1\.0"):
        task(s0=s0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "hot"}, "hot"),
        ({"variant": "square"}, "square"),
        ({"floor": 0.0}, "floor"),
        ({"floor": float("nan")}, "floor"),
        ({"target": float("-inf")}, "target"),
        ({"budget_seconds": 0.0}, "budget"),
    ],
)
def test_senseless_settings_are_refused(make_task, changes, message):
    with pytest.raises(ConfigError, match=message):
        make_task(**changes)


def test_the_hash_covers_everything(make_task):
    base = make_task()
    others = [
        make_task(kind="warm"),
        make_task(start=(1.0, 2.0, 5.5)),
        make_task(start=(2.0, 1.0, 5.0)),
        make_task(start_exact=Fraction(9)),
        make_task(target=0.25),
        make_task(floor=0.25),
        make_task(variant="log"),
        make_task(budget_seconds=11.0),
        make_task(limits=Limits(30.0, 30.0, grace_seconds=2.0)),
    ]
    hashes = {t.hash for t in [base, *others]}
    assert len(hashes) == len(others) + 1
    assert all(len(h) == 64 for h in hashes)
    assert make_task() == base
    assert hash(make_task()) == hash(base)
    assert base not in others


def test_the_start_is_a_copy_that_cannot_be_changed(make_task):
    start = np.array([1.0, 2.0, 5.0])
    made = make_task(start=start)
    start[0] = 9.0
    assert made.start[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        made.start[0] = 9.0
