"""Fitness vectors, dominance, similarity, and the comparison of one with many against their plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.search.fitness import Caps, compare, dominates, fitness, similarity
from evocore.search.memory import ScoreTable, TaskScore

CAPS = Caps(4.0, 1000.0)
UNIT = st.floats(0, 1)
SCORES = st.builds(TaskScore, UNIT, st.floats(0, 6), st.floats(0, 1500))
SETS = st.dictionaries(st.sampled_from("abcd"), SCORES, max_size=4)
VECTORS = st.tuples(UNIT, UNIT, UNIT)


@pytest.mark.parametrize(
    ("f", "g", "expected"),
    [
        ((0.50, 0.1, 0.1), (0.47, 0.9, 0.9), True),  # over epsilon: costs do not matter
        ((0.50, 0.9, 0.9), (0.51, 0.8, 0.8), True),  # within epsilon: cheaper on every axis
        ((0.50, 0.9, 0.8), (0.51, 0.8, 0.8), False),  # equal on one axis
        ((0.50, 0.9, 0.7), (0.50, 0.8, 0.8), False),
        ((0.50, 0.9, 0.9), (0.55, 0.1, 0.1), False),
        ((0.50, 0.5, 0.5), (0.50, 0.5, 0.5), False),
        ((0.75, 0.1, 0.1), (0.5, 0.9, 0.9), True),
    ],
)
def test_dominance_by_hand(f, g, expected):
    assert dominates(f, g, 0.02) is expected


def test_the_boundary_of_epsilon_is_within_it():
    assert not dominates((0.75, 0.1, 0.1), (0.5, 0.2, 0.2), 0.25)
    assert dominates((0.5, 0.2, 0.2), (0.75, 0.1, 0.1), 0.25)


def test_dominance_is_not_transitive():
    a, b, c = (0.50, 0.9, 0.9), (0.515, 0.5, 0.5), (0.53, 0.1, 0.1)
    assert dominates(a, b, 0.02)
    assert dominates(b, c, 0.02)
    assert not dominates(a, c, 0.02)


@given(VECTORS, VECTORS, st.floats(0, 0.2))
def test_two_never_dominate_each_other(f, g, epsilon):
    assert not (dominates(f, g, epsilon) and dominates(g, f, epsilon))
    assert not dominates(f, f, epsilon)


@given(st.lists(SCORES, min_size=1, max_size=5))
def test_fitness_is_clipped_to_the_unit_box(scores):
    vector = fitness(scores, CAPS)
    assert all(0.0 <= value <= 1.0 for value in vector)
    assert vector[0] == pytest.approx(sum(one.accuracy for one in scores) / len(scores))


def test_fitness_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        fitness([], CAPS)


@given(st.dictionaries(st.sampled_from("abcd"), UNIT), st.dictionaries(st.sampled_from("abcd"), UNIT))
def test_similarity_laws(first, second):
    assert similarity(first, second) == similarity(second, first)
    assert 0.0 <= similarity(first, second) <= 1.0
    assert similarity(first, first) == 1.0


def test_without_a_common_task_candidates_count_as_alike():
    assert similarity({"a": 0.0}, {"b": 1.0}) == 1.0


@given(SETS.filter(bool), st.lists(SETS, min_size=1, max_size=5), st.floats(0, 0.1))
def test_the_comparison_with_many_is_the_definition(mine, others, epsilon):
    table = ScoreTable()
    for task in "abcd":
        table.add_task(task)
    for number, scores in enumerate([mine, *others]):
        for task, score in scores.items():
            table.put(str(number), task, score)
        table.rows.setdefault(str(number), len(table.rows))
    rows = [table.rows[str(number)] for number in range(1, len(others) + 1)]
    result = compare(table, table.rows["0"], rows, CAPS, epsilon)
    for place, theirs in enumerate(others):
        common = [task for task in "abcd" if task in mine and task in theirs]
        behaviours = [{task: one[task].accuracy for task in one} for one in (mine, theirs)]
        assert result.similarity[place] == pytest.approx(similarity(*behaviours))
        if not common:
            assert np.isnan(result.mine[place]).all()
            assert not result.dominates[place]
            assert not result.dominated[place]
            continue
        f = fitness([mine[task] for task in common], CAPS)
        g = fitness([theirs[task] for task in common], CAPS)
        assert result.mine[place] == pytest.approx(f)
        assert result.theirs[place] == pytest.approx(g)
        f, g = tuple(result.mine[place]), tuple(result.theirs[place])
        assert result.dominates[place] == dominates(f, g, epsilon)
        assert result.dominated[place] == dominates(g, f, epsilon)


def test_the_table_grows_and_keeps_what_it_holds():
    table = ScoreTable()
    for row in range(100):
        for column in range(20):
            table.put(f"s{row}", f"t{column}", TaskScore(row / 100, column, row * column))
    assert table.accuracy.shape == (100, 20)
    assert table.accuracy[table.rows["s42"], table.columns["t7"]] == 0.42
    assert table.seconds[table.rows["s42"], table.columns["t7"]] == 7
    assert table.memory[table.rows["s42"], table.columns["t7"]] == 42 * 7
