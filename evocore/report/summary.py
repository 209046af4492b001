"""What a run directory says of its run.

Read from the ledger alone, so it works while the run goes on, after a kill, and wherever the directory was moved to.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evocore.config import RunConfig
from evocore.errors import EvocoreError
from evocore.ledger import read_ledger, replay
from evocore.problems import problem
from evocore.search.history import Discovery, History
from evocore.search.memory import Forest
from evocore.search.rundir import RunDir
from evocore.search.state import IslandState, Passed
from evocore.verifiers.payload import read
from evocore.verifiers.verdict import exact_to_json

if TYPE_CHECKING:
    from evocore.problems.base import Problem

Status = Literal["running", "finished", "stopped"]


@dataclass(frozen=True)
class Best:
    """The best construction of a run.

    Attributes
    ----------
    file : str
        Where it lies, relative to the run directory.
    arena_score : float
        What the arena's formula gives.
    exact_score : str or (lo, hi) of str
        A rational "p/q", or the ends of an enclosure as decimals.
    found_seconds : float
        When, in seconds of the run.
    source : str
        What found it, in a few words.
    first_place : bool
        Whether it beats every published value by the minimum improvement.
    """

    file: str
    arena_score: float
    exact_score: str | tuple[str, ...]
    found_seconds: float
    source: str
    first_place: bool


@dataclass(frozen=True)
class Step:
    """One program on the way to the best construction: how it came about."""

    sha: str
    file: str
    title: str
    operator: str
    description: str


@dataclass(frozen=True)
class Summary:
    """A run as its directory tells it.

    Attributes
    ----------
    status : "running", "finished" or "stopped"
        Stopped: nobody writes it and it was not brought to its end; `evocore resume` goes on with it.
    ended : str
        Why it ended; empty while it has not.
    tiers : tuple of str
        How programs were confined; more than one where a session changed it.
    trace : tuple of (seconds, exact score as a float)
        Every improvement.
    lineage : tuple of Step
        The program that found the best construction, and its ancestors.
    path_of_construction : tuple of Step
        The programs that the best construction went through, the first one first.
    quarantined : int
        How many constructions were set aside.
    doubt : str
        The alarm of the first of them; empty where there are none.
    """

    run_dir: Path
    problem: str
    title: str
    direction: str
    status: Status
    ended: str
    budget_seconds: float
    elapsed_seconds: float
    sessions: int
    seed: int
    verifier_digest: str
    tiers: tuple[str, ...]
    best: Best | None
    references: tuple[Passed, ...]
    trace: tuple[tuple[float, float], ...]
    islands: tuple[IslandState, ...]
    lineage: tuple[Step, ...]
    path_of_construction: tuple[Step, ...]
    programs: int
    rounds: int
    evaluations: int
    hand_ins: int
    rejected: int
    quarantined: int
    doubt: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give the summary as JSON types."""
        best = self.best
        return {
            "run": str(self.run_dir),
            "problem": self.problem,
            "title": self.title,
            "direction": self.direction,
            "status": self.status,
            "ended": self.ended,
            "budget_seconds": self.budget_seconds,
            "seconds": self.elapsed_seconds,
            "sessions": self.sessions,
            "seed": self.seed,
            "verifier_digest": self.verifier_digest,
            "sandbox": list(self.tiers),
            "best": None
            if best is None
            else {
                "file": best.file,
                "arena_score": best.arena_score,
                "exact_score": best.exact_score,
                "found_seconds": best.found_seconds,
                "source": best.source,
                "first_place": best.first_place,
            },
            "references": [
                {"who": r.who, "year": r.year, "score": r.score, "passed_seconds": r.passed_seconds}
                for r in self.references
            ],
            "programs": self.programs,
            "rounds": self.rounds,
            "evaluations": self.evaluations,
            "hand_ins": self.hand_ins,
            "rejected": self.rejected,
            "quarantined": self.quarantined,
            "doubt": self.doubt,
            "improvements": len(self.trace),
            "islands": [
                {
                    "number": one.number,
                    "mutator": one.mutator,
                    "nodes": one.n_nodes,
                    "admitted": one.n_admitted,
                    "rejected": one.n_rejected,
                    "best_gain": one.best_accuracy,
                    "stall": one.stall,
                    "best_program": one.best_program,
                }
                for one in self.islands
            ],
            "lineage": [{"program": s.sha, "operator": s.operator, "description": s.description} for s in self.lineage],
        }


