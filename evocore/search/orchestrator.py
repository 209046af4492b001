"""What to do about a stalled island: four diagnoses, each a test on the forest, and what follows from them.

`diagnose` is pure and deterministic: it reads a `PopulationView` and returns a `Decision` of at most two actions, which
the loop carries out mechanically. The tests are made in this order; the first that holds is the diagnosis.

===================  =============================================================================  ==================
diagnosis            test                                                                           action
===================  =============================================================================  ==================
exhausted lineage    no child admitted for P rounds, and another island's best per-task             `Graft`
                     accuracies exceed this one's by more than epsilon on average
crowded-out niche    an admitted subtree without the island's best: its root behaves unlike the     `Speciate`
                     best (Sim < 0.9), solves a task that the best fails, and nothing in it was
                     selected for 2P rounds
plateau              all islands' bests within epsilon, and none improved for P rounds              `Curriculum`
dry mutator          each of the last P children was rejected, behaves like its parent              `Reassign`
                     (Sim > 0.98), or repeats an edit that was rejected before
===================  =============================================================================  ==================

One node solves a task that another fails when its accuracy is at least epsilon higher. A test whose action would be
impossible (no other mutator, no other task) does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from evocore.errors import ConfigError
from evocore.search.fitness import similarity

if TYPE_CHECKING:
    from evocore.search.memory import Forest, Island

MAX_ACTIONS = 2

Behaviour = Mapping[str, float]


class Diagnosis(StrEnum):
    """Why an island is stalled."""

    EXHAUSTED_LINEAGE = "exhausted_lineage"
    CROWDED_OUT_NICHE = "crowded_out_niche"
    PLATEAU = "plateau"
    DRY_MUTATOR = "dry_mutator"
    NONE = "none"


@dataclass(frozen=True)
class Graft:
    """Breed the next child of `island` from its own best and from the best of the island `donor`."""

    kind: ClassVar[str] = "graft"
    donor: int
    island: int


@dataclass(frozen=True)
class Speciate:
    """Move the subtree below `node`, the node included, to a new island under `mutator`."""

    kind: ClassVar[str] = "speciate"
    node: int
    mutator: str


@dataclass(frozen=True)
class Curriculum:
    """Search on other tasks from now on.

    Attributes
    ----------
    tasks : tuple of str
        The new search set, as far as it can be told before the probes.
    probe : tuple of str
        Tasks that nobody was scored on yet. The loop evaluates every island's best on them first; `new_tasks` on the
        view that follows then gives the set that counts.
    """

    kind: ClassVar[str] = "curriculum"
    tasks: tuple[str, ...]
    probe: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reassign:
    """Give islands another mutator."""

    kind: ClassVar[str] = "reassign"
    islands: tuple[int, ...]
    mutator: str


Action = Graft | Speciate | Curriculum | Reassign


@dataclass(frozen=True)
class Settings:
    """Thresholds of the tests.

    Attributes
    ----------
    patience : int
        Rounds without progress after which an island counts as stalled (P).
    epsilon : float
        Differences of accuracy up to it are noise.
    niche_similarity, dry_similarity : float
        Below the one, two behaviours differ; above the other, they are the same.
    """

    patience: int = 3
    epsilon: float = 0.02
    niche_similarity: float = 0.9
    dry_similarity: float = 0.98


@dataclass(frozen=True)
class NodeView:
    """An admitted node.

    Attributes
    ----------
    seq, island : int
        Its id, and the island that it counts to now.
    parent : int or None
    behaviour : mapping
        Task hash to accuracy, validation tasks left out.
    since : int
        The round that made it.
    last_selected : int or None
        The last round that took it for a parent.
    """

    seq: int
    island: int
    parent: int | None
    behaviour: Behaviour
    since: int
    last_selected: int | None = None

    @property
    def last_used(self) -> int:
        """The last round that had to do with it."""
        return self.since if self.last_selected is None else max(self.since, self.last_selected)


@dataclass(frozen=True)
class ChildView:
    """A child that an island proposed.

    Attributes
    ----------
    is_admitted : bool
    similarity : float or None
        To its parent, on the tasks of both; None where it was refused before it was evaluated.
    edit : str
        What was changed: equal for equal edits.
    """

    is_admitted: bool
    similarity: float | None
    edit: str


@dataclass(frozen=True)
class IslandView:
    """An island.

    Attributes
    ----------
    number : int
    mutator : str
    best : int or None
        Its best admitted node.
    accuracy : float
        What its stall counter watches: the best held-out accuracy, or search accuracy in runs without validation set.
    stall : int
        Rounds since that rose.
    improved_round, admitted_round : int
        The last round in which it rose, and in which a child was admitted; for a new island, the round of its birth.
    children : tuple of ChildView
        Everything that it proposed, oldest first.
    """

    number: int
    mutator: str
    best: int | None
    accuracy: float
    stall: int
    improved_round: int
    admitted_round: int
    children: tuple[ChildView, ...] = ()


@dataclass(frozen=True)
class PopulationView:
    """What the orchestrator is shown.

    Attributes
    ----------
    round : int
        The last round that is complete.
    islands : mapping
        Island number to `IslandView`.
    nodes : mapping
        Node id to `NodeView`, the admitted ones of all islands.
    tries : mapping
        Mutator to how many children it made so far. Its keys are the pool, in order of preference among equals.
    search_tasks, reserve_tasks : tuple of str
        The present search set, and the tasks that may take their place. Never validation tasks.
    """

    round: int
    islands: Mapping[int, IslandView]
    nodes: Mapping[int, NodeView]
    tries: Mapping[str, int]
    search_tasks: tuple[str, ...]
    reserve_tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A diagnosis that holds, what speaks for it in one sentence, and what to do."""

    diagnosis: Diagnosis
    evidence: str
    action: Action


