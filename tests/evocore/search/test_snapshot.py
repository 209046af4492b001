from dataclasses import replace
from types import SimpleNamespace

import pytest

from evocore.search.memory import Forest
from evocore.search.snapshot import IslandRecord, NodeRecord, island_snapshot, population_snapshot, records_of

AXES = ("accuracy", "speed", "memory")
ISLAND = IslandRecord(
    0, "grammar-tune", 0.75, 2, (("A 1 -> 2", "line 3: x is not defined"), ("A 1 -> 2", "line 3: x is not defined"))
)


def node(seq, parent=None, gain=0.0, **changes):
    made = NodeRecord(
        seq=seq,
        island=0,
        parent=parent,
        co_parent=None,
        path=f"programs/{seq}.py",
        operator="grammar-tune",
        description=f"edit {seq}",
        fitness=(0.5, 0.25, 1.0),
        gains=() if parent is None else (gain, 0.0, -0.125),
        is_admitted=True,
        verdict="",
        round=seq,
    )
    return replace(made, **changes)


NODES = [
    node(1),
    node(2, 1, 0.25),
    node(3, 1, -0.5, is_admitted=False, verdict="dominated by node 1"),
    node(4, 2, 0.5, co_parent=9, operator="grammar-cross"),
    node(5, 4, 0.0, is_admitted=False, verdict="a duplicate"),
    node(6, 1, 0.125),
    node(9, island=1),
]

EXPECTED = """\
# Island 0

Mutator grammar-tune; 6 nodes, 4 admitted, 2 refused unevaluated; best accuracy 0.7500, 2 rounds without progress. \
Fitness is (accuracy, speed, memory).

- 0 `programs/1.py` node 1; no parent to compare with; fitness (0.5000, 0.2500, 1.0000); admitted
  - 1 `programs/2.py` node 2; gained (+0.2500, +0.0000, -0.1250); fitness (0.5000, 0.2500, 1.0000); admitted
    - 2 `programs/4.py` node 4; crossed with node 9; gained (+0.5000, +0.0000, -0.1250); \
fitness (0.5000, 0.2500, 1.0000); admitted
      - 3 `programs/5.py` node 5; gained (+0.0000, +0.0000, -0.1250); fitness (0.5000, 0.2500, 1.0000); \
rejected: a duplicate
  - 1 `programs/3.py` node 3; gained (-0.5000, +0.0000, -0.1250); fitness (0.5000, 0.2500, 1.0000); \
rejected: dominated by node 1
  - 1 `programs/6.py` node 6; gained (+0.1250, +0.0000, -0.1250); fitness (0.5000, 0.2500, 1.0000); admitted

## What helped, by gain in accuracy

- (+0.5000, +0.0000, -0.1250) grammar-cross: edit 4 (node 4)
- (+0.2500, +0.0000, -0.1250) grammar-tune: edit 2 (node 2)
- (+0.1250, +0.0000, -0.1250) grammar-tune: edit 6 (node 6)

## What was rejected, by loss in accuracy

- (-0.5000, +0.0000, -0.1250) grammar-tune: edit 3 (node 3)
- (+0.0000, +0.0000, -0.1250) grammar-tune: edit 5 (node 5)

## What was refused unevaluated

- A 1 -> 2: line 3: x is not defined (2 times)
"""


def test_an_island_as_a_whole():
    assert island_snapshot(ISLAND, NODES, AXES) == EXPECTED
    assert island_snapshot(ISLAND, reversed(NODES), AXES) == EXPECTED


def test_an_empty_island():
    text = island_snapshot(IslandRecord(3, "grammar-cross", 0.0, 1), NODES, AXES)
    assert "0 nodes, 0 admitted" in text
    assert "1 round without progress" in text
    assert "No nodes yet." in text
    assert text.count("Nothing.") == 3


