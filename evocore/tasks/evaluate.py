"""One program on a problem's own tasks, several attempts each, without a search."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evocore.errors import ConfigError, InfrastructureError, InputError, InvalidConstruction
from evocore.problems import optimizers
from evocore.problems import problem as find_problem
from evocore.problems.registry import folder_of
from evocore.sandbox import Limits, Sandbox, Tier, offered_tier, open_sandbox
from evocore.search.curriculum import frozen_target
from evocore.search.inputs import check_contract, read_program, read_start
from evocore.search.metrics import Metrics, metrics
from evocore.tasks.attempt import AttemptResult, attempt
from evocore.tasks.task import OptimizerTask
from evocore.verifiers.arrays import decode
from evocore.verifiers.client import Verifier
from evocore.verifiers.payload import read
from evocore.verifiers.verdict import exact_to_json

if TYPE_CHECKING:
    from evocore.problems import Problem
    from evocore.verifiers.client import Construction

Kind: TypeAlias = Literal["cold", "warm"]

THRESHOLDS = (0.9, 1.0)
START_SEED = 0


@dataclass(frozen=True)
class TaskAttempts:
    """The attempts on one task.

    Attributes
    ----------
    task : OptimizerTask
    origin : str
        Where its start is from.
    seeds : tuple of int
        One an attempt.
    results : tuple of AttemptResult
        In the order of the seeds.
    """

    task: OptimizerTask
    origin: str
    seeds: tuple[int, ...]
    results: tuple[AttemptResult, ...]


@dataclass(frozen=True)
class ProgramEvaluation:
    """How a program did.

    Attributes
    ----------
    problem : str
        Its slug.
    verifier_digest : str
    tier : Tier
        How it was confined.
    tasks : tuple of TaskAttempts
    """

    problem: str
    verifier_digest: str
    tier: Tier
    tasks: tuple[TaskAttempts, ...]

    def metrics(self, threshold: float = 1.0) -> Metrics:
        """Summarise the gains; see `evocore.search.metrics`."""
        return metrics([[r.gain for r in t.results] for t in self.tasks], threshold=threshold)

    def to_json(self) -> dict[str, Any]:
        """Give all of it as JSON types."""
        return {
            "problem": self.problem,
            "verifier_digest": self.verifier_digest,
            "sandbox": str(self.tier),
            "tasks": [_task_to_json(t) for t in self.tasks],
            "metrics": [asdict(self.metrics(threshold)) for threshold in THRESHOLDS],
        }


def evaluate_program(
    source: str,
    problem: str,
    *,
    kinds: Sequence[Kind] = ("cold", "warm"),
    seeds: Sequence[int] = (0, 1, 2),
    budget_seconds: float = 10.0,
    start: Construction | None = None,
    workers: int | None = None,
    sandbox: str | None = None,
    say: Callable[[str], None] | None = None,
) -> ProgramEvaluation:
    """Run one program on a problem's own tasks.

    Parameters
    ----------
    source : str
        Text of the program.
    problem : str
        Name of a problem, or path of a folder.
    kinds : sequence of "cold" and "warm"
        From random numbers, always the same ones; from a construction.
    seeds : sequence of int
        One attempt a seed on every task.
    budget_seconds : float
        Of one attempt.
    start : dict, array, str or bytes, optional
        Construction, as `evocore.verify` takes it, to begin the warm task from. Default: the first that is stored with
        the problem; where there is none, one that the problem's own first program finds in the budget of one attempt.
    workers : int, optional
        How many attempts at a time; as many as there are cores by default.
    sandbox : "docker", "linux-strict", "linux" or "unsafe", optional
        How the program is confined; as strongly as the machine allows with nothing to install by default.
    say : callable, optional
        Is told in words what goes on.

    Returns
    -------
    ProgramEvaluation

    Raises
    ------
    InputError
        The source breaks the contract of optimizer programs; the problem or the start is not usable.
    InfrastructureError
        The machine failed, or offers no such sandbox.
    """
    check_contract(source)
    if not kinds or not seeds:
        raise ConfigError(f"expected at least one task and one seed, got {len(kinds)} and {len(seeds)}")
    found = find_problem(problem)
    location = found.location
    workers = workers or len(os.sched_getaffinity(0))
    with open_sandbox(offered_tier(sandbox)) as opened, Verifier(location) as verifier:
        bench = _Bench(found, verifier, opened, budget_seconds, say or (lambda words: None))
        made = [bench.make(kind, start) for kind in kinds]
        n = len(made) * len(seeds)
        bench.say(f"{n} attempt{'s' * (n != 1)} of {budget_seconds:g} s, {workers} at a time")
        threads = ThreadPoolExecutor(workers)
        try:
            futures = [
                [threads.submit(bench.attempt, source, task, seed, f"{i}/{seed}/{j}") for j, seed in enumerate(seeds)]
                for i, (task, _) in enumerate(made)
            ]
            results = [tuple(f.result() for f in row) for row in futures]
        finally:
            opened.close()  # after an error or Ctrl-C: nobody waits for attempts that still run
            threads.shutdown(cancel_futures=True)
        tasks = [
            TaskAttempts(task, origin, tuple(seeds), row) for (task, origin), row in zip(made, results, strict=True)
        ]
        return ProgramEvaluation(found.slug, verifier.digest, opened.tier, tuple(tasks))


class _Bench:
    """What the attempts of one evaluation share."""

    def __init__(
        self,
        problem: Problem,
        verifier: Verifier,
        sandbox: Sandbox,
        budget_seconds: float,
        say: Callable[[str], None],
    ) -> None:
        self._problem = problem
        self._verifier = verifier
        self._sandbox = sandbox
        self._budget_seconds = budget_seconds
        self.say = say

    def make(self, kind: Kind, start: Construction | None) -> tuple[OptimizerTask, str]:
        """Make a task, and say where its start is from."""
        if kind == "cold":
            return self._task(kind, self._cold_start()), f"random numbers, seed {START_SEED}"
        if start is not None:
            return self._task(kind, read(self._problem, start)), "given"
        for file in sorted((folder_of(self._problem) / "starts").glob("*.json")):
            return self._task(kind, read_start(self._problem, file)), f"stored: {file.name}"
        return self._found()

    def attempt(self, source: str, task: OptimizerTask, seed: int, key: str) -> AttemptResult:
        """Run the program once."""
        result = attempt(source, task, seed, self._verifier, self._sandbox, key=key)
        self.say(f"{task.kind} seed {seed}: {result.status}, gain {result.gain:.4f}, {float(result.best_exact)!r}")
        return result

    def _cold_start(self) -> np.ndarray:
        return self._problem.start(self._problem.default_size, START_SEED)

    def _found(self) -> tuple[OptimizerTask, str]:
        programs = optimizers(self._problem)
        sources = [read_program(program) for program in programs]
        if not programs:
            raise InputError(
                f"expected a construction to begin the warm task of {self._problem.slug} from, found neither a stored "
                f"one nor a program to find one; give one with --start, or ask for --tasks cold"
            )
        self.say(f"warm task: no start is stored, {programs[0].name} looks for one, {self._budget_seconds:g} s")
        cold = self._task("cold", self._cold_start())
        result = attempt(sources[0], cold, START_SEED, self._verifier, self._sandbox, key=f"start/{programs[0].name}")
        if result.best_buffer is None:
            raise InfrastructureError(
                f"expected {programs[0].name} to find a start for the warm task, got {result.status}: {result.detail}; "
                f"give one with --start"
            )
        return self._task("warm", decode(result.best_buffer)), f"found by {programs[0].name}"

    def _task(self, kind: Kind, start: np.ndarray) -> OptimizerTask:
        verdict = self._verifier.verify(self._problem.location, start)
        if not verdict.valid or verdict.exact_score is None:
            raise InvalidConstruction(f"expected a valid construction to start from: {'; '.join(verdict.reasons)}")
        return OptimizerTask(
            problem=self._problem.location,
            kind=kind,
            start=start,
            start_exact=verdict.exact_score,
            target=frozen_target(self._problem, verdict.exact_score),
            floor=self._problem.gain_floor,
            variant="log",
            budget_seconds=self._budget_seconds,
            limits=Limits.for_budget(self._budget_seconds),
        )


def _task_to_json(one: TaskAttempts) -> dict[str, Any]:
    task = one.task
    return {
        "kind": task.kind,
        "hash": task.hash,
        "start": one.origin,
        "start_exact": exact_to_json(task.start_exact),
        "target": task.target,
        "budget_seconds": task.budget_seconds,
        "attempts": [
            {
                "seed": seed,
                "status": str(r.status),
                "detail": r.detail,
                "gain": r.gain,
                "score": float(r.best_exact),
                "exact_score": exact_to_json(r.best_exact),
                "seconds_to_best": r.seconds_to_best,
                "cpu_seconds": r.cpu_seconds,
                "wall_seconds": r.wall_seconds,
                "peak_memory_bytes": r.peak_memory_bytes,
                "hand_ins": r.n_hand_ins,
            }
            for seed, r in zip(one.seeds, one.results, strict=True)
        ],
    }
