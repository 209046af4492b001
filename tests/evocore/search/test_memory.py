"""The forest: what each event adds, moved subtrees, and that nodes never change."""

import dataclasses
import itertools

import pytest

from evocore.ledger import Event
from evocore.search.memory import Forest


class Story:
    """Tells a forest events one after the other."""

    def __init__(self):
        self.forest, self._seq, self.told = Forest(), itertools.count(), []

    def tell(self, kind, **data):
        event = Event(next(self._seq), 0.0, kind, data)
        self.told.append(event)
        self.forest.apply(event)
        return event.seq

    def task(self, name, role="search"):
        self.tell("task", hash=name, name=name, task_kind="cold", role=role, epoch=0)

    def island(self, number, mutator="tune"):
        self.tell("island", number=number, mutator=mutator, origin="start")

    def score(self, sha, task, accuracy, attempt=0, status="ok"):
        self.tell(
            "evaluation",
            key=f"{sha}/{task}/{attempt}",
            sha=sha,
            task=task,
            attempt=attempt,
            accuracy=accuracy,
            seconds_to_best=1.0,
            peak_memory=100,
            status=status,
        )

    def node(self, sha, island=0, parent=None, co_parent=None, admitted=True, number=0):
        return self.tell(
            "node",
            round=number,
            island=island,
            parent=parent,
            co_parent=co_parent,
            sha=sha,
            operator="tune",
            description="",
            fitness=[0.5, 0.5, 0.5],
            gains=[],
            admitted=admitted,
            verdict="",
        )

    def propose(self, number, island, sha, parent, reason=""):
        self.tell(
            "proposal",
            round=number,
            island=island,
            parent=parent,
            co_parent=None,
            operator="tune",
            description="",
            sha=sha,
            reason=reason,
            fingerprint=f"print of {sha}",
        )

    def close(self, number, **islands):
        states = {
            key[1:]: {"best": best, "stall": stall, "improved": stall == 0} for key, (best, stall) in islands.items()
        }
        self.tell("round", number=number, islands=states)


@pytest.fixture
def story():
    told = Story()
    told.task("t")
    told.tell("epoch", number=1, search=["t"], reserve=[], validation=[])
    told.island(0)
    told.island(1)
    return told


def test_nodes_are_frozen_and_keep_the_scores_of_their_time(story):
    story.score("a", "t", 0.25)
    node = story.node("a")
    story.task("u")
    story.score("a", "u", 0.75)
    kept = story.forest.nodes[node]
    assert kept.evaluation.behaviour() == {"t": 0.25}
    assert story.forest.behaviour(node) == {"t": 0.25, "u": 0.75}
    with pytest.raises(dataclasses.FrozenInstanceError):
        kept.admitted = False


def test_the_same_source_in_two_islands_is_two_nodes_with_one_evaluation(story):
    story.score("a", "t", 0.25)
    first, second = story.node("a", 0), story.node("a", 1)
    assert first != second
    assert story.forest.score(first) is story.forest.score(second)


def test_attempts_are_averaged_whatever_order_they_came_in():
    values = {0: 0.1, 1: 0.7, 2: 0.2}
    means = set()
    for order in itertools.permutations(values):
        told = Story()
        told.task("t")
        for attempt in order:
            told.score("a", "t", values[attempt], attempt, "timeout" if attempt == 1 else "ok")
        score = told.forest.scores["a"]["t"]
        assert (score.attempts, score.status) == (3, "timeout")
        means.add(score.accuracy)
    assert means == {(0.1 + 0.7 + 0.2) / 3}


def test_the_best_is_the_most_accurate_admitted_one_on_the_search_set(story):
    for sha, accuracy in (("a", 0.5), ("b", 0.9), ("c", 0.7)):
        story.score(sha, "t", accuracy)
    first = story.node("a")
    story.node("b", admitted=False)
    third = story.node("c")
    assert story.forest.best(0) == third
    assert story.forest.best(1) is None
    story.task("new")
    story.score("a", "new", 0.1)
    story.tell("epoch", number=2, search=["new"], reserve=[], validation=[])
    assert story.forest.best(0) == first
    assert story.forest.accuracy(third) is None


