"""One attempt of a program at a task: run in a sandbox, every hand-in scored by the verifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from evocore.errors import ConfigError, SandboxUnavailable
from evocore.sandbox.base import Job, Limits, Offer, Outcome, Status
from evocore.tasks.task import OptimizerTask, gain

if TYPE_CHECKING:
    from evocore.problems import Exact
    from evocore.sandbox import Sandbox
    from evocore.verifiers.client import OfferReply, Verifier

# (CPU seconds, score) at every improvement, in order.
Trace: TypeAlias = tuple[tuple[float, float], ...]

N_TRIES = 2

OnDiscovery: TypeAlias = "Callable[[Offer, OfferReply], None]"


@dataclass(frozen=True)
class Checkpoint:
    """When a hopeless program is stopped before its deadline.

    Attributes
    ----------
    parent_trace : sequence of (float, float)
        What the program's parent had reached on the same task at which CPU time; empty where nobody knows.
    fractions : tuple of float
        At which shares of the budget the program is looked at.
    lag : float
        How much gain it may be behind what its parent had after the same CPU time.
    """

    parent_trace: Trace = ()
    fractions: tuple[float, ...] = (0.25, 0.5)
    lag: float = 0.3

    def reason(self, task: OptimizerTask, seconds: float, cpu_seconds: float, trace: Trace, *, has_valid: bool) -> str:
        """Say why a program is stopped at a checkpoint; empty: it goes on.

        Parameters
        ----------
        task : OptimizerTask
        seconds : float
            The checkpoint.
        cpu_seconds : float
            CPU time that the program has used by then.
        trace : Trace
            What it has reached.
        has_valid : bool
            Whether anything it handed in was a valid construction.
        """
        of_parent = [score for used, score in self.parent_trace if used <= cpu_seconds]
        is_last = seconds >= max(self.fractions) * task.budget_seconds
        if not has_valid:
            # Without a parent to compare with, it gets until the last checkpoint.
            return f"no valid hand-in within {seconds:.3g} s" if of_parent or is_last else ""
        if not of_parent:
            return ""
        behind = gain(task, of_parent[-1]) - (gain(task, trace[-1][1]) if trace else 0.0)
        return f"gain {behind:.2f} behind its parent's at {seconds:.3g} s" if behind > self.lag else ""


@dataclass(frozen=True)
class AttemptResult:
    """What an attempt came to.

    Attributes
    ----------
    task_hash : str
    status : Status
        ``ok`` only where at least one hand-in was valid, or the program was stopped early. Never ``infrastructure``.
    gain : float
        In [0, 1]; what was handed in in time counts, whatever became of the program afterwards.
    best_exact : Fraction or Enclosure
        Best exact score: the start's where nothing was better.
    best_buffer : bytes or None
        The construction that has it, as it was handed in; None for the start.
    seconds_to_best : float
        CPU time at the hand-in that set the result; the CPU time in all where nothing improved on the start.
    peak_memory_bytes : int
    cpu_seconds, wall_seconds : float
    n_hand_ins : int
    trace : Trace
        CPU seconds and score at every improvement.
    stderr : str
        End of what the program wrote there.
    detail : str
        One sentence on the status.
    stopped_early : bool
        A checkpoint stopped it; `detail` says why.
    """

    task_hash: str
    status: Status
    gain: float
    best_exact: Exact
    best_buffer: bytes | None
    seconds_to_best: float
    peak_memory_bytes: int
    cpu_seconds: float
    wall_seconds: float
    n_hand_ins: int
    trace: Trace
    stderr: str
    detail: str
    stopped_early: bool


class _Record:
    """Hands every hand-in to the verifier, and keeps what came of it."""

    def __init__(
        self,
        task: OptimizerTask,
        verifier: Verifier,
        key: str,
        checkpoint: Checkpoint | None,
        on_discovery: OnDiscovery | None,
    ) -> None:
        self._task = task
        self._verifier = verifier
        self._key = key
        self._checkpoint = checkpoint
        self._on_discovery = on_discovery
        self.trace: list[tuple[float, float]] = []
        self.has_valid = False
        self.refusal = ""
        self.stopped = ""

    def offer(self, offer: Offer) -> None:
        reply = self._verifier.offer(self._key, self._task.problem, offer.buffer)
        if reply.score is None or (reply.verdict is not None and not reply.verdict.valid):
            self.refusal = self.refusal or reply.reason
            return
        self.has_valid = True
        if reply.improved_attempt:
            self.trace.append((offer.cpu_seconds, reply.score))
        is_set_aside = reply.verdict is not None and reply.verdict.valid and not reply.verdict.is_true
        if (reply.improved_run or is_set_aside) and self._on_discovery is not None:
            self._on_discovery(offer, reply)

    def check(self, seconds: float, cpu_seconds: float) -> bool:
        if self._checkpoint is not None:
            self.stopped = self._checkpoint.reason(
                self._task, seconds, cpu_seconds, tuple(self.trace), has_valid=self.has_valid
            )
        return not self.stopped


def attempt(
    source: str,
    task: OptimizerTask,
    seed: int,
    verifier: Verifier,
    sandbox: Sandbox,
    *,
    key: str,
    checkpoint: Checkpoint | None = None,
    on_discovery: OnDiscovery | None = None,
) -> AttemptResult:
    """Run a program on a task, and score what it hands in.

    Parameters
    ----------
    source : str
        Text of the program.
    task : OptimizerTask
    seed : int
        Handed to the program.
    verifier : Verifier
        Knows the task's problem; holds the attempt's ratchet and the run's.
    sandbox : Sandbox
    key : str
        Names the attempt's ratchet; no other open attempt may have it.
    checkpoint : Checkpoint, optional
        When to give up early.
    on_discovery : callable, optional
        Called in this thread with the hand-in and the verifier's reply whenever the run's ratchet moves, or would but
        for an arena score that is not true (`Verdict.is_true`); whatever then becomes of the program.

    Returns
    -------
    AttemptResult

    Raises
    ------
    ConfigError
        The task's `start_exact` is not what the verifier finds.
    VerifierUnavailable, SandboxUnavailable
        The machine failed, the second time in a row: that is no result. What the program does is never an exception.
    """
    start_exact = verifier.open_attempt(key, task.problem, task.start)
    record = _Record(task, verifier, key, checkpoint, on_discovery)
    try:
        if start_exact != task.start_exact:
            raise ConfigError(
                f"expected a task whose start scores {float(task.start_exact)!r}, as it says, "
                f"got one for which the verifier finds {float(start_exact)!r}"
            )
        job = Job(source, task.problem, task.start, seed, task.budget_seconds)
        marks = [f * task.budget_seconds for f in checkpoint.fractions] if checkpoint is not None else []
        outcome = _run(sandbox, job, task.limits, record, marks)
    finally:
        best_exact, best_buffer = verifier.close_attempt(key)
    status, detail = _status(outcome, record)
    return AttemptResult(
        task_hash=task.hash,
        status=status,
        gain=gain(task, best_exact),
        best_exact=best_exact,
        best_buffer=best_buffer,
        seconds_to_best=record.trace[-1][0] if record.trace else outcome.cpu_seconds,
        peak_memory_bytes=outcome.peak_memory_bytes,
        cpu_seconds=outcome.cpu_seconds,
        wall_seconds=outcome.wall_seconds,
        n_hand_ins=outcome.n_offers,
        trace=tuple(record.trace),
        stderr=outcome.stderr,
        detail=detail,
        stopped_early=bool(record.stopped),
    )


def _run(sandbox: Sandbox, job: Job, limits: Limits, record: _Record, marks: list[float]) -> Outcome:
    """Run a program; once more where the machine failed, not the program."""
    for _ in range(N_TRIES):
        outcome = sandbox.run(job, limits, record.offer, checkpoints=marks, on_checkpoint=record.check)
        if outcome.status is not Status.INFRASTRUCTURE:
            return outcome
    raise SandboxUnavailable(f"expected the sandbox to run a program, got: {outcome.detail or 'no reason'}")


def _status(outcome: Outcome, record: _Record) -> tuple[Status, str]:
    if record.stopped:
        return outcome.status, f"stopped early: {record.stopped}"
    if outcome.status is Status.OK and not record.has_valid:
        return Status.INVALID, f"handed in nothing valid: {record.refusal}" if record.refusal else "handed in nothing"
    return outcome.status, outcome.detail
