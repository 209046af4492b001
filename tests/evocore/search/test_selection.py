"""Selection scores against their definition, the softmax, and the choice of unlike candidates."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evocore.ledger import Event
from evocore.search.fitness import Caps, dominates, fitness, similarity
from evocore.search.memory import Forest
from evocore.search.selection import Etas, dissimilar, draw, softmax

CAPS = Caps(1.0, 1.0)
TRIPLES = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))


class Grown:
    """A forest of one island that grows one scored node after the other."""

    def __init__(self, tasks=("a", "b")):
        self.forest, self._seq = Forest(), itertools.count()
        for task in tasks:
            self.apply("task", hash=task, name=task, task_kind="cold", role="search", epoch=0)
        self.apply("island", number=0, mutator="m", origin="start")

    def apply(self, kind, **data):
        seq = next(self._seq)
        self.forest.apply(Event(seq, 0.0, kind, data))
        return seq

    def score(self, sha, task, triple):
        accuracy, seconds, memory = triple
        self.apply(
            "evaluation",
            key=f"{sha}/{task}",
            sha=sha,
            task=task,
            attempt=0,
            accuracy=accuracy,
            seconds_to_best=seconds,
            peak_memory=memory,
            status="ok",
        )

    def add(self, sha, scores, parent=None):
        for task, triple in scores.items():
            self.score(sha, task, triple)
        return self.apply(
            "node",
            round=0,
            island=0,
            parent=parent,
            co_parent=None,
            sha=sha,
            operator="",
            description="",
            fitness=[],
            gains=[],
            admitted=True,
            verdict="",
        )


def eta_by_definition(forest, epsilon):
    nodes = forest.islands[0].admitted
    etas = []
    for one in nodes:
        total = 0.0
        for other in nodes:
            mine, theirs = forest.score(one), forest.score(other)
            common = [task for task in mine if task in theirs]
            if one == other or not common:
                continue
            f, g = (fitness([scores[task] for task in common], CAPS) for scores in (mine, theirs))
            if dominates(g, f, epsilon):
                total -= similarity(forest.behaviour(one), forest.behaviour(other))
        etas.append(total)
    return etas


@given(st.lists(st.tuples(TRIPLES, TRIPLES | st.none()), min_size=1, max_size=6))
def test_etas_are_the_definition_while_the_island_grows(rows):
    grown, etas = Grown(), Etas(CAPS, 0.02)
    for number, (first, second) in enumerate(rows):
        scores = {"a": first} if second is None else {"a": first, "b": second}
        grown.add(f"s{number}", scores)
        assert etas.of(grown.forest, 0) == pytest.approx(eta_by_definition(grown.forest, 0.02), abs=1e-9)


def test_etas_are_worked_out_anew_when_old_nodes_get_new_scores():
    grown, etas = Grown(), Etas(CAPS, 0.02)
    grown.add("x", {"a": (0.9, 0.5, 0.5)})
    grown.add("y", {"a": (0.5, 0.5, 0.5)})
    assert list(etas.of(grown.forest, 0)) == pytest.approx([0.0, -0.6])
    grown.score("x", "b", (0.0, 0.5, 0.5))
    grown.score("y", "b", (1.0, 0.5, 0.5))
    assert list(etas.of(grown.forest, 0)) == pytest.approx(eta_by_definition(grown.forest, 0.02))
    assert etas.of(grown.forest, 0)[1] == 0.0


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=6), st.floats(0.1, 5))
def test_softmax_laws(etas, temperature):
    p = softmax(np.array(etas), temperature)
    assert p.sum() == pytest.approx(1.0)
    assert p == pytest.approx(softmax(np.array(etas) + 7.0, temperature))
    order = np.argsort(etas)
    assert (np.diff(p[order]) >= -1e-12).all()


def test_drawing_follows_the_probabilities():
    rng = np.random.default_rng(0)
    counts = np.bincount([draw(np.array([0.7, 0.3, 0.0]), rng) for _ in range(2000)], minlength=3)
    assert counts[2] == 0
    assert counts[0] / 2000 == pytest.approx(0.7, abs=0.05)


def spread_of(behaviours, some):
    return min(1 - similarity(behaviours[a], behaviours[b]) for a, b in itertools.combinations(some, 2))


@given(
    st.lists(st.fixed_dictionaries({"a": st.floats(0, 1), "b": st.floats(0, 1)}), min_size=3, max_size=7),
    st.integers(2, 3),
)
def test_the_choice_of_unlike_candidates_is_the_best_one(behaviours, count):
    chosen = dissimilar(behaviours, count)
    assert list(chosen) == sorted(set(chosen))
    assert len(chosen) == min(count, len(behaviours))
    if count < len(behaviours):
        best = max(spread_of(behaviours, some) for some in itertools.combinations(range(len(behaviours)), count))
        assert spread_of(behaviours, chosen) == pytest.approx(best)


def test_one_island_gets_the_most_accurate_candidate():
    assert dissimilar([{"a": 0.1}, {"a": 0.9}, {"a": 0.5}], 1) == (1,)


def test_many_candidates_are_chosen_greedily_and_spread_out():
    behaviours = [{"a": number / 40} for number in range(41)]
    chosen = dissimilar(behaviours, 3)
    assert chosen == (0, 20, 40)
