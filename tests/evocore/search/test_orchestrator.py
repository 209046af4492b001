"""Every row of the table of diagnoses, at its boundaries."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evocore.errors import ConfigError
from evocore.search.memory import Forest
from evocore.search.orchestrator import (
    ChildView,
    Curriculum,
    Decision,
    Diagnosis,
    Graft,
    IslandView,
    NodeView,
    PopulationView,
    Reassign,
    Settings,
    Speciate,
    action_from_json,
    action_to_json,
    diagnose,
    new_tasks,
    stalled,
    view_of,
    why_impossible,
)

# Epsilon 1/32 and accuracies in thirty-seconds: sums and differences are exact, so that equality can be tested.
E = 1 / 32
SETTINGS = Settings(patience=3, epsilon=E)
POOL = {"grammar-tune": 5, "grammar-stages": 2, "grammar-cross": 2}
ADMITTED = ChildView(is_admitted=True, similarity=0.5, edit="a good one")


def node(seq, island, behaviour, *, parent=None, since=0, last_selected=10):
    return NodeView(seq, island, parent, behaviour, since, last_selected)


def island(number, best, *, accuracy=0.5, improved=10, admitted=10, children=(ADMITTED,) * 3, stall=3):
    return IslandView(number, "grammar-tune", best, accuracy, stall, improved, admitted, tuple(children))


def view(islands, nodes, *, tries=POOL, search=("s", "t"), reserve=(), at=10):
    return PopulationView(
        at, {one.number: one for one in islands}, {one.seq: one for one in nodes}, tries, search, reserve
    )


def quiet(**changes):
    """Two islands of which nothing is to be said; the changes go to island 0."""
    nodes = [node(1, 0, {"s": 0.5, "t": 0.5}), node(2, 1, {"s": 0.5, "t": 0.5})]
    return view([island(0, 1, **changes), island(1, 2, accuracy=1.0)], nodes)


def test_nothing_to_say():
    decision = diagnose(quiet(), 0, SETTINGS)
    assert decision == Decision(10, 0, ())
    assert decision.diagnosis is Diagnosis.NONE
    assert decision.actions == ()


def test_no_such_island():
    with pytest.raises(ConfigError, match=r"expected an island out of \[0, 1\], got 7"):
        diagnose(quiet(), 7, SETTINGS)


def test_stalled_islands():
    islands = [island(0, None, stall=2), island(2, None, stall=4), island(1, None, stall=3)]
    assert stalled(view(islands, []), SETTINGS) == (1, 2)


# ---- exhausted lineage ----


def exhausted(gap, *, admitted=7):
    nodes = [node(1, 0, {"s": 0.5, "t": 0.5}), node(2, 1, {"s": 0.5 + gap, "t": 0.25})]
    return view([island(0, 1, admitted=admitted), island(1, 2, accuracy=1.0)], nodes)


@pytest.mark.parametrize(
    ("gap", "admitted", "holds"),
    [
        (3 * E, 7, True),
        (2 * E, 7, False),  # a mean gap of exactly epsilon is none
        (2 * E + 2**-40, 7, True),
        (3 * E, 8, False),  # two rounds without admission are not three
    ],
)
def test_exhausted_lineage(gap, admitted, holds):
    decision = diagnose(exhausted(gap, admitted=admitted), 0, SETTINGS)
    assert decision.actions == ((Graft(donor=1, island=0),) if holds else ())
    assert decision.diagnosis is (Diagnosis.EXHAUSTED_LINEAGE if holds else Diagnosis.NONE)


def test_the_donor_is_the_island_that_is_furthest_ahead_task_by_task():
    nodes = [
        node(1, 0, {"s": 0.5, "t": 0.5}),
        node(2, 1, {"s": 0.75, "t": 0.0}),
        node(3, 2, {"s": 0.75, "t": 0.0}),  # between them the two nodes of island 2 are ahead on both tasks
        node(4, 2, {"s": 0.0, "t": 0.75}),
        node(5, 3, {"s": 0.75, "t": 0.75}),  # as far ahead, but later in the order
    ]
    bests = {0: 1, 1: 2, 2: 3, 3: 5}
    islands = [island(number, best, accuracy=number / 4, admitted=0) for number, best in bests.items()]
    decision = diagnose(view(islands, nodes), 0, SETTINGS)
    assert decision.actions[0] == Graft(donor=2, island=0)
    assert decision.findings[0].evidence == "no child admitted for 10 rounds; island 2 is ahead by 0.25 a task"


def test_islands_without_common_tasks_or_nodes_are_no_donors():
    nodes = [node(1, 0, {"s": 0.5}), node(2, 1, {"u": 1.0})]
    islands = [island(0, 1, admitted=0), island(1, 2, accuracy=1.0), island(2, None, accuracy=1.0)]
    assert diagnose(view(islands, nodes), 0, SETTINGS).actions == ()


# ---- crowded-out niche ----


def crowded(behaviour, *, last_selected=4, since=1, mates=(), best_parent=None):
    best = node(1, 0, {"s": 0.5, "t": 0.5}, parent=best_parent)
    niche = node(2, 0, behaviour, since=since, last_selected=last_selected)
    other = node(9, 1, {"s": 0.0, "t": 0.0})
    return view([island(0, 1), island(1, 9, accuracy=1.0)], [best, niche, other, *mates])


@pytest.mark.parametrize(
    ("behaviour", "holds"),
    [
        ({"s": 0.5 + E, "t": 0.0}, True),  # solves s by exactly epsilon
        ({"s": 0.5 + E - 2**-40, "t": 0.0}, False),
        ({"s": 0.5 + E, "t": 0.5}, False),  # Sim = 1 - 1/64
        ({"u": 1.0}, False),  # no task in common
    ],
)
def test_crowded_out_niche(behaviour, holds):
    decision = diagnose(crowded(behaviour), 0, SETTINGS)
    assert decision.actions == ((Speciate(2, "grammar-stages"),) if holds else ())
    assert decision.diagnosis is (Diagnosis.CROWDED_OUT_NICHE if holds else Diagnosis.NONE)


def test_similarity_has_to_be_below_the_bound():
    at_bound = replace(SETTINGS, niche_similarity=0.75)
    assert diagnose(crowded({"s": 0.75, "t": 0.25}), 0, at_bound).actions == ()
    assert diagnose(crowded({"s": 0.75, "t": 0.25 - E}), 0, at_bound).actions != ()


NICHE = {"s": 0.75, "t": 0.0}


@pytest.mark.parametrize(
    ("last_selected", "since", "holds"), [(4, 1, True), (5, 1, False), (None, 4, True), (None, 5, False)]
)
def test_a_niche_was_left_alone_for_twice_the_patience(last_selected, since, holds):
    decision = diagnose(crowded(NICHE, last_selected=last_selected, since=since), 0, SETTINGS)
    assert bool(decision.actions) is holds


def test_a_selected_descendant_keeps_a_niche_alive():
    alive = node(3, 0, {"s": 0.5, "t": 0.5}, parent=2, since=2, last_selected=9)
    dormant = replace(alive, last_selected=3)
    emigrated = replace(alive, island=1)
    assert diagnose(crowded(NICHE, mates=[alive]), 0, SETTINGS).actions == ()
    assert diagnose(crowded(NICHE, mates=[dormant]), 0, SETTINGS).actions == (Speciate(2, "grammar-stages"),)
    assert diagnose(crowded(NICHE, mates=[emigrated]), 0, SETTINGS).actions == (Speciate(2, "grammar-stages"),)


def test_the_best_stays_on_its_island():
    assert diagnose(crowded(NICHE, best_parent=2), 0, SETTINGS).actions == ()


def test_the_niche_that_is_furthest_ahead_goes():
    further = node(3, 0, {"s": 1.0, "t": 0.0}, since=1, last_selected=None)
    equal = node(4, 0, {"s": 1.0, "t": 0.0}, since=1, last_selected=None)
    assert diagnose(crowded(NICHE, mates=[further, equal]), 0, SETTINGS).actions == (Speciate(3, "grammar-stages"),)


# ---- plateau ----


def plateau(second, *, improved=7, reserve=("u",), accuracy=0.5):
    nodes = [
        node(1, 0, {"s": 0.5, "t": 0.25, "u": 0.0}),
        node(2, 1, {"s": 0.5, "t": 0.5, "u": 1.0}),
    ]
    islands = [island(0, 1, improved=improved, accuracy=accuracy), island(1, 2, accuracy=second, improved=0)]
    return view(islands, nodes, reserve=reserve)


@pytest.mark.parametrize(
    ("second", "improved", "holds"),
    [(0.5, 7, True), (0.5 + E, 7, True), (0.5 + E + 2**-40, 7, False), (0.5 - E, 7, True), (0.5, 8, False)],
)
def test_plateau(second, improved, holds):
    decision = diagnose(plateau(second, improved=improved), 0, SETTINGS)
    assert decision.actions == ((Curriculum(("u", "t"), ()),) if holds else ())  # regrets 1/2, 1/8 and 0
    assert decision.diagnosis is (Diagnosis.PLATEAU if holds else Diagnosis.NONE)


def test_tasks_that_nobody_was_scored_on_are_probed_first():
    decision = diagnose(plateau(0.5, reserve=("u", "v", "w")), 0, SETTINGS)
    assert decision.actions == (Curriculum(("u", "t"), ("v", "w")),)


def test_no_plateau_where_no_other_task_is_better():
    assert diagnose(plateau(0.5, reserve=()), 0, SETTINGS).actions == ()


def test_new_tasks_keep_the_size_and_prefer_regret_and_present_ones():
    nodes = [node(1, 0, {"s": 1.0, "t": 0.5, "u": 0.5}), node(2, 0, {"s": 0.0, "t": 0.5, "u": 0.5})]
    one = view([island(0, 1)], nodes, search=("t", "x"), reserve=("s", "u", "y"))
    assert new_tasks(one) == ("s", "t")
    assert new_tasks(replace(one, search_tasks=("t",))) == ("s",)
    assert new_tasks(replace(one, search_tasks=("x", "t", "s"), reserve_tasks=("u", "y"))) == ("s", "t", "u")
    assert new_tasks(replace(one, search_tasks=("x", "y"), reserve_tasks=())) == ("x", "y")


# ---- dry mutator ----

REJECTED = ChildView(is_admitted=False, similarity=0.5, edit="x")
REFUSED = ChildView(is_admitted=False, similarity=None, edit="y")


def admitted(similarity, edit="z"):
    return ChildView(is_admitted=True, similarity=similarity, edit=edit)


@pytest.mark.parametrize(
    ("children", "holds"),
    [
        ([REJECTED, REFUSED, REJECTED], True),
        ([REJECTED, REFUSED], False),  # two children are not three
        ([ADMITTED, REJECTED, REFUSED, REJECTED], True),
        ([REJECTED, REFUSED, REJECTED, ADMITTED], False),
        ([admitted(0.99)] * 3, True),
        ([admitted(0.98)] * 3, False),  # exactly 0.98 is not above it
        ([admitted(None)] * 3, False),
        ([REJECTED, *[admitted(0.5, "x")] * 3], True),  # the edit of one that was rejected before
        ([admitted(0.5, "x"), *[admitted(0.5, "x")] * 3], False),
        ([REJECTED, REFUSED, admitted(0.99), admitted(0.5, "y")], True),
    ],
)
def test_dry_mutator(children, holds):
    decision = diagnose(quiet(children=children), 0, SETTINGS)
    assert decision.actions == ((Reassign((0,), "grammar-stages"),) if holds else ())
    assert decision.diagnosis is (Diagnosis.DRY_MUTATOR if holds else Diagnosis.NONE)


def test_the_least_tried_other_mutator_follows_and_the_first_of_equals():
    dry = quiet(children=[REJECTED] * 3)
    for tries, expected in [
        ({"grammar-tune": 0, "grammar-cross": 4, "grammar-stages": 3}, "grammar-stages"),
        ({"grammar-tune": 0, "grammar-cross": 3, "grammar-stages": 3}, "grammar-cross"),
    ]:
        assert diagnose(replace(dry, tries=tries), 0, SETTINGS).actions == (Reassign((0,), expected),)
    assert diagnose(replace(dry, tries={"grammar-tune": 9}), 0, SETTINGS).actions == ()


def test_evidence_counts_what_was_seen():
    decision = diagnose(quiet(children=[REFUSED, REJECTED, admitted(1.0)]), 0, SETTINGS)
    assert decision.findings[0].evidence == "the last 3 children of grammar-tune: 2 rejected, 1 like its parent"


# ---- all together ----


def everything():
    """All four tests hold for island 0."""
    nodes = [
        node(1, 0, {"s": 0.5, "t": 0.5, "u": 0.0}),
        node(2, 0, {"s": 0.75, "t": 0.0, "u": 0.0}, since=1, last_selected=None),
        node(3, 1, {"s": 1.0, "t": 0.0, "u": 1.0}),
    ]
    islands = [
        island(0, 1, improved=0, admitted=0, children=[REJECTED] * 3),
        island(1, 3, improved=0, admitted=0, children=[REJECTED] * 3),
    ]
    return view(islands, nodes, reserve=("u",))


def test_at_most_two_actions_in_the_order_of_the_table():
    decision = diagnose(everything(), 0, SETTINGS)
    assert [finding.diagnosis for finding in decision.findings] == ["exhausted_lineage", "crowded_out_niche"]
    assert decision.diagnosis is Diagnosis.EXHAUSTED_LINEAGE
    assert decision.actions == (Graft(1, 0), Speciate(2, "grammar-stages"))
    one = diagnose(everything(), 1, SETTINGS)
    assert [finding.diagnosis for finding in one.findings] == ["exhausted_lineage", "plateau"]


def test_decisions_go_through_json():
    for decision in (diagnose(everything(), 0, SETTINGS), diagnose(everything(), 1, SETTINGS), Decision(1, 2, ())):
        assert Decision.from_json(json.loads(json.dumps(decision.to_json()))) == decision


@pytest.mark.parametrize("action", [Graft(1, 0), Speciate(2, "m"), Curriculum(("a",), ("b",)), Reassign((0, 1), "m")])
def test_actions_go_through_json(action):
    assert action_from_json(json.loads(json.dumps(action_to_json(action)))) == action


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "graft", "donor": 1}, "wrong 'island'"),
        ({"kind": "graft", "donor": "1", "island": 0}, "the number of an island or a node, got '1'"),
        ({"kind": "graft", "donor": True, "island": 0}, "got True"),
        ({"kind": "prune"}, "graft, speciate, curriculum or reassign as an action, got 'prune'"),
        ({}, "wrong 'kind'"),
        ({"kind": "reassign", "islands": 3, "mutator": "m"}, "wrong 'int' object is not iterable"),
    ],
)
def test_unusable_actions_are_refused(data, message):
    with pytest.raises(ConfigError, match=message):
        action_from_json(data)


def test_unusable_decisions_are_refused():
    good = diagnose(everything(), 0, SETTINGS).to_json()
    with pytest.raises(ConfigError, match="at most 2 actions, got 4"):
        Decision.from_json({**good, "findings": good["findings"] * 2})
    for change in ({"round": None}, {"findings": [{"diagnosis": "bored"}]}, {"findings": 3}):
        with pytest.raises(ConfigError, match="expected a decision of the orchestrator"):
            Decision.from_json({**good, **change})


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Graft(1, 0), None),
        (Graft(0, 0), "an island cannot be its own donor"),
        (Graft(7, 0), "there is no island 7"),
        (Graft(2, 0), "island 2 has no admitted node"),
        (Speciate(2, "grammar-cross"), None),
        (Speciate(7, "grammar-cross"), "there is no admitted node 7"),
        (Speciate(2, "agent"), "there is no mutator agent in the pool"),
        (Speciate(3, "grammar-cross"), "the subtree of node 3 is the whole island 1"),
        (Curriculum(("s", "u")), None),
        (Curriculum(("s", "v")), "there is no task v to search on"),
        (Curriculum(("s",), ("v",)), "there is no task v to search on"),
        (Curriculum(()), "a search set is one or more different tasks"),
        (Curriculum(("s", "s")), "a search set is one or more different tasks"),
        (Reassign((0, 1), "grammar-cross"), None),
        (Reassign((0, 7), "grammar-cross"), "there is no island 7"),
        (Reassign((), "grammar-cross"), "no island is named"),
        (Reassign((0,), "agent"), "there is no mutator agent in the pool"),
    ],
)
def test_what_is_impossible(action, reason):
    one = everything()
    one = replace(one, islands={**one.islands, 2: island(2, None)})
    assert why_impossible(one, action) == reason


@st.composite
def views(draw):
    tasks = ("s", "t", "u", "v")
    n_islands = draw(st.integers(1, 4))
    levels = st.integers(0, 8).map(lambda k: k / 8)
    nodes = []
    for seq in range(draw(st.integers(0, 12))):
        home = draw(st.integers(0, n_islands - 1))
        mates = [one.seq for one in nodes if one.island == home]
        nodes.append(
            NodeView(
                seq=seq,
                island=home,
                parent=draw(st.sampled_from([None, *mates])),
                behaviour=draw(st.dictionaries(st.sampled_from(tasks), levels)),
                since=draw(st.integers(0, 10)),
                last_selected=draw(st.one_of(st.none(), st.integers(0, 10))),
            )
        )
    children = st.builds(
        ChildView,
        is_admitted=st.booleans(),
        similarity=st.one_of(st.none(), levels),
        edit=st.sampled_from(["x", "y", "z"]),
    )
    islands = []
    for number in range(n_islands):
        own = [one.seq for one in nodes if one.island == number]
        best = draw(st.sampled_from(own)) if own else None
        made = draw(st.lists(children, max_size=6))
        told = {"accuracy": draw(levels), "improved": draw(st.integers(0, 10)), "admitted": draw(st.integers(0, 10))}
        islands.append(island(number, best, children=made, **told))
    pool = draw(st.dictionaries(st.sampled_from([*POOL, "agent"]), st.integers(0, 9)))
    n_search = draw(st.integers(1, 4))
    return view(islands, nodes, tries=pool, search=tasks[:n_search], reserve=tasks[n_search:])


@settings(deadline=None, max_examples=100)
@given(views(), st.integers(1, 4))
def test_decisions_are_possible_deterministic_and_small(one, patience):
    limits = Settings(patience=patience)
    order = [*Diagnosis]
    for number in one.islands:
        decision = diagnose(one, number, limits)
        assert decision == diagnose(one, number, limits)
        assert len(decision.actions) <= 2
        assert [why_impossible(one, action) for action in decision.actions] == [None] * len(decision.actions)
        places = [order.index(finding.diagnosis) for finding in decision.findings]
        assert places == sorted(set(places))
        assert Decision.from_json(json.loads(json.dumps(decision.to_json()))) == decision


# ---- the view of a forest ----


def test_the_view_of_a_forest():
    forest = Forest()
    story = [
        ("program", {"sha": "p", "file": "programs/p.py", "origin": "shipped"}),
        ("program", {"sha": "q", "file": "programs/q.py", "origin": "child"}),
        ("task", {"hash": "s", "name": "s", "task_kind": "cold", "role": "search", "epoch": 0}),
        ("epoch", {"number": 0, "search": ["s"], "reserve": [], "validation": []}),
        ("island", {"number": 0, "mutator": "grammar-tune", "origin": "start"}),
        ("evaluation", _evaluation("p", 0.5)),
        ("node", _node(0, None, "p", "the start")),
    ]
    for number in (1, 2):
        story.append(("proposal", _proposal(number, "q", "")))
        story.append(("evaluation", _evaluation("q", 0.75)))
        story.append(("node", {**_node(number, 7, "q", f"edit {number}"), "admitted": number == 1}))
        states = {"0": {"best": 0.75, "stall": number - 1, "improved": number == 1}}
        story.append(("round", {"number": number, "islands": states}))
    story.append(("proposal", _proposal(3, None, "line 1: not valid Python")))
    forest.apply_all(SimpleNamespace(seq=k + 1, kind=kind, data=data) for k, (kind, data) in enumerate(story))
    one = view_of(forest, ["grammar-tune", "grammar-cross"])
    assert one.round == 2
    assert one.tries == {"grammar-tune": 3, "grammar-cross": 0}
    assert (one.search_tasks, one.reserve_tasks) == (("s",), ())
    assert one.nodes == {
        7: NodeView(7, 0, None, {"s": 0.5}, 0, 3),
        10: NodeView(10, 0, 7, {"s": 0.75}, 1, None),
    }
    assert one.islands == {
        0: IslandView(
            number=0,
            mutator="grammar-tune",
            best=10,
            accuracy=0.75,
            stall=1,
            improved_round=1,
            admitted_round=1,
            children=(
                ChildView(True, 0.75, "edit 1"),
                ChildView(False, 0.75, "edit 2"),
                ChildView(False, None, "edit 3"),
            ),
        )
    }


def _evaluation(sha, accuracy):
    costs = {"seconds_to_best": 1.0, "peak_memory": 1, "status": "ok"}
    return {"key": f"{sha}/s/0", "sha": sha, "task": "s", "attempt": 0, "accuracy": accuracy, **costs}


def _node(number, parent, sha, description):
    lineage = {"round": number, "island": 0, "parent": parent, "co_parent": None, "sha": sha}
    told = {"operator": "grammar-tune", "description": description, "fitness": (0.5,), "gains": ()}
    return {**lineage, **told, "admitted": True, "verdict": ""}


def _proposal(number, sha, reason):
    lineage = {"round": number, "island": 0, "parent": 7, "co_parent": None, "sha": sha}
    told = {"operator": "grammar-tune", "description": f"edit {number}", "reason": reason, "fingerprint": ""}
    return {**lineage, **told}
