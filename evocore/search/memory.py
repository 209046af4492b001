"""The forest: every candidate of a run with its lineage, as a fold over the ledger's events.

`Forest.apply` takes one event after the other and only ever adds; a resumed run that applies the same events holds the
same forest. Nodes are frozen. What can change about a node (the island that it counts to, the scores that its source
gained on later tasks) is kept beside it, derived from the events.

Events
------
The kinds that the forest reads, with their fields; others pass by.

``program``     sha, file, origin, fingerprint, title
``task``        hash, name, task_kind, role (search | reserve | validation), epoch
``epoch``       number, search, reserve, validation (task hashes)
``island``      number, mutator, origin
``proposal``    round, island, parent, co_parent, operator, description, sha or null, reason, fingerprint
``evaluation``  key, sha, task, attempt, accuracy, seconds_to_best, peak_memory, status
``node``        round, island, parent, co_parent, sha, operator, description, fitness, gains, admitted, verdict
``round``       number, islands: {island: {best, stall, improved}}
``rescored``    islands: {island: best}, after the search set changed
``decision``    island, findings, …: the orchestrator was called for it, its stall counter starts anew
``skipped``     an action of the decision that could not be carried out
``reassign``    islands, mutator
``graft``       island, donor
``speciate``    root, island (the new one), mutator
``curriculum``  search, reserve (task hashes)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class EventLike(Protocol):
    """What the forest needs of an event."""

    @property
    def seq(self) -> int:
        """Ledger sequence number."""

    @property
    def kind(self) -> str:
        """What happened."""

    @property
    def data(self) -> Mapping[str, Any]:
        """The fields of this kind."""


@dataclass(frozen=True, slots=True)
class TaskScore:
    """A source's result on one task: means over its attempts, and the status of the first attempt that was not ok."""

    accuracy: float
    seconds_to_best: float
    peak_memory: float
    status: str = "ok"
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A source's results by task hash."""

    scores: Mapping[str, TaskScore]

    def behaviour(self) -> dict[str, float]:
        """Accuracy by task hash."""
        return {task: score.accuracy for task, score in self.scores.items()}


@dataclass(frozen=True, slots=True)
class Node:
    """A candidate with its evaluation and admission verdict at the time it was committed.

    `seq` is the ledger's sequence number of the event and the node's id; `island` the island of birth
    (`Forest.island_of` has the present one); `gains` is F(child) - F(parent) over their common tasks, empty without a
    parent.
    """

    seq: int
    island: int
    parent: int | None
    co_parent: int | None
    source_sha: str
    operator: str
    description: str
    evaluation: Evaluation | None
    admitted: bool
    verdict: str
    round: int
    fitness: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """A child that was refused before it was evaluated."""

    seq: int
    round: int
    island: int
    parent: int | None
    operator: str
    description: str
    reason: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an island proposed in a round: a child's source, or a rejection's reason."""

    round: int
    island: int
    parent: int | None
    co_parent: int | None
    operator: str
    description: str
    sha: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Program:
    """A source that the run holds; `file` is relative to the run directory, `origin` names where it came from."""

    sha: str
    file: str
    origin: str
    fingerprint: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task by its hash; the full task is rebuilt from the ledger's event by the loop."""

    hash: str
    name: str
    task_kind: str
    role: str
    epoch: int


@dataclass(slots=True)
class Island:
    """A lineage tree that grows under one mutator. `nodes` and `admitted` hold node ids in order of commitment."""

    number: int
    mutator: str
    origin: str = "start"
    nodes: list[int] = field(default_factory=list)
    admitted: list[int] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    stall: int = 0
    best: float = 0.0
    improved_round: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    successes: dict[str, int] = field(default_factory=dict)
    graft_from: int | None = None