def test_held_out_scores_count_for_what_they_are_asked_for_only(story):
    story.task("v", role="validation")
    story.score("a", "t", 0.5)
    story.score("a", "v", 0.9)
    node = story.node("a")
    assert story.forest.behaviour(node) == {"t": 0.5}
    assert story.forest.accuracy(node, ["v"]) == 0.9


def test_lineage_children_and_subtrees(story):
    for sha in "abcd":
        story.score(sha, "t", 0.5)
    root = story.node("a")
    left = story.node("b", parent=root)
    right = story.node("c", parent=root)
    leaf = story.node("d", parent=left)
    assert story.forest.lineage(leaf) == (leaf, left, root)
    assert story.forest.children(root) == (left, right)
    assert story.forest.subtree(root) == (root, left, leaf, right)


def test_speciation_moves_a_subtree_and_changes_no_node(story):
    for sha in "abcd":
        story.score(sha, "t", 0.5)
    root = story.node("a")
    left = story.node("b", parent=root)
    leaf = story.node("c", parent=left)
    right = story.node("d", parent=root, admitted=False)
    before = dict(story.forest.nodes)
    story.tell("speciate", root=left, island=2, mutator="stages")
    forest = story.forest
    assert [forest.island_of(node) for node in (root, left, leaf, right)] == [0, 2, 2, 0]
    assert (forest.islands[2].nodes, forest.islands[2].admitted) == ([left, leaf], [left, leaf])
    assert (forest.islands[0].nodes, forest.islands[0].admitted) == ([root, right], [root])
    assert forest.islands[2].mutator == "stages"
    assert forest.nodes == before
    assert forest.children(root) == (left, right)
    assert forest.subtree(root) == (root, right)


def test_proposals_of_an_unfinished_round_are_pending(story):
    story.score("a", "t", 0.5)
    root = story.node("a")
    story.propose(1, 0, "b", root)
    story.propose(1, 1, None, root, reason="nothing new")
    assert set(story.forest.pending()) == {0, 1}
    assert story.forest.committed == set()
    story.score("b", "t", 0.6)
    story.node("b", parent=root, number=1)
    assert story.forest.committed == {0}
    story.close(1, i0=(0.6, 0), i1=(0.0, 1))
    assert story.forest.pending() == {}
    assert story.forest.committed == set()
    assert story.forest.last_selected == {root: 1}
    assert [one.reason for one in story.forest.islands[1].rejections] == ["nothing new"]
    assert story.forest.islands[0].tried == {"tune": 1}
    assert (story.forest.islands[0].stall, story.forest.islands[1].stall) == (0, 1)


def test_a_decision_starts_the_stall_counter_anew_and_a_graft_lasts_one_proposal(story):
    story.score("a", "t", 0.5)
    root = story.node("a")
    story.close(1, i0=(0.5, 3), i1=(0.0, 3))
    story.tell("decision", island=0, findings=[{"action": {"kind": name}} for name in ("graft", "reassign")])
    assert [action["kind"] for action in story.forest.due_actions] == ["graft", "reassign"]
    story.tell("graft", island=0, donor=1)
    assert [action["kind"] for action in story.forest.due_actions] == ["reassign"]
    story.tell("reassign", islands=[1], mutator="cross")
    assert story.forest.due_actions == []
    assert (story.forest.islands[0].stall, story.forest.islands[1].stall) == (0, 3)
    assert story.forest.islands[0].graft_from == 1
    assert story.forest.islands[1].mutator == "cross"
    story.propose(2, 0, "b", root)
    assert story.forest.islands[0].graft_from is None


def test_events_of_other_kinds_pass_by_and_a_replay_gives_the_same(story):
    story.tell("discovery", sha="x")
    story.score("a", "t", 0.5)
    story.node("a")
    again = Forest().apply_all(story.told)
    assert again.nodes == story.forest.nodes
    assert again.islands == story.forest.islands


def test_noise_is_the_standard_error_over_attempts(story):
    for attempt, accuracy in enumerate((0.2, 0.4, 0.6)):
        story.score("a", "t", accuracy, attempt)
    story.score("b", "t", 0.5)
    several, single = story.node("a"), story.node("b")
    assert story.forest.noise(several, ["t"]) == pytest.approx(0.2 / 3**0.5)
    assert story.forest.noise(single, ["t"]) == 0.0