def test_the_population_has_every_island_and_one_ranking():
    other = IslandRecord(1, "grammar-cross", 0.5, 0, (("B 1 -> 2", "no"),))
    text = population_snapshot([other, ISLAND], NODES, AXES)
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Population",
        "## Island 0",
        "## Island 1",
        "## What helped, by gain in accuracy",
        "## What was rejected, by loss in accuracy",
        "## What was refused unevaluated",
    ]
    tree = EXPECTED[EXPECTED.index("- 0 `") : EXPECTED.index("## What helped")]
    assert tree in text
    assert "- 0 `programs/9.py` node 9" in text
    assert "- A 1 -> 2: line 3: x is not defined (2 times)\n- B 1 -> 2: no (1 time)\n" in text


def test_long_rankings_are_cut():
    nodes = [node(1), *(node(seq, 1, seq / 1000) for seq in range(2, 32))]
    text = island_snapshot(ISLAND, nodes, AXES)
    helped = text[text.index("## What helped") : text.index("## What was rejected")].strip().splitlines()[2:]
    assert len(helped) == 21
    assert helped[0].endswith("(node 31)")
    assert helped[-1] == "- and 10 more"


def test_a_node_that_moved_in_without_its_parent_is_a_root():
    text = island_snapshot(ISLAND, [node(5, 4, 0.25)], AXES)
    assert "\n- 0 `programs/5.py` node 5; gained (+0.2500" in text


def test_deep_lineages_stay_readable():
    nodes = [node(1), *(node(seq, seq - 1) for seq in range(2, 3001))]
    lines = island_snapshot(ISLAND, nodes, AXES).splitlines()
    (last,) = (line for line in lines if "node 3000;" in line and "`" in line)
    assert last.strip().startswith("- 2999 `programs/3000.py`")
    assert len(last) < 200


def test_text_of_programs_cannot_pose_as_lines():
    posing = node(2, 1, 0.5, description="x\n## What helped\n- y", verdict="a\nb")
    text = island_snapshot(ISLAND, [node(1), posing], AXES)
    assert text.count("\n## What helped") == 1
    assert "grammar-tune: x ## What helped - y (node 2)" in text
    assert "admitted: a b" in text


def test_vectors_have_the_axes_length():
    with pytest.raises(ValueError, match="expected 2 values, one for each of accuracy, speed, got 3"):
        island_snapshot(ISLAND, NODES, AXES[:2])


def test_ties_in_accuracy_are_ranked_by_the_costs():
    nodes = [
        node(1),
        node(2, 1, gains=(0.5, 0.1, 0.0)),
        node(3, 1, gains=(0.5, 0.2, 0.0)),
        node(4, 1, gains=(0.5, 0.1, 0.0)),
    ]
    text = island_snapshot(ISLAND, nodes, AXES)
    helped = text[text.index("## What helped") :]
    places = [helped.index(f"(node {seq})") for seq in (3, 2, 4)]
    assert places == sorted(places)


def test_records_of_a_forest():
    lineage = {"round": 1, "island": 0, "parent": None, "co_parent": None, "operator": "grammar-tune"}
    told = {"description": "edit", "admitted": True, "verdict": "new"}
    refusal = {**lineage, "description": "", "sha": None, "reason": "line 1: no", "fingerprint": ""}
    story = [
        ("program", {"sha": "p", "file": "programs/p.py", "origin": "shipped"}),
        ("island", {"number": 0, "mutator": "grammar-tune", "origin": "start"}),
        ("node", {**lineage, **told, "sha": "p", "fitness": [0.5, 1.0], "gains": [0.25, 0.0]}),
        ("proposal", refusal),
    ]
    events = [SimpleNamespace(seq=k, kind=kind, data=data) for k, (kind, data) in enumerate(story)]
    islands, nodes = records_of(Forest().apply_all(events))
    assert islands == [IslandRecord(0, "grammar-tune", 0.0, 0, (("grammar-tune", "line 1: no"),))]
    assert nodes == [
        NodeRecord(
            seq=2,
            island=0,
            parent=None,
            co_parent=None,
            path="programs/p.py",
            operator="grammar-tune",
            description="edit",
            fitness=(0.5, 1.0),
            gains=(0.25, 0.0),
            is_admitted=True,
            verdict="new",
            round=1,
        )
    ]
