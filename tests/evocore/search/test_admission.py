"""Admission by dominance and by hypervolume, and the hypervolume against a count over a grid."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.ledger import Event
from evocore.search.admission import admit, exclusive_hypervolume
from evocore.search.fitness import Caps
from evocore.search.memory import Forest

CAPS = Caps(1.0, 1.0)
STEPS = st.integers(0, 6)


def forest_of(members, child):
    """A forest of one island whose members have these (accuracy, seconds, memory), and a scored child."""
    forest, seq = Forest(), itertools.count()

    def apply(kind, **data):
        number = next(seq)
        forest.apply(Event(number, 0.0, kind, data))
        return number

    apply("task", hash="t", name="t", task_kind="cold", role="search", epoch=0)
    apply("island", number=0, mutator="m", origin="start")
    for name, (accuracy, seconds, memory) in [*((f"m{i}", m) for i, m in enumerate(members)), ("child", child)]:
        apply(
            "evaluation",
            key=name,
            sha=name,
            task="t",
            attempt=0,
            accuracy=accuracy,
            seconds_to_best=seconds,
            peak_memory=memory,
            status="ok",
        )
    for i in range(len(members)):
        apply(
            "node",
            round=0,
            island=0,
            parent=None,
            co_parent=None,
            sha=f"m{i}",
            operator="",
            description="",
            fitness=[],
            gains=[],
            admitted=True,
            verdict="",
        )
    return forest


def decide(members, child, rule="dominance", epsilon=0.02):
    return admit(forest_of(members, child), 0, "child", caps=CAPS, epsilon=epsilon, rule=rule)


def test_the_first_of_an_island_is_admitted_even_with_nothing():
    result = decide([], (0.0, 0.5, 0.5))
    assert result.admitted
    assert not result.by_hypervolume
    assert result.fitness == (0.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("child", "dominance", "hypervolume"),
    [
        ((0.50, 0.5, 0.5), False, False),  # an exact duplicate
        ((0.60, 0.9, 0.9), True, True),  # more accurate, dearer
        ((0.51, 0.6, 0.6), False, True),  # within epsilon and dearer: dominated, and yet it adds volume
        ((0.49, 0.6, 0.6), False, False),
        ((0.49, 0.4, 0.4), True, True),
        ((0.40, 0.1, 0.1), False, True),  # less accurate by over epsilon: dominated, however cheap
        ((0.50, 0.5, 0.6), True, False),  # weakly worse: not dominated, adds nothing
    ],
)
def test_the_two_rules_by_hand(child, dominance, hypervolume):
    member = (0.5, 0.5, 0.5)
    result = decide([member], child)
    assert (result.by_dominance, result.by_hypervolume) == (dominance, hypervolume)
    assert result.admitted == dominance
    assert decide([member], child, "hypervolume").admitted == hypervolume
    assert (result.contribution > 0) == hypervolume


def test_one_dominating_member_is_enough():
    assert not decide([(0.1, 0.9, 0.9), (0.9, 0.9, 0.9)], (0.5, 0.1, 0.1)).admitted


def test_better_means_more_accurate_than_all():
    members = [(0.5, 0.5, 0.5), (0.7, 0.5, 0.5)]
    assert not decide(members, (0.6, 0.1, 0.1), "better").admitted
    assert not decide(members, (0.7, 0.1, 0.1), "better").admitted
    assert decide(members, (0.71, 0.9, 0.9), "better").admitted


def test_the_verdict_names_who_is_in_the_way():
    forest = forest_of([(0.9, 0.5, 0.5)], (0.5, 0.5, 0.5))
    (node,) = forest.nodes
    result = admit(forest, 0, "child", caps=CAPS, epsilon=0.02, rule="dominance")
    assert result.verdict == f"dominated by node {node}"


def counted(point, others):
    """Cells of a grid of 1/6 that the point's box covers and no other box does."""
    cells = itertools.product(*(range(round(v * 6)) for v in point))
    return sum(all(any(o <= c for o, c in zip(other, cell, strict=True)) for other in others) for cell in cells) / 6**3


@given(st.tuples(STEPS, STEPS, STEPS), st.lists(st.tuples(STEPS, STEPS, STEPS), max_size=8))
@settings(max_examples=200, deadline=None)
def test_hypervolume_is_the_count_of_cells(point, others):
    scaled = np.array(others, dtype=float).reshape(-1, 3) / 6
    value = exclusive_hypervolume(np.array(point) / 6, scaled)
    assert value == pytest.approx(counted(np.array(point) / 6, others), abs=1e-12)


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), st.integers(1, 4))
def test_hypervolume_of_a_lone_point_is_its_box(values, dimension):
    point = np.array(values[:dimension])
    assert exclusive_hypervolume(point, np.empty((0, dimension))) == pytest.approx(point.prod())
    assert exclusive_hypervolume(point, point[None, :]) == pytest.approx(0.0, abs=1e-15)
