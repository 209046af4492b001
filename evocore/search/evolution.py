"""The islands' rounds: propose for all, evaluate all, then commit island by island; stalled islands get help.

Every step is recorded before the next one builds on it, and every step looks first whether it was recorded already, so
that a run that was killed anywhere goes on where it was. Given the same seed and the same evaluation results the
decisions are the same, whichever result came in first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evocore.ledger import write_file
from evocore.mutators.base import NoChild
from evocore.search.admission import admit
from evocore.search.curriculum import TaskBook, fronts, rescoring_limit, warm_starts
from evocore.search.evaluation import Evaluator, Request, attempt_seed, evaluation_key
from evocore.search.fitness import Caps, compare
from evocore.search.orchestrator import (
    Curriculum,
    Decision,
    Graft,
    PopulationView,
    Reassign,
    Settings,
    Speciate,
    Viewer,
    action_from_json,
    action_to_json,
    diagnose,
    new_tasks,
    why_impossible,
)
from evocore.search.rounds import CROSS, Breeding, Draft, proposal_event, propose, rng_for
from evocore.search.selection import Etas, dissimilar
from evocore.search.snapshot import island_snapshot, population_snapshot, records_of
from evocore.search.stopping import Clock, Stop, Stopped

if TYPE_CHECKING:
    from evocore.config import RunConfig
    from evocore.mutators.base import Mutator
    from evocore.search.journal import Journal
    from evocore.search.memory import Forest, Proposal
    from evocore.search.plan import Plan
    from evocore.search.presets import Preset
    from evocore.search.rundir import RunDir

_BARREN_ROUNDS = 25
_ROOT_TRIES = 5
_RESERVE_COLD = 1000
_VALIDATION_COLD = 2000
_AXES = ("accuracy", "time saved", "memory saved")

Fingerprint = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run's islands work with; everything but the state that the journal holds."""

    config: RunConfig
    plan: Plan
    preset: Preset
    caps: Caps
    mutators: Mapping[str, Mutator]
    fingerprint: Fingerprint
    verifier_digest: str


