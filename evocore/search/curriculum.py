"""The tasks of a run: cold ones from random numbers, warm ones from its own constructions, frozen for an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evocore.search.chains import derived_seed
from evocore.search.memory import FloatArray, Forest
from evocore.search.pool import Member, Pool, spread
from evocore.verifiers.verdict import exact_from_wire, exact_to_wire

if TYPE_CHECKING:
    from evocore.problems.base import Enclosure, Problem
    from evocore.search.journal import Journal
    from evocore.search.plan import Plan
    from evocore.search.rundir import RunDir
    from evocore.tasks import OptimizerTask
    from evocore.verifiers import Verifier

Role = Literal["search", "reserve", "validation"]
_SMALLEST_STEP = 1e-12


class TaskBook:
    """Makes tasks, records them, and gives them back by their hashes, in this session and in the next.

    Parameters
    ----------
    problem, rundir, journal, plan
        Of the run.
    verifier : Verifier
        Scores the starts.
    seed : int
        Of the run; random starts follow from it.
    memory_bytes : int
        Memory limit of an attempt.
    """

    def __init__(
        self,
        problem: Problem,
        rundir: RunDir,
        journal: Journal,
        plan: Plan,
        verifier: Verifier,
        *,
        seed: int,
        memory_bytes: int,
    ) -> None:
        self._problem = problem
        self._rundir = rundir
        self._journal = journal
        self._plan = plan
        self._verifier = verifier
        self._seed = seed
        self._memory_bytes = memory_bytes
        self._tasks: dict[str, OptimizerTask] = {}
        self._starts: dict[str, str] = {}
        for event in journal.ledger:
            if event.kind == "task":
                self._rebuild(event.data)

    def __getitem__(self, task_hash: str) -> OptimizerTask:
        return self._tasks[task_hash]

    def start_of(self, task_hash: str) -> str:
        """Return the sha of the construction that a task begins from."""
        return self._starts[task_hash]

    def cold(self, number: int, role: Role) -> str:
        """Return the hash of the cold task of that number; its random numbers follow from the run's seed."""
        x = self._problem.start(self._problem.default_size, derived_seed(self._seed, "cold", number) % 2**32)
        exact = self._verifier.verify(self._problem.location, x).exact_score
        if exact is None:
            raise ValueError(f"expected a start with an exact score from {self._problem!r}, got one without")
        sha = self._rundir.save_construction(self._problem.payload(x))
        return self._add(f"cold-{number}", "cold", role, sha, x, exact)

    def warm(self, member: Member, role: Role) -> str:
        """Return the hash of the warm task that begins from a member of the pool."""
        x = self._problem.parse(self._rundir.construction(member.sha))
        return self._add(f"warm-{member.sha[:12]}", "warm", role, member.sha, x, member.exact)

    def chain(self, x: FloatArray, exact: Fraction | Enclosure, seconds: float) -> OptimizerTask:
        """Return the task of a chain segment; it is not recorded as a task, the `chain` event says all of it."""
        return self._task("chain", x, exact, seconds)

    def _add(
        self,
        name: str,
        kind: Literal["cold", "warm"],
        role: Role,
        sha: str,
        x: FloatArray,
        exact: Fraction | Enclosure,
    ) -> str:
        task = self._task(kind, x, exact, self._plan.task_seconds)
        if task.hash not in self._tasks:
            self._tasks[task.hash] = task
            self._starts[task.hash] = sha
            self._journal.record(
                "task",
                {
                    "hash": task.hash,
                    "name": name,
                    "task_kind": kind,
                    "role": role,
                    "epoch": self._journal.forest.epoch,
                    "start": sha,
                    "start_exact_hex": exact_to_wire(exact),
                    "target": task.target,
                    "floor": task.floor,
                    "variant": task.variant,
                    "budget_seconds": task.budget_seconds,
                },
            )
        return task.hash

    def _task(
        self, kind: Literal["cold", "warm", "chain"], x: FloatArray, exact: Fraction | Enclosure, seconds: float
    ) -> OptimizerTask:
        from evocore.sandbox import Limits
        from evocore.tasks import OptimizerTask

        return OptimizerTask(
            problem=self._problem.location,
            kind=kind,
            start=np.ascontiguousarray(x, dtype=np.float64),
            start_exact=exact,
            target=frozen_target(self._problem, exact),
            floor=self._problem.gain_floor,
            variant="log",
            budget_seconds=seconds,
            limits=Limits(
                wall_seconds=seconds,
                cpu_seconds=seconds,
                memory_bytes=self._memory_bytes,
            ),
        )

    def _rebuild(self, data: Mapping[str, Any]) -> None:
        x = self._problem.parse(self._rundir.construction(data["start"]))
        exact = exact_from_wire(data["start_exact_hex"])
        if exact is None:
            raise ValueError("expected an exact score of the task's start, got none")
        task = self._task(data["task_kind"], x, exact, data["budget_seconds"])
        if task.hash != data["hash"]:
            raise ValueError(f"expected task {data['hash'][:12]} from its record, got {task.hash[:12]}")
        self._tasks[task.hash] = task
        self._starts[task.hash] = data["start"]


def frozen_target(problem: Problem, start_exact: Fraction | Enclosure) -> float:
    """Return the target of a task: the problem's own, or one step beyond a start that has reached that already."""
    if problem.better(problem.target, start_exact):
        return problem.target
    step = max(problem.min_improvement, _SMALLEST_STEP * abs(float(start_exact)))
    return float(start_exact) - step if problem.direction == "minimize" else float(start_exact) + step


def warm_starts(pool: Pool, count: int, epoch: int) -> tuple[Member, ...]:
    """Return the constructions that an epoch's warm tasks begin from, the most different ones of the pool.

    Every other epoch the best is the first. In between it is the last: from the best of a run hardly any child gains
    anything in the time of a task, and then nothing tells the children apart.
    """
    chosen = spread(pool.members, count)
    return chosen if epoch % 2 else (*chosen[1:], *chosen[:1])


def fronts(forest: Forest, etas: Mapping[int, FloatArray], limit: int) -> dict[int, list[int]]:
    """Return for each island the nodes to score again when the search set changes, at most `limit`, best first.

    They are the ones that nothing alike beats (eta of 0); the island's best is always among them.
    """
    chosen: dict[int, list[int]] = {}
    for number, island in sorted(forest.islands.items()):
        best = forest.best(number)
        if best is None:
            continue
        scores = etas[number]
        front = [node for node, eta in zip(island.admitted, scores, strict=True) if eta == 0.0 and node != best]
        front.sort(key=lambda node: (-_mean(forest, node), node))
        chosen[number] = [best, *front][:limit]
    return chosen


def rescoring_limit(plan: Plan, n_islands: int, n_tasks: int) -> int:
    """Return how many nodes of an island may be scored again at an epoch's start: a quarter of its time at most."""
    one = plan.task_seconds * plan.attempts * max(1, n_tasks)
    total = 0.25 * plan.epoch_seconds * plan.evaluation_slots / one
    return max(1, int(total) // max(1, n_islands))


def _mean(forest: Forest, node: int) -> float:
    scores = forest.score(node)
    return sum(one.accuracy for one in scores.values()) / max(1, len(scores))
