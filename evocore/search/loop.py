"""The run: everything that one search needs, put together, and its life from the first event to the last.

`Run.create` begins one, `Run.resume` takes one up again, `go` carries it to its end; `run` does the first and the last.
Candidates run in the sandbox, the verifier judges, the journal remembers; here they are only connected, started,
stopped in order and reported on.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evocore.config import RunConfig, format_duration, parse_duration
from evocore.errors import ConfigError, EvocoreError, InfrastructureError, LedgerCorrupt, SandboxUnavailable
from evocore.ledger import Ledger, replay, write_file
from evocore.problems import problem as find_problem
from evocore.problems.base import lower, upper
from evocore.problems.registry import folder_of
from evocore.sandbox import Tier, offered_tier, read_tier
from evocore.search.curriculum import TaskBook
from evocore.search.discoveries import Discoveries, shown_exact
from evocore.search.evaluation import Evaluate, Evaluator
from evocore.search.evolution import Evolution, Setting
from evocore.search.fitness import Caps
from evocore.search.history import Discovery, History
from evocore.search.inputs import check_mutators, check_scoring_code, check_start, initial_programs, read_start
from evocore.search.journal import Journal
from evocore.search.plan import Plan, make_plan
from evocore.search.presets import preset
from evocore.search.rundir import RunDir
from evocore.search.sandboxed import Bench, Chains
from evocore.search.showing import picture
from evocore.search.state import Passed, RunState
from evocore.search.stopping import Clock, Stop, Stopped
from evocore.verifiers import Verifier

if TYPE_CHECKING:
    from evocore.problems.base import Problem
    from evocore.search.memory import FloatArray

_WAIT_SECONDS = 0.2
_LATE_SECONDS = 1.5
_LEAST_LEFT_SECONDS = 0.5
_MESSAGES = 5
_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came out of a run.

    Attributes
    ----------
    run : Path
        The run directory.
    problem : str
        Slug.
    best_file : Path or None
        The best construction, in the arena's schema; None if nothing valid was found.
    arena_score, exact_score
        Its scores; the exact one as `"p/q"` or `[lo, hi]`.
    evaluations, hand_ins : int
        Attempts finished, and constructions handed in.
    seconds : float
        Wall time over all sessions.
    reason : str
        Why the run ended: `"time"`, `"target"`, `"interrupted"`, `"evaluations"`, `"rounds"` or `"exhausted"`.
    target_reached : bool or None
        None where no target was set.
    """

    run: Path
    problem: str
    best_file: Path | None
    arena_score: float | None
    exact_score: str | list[str] | None
    evaluations: int
    hand_ins: int
    seconds: float
    reason: str
    target_reached: bool | None

    def to_json(self) -> dict[str, Any]:
        """Give the result as JSON types."""
        best = {"file": str(self.best_file), "arena_score": self.arena_score, "exact_score": self.exact_score}
        return {
            "run": str(self.run),
            "problem": self.problem,
            "best": None if self.best_file is None else best,
            "evaluations": self.evaluations,
            "hand_ins": self.hand_ins,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "target_reached": self.target_reached,
        }

    @property
    def exit_code(self) -> int:
        """0; 1 where a target was set and not reached; 130 where it was interrupted before anything was found."""
        if self.best_file is None and self.reason == "interrupted":
            return _INTERRUPTED
        return 1 if self.target_reached is False else 0


def run(
    problem: str | os.PathLike[str] | Problem, *, out: str | os.PathLike[str] | None = None, **settings: Any
) -> RunResult:
    """Search for better constructions of a problem by evolving its optimizer programs.

    Parameters
    ----------
    problem : str, path or Problem
        Name of a built-in problem, or the folder of one's own.
    out : path, optional
        The run directory; by default a new one in `evocore-runs/`.
    **settings
        `budget="2m"`, `target`, `islands`, `seed`, `preset`, … : the fields of `evocore.config.RunConfig`.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        A setting, program or construction is wrong.
    InfrastructureError
        The verifier, the sandbox or the disk failed; what was found until then is in the run directory.
    """
    config = RunConfig.create({"problem": find_problem(problem).location, **settings})
    return Run.create(config, out=out).go()


