from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.problems import Enclosure, ExactResult, Problem, Reference, problem
from evocore.verifiers import judge
from evocore.verifiers.scoring import is_untrue, leads, standing


def of(*values):
    return np.array(values, dtype=np.float64)


class Stated(Problem):
    """A problem whose scores are stated, to test what the judge makes of them."""

    slug, title, statement = "stated", "Stated", "Scores are stated."
    target = 0.0

    def __init__(self, direction, arena, exact, **about):
        self.direction, self.arena, self.stated = direction, arena, exact
        vars(self).update(about)

    def score(self, x):
        return self.arena

    def exact(self, x):
        return ExactResult(self.stated)


ANN = (Reference("Ann", 0.5, 2020, "paper", "a paper"),)


def test_a_verdict_by_hand(mean):
    verdict = judge(mean, of(0.25, 0.5), verifier_digest="d")
    assert (verdict.problem, verdict.valid, verdict.reasons) == ("mean", True, ())
    assert (verdict.arena_valid, verdict.arena_score, verdict.exact_score) == (True, 0.375, Fraction(3, 8))
    assert (verdict.alarms, verdict.first_place, verdict.verifier_digest) == ((), False, "d")
    s = verdict.standing
    assert (s.rank, s.n_references, s.best_who, s.best_score) == (1, 2, "Bob", 0.5)
    assert (s.lead, s.min_improvement) == (0.125, 0.25)


def test_a_broken_condition_is_a_verdict(mean):
    verdict = judge(mean, of(0.5, -1.0))
    assert not verdict.valid
    assert not verdict.arena_valid
    assert verdict.arena_score is None
    assert verdict.exact_score is None
    assert not verdict.first_place
    assert verdict.reasons == (
        "a number is negative",
        "the arena rejects it: expected numbers of at least 0, got -1.0",
    )
    assert verdict.standing.rank is None


def test_what_is_judged_is_not_changed(mean):
    x = of(0.25, 0.5)
    before = x.tobytes()
    x.flags.writeable = False
    judge(mean, x)
    assert x.tobytes() == before


@pytest.mark.parametrize(
    ("direction", "score", "expected"),
    [
        ("minimize", 0.25, True),  # exactly the minimum improvement
        ("minimize", np.nextafter(0.25, 1), False),
        ("minimize", 0.2, True),
        ("minimize", 0.5, False),
        ("minimize", 0.6, False),
        ("maximize", 0.75, True),
        ("maximize", np.nextafter(0.75, 0), False),
        ("maximize", 0.8, True),
        ("maximize", 0.5, False),
        ("maximize", 0.2, False),
    ],
)
def test_first_place_needs_the_minimum_improvement(direction, score, expected):
    exact = Fraction(float(score))
    found = judge(Stated(direction, float(score), exact, references=ANN, min_improvement=0.25), of(1))
    assert found.first_place is expected


def test_first_place_needs_it_in_floats_and_exactly():
    # A lead of one minimum improvement by the float, and a hair less by the true value: made of rounding.
    short = Stated("minimize", 0.25, Fraction(1, 4) + Fraction(1, 10**30), references=ANN, min_improvement=0.25)
    assert not judge(short, of(1)).first_place
    # The other way round: the arena subtracts doubles and would delete it.
    rejected = Stated("minimize", float(np.nextafter(0.25, 1)), Fraction(1, 4), references=ANN, min_improvement=0.25)
    assert not judge(rejected, of(1)).first_place


def test_equal_to_the_best_is_not_first_without_a_minimum_improvement():
    assert not judge(Stated("minimize", 0.5, Fraction(1, 2), references=ANN), of(1)).first_place
    assert judge(Stated("minimize", 0.4375, Fraction(7, 16), references=ANN), of(1)).first_place


def test_an_enclosure_has_to_lead_with_its_worse_end():
    tight = Enclosure(Fraction(1, 4) - Fraction(1, 10**12), Fraction(1, 4))
    assert judge(Stated("minimize", 0.25, tight, references=ANN, min_improvement=0.25), of(1)).first_place
    loose = Enclosure(Fraction(1, 4) - Fraction(1, 10**12), Fraction(1, 4) + Fraction(1, 10**12))
    assert not judge(Stated("minimize", 0.25, loose, references=ANN, min_improvement=0.25), of(1)).first_place


def test_without_references_any_valid_construction_is_first():
    found = judge(Stated("minimize", 0.25, Fraction(1, 4)), of(1))
    assert found.first_place
    assert found.standing is None