class Evolution:
    """The islands of one run.

    Parameters
    ----------
    setting : Setting
        Policies and numbers.
    journal, rundir, tasks, evaluator, clock, stop
        Parts of the run.
    say : callable
        Takes a sentence that is worth telling a person.
    """

    def __init__(
        self,
        setting: Setting,
        *,
        journal: Journal,
        rundir: RunDir,
        tasks: TaskBook,
        evaluator: Evaluator,
        clock: Clock,
        stop: Stop,
        say: Callable[[str], None],
    ) -> None:
        self._setting = setting
        self._journal = journal
        self._rundir = rundir
        self._tasks = tasks
        self._evaluator = evaluator
        self._clock = clock
        self._stop = stop
        self._say = say
        self._sources: dict[str, str] = {}
        self._barren = 0
        self._etas = Etas(setting.caps, setting.config.epsilon)
        self._viewer = Viewer()

    # reading

    @property
    def forest(self) -> Forest:
        """The forest so far."""
        return self._journal.forest

    def initial(self) -> list[str]:
        """Return the shas of the programs that the run began with, in their order."""
        return [sha for sha, one in self.forest.programs.items() if one.origin in ("problem", "given")]

    def source(self, sha: str) -> str:
        """Return a program's text."""
        if sha not in self._sources:
            self._sources[sha] = self._rundir.program(sha)
        return self._sources[sha]

    # steps

    def add_program(self, source: str, *, origin: str, title: str) -> str:
        """Keep a program and return its sha."""
        sha = self._rundir.save_program(source)
        self._sources[sha] = source
        if sha not in self.forest.programs:
            self._journal.record(
                "program",
                {
                    "sha": sha,
                    "file": self._rundir.program_file(sha),
                    "origin": origin,
                    "title": title,
                    "fingerprint": self._setting.fingerprint(source),
                },
            )
        return sha

    def run(self) -> None:
        """Go from wherever the journal stands through round after round, until `Stopped`."""
        self.prepare()
        while True:
            self.round()

    def prepare(self) -> None:
        """Score the initial programs, on warm tasks too as soon as there is a construction, and found the islands."""
        if self.forest.rescored_for:
            return
        if not self.forest.search_tasks:
            self._begin_epoch(0)
        self._evaluate(self.initial(), self.forest.search_tasks)
        self._pool_found(self.initial(), self.forest.search_tasks)
        if self.forest.epoch == 0 and self._setting.plan.n_warm and self._journal.history.pool.members:
            self._begin_epoch(1)
        self._evaluate(self.initial(), self.forest.search_tasks)
        self._pool_found(self.initial(), self.forest.search_tasks)
        self._found_islands()

    def round(self) -> None:
        """Carry one round out, from the proposals to the commit.

        Raises
        ------
        Stopped
            The run ends here.
        """
        self._check_limits()
        self._renew_epoch()
        self._help_stalled()
        number = self.forest.round + 1
        proposals = self._propose_all(number)
        children = {island: one for island, one in sorted(proposals.items()) if one.sha is not None}
        self._barren = 0 if children else self._barren + 1
        self._evaluate_children(children)
        self._pool_found([one.sha for one in children.values() if one.sha], self.forest.search_tasks)
        for island, one in children.items():
            if island not in self.forest.committed:
                self._commit(island, one)
        self._validate(number)
        self._close_round(number)
        if self._barren >= _BARREN_ROUNDS:
            self._say(f"No island found a new child in {_BARREN_ROUNDS} rounds; the chains go on alone.")
            raise Stopped

    def _check_limits(self) -> None:
        config = self._setting.config
        if config.max_rounds is not None and self.forest.round >= config.max_rounds:
            self._stop.set("rounds")
        if config.max_evaluations is not None and self._journal.history.evaluations >= config.max_evaluations:
            self._stop.set("evaluations")
        if self._stop.is_set():
            raise Stopped

    # epochs

    def _renew_epoch(self) -> None:
        plan, history = self._setting.plan, self._journal.history
        is_due = self._clock.elapsed() - history.epoch_begun >= plan.epoch_seconds
        if is_due and plan.n_warm and history.pool.members and not self.forest.pending():
            self._begin_epoch(self.forest.epoch + 1)
        if self.forest.rescored_for != self.forest.search_tasks:
            self._rescore()

    def _begin_epoch(self, number: int) -> None:
        self._rundir.sync_programs()
        plan, pool = self._setting.plan, self._journal.history.pool
        is_warm = number > 0 or (plan.n_warm > 0 and bool(pool.members))
        number = max(number, 1) if is_warm else number
        starts = warm_starts(pool, plan.n_warm + plan.n_reserve, number) if is_warm else ()
        search = [self._tasks.cold(i, "search") for i in range(plan.n_cold)]
        search += [self._tasks.warm(one, "search") for one in starts[: plan.n_warm]]
        reserve = [self._tasks.warm(one, "reserve") for one in starts[plan.n_warm :][: plan.n_reserve]]
        if plan.n_reserve > 1:
            reserve.append(self._tasks.cold(_RESERVE_COLD, "reserve"))
        validation = list(self.forest.validation_tasks)
        if plan.n_validation and not validation:
            validation = [self._tasks.cold(_VALIDATION_COLD + i, "validation") for i in range(plan.n_validation)]
        if self.forest.nodes:
            self.write_snapshots()
        self._journal.record(
            "epoch",
            {
                "number": number,
                "search": list(dict.fromkeys(search)),
                "reserve": [one for one in dict.fromkeys(reserve) if one not in search],
                "validation": validation,
            },
            sync=True,
        )

    def _rescore(self) -> None:
        """Score each island's front on the tasks that are new, and take the islands' bests on them as the new marks."""
        forest = self.forest
        new = [task for task in forest.search_tasks if task not in forest.rescored_for]
        limit = rescoring_limit(self._setting.plan, len(forest.islands), len(new))
        etas = {number: self._etas.of(forest, number) for number in forest.islands}
        nodes = [node for front in fronts(forest, etas, limit).values() for node in front]
        shas = [forest.nodes[node].source_sha for node in nodes]
        self._evaluate(shas, forest.search_tasks)
        self._pool_found(shas, forest.search_tasks)
        marks = {str(number): self._watched(number) for number in sorted(forest.islands)}
        self._journal.record("rescored", {"islands": marks}, sync=True)

    # founding

    def _found_islands(self) -> None:
        """Start the islands: one initial candidate each, the least alike; grammar children make up the number."""
        setting, forest = self._setting, self.forest
        count = setting.preset.islands or setting.config.islands
        initial = self.initial()
        roots: list[tuple[str, str, str]]
        if setting.preset.roots == "all":
            ranked = sorted(initial, key=lambda sha: -self._initial_accuracy(sha))
            roots, places = [(sha, "initial", "") for sha in ranked], [0] * len(ranked)
        else:
            behaviours = [{task: one.accuracy for task, one in forest.scores[sha].items()} for sha in initial]
            roots = [(initial[i], "initial", "") for i in dissimilar(behaviours, count)]
            roots += [self._grown_root(initial, number) for number in range(len(roots), count)]
            places = list(range(count))
        names = sorted(setting.mutators)
        for number in sorted(set(places)):
            if number not in forest.islands:
                mutator = names[int(rng_for(setting.config.seed, 2, number).integers(len(names)))]
                self._journal.record("island", {"number": number, "mutator": mutator, "origin": "start"})
        for (sha, operator, description), number in zip(roots, places, strict=True):
            if not any(forest.nodes[node].source_sha == sha for node in forest.islands[number].nodes):
                self._record_node(number, 0, sha, operator, description, parent=None, co_parent=None)
        marks = {str(number): self._watched(number) for number in sorted(forest.islands)}
        self._journal.record("rescored", {"islands": marks}, sync=True)

    def _grown_root(self, initial: Sequence[str], number: int) -> tuple[str, str, str]:
        """Breed an island's root from an initial program; where none can be bred, the program itself starts it."""
        setting = self._setting
        parent = initial[number % len(initial)]
        names = [name for name in sorted(setting.mutators) if name != CROSS] or sorted(setting.mutators)
        for attempt in range(_ROOT_TRIES):
            rng = rng_for(setting.config.seed, 3, number, attempt)
            try:
                child = setting.mutators[names[attempt % len(names)]].mutate(
                    self.source(parent),
                    co_parent=None,
                    donors=[self.source(sha) for sha in initial if sha != parent],
                    rng=rng,
                    rejected=frozenset(setting.fingerprint(self.source(sha)) for sha in initial),
                )
            except NoChild:
                continue
            sha = self.add_program(child.source, origin="child", title=f"root of island {number}")
            self._evaluate([sha], self.forest.search_tasks)
            self._pool_found([sha], self.forest.search_tasks)
            return sha, child.operator, child.description
        return parent, "initial", ""

    def _initial_accuracy(self, sha: str) -> float:
        scores = self.forest.scores[sha]
        return sum(scores[task].accuracy for task in self.forest.search_tasks) / len(self.forest.search_tasks)

    # proposals and commits

    def _propose_all(self, number: int) -> dict[int, Proposal]:
        """Take over what a killed session proposed for this round, and propose for the other islands."""
        how = Breeding(
            self._setting.preset,
            self._setting.config.seed,
            self._setting.config.temperature,
            self._etas,
            self._setting.mutators,
            self.source,
            self.initial(),
        )
        for island in sorted(self.forest.islands):
            if island in self.forest.pending():
                continue
            self._record_proposal(propose(self.forest, island, number, how))
        self._rundir.sync_programs()
        self._journal.ledger.sync()
        return {island: one for island, one in self.forest.proposals.items() if one.round == number}

    def _record_proposal(self, draft: Draft) -> None:
        if draft.child is None:
            self._journal.record("proposal", proposal_event(draft, None, ""))
            return
        fingerprint = self._setting.fingerprint(draft.child.source)
        if fingerprint in self.forest.fingerprints:
            refused = Draft(
                draft.round, draft.island, draft.parent, draft.co_parent, draft.operator, None, "a program seen before"
            )
            self._journal.record("proposal", proposal_event(refused, None, fingerprint))
            return
        title = f"island {draft.island} round {draft.round}: {draft.child.description}"
        sha = self.add_program(draft.child.source, origin="child", title=title)
        self._journal.record("proposal", proposal_event(draft, sha, fingerprint))

    def _commit(self, island: int, one: Proposal) -> None:
        if one.sha is None:
            raise ValueError("expected a proposal with a child, got a rejection")
        self._record_node(
            island, one.round, one.sha, one.operator, one.description, parent=one.parent, co_parent=one.co_parent
        )

    def _record_node(
        self,
        island: int,
        round_number: int,
        sha: str,
        operator: str,
        description: str,
        *,
        parent: int | None,
        co_parent: int | None,
    ) -> None:
        setting = self._setting
        rule: Literal["dominance", "hypervolume", "better"] = (
            "better" if setting.preset.admission == "better" else setting.config.admission
        )
        result = admit(self.forest, island, sha, caps=setting.caps, epsilon=setting.config.epsilon, rule=rule)
        self._journal.record(
            "node",
            {
                "round": round_number,
                "island": island,
                "parent": parent,
                "co_parent": co_parent,
                "sha": sha,
                "operator": operator,
                "description": description,
                "fitness": list(result.fitness),
                "gains": [] if parent is None else self._gains(sha, parent),
                "admitted": result.admitted,
                "verdict": result.verdict,
                "by_dominance": result.by_dominance,
                "by_hypervolume": result.by_hypervolume,
                "hypervolume": result.contribution,
            },
        )

    def _gains(self, sha: str, parent: int) -> list[float]:
        """F(child) - F(parent) on the tasks that both were scored on."""
        table = self.forest.table
        rows = [table.rows[self.forest.nodes[parent].source_sha]]
        result = compare(table, table.rows[sha], rows, self._setting.caps, self._setting.config.epsilon)
        return [float(v) for v in (result.mine - result.theirs)[0] if v == v]

    # monitoring

    def _validate(self, number: int) -> None:
        """Score the children that this round admitted on the held-out tasks."""
        tasks = self.forest.validation_tasks
        if not tasks:
            return
        newest = [self.forest.nodes[one.nodes[-1]] for _, one in sorted(self.forest.islands.items()) if one.nodes]
        shas = [node.source_sha for node in newest if node.admitted and node.round in (0, number)]
        self._evaluate(shas, tasks)
        self._pool_found(shas, tasks)

    def _close_round(self, number: int) -> None:
        states = {}
        for key, island in sorted(self.forest.islands.items()):
            watched = self._watched(key)
            improved = watched > island.best + self._noise(key)
            states[str(key)] = {
                "best": max(watched, island.best),
                "stall": 0 if improved else island.stall + 1,
                "improved": improved,
            }
        self._journal.record("round", {"number": number, "islands": states}, sync=True)

    def _watched(self, island: int) -> float:
        """The accuracy that an island's stall counter watches: its best on held-out tasks, or on the search set."""
        forest = self.forest
        if not forest.validation_tasks:
            best = forest.best(island)
            return 0.0 if best is None else forest.accuracy(best) or 0.0
        scored = (forest.accuracy(node, forest.validation_tasks) for node in forest.islands[island].admitted)
        return max((one for one in scored if one is not None), default=0.0)

    def _noise(self, island: int) -> float:
        best = self.forest.best(island)
        tasks = self.forest.validation_tasks or self.forest.search_tasks
        return 0.0 if best is None else self.forest.noise(best, tasks)

    # help for stalled islands

    def _help_stalled(self) -> None:
        """Let the orchestrator look at each stalled island, and carry out what it says."""
        settings = Settings(self._setting.config.patience, self._setting.config.epsilon)
        self._act()
        for number in sorted(self.forest.islands):
            if self.forest.islands[number].stall < settings.patience:
                continue
            if self._setting.preset.orchestrator:
                decision = diagnose(self._view(), number, settings)
            else:
                decision = Decision(self.forest.round, number, ())
            self._journal.record("decision", decision.to_json(), sync=True)
            for finding in decision.findings:
                self._say(f"Island {number}: {finding.evidence}; {finding.action.kind}.")
            self._act()

    def _view(self) -> PopulationView:
        return self._viewer.view(self.forest, sorted(self._setting.mutators))

    def _act(self) -> None:
        """Carry out the actions of the last decision that are still due; each is one event."""
        while self.forest.due_actions:
            action = action_from_json(self.forest.due_actions[0])
            reason = why_impossible(self._view(), action)
            if reason is not None:
                self._journal.record("skipped", {"action": action_to_json(action), "reason": reason})
                continue
            match action:
                case Graft(donor, island):
                    self._journal.record("graft", {"island": island, "donor": donor})
                case Reassign(islands, mutator):
                    self._journal.record("reassign", {"islands": list(islands), "mutator": mutator})
                case Speciate(node, mutator):
                    number = max(self.forest.islands) + 1
                    self._journal.record("speciate", {"root": node, "island": number, "mutator": mutator})
                case Curriculum(tasks, probe):
                    self._change_tasks(tasks, probe)

    def _change_tasks(self, tasks: tuple[str, ...], probe: tuple[str, ...]) -> None:
        """Try the islands' bests on tasks that nobody was scored on, then search on the tasks of the highest regret."""
        forest = self.forest
        if probe:
            bests = (forest.best(island) for island in sorted(forest.islands))
            shas = [forest.nodes[node].source_sha for node in bests if node is not None]
            self._evaluate(shas, probe)
            self._pool_found(shas, probe)
            tasks = new_tasks(self._view())
        known = dict.fromkeys((*forest.search_tasks, *forest.reserve_tasks))
        reserve = [task for task in known if task not in tasks]
        self._journal.record("curriculum", {"search": list(tasks), "reserve": reserve}, sync=True)

    def write_snapshots(self) -> None:
        """Write the forest as Markdown, a file an island and one for all, for people and for mutators that read."""
        islands, nodes = records_of(self.forest)
        folder = self._rundir.path / "snapshots"
        for island in islands:
            text = island_snapshot(island, nodes, _AXES)
            write_file(folder / f"island-{island.number}.md", text.encode(), sync_entry=False)
        write_file(folder / "population.md", population_snapshot(islands, nodes, _AXES).encode())

    # attempts

    def _evaluate_children(self, children: Mapping[int, Proposal]) -> None:
        requests: list[Request] = []
        for one in children.values():
            parent = None if one.parent is None else self.forest.nodes[one.parent].source_sha
            requests += self._requests([one.sha or ""], self.forest.search_tasks, parent=parent)
        self._evaluator.run(requests)

    def _evaluate(self, shas: Iterable[str], tasks: Sequence[str]) -> None:
        self._evaluator.run(self._requests(shas, tasks))

    def _requests(self, shas: Iterable[str], tasks: Sequence[str], parent: str | None = None) -> list[Request]:
        setting, history = self._setting, self._journal.history
        requests = []
        for sha in dict.fromkeys(shas):
            for task in tasks:
                for attempt in range(setting.plan.attempts):
                    seed = attempt_seed(setting.config.seed, task, attempt)
                    key = evaluation_key(sha, task, seed, setting.verifier_digest)
                    if key in self.forest.finished:
                        continue
                    trace = () if parent is None else history.traces.get((parent, task), ())
                    requests.append(
                        Request(
                            sha,
                            self.source(sha),
                            self._tasks[task],
                            self._tasks.start_of(task),
                            attempt,
                            seed,
                            key,
                            trace,
                        )
                    )
        return requests

    def _pool_found(self, shas: Iterable[str], tasks: Sequence[str]) -> None:
        """Offer the best constructions of finished evaluations to the pool, in the order of candidates and tasks."""
        history = self._journal.history
        for sha in dict.fromkeys(shas):
            for task in tasks:
                for attempt in range(self._setting.plan.attempts):
                    found = history.found.pop((sha, task, attempt), None)
                    if found is not None and history.pool.offer(found.member) is not history.pool:
                        self._journal.record("construction", construction_event(found.data, found.program, found.start))


def construction_event(data: Mapping[str, Any], program: str, start: str | None) -> dict[str, Any]:
    """Return the fields of a `construction` event from an evaluation's or a chain's best."""
    return {**data, "program": program, "start": start}
