"""Attempts and chain segments in the sandbox, with everything that they hand in going to the verifier."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evocore.errors import SandboxUnavailable
from evocore.search.chains import ChainProgram, Segment, good_for, next_segment
from evocore.search.discoveries import described
from evocore.search.evolution import construction_event
from evocore.search.history import History, member_from
from evocore.verifiers.arrays import decode
from evocore.verifiers.verdict import exact_to_wire

if TYPE_CHECKING:
    from evocore.problems.base import Problem
    from evocore.sandbox import Offer, Sandbox, Tier
    from evocore.search.curriculum import TaskBook
    from evocore.search.discoveries import Discoveries
    from evocore.search.evaluation import Request
    from evocore.search.evolution import Evolution
    from evocore.search.journal import Journal
    from evocore.search.memory import Forest
    from evocore.search.rundir import RunDir
    from evocore.search.stopping import Clock, Stop
    from evocore.tasks import AttemptResult
    from evocore.verifiers import OfferReply, Verifier

_PAUSE_SECONDS = 1.0
_SHORT_SEGMENT_SECONDS = 0.5
_MAX_FAILURES = 5


class Bench:
    """Makes attempts.

    The sandbox is started at the first of them, and `close` ends it: attempts that still run raise SandboxUnavailable
    in their threads.
    """

    def __init__(
        self,
        problem: Problem,
        rundir: RunDir,
        journal: Journal,
        verifier: Verifier,
        discoveries: Discoveries,
        tier: Tier,
    ) -> None:
        self._tier = tier
        self.problem = problem
        self.rundir = rundir
        self.journal = journal
        self.verifier = verifier
        self.discoveries = discoveries
        self._lock = threading.Lock()
        self._sandbox: Sandbox | None = None
        self._is_closed = False

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox."""
        from evocore.sandbox import open_sandbox

        with self._lock:
            if self._is_closed:
                raise SandboxUnavailable("expected an open sandbox, got one that the end of the run has closed")
            if self._sandbox is None:
                self._sandbox = open_sandbox(self._tier)
            return self._sandbox

    def close(self) -> None:
        """End every attempt and the sandbox; closing twice is fine."""
        with self._lock:
            self._is_closed = True
            sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.close()

    def evaluate(self, request: Request) -> AttemptResult:
        """Make one attempt of a candidate on a task."""
        from evocore.tasks import Checkpoint, attempt

        title = self.title(request.sha)
        return attempt(
            request.source,
            request.task,
            request.seed,
            self.verifier,
            self.sandbox,
            key=request.key,
            checkpoint=Checkpoint(parent_trace=request.parent_trace),
            on_discovery=self.recorder(request.sha, request.task_start, f"evaluation of {title}"),
        )

    def keep(self, request: Request, result: AttemptResult) -> dict[str, Any] | None:
        """Keep the file of an attempt's best construction if the pool would take it; returns what describes it."""
        return self.keep_best(result)

    def keep_best(self, result: AttemptResult) -> dict[str, Any] | None:
        """Keep the file of a best construction if the pool would take it; returns what describes it."""
        if result.best_buffer is None:
            return None
        x = self.problem.check(decode(result.best_buffer))
        data = {**described(self.problem, "", x), "exact_hex": exact_to_wire(result.best_exact)}
        pool = self.journal.history.pool
        if pool.offer(member_from(data)) is pool:
            return None
        return {**data, "sha": self.rundir.save_construction(self.problem.payload(x))}

    def title(self, sha: str) -> str:
        """Return what a program is called."""
        return self.journal.forest.programs[sha].title or sha[:12]

    def recorder(self, program: str, start: str | None, source: str) -> Callable[[Offer, OfferReply], None]:
        """Return what records the discoveries of a program that began from a construction."""

        def record(offer: Offer, reply: OfferReply) -> None:
            if reply.verdict is None:
                raise ValueError("expected a verdict on a construction that moved the run's ratchet, got none")
            x = self.problem.check(decode(offer.buffer))
            self.discoveries.record(x, reply.verdict, program=program, start=start, source=source)

        return record