class ScoreTable:
    """Scores of sources on tasks as growing arrays, NaN where a source was not scored.

    Attributes
    ----------
    accuracy, seconds, memory : (n_rows, n_columns) float64 arrays
        Views of what is in use; one row a source, one column a task.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.columns: dict[str, int] = {}
        self._data = np.full((3, 64, 8), np.nan)

    @property
    def accuracy(self) -> FloatArray:
        """Accuracies."""
        return self._data[0, : len(self.rows), : len(self.columns)]

    @property
    def seconds(self) -> FloatArray:
        """CPU seconds to the best hand-in."""
        return self._data[1, : len(self.rows), : len(self.columns)]

    @property
    def memory(self) -> FloatArray:
        """Peak memory in bytes."""
        return self._data[2, : len(self.rows), : len(self.columns)]

    def add_task(self, task: str) -> int:
        """Return a task's column. Columns follow the order of the `task` events, whichever result comes in first."""
        column = self.columns.setdefault(task, len(self.columns))
        self._grow()
        return column

    def put(self, sha: str, task: str, score: TaskScore) -> None:
        """Set a source's score on a task."""
        column = self.add_task(task)
        row = self.rows.setdefault(sha, len(self.rows))
        self._grow()
        self._data[:, row, column] = (score.accuracy, score.seconds_to_best, score.peak_memory)

    def _grow(self) -> None:
        _, rows, columns = self._data.shape
        if len(self.rows) <= rows and len(self.columns) <= columns:
            return
        larger = np.full((3, max(rows, 2 * len(self.rows)), max(columns, 2 * len(self.columns))), np.nan)
        larger[:, :rows, :columns] = self._data
        self._data = larger