def read_summary(path: str | os.PathLike[str]) -> Summary:
    """Read a run directory.

    Raises
    ------
    InputError
        There is no run.
    LedgerCorrupt
        The ledger's chain is broken; says at which line.
    """
    run = RunDir.existing(path)
    is_running = _is_held(run.ledger)
    events = read_ledger(run.ledger)
    config = RunConfig.from_toml(run.config)
    found = problem_of(config)
    history, forest = History(found.direction if found is not None else "minimize"), Forest()
    replay(run.ledger, events, history.apply, forest.apply)
    best = history.best
    trace = history.trace()
    return Summary(
        run_dir=run.path,
        problem=found.slug if found is not None else config.problem,
        title=found.title if found is not None else config.problem,
        direction=found.direction if found is not None else "minimize",
        status="running" if is_running else "finished" if history.ended else "stopped",
        ended=history.ended,
        budget_seconds=config.budget_seconds,
        elapsed_seconds=history.elapsed,
        sessions=history.sessions,
        seed=config.seed,
        verifier_digest=str(history.run.get("verifier_digest", "")),
        tiers=tuple(dict.fromkeys(history.tiers)),
        best=None if best is None else _best(best),
        references=passed(found, trace),
        trace=trace,
        islands=_islands(forest),
        lineage=_lineage(forest, best),
        path_of_construction=_path(forest, history),
        programs=len(forest.programs),
        rounds=forest.round,
        evaluations=history.evaluations,
        hand_ins=history.hand_ins,
        rejected=history.rejected,
        quarantined=history.quarantined,
        doubt=history.doubt,
    )


def diagnosis(summary: Summary) -> tuple[str, ...]:
    """Return what the run's problem says of its best construction; nothing where one of the two is gone or changed."""
    found = problem_of(RunConfig.from_toml(RunDir(summary.run_dir).config))
    if found is None or summary.best is None:
        return ()
    with contextlib.suppress(OSError, EvocoreError):
        return found.diagnose(read(found, (summary.run_dir / summary.best.file).read_bytes()))
    return ()


def problem_of(config: RunConfig) -> Problem | None:
    """Return the run's problem, or None where its folder is not on this machine any more or does not load."""
    with contextlib.suppress(EvocoreError):
        return problem(config.problem)
    return None


def passed(found: Problem | None, trace: tuple[tuple[float, float], ...]) -> tuple[Passed, ...]:
    """Return the published values, worst first, with the moment at which the run went beyond each."""
    if found is None:
        return ()
    rows = sorted(found.references, key=lambda r: r.score, reverse=found.direction == "minimize")
    return tuple(
        Passed(r.who, r.score, r.year, next((t for t, score in trace if found.better(score, r.score)), None))
        for r in rows
    )


def _is_held(ledger: Path) -> bool:
    """Tell whether a controller writes the ledger: it holds the lock while it does."""
    with open(ledger, "rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _best(one: Discovery) -> Best:
    exact = exact_to_json(one.exact)
    return Best(
        file=one.file,
        arena_score=one.arena_score,
        exact_score="" if exact is None else exact if isinstance(exact, str) else tuple(exact),
        found_seconds=one.elapsed,
        source=one.source,
        first_place=one.first_place,
    )


def _islands(forest: Forest) -> tuple[IslandState, ...]:
    rows = []
    for number, one in sorted(forest.islands.items()):
        best = forest.best(number)
        gain = None if best is None else forest.accuracy(best)
        rows.append(
            IslandState(
                number=number,
                mutator=one.mutator,
                n_nodes=len(one.nodes),
                n_admitted=len(one.admitted),
                n_rejected=len(one.rejections),
                best_accuracy=one.best if gain is None else gain,
                stall=one.stall,
                best_program="" if best is None else forest.nodes[best].source_sha,
            )
        )
    return tuple(rows)


def _lineage(forest: Forest, best: Discovery | None) -> tuple[Step, ...]:
    """The winning program and its ancestors; the oldest node of its source decides which."""
    if best is None or best.program is None:
        return ()
    nodes = [seq for seq, node in sorted(forest.nodes.items()) if node.source_sha == best.program]
    if not nodes:
        return (_step(forest, best.program, "", ""),)
    chain = [forest.nodes[seq] for seq in forest.lineage(nodes[0])]
    return tuple(_step(forest, node.source_sha, node.operator, node.description) for node in chain)


def _path(forest: Forest, history: History) -> tuple[Step, ...]:
    """The programs that handed the best construction from one to the next, from its beginning on."""
    steps: list[Step] = []
    sha = None if history.best is None else history.best.sha
    seen: set[str] = set()
    while sha is not None and sha not in seen:
        seen.add(sha)
        program, sha = history.origins.get(sha, (None, None))
        if program is not None:
            steps.append(_step(forest, program, "", ""))
    return tuple(reversed(steps))


def _step(forest: Forest, sha: str, operator: str, description: str) -> Step:
    one = forest.programs.get(sha)
    title = "" if one is None else one.title or one.origin
    return Step(sha, RunDir.program_file(sha) if one is None else one.file, title, operator, description)
