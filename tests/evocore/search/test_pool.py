"""The pool: its rule for copies and for newcomers, its bounds, and its draws."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.search.curriculum import warm_starts
from evocore.search.pool import Member, Pool, distances, spread

PLACES = st.floats(0, 10)


def member(name, score, place):
    """A member whose descriptor has all its weight at a place; those within 0.4 of each other count as one family."""
    return Member(name, Fraction(score), np.array([place, place]), 2)


def pool(*members, direction="minimize", capacity=3, threshold=0.4):
    made = Pool(direction, capacity, threshold)
    for one in members:
        made = made.offer(one)
    return made


def names(made):
    return [one.sha for one in made.members]


def test_members_are_kept_best_first():
    assert names(pool(member("a", 2, 0), member("b", 1, 5), member("c", 3, 9))) == ["b", "a", "c"]
    assert names(pool(member("a", 2, 0), member("b", 1, 5), direction="maximize")) == ["a", "b"]


def test_a_better_one_of_the_same_family_takes_all_their_places():
    made = pool(member("a", 2, 0.0), member("b", 3, 0.5), member("far", 9, 8))
    assert names(made.offer(member("c", 1, 0.25))) == ["c", "far"]


def test_one_that_is_not_better_than_its_whole_family_is_refused():
    made = pool(member("a", 2, 0.0), member("b", 4, 0.5))
    assert made.offer(member("c", 3, 0.25)) is made
    assert made.offer(member("d", 2, 0.1)) is made


def test_a_full_pool_lets_its_worst_go_for_a_better_one_only():
    made = pool(member("a", 1, 0), member("b", 2, 3), member("c", 3, 6))
    assert made.offer(member("d", 4, 9)) is made
    assert names(made.offer(member("d", 2.5, 9))) == ["a", "b", "d"]


def test_the_same_construction_enters_once():
    made = pool(member("a", 1, 0))
    assert made.offer(member("a", 1, 5)) is made


@given(st.lists(st.tuples(st.integers(0, 20), PLACES), max_size=20))
def test_the_pool_keeps_its_laws(offered):
    made = Pool("minimize", 4, 0.4)
    best = None
    for number, (score, place) in enumerate(offered):
        made = made.offer(member(str(number), score, place))
        best = score if best is None else min(best, score)
        scores = [one.score for one in made.members]
        assert scores == sorted(scores)
        assert scores[0] == best
        assert len(made) <= 4
        places = [one.descriptor[0] for one in made.members]
        assert all(abs(a - b) >= 0.4 for i, a in enumerate(places) for b in places[:i])


def test_distance_does_not_see_a_reflection():
    one, other = np.array([1.0, 2.0, 4.0]), np.array([[4.0, 2.0, 1.0], [1.0, 2.0, 1.0]])
    assert list(distances(one, other)) == [0.0, 1.0]


def test_the_default_threshold_follows_the_size_of_the_descriptor():
    made = Pool("minimize").offer(Member("a", Fraction(2), np.full(64, 0.5), 64))
    near, far = np.full(64, 0.53), np.full(64, 0.55)
    assert made.offer(Member("b", Fraction(3), near, 64)) is made
    assert len(made.offer(Member("b", Fraction(3), far, 64))) == 2


def test_draws_prefer_the_better_ones():
    made = pool(member("a", 1, 0), member("b", 2, 3), member("c", 3, 6))
    rng = np.random.default_rng(1)
    counts = {name: 0 for name in "abc"}
    for _ in range(3000):
        counts[made.draw(rng).sha] += 1
    assert counts["a"] / 3000 == pytest.approx((1 / 3) ** 0.5, abs=0.04)
    assert counts["a"] > counts["b"] > counts["c"] > 0
    with pytest.raises(ValueError, match="empty"):
        Pool("minimize").draw(rng)


def test_spread_takes_the_first_and_then_the_farthest():
    members = (member("a", 1, 0), member("b", 2, 1), member("c", 3, 9), member("d", 4, 5))
    assert [one.sha for one in spread(members, 3)] == ["a", "c", "d"]
    assert spread((), 2) == ()


def test_warm_tasks_begin_from_the_best_every_other_epoch():
    made = pool(member("a", 1, 0), member("b", 2, 9), member("c", 3, 5))
    assert [[one.sha for one in warm_starts(made, 2, epoch)] for epoch in (1, 2, 3)] == [
        ["a", "b"],
        ["b", "a"],
        ["a", "b"],
    ]
    assert [one.sha for one in warm_starts(pool(member("a", 1, 0)), 2, 2)] == ["a"]
    assert warm_starts(pool(), 2, 1) == ()