class Run:
    """One run, in one session.

    Parameters
    ----------
    config : RunConfig
    problem : Problem
    rundir : RunDir
    ledger : Ledger
        Open; empty for a new run.
    verifier : Verifier
        Running; ended by `go`.
    programs : sequence of (source, origin, title)
        What a new run begins with.
    start : array, optional
        A construction that a new run begins with.
    evaluate : callable, optional
        Makes an attempt; by default the sandbox does. Replays and measurements of the loop hand in their own.
    now : callable
        A monotonic clock.
    """

    def __init__(
        self,
        config: RunConfig,
        problem: Problem,
        rundir: RunDir,
        ledger: Ledger,
        verifier: Verifier,
        *,
        programs: tuple[tuple[str, str, str], ...] = (),
        start: FloatArray | None = None,
        evaluate: Evaluate | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self.problem = problem
        self.rundir = rundir
        self._ledger = ledger
        self._verifier = verifier
        self._programs = programs
        self._start = start
        self._evaluate = evaluate
        self._stop = Stop()
        self._clock = Clock(0.0, now)
        self.journal = Journal(ledger, History(problem.direction), lambda: self._clock.elapsed())
        self._clock = Clock(self.journal.history.elapsed, now)
        self.plan = self._planned()
        self._phase = "starting"
        self._messages: list[str] = []
        self._passed = [
            Passed(one.who, one.score, one.year)
            for one in sorted(problem.references, key=lambda one: one.score, reverse=problem.direction == "minimize")
        ]
        for one_best in self.journal.history.bests:
            self._pass_references(one_best)
        self._evolution: Evolution | None = None
        self._evaluator: Evaluator | None = None
        self._chains: Chains | None = None
        self._close_sandbox: Callable[[], None] = lambda: None
        self._state: RunState | None = None
        self._publish()

    @classmethod
    def create(cls, config: RunConfig, *, out: str | os.PathLike[str] | None = None, **seams: Any) -> Run:
        """Begin a run: everything that can be wrong with the input is found before anything is written.

        Raises
        ------
        InputError
            Unknown problem, a program or construction that cannot be used, an output folder that cannot be written.
        SandboxUnavailable
            The machine does not offer the sandbox that was asked for, or none.
        VerifierUnavailable
            The verifier process does not start.
        """
        problem = find_problem(config.problem)
        config = config.changed(
            sandbox=str(offered_tier(config.sandbox)),
            problem=problem.location,
            program=tuple(os.path.abspath(name) for name in config.program),
            start=None if config.start is None else os.path.abspath(config.start),
        )
        check_mutators(config)
        programs = initial_programs(problem, config)
        start = None if config.start is None else read_start(problem, config.start)
        _refuse_runs_inside(folder_of(problem), out)
        verifier = Verifier(problem)
        try:
            if start is not None:
                check_start(verifier.verify(problem, start), config.start)
            rundir = RunDir.create(problem.slug, out)
            write_file(rundir.config, config.to_toml().encode())
            ledger = Ledger.create(rundir.ledger)
        except BaseException:
            verifier.close()
            raise
        return cls(config, problem, rundir, ledger, verifier, programs=programs, start=start, **seams)

    @classmethod
    def resume(
        cls, path: str | os.PathLike[str], *, budget: object = None, sandbox: str | None = None, **seams: Any
    ) -> Run:
        """Take up a run where its ledger ends, with the time that is left and `budget` on top of it.

        Programs are confined as before, or as `sandbox` says.

        Raises
        ------
        InputError
            There is no run, another process writes it, or no time is left.
        LedgerCorrupt
            The ledger's chain is broken.
        SandboxUnavailable
            The machine does not offer the sandbox.
        InfrastructureError
            The scoring code is not the run's any more, or a file that the ledger names is missing.
        """
        rundir = RunDir.existing(path)
        config = RunConfig.from_toml(rundir.config)
        problem = find_problem(config.problem)
        with ExitStack() as opened:
            ledger = opened.enter_context(Ledger.open(rundir.ledger))
            history = History(problem.direction)
            has_epoch = any(event.kind == "epoch" for event in replay(ledger.path, ledger, history.apply))
            if not history.run and rundir.best.exists():
                raise LedgerCorrupt(
                    f"expected the events of a run in {rundir.ledger}, got none, although the run found {rundir.best}: "
                    f"restore the ledger, or begin a new run with --start {rundir.best}"
                )
            config = _extended(config, history, budget, rundir)
            config = config.changed(sandbox=str(_resumed_tier(config, history, sandbox)))
            verifier = opened.enter_context(Verifier(problem))
            check_scoring_code(history.run, verifier, rundir)
            write_file(rundir.config, config.to_toml().encode())
            rundir.make_derived()
            opened.pop_all()
        # only a run that was killed in its first moments still needs what it was given: later the ledger has it all
        programs = () if has_epoch else initial_programs(problem, config)
        start = None
        if config.start is not None and history.best is None:
            start = read_start(problem, config.start)
        return cls(config, problem, rundir, ledger, verifier, programs=programs, start=start, **seams)

    def poll(self) -> RunState | None:
        """Return the latest picture of the run."""
        return self._state

    def go(self) -> RunResult:
        """Carry the run to its end: search, stop in order, verify the winner again, write the report.

        Raises
        ------
        InfrastructureError
            The verifier, the sandbox or the disk failed. Everything that was recorded before is kept.
        """
        with ExitStack() as open_parts:
            open_parts.callback(self._ledger.close)
            open_parts.enter_context(_interruptible(self._stop, self._say, self.rundir.path))
            with self._verifier:
                try:
                    self._search()
                except EvocoreError as error:
                    self._stop.set("failed", error)
            if self._stop.error is not None:
                self._give_up(self._stop.error)
            return self._finish()

    # the search

    def _search(self) -> None:
        with ExitStack() as open_parts:
            discoveries = Discoveries(self.problem, self.rundir, self.journal, self._on_new, self._say)
            tier = offered_tier(self.config.sandbox)
            bench = Bench(self.problem, self.rundir, self.journal, self._verifier, discoveries, tier)
            self._close_sandbox = bench.close
            open_parts.callback(bench.close)
            self._record_beginning(discoveries)
            tasks = TaskBook(
                self.problem,
                self.rundir,
                self.journal,
                self.plan,
                self._verifier,
                seed=self.config.seed,
                memory_bytes=self.config.memory_bytes,
            )
            self._evaluator = Evaluator(
                self.journal,
                self._evaluate or bench.evaluate,
                bench.keep,
                slots=self.plan.evaluation_slots,
                stop=self._stop,
                may_begin=lambda: self._clock.elapsed() + self.plan.task_seconds <= self.plan.budget_seconds,
                tick=self._tick,
            )
            open_parts.callback(self._evaluator.close)
            self._evolution = self._make_evolution(tasks, self._evaluator)
            self._chains = Chains(
                bench,
                self._evolution,
                tasks,
                slots=self.plan.chain_slots,
                budget_seconds=self.plan.budget_seconds,
                seed=self.config.seed,
                has_start=self.config.start is not None,
                clock=self._clock,
                stop=self._stop,
            )
            self._phase = "searching"
            self._chains.start()
            try:
                self._evolve(self._evolution)
            except EvocoreError as error:
                self._stop.set("failed", error)
            finally:
                self._phase = "stopping"
                self._stop.set("time")
                bench.close()
                self._chains.join()

    def _evolve(self, evolution: Evolution) -> None:
        """Run the islands until there is no time for another attempt, then let the chains use up what is left."""
        try:
            evolution.run()
        except Stopped:
            self._tick()
        while self._chains is not None and self._chains.is_alive() and not self._stop.wait(_WAIT_SECONDS):
            self._tick()
            if self._clock.elapsed() > self.plan.budget_seconds + _LATE_SECONDS:
                return

    def _make_evolution(self, tasks: TaskBook, evaluator: Evaluator) -> Evolution:
        from evocore.mutators import MUTATORS, fingerprint

        setting = Setting(
            config=self.config,
            plan=self.plan,
            preset=preset(self.config.preset),
            caps=Caps(2.0 * self.plan.task_seconds, float(self.config.memory_bytes)),
            mutators={name: MUTATORS[name] for name in self.config.mutators or MUTATORS},
            fingerprint=fingerprint,
            verifier_digest=self._verifier.digest,
        )
        evolution = Evolution(
            setting,
            journal=self.journal,
            rundir=self.rundir,
            tasks=tasks,
            evaluator=evaluator,
            clock=self._clock,
            stop=self._stop,
            say=self._say,
        )
        for source, origin, title in self._programs:
            evolution.add_program(source, origin=origin, title=title)
        return evolution

    def _record_beginning(self, discoveries: Discoveries) -> None:
        history = self.journal.history
        if not history.run:
            self.journal.record(
                "run",
                {
                    "problem": self.problem.slug,
                    "seed": self.config.seed,
                    "preset": self.config.preset,
                    "budget_seconds": self.config.budget_seconds,
                    "target": self.config.target,
                    "verifier_digest": self._verifier.digest,
                    "verifier_parts": self._verifier.parts,
                    "sandbox": self.config.sandbox,
                    "plan": self.plan.to_json(),
                    "version": importlib.metadata.version("evocore-engine"),
                    "python": platform.python_version(),
                },
                sync=True,
            )
        else:
            session = {
                "number": history.sessions + 1,
                "budget_seconds": self.config.budget_seconds,
                "sandbox": self.config.sandbox,
            }
            self.journal.record("session", session, sync=True)
        self._say(self.plan.text())
        if history.best is not None:
            x = self.problem.parse(self.rundir.construction(history.best.sha))
            # a kill can fall between the event and the two files: the verdict is made anew, so write both again
            discoveries.write_best(x, self._verifier.restore_run(self.problem, x))
        elif self._start is not None:
            verdict = self._verifier.restore_run(self.problem, self._start)
            discoveries.record(self._start, verdict, program=None, start=None, source="the start that was given")

    def _planned(self) -> Plan:
        recorded = self.journal.history.run.get("plan")
        if recorded is None:
            return make_plan(self.config, len(os.sched_getaffinity(0)))
        return Plan.from_json({**recorded, "budget_seconds": self.config.budget_seconds})

    # while it goes on

    def _on_new(self, best: Discovery) -> None:
        self._pass_references(best)
        if self._reaches_target(best):
            self._stop.set("target")

    def _reaches_target(self, best: Discovery) -> bool:
        """Whether the exact score, not the arena's float, is proven to be as good as the target."""
        target = self.config.target
        if target is None:
            return False
        if self.problem.direction == "minimize":
            return bool(upper(best.exact) <= target)
        return bool(lower(best.exact) >= target)

    def _pass_references(self, best: Discovery) -> None:
        for index, one in enumerate(self._passed):
            if one.passed_seconds is None and self.problem.better(best.exact, one.score):
                self._passed[index] = Passed(one.who, one.score, one.year, best.elapsed)

    def _say(self, sentence: str) -> None:
        self._messages = [*self._messages, sentence][-_MESSAGES:]

    def _tick(self) -> None:
        if self._stop.is_set():
            self._phase = "stopping"
            self._close_sandbox()
        self._publish()

    def _publish(self) -> None:
        with self.journal.lock:
            self._state = picture(
                self.problem,
                self.rundir,
                self.journal,
                phase=self._phase,
                budget_seconds=self.plan.budget_seconds,
                elapsed_seconds=self._clock.elapsed(),
                target=self.config.target,
                sandbox=self.config.sandbox or "",
                references=tuple(self._passed),
                chains={} if self._chains is None else dict(self._chains.running),
                running_evaluations=0 if self._evaluator is None else self._evaluator.running,
                messages=tuple(self._messages),
            )

    # the end

    def _finish(self) -> RunResult:
        """Verify the winner in a fresh process, write winners and report."""
        from evocore.report.text import write_report
        from evocore.search.winners import write_winners

        history = self.journal.history
        self._phase = "checking"
        self._publish()
        if history.best is not None:
            self._check_winner(history.best)
            write_winners(self.rundir)
        if self._evolution is not None and self.journal.forest.nodes:
            self._evolution.write_snapshots()
        self.journal.record("end", {"reason": self._stop.reason or "time"}, sync=True)
        self._ledger.close()
        write_report(self.rundir.path)
        self._phase = "finished"
        self._publish()
        return self._result()

    def _check_winner(self, best: Discovery) -> None:
        with Verifier(self.problem) as fresh:
            check_scoring_code(self.journal.history.run, fresh, self.rundir)
            verdict = fresh.verify(self.problem, self.rundir.best.read_bytes())
        if not verdict.valid or verdict.exact_score != best.exact:
            got = "an invalid one" if verdict.exact_score is None else repr(float(verdict.exact_score))
            raise InfrastructureError(
                f"expected a fresh verifier to agree on the best construction (exact score {float(best.exact)!r}), "
                f"got {got}: {self.rundir.best}"
            )
        self.rundir.write_json(self.rundir.verdict, verdict.to_json(), indent=2)

    def _give_up(self, error: Exception) -> None:
        """Say what failed and that the run can go on."""
        if isinstance(error, InfrastructureError):
            where = f"the run so far is in {self.rundir.path}, continue it with `evocore resume {self.rundir.path}`"
            raise type(error)(f"{error}; {where}") from error
        raise error

    def _result(self) -> RunResult:
        history, target = self.journal.history, self.config.target
        best = history.best
        reached = None
        if target is not None:
            reached = best is not None and self._reaches_target(best)
        return RunResult(
            run=self.rundir.path,
            problem=self.problem.slug,
            best_file=None if best is None else self.rundir.best,
            arena_score=None if best is None else best.arena_score,
            exact_score=None if best is None else shown_exact(best),
            evaluations=history.evaluations,
            hand_ins=history.hand_ins,
            seconds=self._clock.elapsed(),
            reason=self._stop.reason or "time",
            target_reached=reached,
        )


def _refuse_runs_inside(folder: Path, out: str | os.PathLike[str] | None) -> None:
    """Programs may read the folder of their problem, and must not read a run."""
    where = Path("evocore-runs" if out is None else out).resolve()
    if where.is_relative_to(folder.resolve()):
        raise ConfigError(
            f"expected a run outside the problem's folder, which its programs may read, got {where}: "
            "start from another folder, or choose one with --out"
        )


@contextmanager
def _interruptible(stop: Stop, say: Callable[[str], None], run: Path) -> Iterator[None]:
    """Let the first SIGINT, SIGTERM or SIGHUP end the run in order, and a second SIGINT or SIGTERM at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, _frame: object) -> None:
        if stop.reason == "interrupted":
            if number == signal.SIGHUP:  # a terminal that closes may say so more than once
                return
            with suppress(OSError):
                os.write(2, f"evocore: quit at once; the run is in {run}, go on: evocore resume {run}\n".encode())
            os._exit(_INTERRUPTED)
        stop.set("interrupted")
        say("Stopping in order; press Ctrl-C again to quit at once.")

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup asks that it be ignored
        numbers.append(signal.SIGHUP)
    old = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _extended(config: RunConfig, history: History, budget: object, rundir: RunDir) -> RunConfig:
    """Return the settings of a resumed run: with more time where some was given, refused where none is left."""
    if budget is not None:
        return config.changed(budget_seconds=max(config.budget_seconds, history.elapsed) + parse_duration(budget))
    left = config.budget_seconds - history.elapsed
    if history.ended and left < _LEAST_LEFT_SECONDS:
        raise ConfigError(
            f"expected a run with time left, got one that has used up its {format_duration(config.budget_seconds)}: "
            f"{rundir.path}; add time with --budget"
        )
    return config


def _resumed_tier(config: RunConfig, history: History, asked: str | None) -> Tier:
    """Return how programs are confined from here on: as before, unless something else is asked for.

    Settings that were changed by hand do not count as asking for less.
    """
    if asked is not None or not history.tiers:
        return offered_tier(asked)
    before = read_tier(history.tiers[-1])
    tier = read_tier(config.sandbox) if config.sandbox is not None else before
    remedy = f"ask for another with --sandbox, which the run records ({', '.join(Tier)})"
    if tier.is_weaker_than(before):
        raise ConfigError(f"expected programs to be confined as before ({before}), got {tier} in config.toml; {remedy}")
    try:
        return offered_tier(tier)
    except SandboxUnavailable as error:
        raise SandboxUnavailable(f"{error}; the run has confined its programs by {tier} so far: {remedy}") from None