@dataclass(frozen=True)
class Decision:
    """What the orchestrator says to a stalled island.

    Attributes
    ----------
    round, island : int
        When, and about which island.
    findings : tuple of Finding
        At most two, in the order of the table; the first one is the diagnosis.
    """

    round: int
    island: int
    findings: tuple[Finding, ...]

    @property
    def diagnosis(self) -> Diagnosis:
        """The first finding's diagnosis."""
        return self.findings[0].diagnosis if self.findings else Diagnosis.NONE

    @property
    def actions(self) -> tuple[Action, ...]:
        """What to carry out, in order."""
        return tuple(finding.action for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for the ledger."""
        return {
            "round": self.round,
            "island": self.island,
            "diagnosis": str(self.diagnosis),
            "findings": [
                {"diagnosis": str(one.diagnosis), "evidence": one.evidence, "action": action_to_json(one.action)}
                for one in self.findings
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Decision:
        """Read what `to_json` wrote.

        Raises
        ------
        ConfigError
            It is not a decision.
        """
        try:
            findings = tuple(
                Finding(Diagnosis(one["diagnosis"]), str(one["evidence"]), action_from_json(one["action"]))
                for one in data["findings"]
            )
            decision = cls(int(data["round"]), int(data["island"]), findings)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"expected a decision of the orchestrator, got one with a wrong {error}") from error
        if len(findings) > MAX_ACTIONS:
            raise ConfigError(f"expected a decision of at most {MAX_ACTIONS} actions, got {len(findings)}")
        return decision


def action_to_json(action: Action) -> dict[str, Any]:
    """Return an action as plain values, its kind among them."""
    match action:
        case Graft(donor, island):
            fields: dict[str, Any] = {"donor": donor, "island": island}
        case Speciate(node, mutator):
            fields = {"node": node, "mutator": mutator}
        case Curriculum(tasks, probe):
            fields = {"tasks": list(tasks), "probe": list(probe)}
        case Reassign(islands, mutator):
            fields = {"islands": list(islands), "mutator": mutator}
    return {"kind": action.kind, **fields}


def action_from_json(data: Mapping[str, Any]) -> Action:
    """Read what `action_to_json` wrote.

    Raises
    ------
    ConfigError
        It is not an action.
    """
    try:
        match data["kind"]:
            case Graft.kind:
                return Graft(_whole(data["donor"]), _whole(data["island"]))
            case Speciate.kind:
                return Speciate(_whole(data["node"]), str(data["mutator"]))
            case Curriculum.kind:
                return Curriculum(tuple(map(str, data["tasks"])), tuple(map(str, data.get("probe", ()))))
            case Reassign.kind:
                return Reassign(tuple(map(_whole, data["islands"])), str(data["mutator"]))
            case other:
                raise ConfigError(f"expected graft, speciate, curriculum or reassign as an action, got {other!r}")
    except (KeyError, TypeError) as error:
        raise ConfigError(f"expected an action of the orchestrator, got one with a wrong {error}") from error


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"expected the number of an island or a node, got {value!r}")
    return value


def stalled(view: PopulationView, settings: Settings) -> tuple[int, ...]:
    """Return the islands for which the orchestrator is to be called, in order of their numbers."""
    return tuple(number for number in sorted(view.islands) if view.islands[number].stall >= settings.patience)


def diagnose(view: PopulationView, island: int, settings: Settings) -> Decision:
    """Say why an island is stalled and what to do about it.

    Parameters
    ----------
    view : PopulationView
    island : int
        Number of the stalled island.
    settings : Settings

    Returns
    -------
    Decision
        Without findings where no test holds.

    Raises
    ------
    ConfigError
        There is no such island.
    """
    if island not in view.islands:
        raise ConfigError(f"expected an island out of {sorted(view.islands)}, got {island}")
    tests = (_exhausted_lineage, _crowded_out_niche, _plateau, _dry_mutator)
    findings = (test(view, view.islands[island], settings) for test in tests)
    return Decision(view.round, island, tuple(one for one in findings if one is not None)[:MAX_ACTIONS])


def _exhausted_lineage(view: PopulationView, island: IslandView, settings: Settings) -> Finding | None:
    n_rounds = view.round - island.admitted_round
    if n_rounds < settings.patience:
        return None
    own = _best_by_task(view, island.number)
    gaps = {
        number: _mean_gap(_best_by_task(view, number), own)
        for number in sorted(view.islands)
        if number != island.number and view.islands[number].best is not None
    }
    donor = max(gaps, key=lambda number: gaps[number], default=None)  # the first of equals
    if donor is None or gaps[donor] <= settings.epsilon:
        return None
    evidence = f"no child admitted for {n_rounds} rounds; island {donor} is ahead by {gaps[donor]:.3g} a task"
    return Finding(Diagnosis.EXHAUSTED_LINEAGE, evidence, Graft(donor, island.number))


def _best_by_task(view: PopulationView, island: int) -> dict[str, float]:
    """Best accuracy of an island's admitted nodes, task by task."""
    best: dict[str, float] = {}
    for node in view.nodes.values():
        if node.island == island:
            for task, accuracy in node.behaviour.items():
                best[task] = max(accuracy, best.get(task, 0.0))
    return best


def _mean_gap(ahead: Behaviour, behind: Behaviour) -> float:
    """Mean over the common tasks of how far the one is ahead; 0 without common tasks."""
    common = sorted(ahead.keys() & behind.keys())
    if not common:
        return 0.0
    return sum(max(0.0, ahead[task] - behind[task]) for task in common) / len(common)


def _crowded_out_niche(view: PopulationView, island: IslandView, settings: Settings) -> Finding | None:
    best = view.nodes.get(island.best) if island.best is not None else None
    if best is None or not view.tries:
        return None
    above_best = _with_ancestors(view, best)
    last_used = _last_used_by_subtree(view, island.number)
    niches = [
        node
        for node in view.nodes.values()
        if node.island == island.number
        and node.seq not in above_best
        and view.round - last_used[node.seq] >= 2 * settings.patience
        and similarity(node.behaviour, best.behaviour) < settings.niche_similarity
        and _solved_only_by(node.behaviour, best.behaviour, settings.epsilon)
    ]
    if not niches:
        return None
    niche = min(niches, key=lambda node: (-_mean_gap(node.behaviour, best.behaviour), node.seq))
    n_tasks = len(_solved_only_by(niche.behaviour, best.behaviour, settings.epsilon))
    n_rounds = view.round - last_used[niche.seq]
    evidence = (
        f"node {niche.seq} solves {n_tasks} tasks that the best node {best.seq} fails, and was not selected for "
        f"{n_rounds} rounds"
    )
    mutator = _least_tried(view, but_not=None)
    return None if mutator is None else Finding(Diagnosis.CROWDED_OUT_NICHE, evidence, Speciate(niche.seq, mutator))


def _with_ancestors(view: PopulationView, node: NodeView) -> set[int]:
    """A node and its ancestors within its island: the roots of all subtrees that hold it."""
    found = {node.seq}
    parent = node.parent
    while parent is not None and parent in view.nodes and view.nodes[parent].island == node.island:
        found.add(parent)
        parent = view.nodes[parent].parent
    return found


def _last_used_by_subtree(view: PopulationView, island: int) -> dict[int, int]:
    """Node to the last round that had to do with it or with a descendant in the same island."""
    own = {node.seq: node for node in view.nodes.values() if node.island == island}
    last_used = {seq: node.last_used for seq, node in own.items()}
    for seq in sorted(own, reverse=True):  # children have higher ids than their parents
        parent = own[seq].parent
        if parent is not None and parent in own:
            last_used[parent] = max(last_used[parent], last_used[seq])
    return last_used


def _solved_only_by(first: Behaviour, second: Behaviour, epsilon: float) -> list[str]:
    common = sorted(first.keys() & second.keys())
    return [task for task in common if first[task] >= second[task] + epsilon]


def _plateau(view: PopulationView, island: IslandView, settings: Settings) -> Finding | None:
    accuracies = [one.accuracy for one in view.islands.values()]
    n_rounds = view.round - max(one.improved_round for one in view.islands.values())
    if max(accuracies) > min(accuracies) + settings.epsilon or n_rounds < settings.patience:
        return None
    probe = _never_tried(view)
    tasks = new_tasks(view)
    if not probe and set(tasks) == set(view.search_tasks):
        return None
    evidence = f"the bests of all {len(accuracies)} islands are within {settings.epsilon} and {n_rounds} rounds old"
    return Finding(Diagnosis.PLATEAU, evidence, Curriculum(tasks, probe))


def _never_tried(view: PopulationView) -> tuple[str, ...]:
    tried = {task for node in view.nodes.values() for task in node.behaviour}
    return tuple(task for task in view.reserve_tasks if task not in tried)


def new_tasks(view: PopulationView) -> tuple[str, ...]:
    """Choose the search set of highest regret: best minus mean accuracy of the admitted nodes, task by task.

    Returns
    -------
    tuple of str
        As many tasks as the present set has. Of equals, present ones go first, so that nothing changes without need;
        tasks that nobody was scored on come last.
    """
    accuracies: dict[str, list[float]] = {}
    for node in view.nodes.values():
        for task, accuracy in node.behaviour.items():
            accuracies.setdefault(task, []).append(accuracy)
    candidates = dict.fromkeys((*view.search_tasks, *view.reserve_tasks))

    def regret(task: str) -> float:
        values = accuracies.get(task)
        return -1.0 if values is None else max(values) - sum(values) / len(values)

    ranked = sorted(candidates, key=lambda task: (-regret(task), task not in view.search_tasks, task))
    return tuple(ranked[: len(view.search_tasks)])


def _dry_mutator(view: PopulationView, island: IslandView, settings: Settings) -> Finding | None:
    n_recent = settings.patience
    recent = island.children[len(island.children) - n_recent :] if len(island.children) >= n_recent else ()
    rejected = {child.edit for child in island.children[:-n_recent] if not child.is_admitted}
    mutator = _least_tried(view, but_not=island.mutator)
    if not recent or mutator is None:
        return None
    counts = {"rejected": 0, "like its parent": 0, "a repetition": 0}
    for child in recent:
        if not child.is_admitted:
            counts["rejected"] += 1
        elif child.similarity is not None and child.similarity > settings.dry_similarity:
            counts["like its parent"] += 1
        elif child.edit in rejected:
            counts["a repetition"] += 1
        else:
            return None
        rejected |= set() if child.is_admitted else {child.edit}
    found = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    evidence = f"the last {n_recent} children of {island.mutator}: {found}"
    return Finding(Diagnosis.DRY_MUTATOR, evidence, Reassign((island.number,), mutator))


def _least_tried(view: PopulationView, *, but_not: str | None) -> str | None:
    pool = [mutator for mutator in view.tries if mutator != but_not]
    return min(pool, key=lambda mutator: view.tries[mutator], default=None)


def why_impossible(view: PopulationView, action: Action) -> str | None:
    """Say what an action refers to that does not exist; None where it can be carried out.

    The rules never propose such an action, a language model may: the loop skips it and records this reason.
    """
    match action:
        case Graft(donor, island):
            for number in (donor, island):
                if number not in view.islands:
                    return f"there is no island {number}"
                if view.islands[number].best is None:
                    return f"island {number} has no admitted node"
            return "an island cannot be its own donor" if donor == island else None
        case Speciate(node, mutator):
            return _why_no_species(view, node) or _why_no_mutator(view, mutator)
        case Curriculum(tasks, probe):
            known = set(view.search_tasks) | set(view.reserve_tasks)
            unknown = [task for task in (*tasks, *probe) if task not in known]
            if unknown:
                return f"there is no task {unknown[0]} to search on"
            return None if tasks and len(set(tasks)) == len(tasks) else "a search set is one or more different tasks"
        case Reassign(islands, mutator):
            missing = [number for number in islands if number not in view.islands]
            if missing or not islands:
                return f"there is no island {missing[0]}" if missing else "no island is named"
            return _why_no_mutator(view, mutator)


def _why_no_species(view: PopulationView, node: int) -> str | None:
    if node not in view.nodes:
        return f"there is no admitted node {node}"
    island = view.nodes[node].island
    mates = [one for one in view.nodes.values() if one.island == island]
    if all(node in _with_ancestors(view, mate) for mate in mates):
        return f"the subtree of node {node} is the whole island {island}"
    return None


def _why_no_mutator(view: PopulationView, mutator: str) -> str | None:
    return None if mutator in view.tries else f"there is no mutator {mutator} in the pool"


class Viewer:
    """Shows one forest again and again; of the children, only those that came since the last view are looked at."""

    def __init__(self) -> None:
        self._children: dict[int, list[ChildView]] = {}
        self._seen: dict[int, tuple[int, int]] = {}
        self._reshaped = -1

    def view(self, forest: Forest, mutators: Sequence[str]) -> PopulationView:
        """Show a forest to the orchestrator.

        Parameters
        ----------
        forest : Forest
        mutators : sequence of str
            The pool.
        """
        if self._reshaped != forest.reshaped:
            self._children.clear()
            self._seen.clear()
            self._reshaped = forest.reshaped
        tries = {name: sum(island.tried.get(name, 0) for island in forest.islands.values()) for name in mutators}
        nodes = {
            seq: NodeView(
                seq,
                number,
                forest.nodes[seq].parent,
                forest.behaviour(seq),
                forest.nodes[seq].round,
                forest.last_selected.get(seq),
            )
            for number, island in sorted(forest.islands.items())
            for seq in island.admitted
        }
        islands = {number: self._island(forest, island) for number, island in sorted(forest.islands.items())}
        return PopulationView(forest.round, islands, nodes, tries, forest.search_tasks, forest.reserve_tasks)

    def _island(self, forest: Forest, island: Island) -> IslandView:
        children = self._children.setdefault(island.number, [])
        n_nodes, n_rejections = self._seen.get(island.number, (0, 0))
        fresh = {seq: _child_view(forest, seq) for seq in island.nodes[n_nodes:] if forest.nodes[seq].round > 0}
        fresh.update({one.seq: ChildView(False, None, one.description) for one in island.rejections[n_rejections:]})
        children.extend(fresh[seq] for seq in sorted(fresh))
        self._seen[island.number] = (len(island.nodes), len(island.rejections))
        rounds = [forest.nodes[seq].round for seq in island.admitted]
        return IslandView(
            number=island.number,
            mutator=island.mutator,
            best=forest.best(island.number),
            accuracy=island.best,
            stall=island.stall,
            improved_round=island.improved_round,
            admitted_round=max([island.improved_round, *rounds]),
            children=tuple(children),
        )


def view_of(forest: Forest, mutators: Sequence[str]) -> PopulationView:
    """Show a forest to the orchestrator once: `Viewer.view`."""
    return Viewer().view(forest, mutators)


def _child_view(forest: Forest, seq: int) -> ChildView:
    node = forest.nodes[seq]
    alike = None if node.parent is None else similarity(forest.behaviour(seq), forest.behaviour(node.parent))
    return ChildView(node.admitted, alike, node.description)