class Chains:
    """Run chains in threads of their own until the run ends.

    Parameters
    ----------
    bench : Bench
        What segments are run with.
    evolution : Evolution
        Knows the programs.
    tasks : TaskBook
        Makes the segments' tasks.
    slots, budget_seconds, seed, has_start
        See `next_segment`.
    """

    def __init__(
        self,
        bench: Bench,
        evolution: Evolution,
        tasks: TaskBook,
        *,
        slots: int,
        budget_seconds: float,
        seed: int,
        has_start: bool,
        clock: Clock,
        stop: Stop,
    ) -> None:
        self._bench = bench
        self._evolution = evolution
        self._tasks = tasks
        self._budget_seconds = budget_seconds
        self._seed = seed
        self._has_start = has_start
        self._clock = clock
        self._stop = stop
        self.running: dict[int, tuple[Segment, float]] = {}
        self._threads = [
            threading.Thread(target=self._run, args=(slot,), name=f"chain-{slot}", daemon=True) for slot in range(slots)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def is_alive(self) -> bool:
        """Whether a chain still runs."""
        return any(thread.is_alive() for thread in self._threads)

    def join(self) -> None:
        """Wait for all of them."""
        for thread in self._threads:
            thread.join()

    def _run(self, slot: int) -> None:
        failures = 0
        try:
            while not self._stop.is_set():
                segment = self._next(slot)
                if segment is None:
                    return
                begun = self._clock.session()
                trouble = self._segment(segment)
                failures = 0 if trouble is None else failures + 1
                if trouble is not None and failures >= _MAX_FAILURES:
                    raise trouble
                if self._clock.session() - begun < min(_SHORT_SEGMENT_SECONDS, segment.seconds / 2):
                    # a program that gives up at once must not turn the chain into a busy loop
                    self._stop.wait(_PAUSE_SECONDS)
        except Exception as error:  # the thread's boundary: the thread that started it raises this again
            self._stop.set("failed", error)

    def _next(self, slot: int) -> Segment | None:
        journal = self._bench.journal
        with journal.lock:
            return next_segment(
                slot,
                programs=chain_programs(journal.forest, self._evolution.initial(), self._evolution.source),
                pool=journal.history.pool,
                history=journal.history.chains,
                elapsed_seconds=self._clock.elapsed(),
                budget_seconds=self._budget_seconds,
                seed=self._seed,
                has_start=self._has_start,
            )

    def _segment(self, segment: Segment) -> SandboxUnavailable | None:
        """Run one segment and record it, or return how the machine, not the program, failed."""
        from evocore.tasks import attempt

        bench = self._bench
        if segment.start is None:
            x = bench.problem.start(bench.problem.default_size, segment.seed % 2**32)
        else:
            x = bench.problem.parse(bench.rundir.construction(segment.start))
        exact = bench.verifier.verify(bench.problem.location, x).exact_score
        if exact is None:
            raise ValueError(f"expected a start with an exact score from {bench.problem!r}, got one without")
        fields = {
            "slot": segment.slot,
            "index": segment.index,
            "program": segment.program,
            "chain_kind": segment.kind,
            "start": segment.start,
            "seconds": segment.seconds,
            "seed": segment.seed,
        }
        bench.journal.record("chain", {"phase": "begin", **fields})
        before = _n_discoveries(bench.journal.history, segment)
        self.running[segment.slot] = (segment, self._clock.elapsed())
        source = f"chain {segment.slot + 1}, segment {segment.index + 1}: {bench.title(segment.program)}"
        try:
            result = attempt(
                self._evolution.source(segment.program),
                self._tasks.chain(x, exact, segment.seconds),
                segment.seed,
                bench.verifier,
                bench.sandbox,
                key=f"chain/{bench.journal.history.sessions}/{segment.slot}/{segment.index}",
                on_discovery=bench.recorder(segment.program, segment.start, source),
            )
        except SandboxUnavailable as error:
            return None if self._stop.is_set() else error
        finally:
            self.running.pop(segment.slot, None)
        bench.journal.record(
            "chain",
            {
                "phase": "end",
                **fields,
                "status": str(result.status),
                "exact_hex": exact_to_wire(result.best_exact),
                "improved": _n_discoveries(bench.journal.history, segment) > before,
                "hand_ins": result.n_hand_ins,
                "cpu_seconds": round(float(result.cpu_seconds), 3),
                "wall_seconds": round(float(result.wall_seconds), 3),
            },
            sync=True,
        )
        kept = bench.keep_best(result)
        if kept is not None:
            bench.journal.record("construction", construction_event(kept, segment.program, segment.start))
        return None


def chain_programs(forest: Forest, initial: list[str], source_of: Callable[[str], str]) -> list[ChainProgram]:
    """Return what may run as a chain: the initial programs as listed, then the islands' bests."""
    bests = (forest.best(island) for island in sorted(forest.islands))
    shas = [*initial, *(forest.nodes[node].source_sha for node in bests if node is not None)]
    return [
        ChainProgram(
            sha,
            forest.programs[sha].title,
            good_for(source_of(sha)),
            _gain(forest, sha, "cold"),
            _gain(forest, sha, "warm"),
        )
        for sha in dict.fromkeys(shas)
    ]


def _gain(forest: Forest, sha: str, kind: str) -> float | None:
    """Mean accuracy over the search set's tasks of a kind, None where one of them was not tried."""
    scores = forest.scores.get(sha, {})
    tasks = [task for task in forest.search_tasks if forest.tasks[task].task_kind == kind]
    if not tasks or any(task not in scores for task in tasks):
        return None
    return sum(scores[task].accuracy for task in tasks) / len(tasks)


def _n_discoveries(history: History, segment: Segment) -> int:
    """How many discoveries this program made from this start."""
    found = (one for one in history.discoveries if not one.quarantined)
    return sum(one.program == segment.program and one.start == segment.start for one in found)
