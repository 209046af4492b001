from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore import Ratchet
from evocore.errors import InvalidConstruction, UnknownProblem
from evocore.verifiers.ratchet import NEAR_TIES, Pawl, weigh

ULP = 2.0**-52


def test_only_strictly_better_is_kept(mean):
    ratchet = Ratchet(mean)
    assert (ratchet.best, ratchet.best_score, ratchet.best_exact, ratchet.best_verdict) == (None, None, None, None)
    assert ratchet.offer([0.5, 1.0])
    assert not ratchet.offer([1.0, 0.5])  # equal
    assert not ratchet.offer([1.0, 1.0])  # worse
    assert not ratchet.offer([-1.0, 0.0])  # better by its score, and not valid
    assert ratchet.best_exact == Fraction(3, 4)
    assert ratchet.offer({"values": [0.25]})
    assert ratchet.best.tolist() == [0.25]
    assert (ratchet.best_score, ratchet.best_exact) == (0.25, Fraction(1, 4))
    assert ratchet.best_verdict.valid


@given(st.lists(st.lists(st.integers(-1, 40), min_size=1, max_size=4), max_size=30))
def test_it_holds_the_first_of_the_best(mean, offers):
    """Scores that differ, differ by much more than floats can mistake: then the ratchet is the exact minimum."""
    ratchet = Ratchet(mean)
    best = None
    for values in offers:
        valid = min(values) >= 0
        exact = Fraction(sum(values), len(values))
        improves = valid and (best is None or exact < best)
        assert ratchet.offer(np.array(values, dtype=float)) is improves
        best = exact if improves else best
        assert ratchet.best_exact == best


def test_maximisation_is_mirrored():
    ratchet = Ratchet("second-autocorrelation-inequality")
    assert ratchet.offer([1.0, 1.0])
    assert ratchet.offer([1.0, 0.9, 1.0]) is (ratchet.best.size == 3)
    worse = ratchet.best_exact
    assert not ratchet.offer([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert ratchet.best_exact == worse


def test_gains_below_the_floats_are_kept_up_to_a_number(mean):
    ratchet = Ratchet(mean)
    assert ratchet.offer([1.0])
    kept = [ratchet.offer([1.0 - k * ULP]) for k in range(1, NEAR_TIES + 20)]
    assert kept == [True] * NEAR_TIES + [False] * 19
    assert ratchet.offer([0.5])  # clearly better: the count begins again
    assert ratchet.offer([0.5 - ULP])


def test_near_ties_that_are_not_better_use_up_the_number_too(mean):
    ratchet = Ratchet(mean)
    ratchet.offer([1.0])
    for _ in range(NEAR_TIES):
        assert not ratchet.offer([1.0])
    assert not ratchet.offer([1.0 - ULP])
    assert ratchet.offer([1.0 - 1e-9])


def test_each_ratchet_counts_for_itself(mean):
    attempt, run = Pawl(mean), Pawl(mean)
    attempt.move(Fraction(1), 1.0)
    run.move(Fraction(1, 2), 0.5)
    assert weigh(np.array([0.75]), (attempt, run)).moved == (True, False)
    assert weigh(np.array([0.25]), (attempt, run)).moved == (True, True)
    assert (attempt.exact, run.exact) == (Fraction(1, 4), Fraction(1, 4))
    settled = weigh(np.array([0.3]), (attempt, run))
    assert (settled.moved, settled.verdict) == ((False, False), None)  # by floats alone
    assert "0.3 is not better" in settled.reason


def test_what_is_not_true_moves_nothing_and_says_why():
    first = Ratchet("first-autocorrelation-inequality")
    pawl = Pawl(first.problem)
    tiny = np.full(100, 3.3e-162)
    found = weigh(tiny, (pawl,))
    assert (found.moved, pawl.exact, pawl.score) == ((False,), None, None)
    assert found.reason.startswith("set aside: ")
    assert "underflow" in " ".join(found.verdict.alarms)
    assert not first.offer(tiny)
    assert first.offer(np.full(100, 1.0))


def test_what_is_not_valid_says_why(mean):
    found = weigh(np.array([-1.0]), (Pawl(mean),))
    assert (found.moved, found.score) == ((False,), None)
    assert found.reason == "expected numbers of at least 0, got -1.0"


def test_the_best_belongs_to_the_ratchet(mean):
    ratchet = Ratchet(mean)
    x = np.array([0.5, 0.5])
    ratchet.offer(x)
    x[0] = 9.0
    assert ratchet.best.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        ratchet.best[0] = 9.0


def test_what_cannot_be_read_is_an_error(mean):
    ratchet = Ratchet(mean)
    for x in ([float("nan")], [[1.0]], [], ["a"], {"value": [1]}):
        with pytest.raises(InvalidConstruction, match="expected"):
            ratchet.offer(x)
    with pytest.raises(UnknownProblem):
        Ratchet("no-such-problem")
