"""The forest as Markdown, for whoever writes the next program: one file an island, one for the population.

A snapshot is an indented tree, one line a node: depth, path of its source, the gains of its edge, its own fitness and
verdict; below it the edits, ranked by what they gained. It names paths, not contents: the reader opens what it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evocore.search.memory import Forest

MAX_RANKED = 20
_MAX_INDENT = 24


@dataclass(frozen=True)
class NodeRecord:
    """One node, as the snapshot shows it.

    Attributes
    ----------
    seq, island, round : int
    parent, co_parent : int or None
    path : str
        Of its source, relative to the run directory.
    operator, description : str
        Which mutator made it, and what it changed.
    fitness, gains : tuple of float
        Its vector, and what it gained over its parent, entry by entry; empty where that is not known.
    is_admitted : bool
    verdict : str
        Why, in a few words.
    """

    seq: int
    island: int
    parent: int | None
    co_parent: int | None
    path: str
    operator: str
    description: str
    fitness: tuple[float, ...]
    gains: tuple[float, ...]
    is_admitted: bool
    verdict: str
    round: int


@dataclass(frozen=True)
class IslandRecord:
    """One island, as the snapshot shows it; `refusals` are (description, reason) of children never evaluated."""

    number: int
    mutator: str
    best: float
    stall: int
    refusals: tuple[tuple[str, str], ...] = ()


def island_snapshot(island: IslandRecord, nodes: Iterable[NodeRecord], axes: Sequence[str]) -> str:
    """Write one island's snapshot.

    Parameters
    ----------
    island : IslandRecord
    nodes : iterable of NodeRecord
        Of any islands; those of others are left out.
    axes : sequence of str
        Names of the entries of the fitness vector.

    Returns
    -------
    str
        Markdown.
    """
    own = [node for node in nodes if node.island == island.number]
    lines = [f"# Island {island.number}", "", *_island_lines(island, own, axes), ""]
    return "\n".join([*lines, *_ranking([island], own, axes)])


def population_snapshot(islands: Sequence[IslandRecord], nodes: Iterable[NodeRecord], axes: Sequence[str]) -> str:
    """Write the snapshot of the whole population: every island's tree, and one ranking over all edits."""
    nodes = list(nodes)
    lines = ["# Population", ""]
    for island in sorted(islands, key=lambda one: one.number):
        own = [node for node in nodes if node.island == island.number]
        lines += [f"## Island {island.number}", "", *_island_lines(island, own, axes), ""]
    return "\n".join([*lines, *_ranking(islands, nodes, axes)])


def _island_lines(island: IslandRecord, nodes: Sequence[NodeRecord], axes: Sequence[str]) -> list[str]:
    n_admitted = sum(node.is_admitted for node in nodes)
    return [
        f"Mutator {island.mutator}; {_count(len(nodes), 'node')}, {n_admitted} admitted, "
        f"{len(island.refusals)} refused unevaluated; best accuracy {island.best:.4f}, "
        f"{_count(island.stall, 'round')} without progress. Fitness is ({', '.join(axes)}).",
        "",
        *(_tree(nodes, axes) or ["No nodes yet."]),
    ]


def _tree(nodes: Sequence[NodeRecord], axes: Sequence[str]) -> list[str]:
    """One line a node, children below their parents in order of their birth."""
    present = {node.seq for node in nodes}
    children: dict[int | None, list[NodeRecord]] = {}
    for node in sorted(nodes, key=lambda one: one.seq):
        children.setdefault(node.parent if node.parent in present else None, []).append(node)
    lines = []
    waiting = [(0, node) for node in reversed(children.get(None, []))]
    while waiting:
        depth, node = waiting.pop()
        lines.append(f"{'  ' * min(depth, _MAX_INDENT)}- {_node_line(depth, node, axes)}")
        waiting.extend((depth + 1, child) for child in reversed(children.get(node.seq, [])))
    return lines


def _node_line(depth: int, node: NodeRecord, axes: Sequence[str]) -> str:
    parts = [f"{depth} `{node.path}` node {node.seq}"]
    if node.co_parent is not None:
        parts.append(f"crossed with node {node.co_parent}")
    parts.append(f"gained {_vector(node.gains, axes, signed=True)}" if node.gains else "no parent to compare with")
    parts.append(f"fitness {_vector(node.fitness, axes)}" if node.fitness else "not evaluated")
    parts.append("admitted" if node.is_admitted else "rejected")
    if node.verdict:
        parts[-1] += f": {_line(node.verdict)}"
    return "; ".join(parts)


def _vector(values: Sequence[float], axes: Sequence[str], *, signed: bool = False) -> str:
    if len(values) != len(axes):
        raise ValueError(f"expected {len(axes)} values, one for each of {', '.join(axes)}, got {len(values)}")
    return f"({', '.join(f'{value:+.4f}' if signed else f'{value:.4f}' for value in values)})"


def _ranking(islands: Sequence[IslandRecord], nodes: Sequence[NodeRecord], axes: Sequence[str]) -> list[str]:
    edits = sorted((node for node in nodes if node.gains), key=lambda node: (*(-gain for gain in node.gains), node.seq))
    helped = [node for node in edits if node.is_admitted and node.gains[0] > 0]
    failed = [node for node in reversed(edits) if not node.is_admitted]
    refused = Counter((_line(text), _line(reason)) for island in islands for text, reason in island.refusals)
    lines = [f"## What helped, by gain in {axes[0]}", ""]
    lines += _cut([_edit_line(node, axes) for node in helped])
    lines += ["", f"## What was rejected, by loss in {axes[0]}", ""]
    lines += _cut([_edit_line(node, axes) for node in failed])
    lines += ["", "## What was refused unevaluated", ""]
    lines += _cut([f"- {text}: {reason} ({_count(n, 'time')})" for (text, reason), n in refused.most_common()])
    return [*lines, ""]


def _edit_line(node: NodeRecord, axes: Sequence[str]) -> str:
    return f"- {_vector(node.gains, axes, signed=True)} {node.operator}: {_line(node.description)} (node {node.seq})"


def _cut(lines: list[str]) -> list[str]:
    if not lines:
        return ["Nothing."]
    n_left = len(lines) - MAX_RANKED
    return lines if n_left <= 0 else [*lines[:MAX_RANKED], f"- and {n_left} more"]


def _line(text: str) -> str:
    """Put text of a program or a mutator on one line, so that it cannot pose as a line of the snapshot."""
    return " ".join(text.split())


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def records_of(forest: Forest) -> tuple[list[IslandRecord], list[NodeRecord]]:
    """Take what a snapshot shows from the forest."""
    islands = [
        IslandRecord(
            island.number,
            island.mutator,
            island.best,
            island.stall,
            tuple((one.description or one.operator, one.reason) for one in island.rejections),
        )
        for _, island in sorted(forest.islands.items())
    ]
    nodes = [
        NodeRecord(
            seq=node.seq,
            island=forest.island_of(node.seq),
            parent=node.parent,
            co_parent=node.co_parent,
            path=forest.programs[node.source_sha].file,
            operator=node.operator,
            description=node.description,
            fitness=node.fitness,
            gains=node.gains,
            is_admitted=node.admitted,
            verdict=node.verdict,
            round=node.round,
        )
        for _, node in sorted(forest.nodes.items())
    ]
    return islands, nodes