class Forest:
    """All islands and cross edges of a run.

    Attributes
    ----------
    nodes, islands, programs, tasks : dict
        By node id, island number, source sha and task hash.
    scores : dict of source sha to dict of task hash to TaskScore
        Two nodes of the same source share them. `held_out` has the same for validation tasks, which decide nothing
        but whether an island has stalled.
    search_tasks, reserve_tasks, validation_tasks : tuple of task hashes
        The present search set, the tasks that a curriculum may bring in, and the held-out ones.
    round : int
        The last round that is committed as a whole.
    last_selected : dict of node id to round
        When a node was last taken for a parent.
    due_actions : list
        Actions of the orchestrator's last decision that are not carried out yet.
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.islands: dict[int, Island] = {}
        self.programs: dict[str, Program] = {}
        self.tasks: dict[str, TaskRecord] = {}
        self.scores: dict[str, dict[str, TaskScore]] = {}
        self.held_out: dict[str, dict[str, TaskScore]] = {}
        self.table = ScoreTable()
        self.search_tasks: tuple[str, ...] = ()
        self.reserve_tasks: tuple[str, ...] = ()
        self.validation_tasks: tuple[str, ...] = ()
        self.rescored_for: tuple[str, ...] = ()
        self.epoch = 0
        self.round = 0
        self.finished: set[str] = set()
        self.proposals: dict[int, Proposal] = {}
        self.committed: set[int] = set()
        self.last_selected: dict[int, int] = {}
        self.fingerprints: set[str] = set()
        self.due_actions: list[Mapping[str, Any]] = []
        self.reshaped = 0
        self._island_of: dict[int, int] = {}
        self._children: dict[int, list[int]] = {}
        self._admitted_shas: set[str] = set()
        self._attempts: dict[tuple[str, str], dict[int, TaskScore]] = {}

    def apply(self, event: EventLike) -> None:
        """Take one event in; kinds that the forest does not know pass by."""
        fold = _FOLDS.get(event.kind)
        if fold is not None:
            fold(self, event.seq, event.data)

    def apply_all(self, events: Iterable[EventLike]) -> Forest:
        """Take events in, in order, and return the forest."""
        for event in events:
            self.apply(event)
        return self

    def island_of(self, node: int) -> int:
        """Return the island that a node counts to now."""
        return self._island_of[node]

    def children(self, node: int) -> tuple[int, ...]:
        """Return a node's children in order of commitment, wherever they live."""
        return tuple(self._children.get(node, ()))

    def subtree(self, node: int) -> tuple[int, ...]:
        """Return a node and its descendants within the node's island, parents first."""
        island, found, waiting = self.island_of(node), [], [node]
        while waiting:
            one = waiting.pop()
            found.append(one)
            waiting.extend(child for child in reversed(self.children(one)) if self.island_of(child) == island)
        return tuple(found)

    def score(self, node: int) -> Mapping[str, TaskScore]:
        """Return everything a node's source was scored on, later tasks included, held-out ones not."""
        return self.scores.get(self.nodes[node].source_sha, {})

    def behaviour(self, node: int) -> dict[str, float]:
        """Return a node's accuracy by task hash."""
        return {task: score.accuracy for task, score in self.score(node).items()}

    def accuracy(self, node: int, tasks: Iterable[str] | None = None) -> float | None:
        """Return a node's mean accuracy over tasks (default: the search set), or None if one of them is missing."""
        wanted = tuple(self.search_tasks if tasks is None else tasks)
        sha = self.nodes[node].source_sha
        scores = {**self.scores.get(sha, {}), **self.held_out.get(sha, {})}
        if not wanted or any(task not in scores for task in wanted):
            return None
        return sum(scores[task].accuracy for task in wanted) / len(wanted)

    def best(self, island: int) -> int | None:
        """Return the admitted node of an island with the highest accuracy on the search set; the oldest of equals."""
        admitted = self.islands[island].admitted
        if not admitted:
            return None
        table = self.table
        columns = [table.columns[task] for task in self.search_tasks if task in table.columns]
        rows = [table.rows[self.nodes[node].source_sha] for node in admitted]
        if not columns:
            return admitted[0]
        means = table.accuracy[np.ix_(rows, columns)].mean(axis=1)
        if np.isnan(means).all():
            return admitted[0]
        return admitted[int(np.nanargmax(means))]

    def noise(self, node: int, tasks: Iterable[str]) -> float:
        """Return the standard error of a node's mean accuracy over tasks, 0 where each has one attempt."""
        variances = []
        for task in tasks:
            attempts = self._attempts.get((self.nodes[node].source_sha, task), {})
            if len(attempts) > 1:
                values = [one.accuracy for one in attempts.values()]
                variances.append(float(np.var(values, ddof=1)) / len(values))
        return float(np.sqrt(sum(variances))) / len(variances) if variances else 0.0

    def lineage(self, node: int) -> tuple[int, ...]:
        """Return a node's ancestors along the parent edges, the node first and its root last."""
        chain = [node]
        while (parent := self.nodes[chain[-1]].parent) is not None:
            chain.append(parent)
        return tuple(chain)

    def pending(self) -> dict[int, Proposal]:
        """Return the proposals of a round that was begun and not committed, by island."""
        return {island: one for island, one in self.proposals.items() if one.round > self.round}

    # the folds, one a kind

    def _program(self, _seq: int, data: Mapping[str, Any]) -> None:
        one = Program(data["sha"], data["file"], data["origin"], data.get("fingerprint", ""), data.get("title", ""))
        self.programs.setdefault(one.sha, one)
        if one.fingerprint and one.origin != "child":
            # a child counts as seen when its proposal is recorded: a kill between the two must not ban it
            self.fingerprints.add(one.fingerprint)

    def _task(self, _seq: int, data: Mapping[str, Any]) -> None:
        record = TaskRecord(data["hash"], data["name"], data["task_kind"], data["role"], data["epoch"])
        self.tasks[record.hash] = record
        self.table.add_task(record.hash)

    def _epoch(self, _seq: int, data: Mapping[str, Any]) -> None:
        self.epoch = data["number"]
        self.search_tasks = tuple(data["search"])
        self.reserve_tasks = tuple(data["reserve"])
        self.validation_tasks = tuple(data["validation"])

    def _curriculum(self, seq: int, data: Mapping[str, Any]) -> None:
        self.search_tasks = tuple(data["search"])
        self.reserve_tasks = tuple(data["reserve"])
        self._done(seq, data)

    def _island(self, _seq: int, data: Mapping[str, Any]) -> None:
        number = data["number"]
        self.islands[number] = Island(number, data["mutator"], data["origin"], improved_round=self.round)

    def _proposal(self, seq: int, data: Mapping[str, Any]) -> None:
        one = Proposal(
            data["round"],
            data["island"],
            data["parent"],
            data["co_parent"],
            data["operator"],
            data["description"],
            data["sha"],
            data["reason"],
        )
        self.proposals[one.island] = one
        island = self.islands[one.island]
        island.tried[one.operator] = island.tried.get(one.operator, 0) + 1
        island.graft_from = None
        if one.parent is not None:
            self.last_selected[one.parent] = one.round
        fingerprint = data["fingerprint"]
        if fingerprint:
            self.fingerprints.add(fingerprint)
        if one.sha is None:
            island.rejections.append(
                Rejection(
                    seq, one.round, one.island, one.parent, one.operator, one.description, one.reason, fingerprint
                )
            )

    def _evaluation(self, _seq: int, data: Mapping[str, Any]) -> None:
        self.finished.add(data["key"])
        sha, task = data["sha"], data["task"]
        fresh = TaskScore(data["accuracy"], data["seconds_to_best"], float(data["peak_memory"]), data["status"])
        attempts = self._attempts.setdefault((sha, task), {})
        attempts[data["attempt"]] = fresh
        score = fresh if len(attempts) == 1 else _mean([attempts[number] for number in sorted(attempts)])
        if task in self.tasks and self.tasks[task].role == "validation":
            self.held_out.setdefault(sha, {})[task] = score
            return
        if sha in self._admitted_shas:
            self.reshaped += 1
        self.scores.setdefault(sha, {})[task] = score
        self.table.put(sha, task, score)

    def _node(self, seq: int, data: Mapping[str, Any]) -> None:
        sha, number = data["sha"], data["island"]
        scores = self.scores.get(sha)
        node = Node(
            seq=seq,
            island=number,
            parent=data["parent"],
            co_parent=data["co_parent"],
            source_sha=sha,
            operator=data["operator"],
            description=data["description"],
            evaluation=None if scores is None else Evaluation({task: scores[task] for task in sorted(scores)}),
            admitted=data["admitted"],
            verdict=data["verdict"],
            round=data["round"],
            fitness=tuple(data["fitness"]),
            gains=tuple(data["gains"]),
        )
        self.nodes[seq] = node
        self._island_of[seq] = number
        island = self.islands[number]
        island.nodes.append(seq)
        if node.round > self.round:
            self.committed.add(number)
        if node.parent is not None:
            self._children.setdefault(node.parent, []).append(seq)
        if node.round == 0 and sha in self.programs:
            self.fingerprints.add(self.programs[sha].fingerprint)
        if node.admitted:
            island.admitted.append(seq)
            island.successes[node.operator] = island.successes.get(node.operator, 0) + 1
            self._admitted_shas.add(sha)

    def _round(self, _seq: int, data: Mapping[str, Any]) -> None:
        self.round = data["number"]
        self.committed.clear()
        for key, state in data["islands"].items():
            island = self.islands[int(key)]
            island.best = state["best"]
            island.stall = state["stall"]
            if state["improved"]:
                island.improved_round = self.round

    def _rescored(self, _seq: int, data: Mapping[str, Any]) -> None:
        self.rescored_for = self.search_tasks
        for key, best in data["islands"].items():
            self.islands[int(key)].best = best

    def _decision(self, _seq: int, data: Mapping[str, Any]) -> None:
        self.islands[data["island"]].stall = 0
        self.due_actions = [finding["action"] for finding in data["findings"]]

    def _done(self, _seq: int, _data: Mapping[str, Any]) -> None:
        if self.due_actions:
            del self.due_actions[0]

    def _reassign(self, seq: int, data: Mapping[str, Any]) -> None:
        for number in data["islands"]:
            self.islands[number].mutator = data["mutator"]
        self._done(seq, data)

    def _graft(self, seq: int, data: Mapping[str, Any]) -> None:
        self.islands[data["island"]].graft_from = data["donor"]
        self._done(seq, data)

    def _speciate(self, seq: int, data: Mapping[str, Any]) -> None:
        moved = set(self.subtree(data["root"]))
        old = self.islands[self.island_of(data["root"])]
        new = Island(data["island"], data["mutator"], "speciate", improved_round=self.round)
        new.nodes = [node for node in old.nodes if node in moved]
        new.admitted = [node for node in old.admitted if node in moved]
        old.nodes = [node for node in old.nodes if node not in moved]
        old.admitted = [node for node in old.admitted if node not in moved]
        self.islands[new.number] = new
        for node in moved:
            self._island_of[node] = new.number
        self.reshaped += 1
        self._done(seq, data)


def _mean(attempts: list[TaskScore]) -> TaskScore:
    """Take the means of a task's attempts; in the order of their numbers, so that completion order cannot show."""
    count = len(attempts)
    return TaskScore(
        sum(one.accuracy for one in attempts) / count,
        sum(one.seconds_to_best for one in attempts) / count,
        sum(one.peak_memory for one in attempts) / count,
        next((one.status for one in attempts if one.status != "ok"), "ok"),
        count,
    )


_FOLDS = {
    "program": Forest._program,
    "task": Forest._task,
    "epoch": Forest._epoch,
    "curriculum": Forest._curriculum,
    "island": Forest._island,
    "proposal": Forest._proposal,
    "evaluation": Forest._evaluation,
    "node": Forest._node,
    "round": Forest._round,
    "rescored": Forest._rescored,
    "decision": Forest._decision,
    "skipped": Forest._done,
    "reassign": Forest._reassign,
    "graft": Forest._graft,
    "speciate": Forest._speciate,
}