@pytest.mark.parametrize(
    ("arena", "exact", "bound", "alarms", "expected"),
    [
        (0.25, Fraction(1, 4), None, (), False),
        (0.25, Fraction(1, 4) + Fraction(1, 10**12), None, (), False),  # rounding
        (0.25, Fraction(1, 4) + Fraction(1, 10**8), None, (), True),
        (0.25, Fraction(1, 4) - Fraction(1, 10**8), None, (), True),
        (1.0, Fraction(3, 2), None, (), True),  # underflow
        (0.25, Fraction(1, 4), 0.3, (), True),  # beyond what is proven
        (0.25, Fraction(1, 4), 0.25, (), False),
        (0.25, Fraction(1, 4), None, ("leap: far ahead",), False),
        (0.25, Fraction(1, 4), None, ("clipped: some",), False),
        (0.25, Fraction(1, 4), None, ("leap: far ahead", "underflow: wrong"), True),
        (None, Fraction(1, 4), None, (), True),
        (0.25, None, None, (), True),
        (0.25, Enclosure(Fraction(0), Fraction(1)), None, (), False),
        (0.0, Fraction(0), None, (), False),
    ],
)
def test_an_arena_float_that_is_not_the_score(arena, exact, bound, alarms, expected):
    assert is_untrue(Stated("minimize", arena, exact, proven_bound=bound), arena, exact, alarms) is expected


def test_a_disagreement_that_no_alarm_explains_is_one():
    wrong = judge(Stated("minimize", 0.25, Fraction(1, 4) + Fraction(1, 10**8)), of(1))
    assert [alarm.split(":")[0] for alarm in wrong.alarms] == ["disagreement"]
    assert wrong.valid
    assert not wrong.is_true
    near = judge(Stated("minimize", 0.25, Fraction(1, 4) + Fraction(1, 10**12)), of(1))
    assert (near.alarms, near.doubt, near.is_true) == ((), "", True)
    beyond = judge(Stated("minimize", 0.25, Fraction(1, 4), proven_bound=0.3), of(1))
    assert {alarm.split(":")[0] for alarm in beyond.alarms} == {"impossible"}
    said = judge(problem("first-autocorrelation-inequality"), np.full(100, 3.3e-162))
    assert "disagreement" not in [alarm.split(":")[0] for alarm in said.alarms]


@given(st.floats(-1e9, 1e9), st.fractions(), st.none() | st.floats(-9, 9))
def test_what_is_untrue_always_carries_an_alarm_that_says_so(arena, exact, bound):
    verdict = judge(Stated("minimize", arena, exact, proven_bound=bound), of(1))
    assert verdict.is_true is not bool(verdict.doubt)
    assert verdict.is_true is not is_untrue(Stated("minimize", arena, exact, proven_bound=bound), arena, exact, ())


def test_underflow_takes_no_first_place():
    first = problem("first-autocorrelation-inequality")
    verdict = judge(first, np.full(100, 3.3e-162))
    assert verdict.arena_score < 1.28 < verdict.exact_score
    assert verdict.exact_score == 2
    assert verdict.alarms
    assert not verdict.first_place


def test_an_arena_score_that_is_not_finite_is_a_rejection():
    verdict = judge(Stated("minimize", float("nan"), Fraction(1, 4)), of(1))
    assert (verdict.valid, verdict.arena_valid, verdict.arena_score) == (False, False, None)
    assert verdict.reasons == ("the arena rejects it: its score is nan",)


@given(st.sampled_from(["minimize", "maximize"]), st.fractions(), st.lists(st.floats(-9, 9), min_size=1, max_size=5))
def test_rank_counts_the_references_that_are_not_beaten(direction, exact, scores):
    references = tuple(Reference("a", s, 2020, "paper", "") for s in scores)
    one = Stated(direction, 0.0, exact, references=references)
    beaten = [exact < Fraction(s) if direction == "minimize" else exact > Fraction(s) for s in scores]
    found = standing(one, exact)
    assert found.rank == 1 + beaten.count(False)
    assert (found.lead > 0) == all(beaten) or found.lead == 0.0
    assert leads(one, float(exact), exact) <= all(beaten)


def test_a_lead_beyond_all_floats_is_none():
    assert standing(Stated("maximize", 0.0, Fraction(10) ** 400, references=ANN), Fraction(10) ** 400).lead is None
