"""Attempts of candidates on tasks: which are to be made, all at once in one pool of threads, each recorded as it ends.

The results are facts; what follows from them is decided elsewhere, after all of them are there, so that the order in
which they came in cannot show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evocore.errors import SandboxUnavailable
from evocore.search.chains import derived_seed
from evocore.search.history import Trace
from evocore.search.journal import Journal
from evocore.search.stopping import Stop, Stopped
from evocore.verifiers.verdict import exact_to_wire

if TYPE_CHECKING:
    from evocore.tasks import AttemptResult, OptimizerTask

_TRACE_POINTS = 24
_DETAIL_CHARACTERS = 400
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt to make.

    Attributes
    ----------
    sha, source : str
        The candidate.
    task : OptimizerTask
        What it is scored on.
    task_start : str
        Construction that the task begins from, by sha.
    attempt, seed : int
        Number of the attempt, and the seed that follows from it: the same for every candidate.
    key : str
        Names the attempt in the ledger and in the verifier; no key is finished twice.
    parent_trace : tuple
        What the candidate's parent reached on this task by when; empty where nobody knows.
    """

    sha: str
    source: str
    task: OptimizerTask
    task_start: str
    attempt: int
    seed: int
    key: str
    parent_trace: Trace = ()


Evaluate = Callable[[Request], "AttemptResult"]


def attempt_seed(run_seed: int, task_hash: str, attempt: int) -> int:
    """Return the seed of an attempt on a task: the same for every candidate, so that luck does not tell them apart."""
    return derived_seed(run_seed, "attempt", task_hash, attempt)


def evaluation_key(sha: str, task_hash: str, seed: int, verifier_digest: str) -> str:
    """Return the cache key of an attempt; the task's hash covers budget and limits."""
    return hashlib.sha256(f"{sha}/{task_hash}/{seed}/{verifier_digest}".encode()).hexdigest()


def thinned(trace: Sequence[tuple[float, float]], points: int = _TRACE_POINTS) -> list[list[float]]:
    """Return at most so many entries of a trace, spread over it, the last one always among them."""
    if len(trace) > points:
        picks = sorted({round(i * (len(trace) - 1) / (points - 1)) for i in range(points)})
        trace = [trace[pick] for pick in picks]
    return [[round(seconds, 3), score] for seconds, score in trace]


class Evaluator:
    """Make attempts, several at a time.

    Parameters
    ----------
    journal : Journal
        Where finished attempts are recorded, on the disk before they count.
    evaluate : callable
        Makes one attempt: the sandbox in a run, a recording in a replay.
    keep : callable
        Given a request and its result, returns the fields of its best construction, or None if it is not worth a file.
    slots : int
        How many at a time.
    stop : Stop
        Ends it.
    may_begin : callable
        Whether there is time for one more attempt.
    tick : callable
        Called a few times a second while waiting.
    """

    def __init__(
        self,
        journal: Journal,
        evaluate: Evaluate,
        keep: Callable[[Request, AttemptResult], dict[str, Any] | None],
        *,
        slots: int,
        stop: Stop,
        may_begin: Callable[[], bool],
        tick: Callable[[], None],
    ) -> None:
        self._journal = journal
        self._evaluate = evaluate
        self._keep = keep
        self._stop = stop
        self._may_begin = may_begin
        self._tick = tick
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="evaluation")
        self.running = 0

    def close(self) -> None:
        """Wait for attempts that still run, begin no more."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def run(self, requests: Iterable[Request]) -> None:
        """Make the attempts that are not finished yet and return when all are.

        Raises
        ------
        Stopped
            The run ended before all were made; those that were are recorded.
        """
        todo = {one.key: one for one in requests if one.key not in self._journal.forest.finished}
        if not todo:
            return
        if self._stop.is_set():
            raise Stopped
        futures: list[Future[bool]] = [self._threads.submit(self._one, one) for one in todo.values()]
        self.running = len(futures)
        try:
            waiting = set(futures)
            while waiting:
                done, waiting = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_EXCEPTION)
                self.running = len(waiting)
                for future in done:
                    future.result()
                self._tick()
        finally:
            self.running = 0
            for future in futures:
                future.cancel()
        if not all(future.result() for future in futures):
            raise Stopped

    def _one(self, request: Request) -> bool:
        """Make and record one attempt; False if the run ended before."""
        if self._stop.is_set() or not self._may_begin():
            return False
        try:
            result = self._evaluate(request)
        except SandboxUnavailable:
            if self._stop.is_set():
                return False
            raise
        self._journal.record("evaluation", self._event(request, result), sync=True)
        return True

    def _event(self, request: Request, result: AttemptResult) -> dict[str, Any]:
        return {
            "key": request.key,
            "sha": request.sha,
            "task": request.task.hash,
            "start": request.task_start,
            "attempt": request.attempt,
            "seed": request.seed,
            "status": str(result.status),
            "accuracy": float(result.gain),
            "exact_hex": exact_to_wire(result.best_exact),
            "seconds_to_best": float(result.seconds_to_best),
            "peak_memory": int(result.peak_memory_bytes),
            "cpu_seconds": round(float(result.cpu_seconds), 4),
            "wall_seconds": round(float(result.wall_seconds), 4),
            "hand_ins": int(result.n_hand_ins),
            "trace": thinned(result.trace),
            "stopped_early": bool(result.stopped_early),
            "detail": (result.detail or result.stderr)[-_DETAIL_CHARACTERS:],
            "best": self._keep(request, result),
        }
