"""Runs the attack programs on this machine, and tells what each got through with.

What an attack does is looked for from outside: in files, in a process and on sockets that were put up for it, in the
kernel, in the verifier's answers, in an honest program that runs at the same time, and in the memory of this process.
Only what cannot be seen from outside (that something was read, that the kernel looked at a call) is taken from what the
program prints, and a secret that was read shows in that.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any

from evocore import verifiers
from evocore.errors import EvocoreError, SandboxUnavailable
from evocore.problems import problem as find_problem
from evocore.sandbox.attacks import ATTACKS, Attack
from evocore.sandbox.base import Job, Limits, Offer, Outcome, Status, Tier
from evocore.sandbox.docker import DockerSandbox
from evocore.sandbox.targets import Targets, new_secret
from evocore.sandbox.tiers import open_sandbox
from evocore.verifiers import Verifier

PROBLEM = "erdos-min-overlap"
AT_A_TIME = 4
MOST_DEATHS = 100
KILL_SECONDS = 5.0  # how long a runner may be stopped, under the tier where it can be, before it is replaced
LATE_SECONDS = 1.0
MOST_GROWTH_BYTES = 96 << 20
LEFT_SECONDS = 5.0
BEAT_SECONDS = 0.02

_GOT_THROUGH = "got through: "
_ATTEMPT = "attempt "

NEIGHBOUR = '''
"""An honest program. {secret}"""

import time

import numpy as np


def optimize(problem, start, seed, deadline, offer):
    offer(start)
    noise = np.random.default_rng(seed).normal(size=start.size)
    for scale in (1e-3, 1e-4, 1e-5, 1e-6):
        offer(problem.project(start + scale * noise))
    time.sleep(0.05)
    return start
'''


@dataclass(frozen=True)
class Result:
    """What came of one attack under one tier.

    Attributes
    ----------
    attack : str
    rows : tuple of int
    tier : Tier
    ends : tuple of Status
        What became of the program, a try at a time.
    seconds : float
        From the program's start to the verdict, by the sandbox' clock; of several tries the longest.
    broken : tuple of str
        What the tier promises and did not hold: nothing where the attack was stopped.
    through : tuple of str
        What it got through with and the tier does not promise to stop.
    """

    attack: str
    rows: tuple[int, ...]
    tier: Tier
    ends: tuple[Status, ...]
    seconds: float
    broken: tuple[str, ...]
    through: tuple[str, ...]

    @property
    def is_stopped(self) -> bool:
        """Whether everything held that the tier promises."""
        return not self.broken

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON types."""
        return {**vars(self), "stopped": self.is_stopped, "ends": [str(end) for end in self.ends]}


@dataclass(frozen=True)
class Report:
    """What came of all attacks under one tier.

    Attributes
    ----------
    tier : Tier
    lacks : str
        What this machine lacks for the tier; empty where it offers it.
    results : tuple of Result
        In the order of the list; empty where the tier is not there.
    """

    tier: Tier
    lacks: str
    results: tuple[Result, ...]

    @property
    def holds(self) -> bool:
        """Whether the tier is there and holds everything that it promises."""
        return not self.lacks and all(result.is_stopped for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON types."""
        return {
            "tier": self.tier,
            "available": not self.lacks,
            "lacks": self.lacks,
            "holds": self.holds,
            "attacks": [result.to_json() for result in self.results],
        }


def selftest(tier: Tier, on_progress: Callable[[int, int], None] = lambda n_done, n: None) -> Report:
    """Run every attack under a tier.

    Parameters
    ----------
    tier : Tier
    on_progress : callable
        Called with how many attacks are done, and how many there are; from several threads.

    Returns
    -------
    Report
    """
    results: dict[str, Result] = {}

    def take(result: Result) -> None:
        results[result.attack] = result
        on_progress(len(results), len(attacks))

    try:
        with Selftest(tier) as opened:
            attacks = opened.attacks()
            opened.run_all(attacks, take)
    except SandboxUnavailable as error:
        return Report(tier, str(error), ())
    return Report(tier, "", tuple(results[attack.name] for attack in attacks))


@dataclass
class _Findings:
    """What is seen of one attack. The first kind is promised by every tier, the second by some."""

    always: list[str] = field(default_factory=list)
    confined: list[str] = field(default_factory=list)
    ends: list[Status] = field(default_factory=list)
    seconds: float = 0.0


class Selftest:
    """One tier with everything around it that an attack may disturb. Safe to use from several threads.

    Parameters
    ----------
    tier : Tier
    has_fresh_containers : bool
        Under the tier ``docker``: a container for every program, as in a run. That is a wall more, and takes seconds a
        program; without it programs share containers, one after the other.

    Raises
    ------
    SandboxUnavailable
        The tier cannot be had on this machine; the message says what is missing.
    """

    def __init__(self, tier: Tier, *, has_fresh_containers: bool = False) -> None:
        self.tier = tier
        self._metronome = _Metronome()
        self._problem = find_problem(PROBLEM)
        self._start = self._problem.start(self._problem.default_size, 0)
        self._keys = iter(range(1 << 62))
        with _planted() as self._controller_secret:
            is_warm = tier is Tier.DOCKER and not has_fresh_containers
            self._sandbox = DockerSandbox(warm=True) if is_warm else open_sandbox(tier)
            try:
                self._verifier = Verifier(PROBLEM)
                try:
                    self._digest, self._answer = self._verifier.digest, self._ask()
                    self._quiet = self._neighbour(new_secret())
                except BaseException:
                    self._verifier.close()
                    raise
            except BaseException:
                self._sandbox.close()
                raise
        self._metronome.start()

    def __enter__(self) -> Selftest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._metronome.stop()
        self._sandbox.close()
        self._verifier.close()

    def attacks(self) -> list[Attack]:
        """The attacks that are run under this tier."""
        return [attack for attack in ATTACKS if attack.statuses(self.tier)]

    def run_all(self, attacks: Sequence[Attack], on_result: Callable[[Result], None]) -> None:
        """Run attacks, several at a time; results arrive in another order, in other threads."""
        is_alone = {a.name: a.is_alone and self.tier is Tier.UNSAFE for a in attacks}
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            list(pool.map(lambda a: on_result(self.run(a)), [a for a in attacks if not is_alone[a.name]]))
        for attack in attacks:
            if is_alone[attack.name]:
                on_result(self.run(attack))

    def run(self, attack: Attack) -> Result:
        """Run one attack beside an honest program, and look at what has changed."""
        seen = _Findings()
        try:
            self._run(attack, seen)
        except EvocoreError as error:
            seen.always.append(f"sandbox or verifier do not work any more: {error}")
        return self._result(attack, seen)

    def _run(self, attack: Attack, seen: _Findings) -> None:
        secret = new_secret()
        processes = {"controller": os.getpid(), "verifier": self._verifier.pid}
        with ThreadPoolExecutor(1) as beside, Targets(processes, _verifier_files()) as targets, _Growth() as growth:
            neighbour = beside.submit(self._neighbour, secret)
            for _ in range(attack.n_runs):
                self._attack(attack, targets, (secret, targets.secret, self._controller_secret), seen)
            if neighbour.result() != self._quiet:
                seen.always.append("an honest program that ran at the same time ended or scored differently")
            seen.always += [f"{what} is left behind" for what in _patiently(targets.left_behind)]
            seen.confined += targets.changes()
        if self._verifier.digest != self._digest or self._ask() != self._answer:
            seen.always.append("the verifier's digest or answers have changed")
        if growth.n_bytes > MOST_GROWTH_BYTES:
            grown, allowed = growth.n_bytes >> 20, MOST_GROWTH_BYTES >> 20
            seen.always.append(f"the controller grew by {grown} MB, at most {allowed} allowed")

    def _result(self, attack: Attack, seen: _Findings) -> Result:
        is_promised = self.tier in attack.promised_by
        broken = seen.always + (seen.confined if is_promised else [])
        through = [] if is_promised else seen.confined
        ends = tuple(seen.ends)
        return Result(attack.name, attack.rows, self.tier, ends, seen.seconds, tuple(broken), tuple(through))

    # ---- the attack -----------------------------------------------------------------------------------------------

    def _attack(self, attack: Attack, targets: Targets, secrets: Sequence[str], seen: _Findings) -> None:
        """Run the program, and again from behind the attempt that killed it, until it comes to its end."""
        named = targets.named()
        while True:
            began = time.monotonic()
            outcome, improved = self._play(attack.source(named), attack, secrets, seen)
            self._judge_time(outcome, attack, began, seen)
            if improved:
                seen.always.append("a hand-in that is no better moved a ratchet")
            lines = outcome.stdout.splitlines()
            told = [line.removeprefix(_GOT_THROUGH) for line in lines if line.startswith(_GOT_THROUGH)]
            seen.confined += [what for what in dict.fromkeys(told) if what not in seen.confined]
            seen.ends.append(outcome.status)
            reached = [int(line.removeprefix(_ATTEMPT)) for line in lines if line.startswith(_ATTEMPT)]
            is_fatal = self.tier is not Tier.UNSAFE and outcome.status is Status.VIOLATION
            if not (is_fatal and reached and reached[-1] > named["after"] and len(seen.ends) < MOST_DEATHS):
                break
            named["after"] = reached[-1]
        if outcome.status not in attack.statuses(self.tier):
            expected = " or ".join(attack.statuses(self.tier))
            seen.always.append(f"expected it to end as {expected}, got {outcome.status}: {outcome.detail[:200]}")
        if outcome.tier != self.tier:
            seen.always.append(f"the outcome names the tier {outcome.tier}")

    def _play(self, source: str, attack: Attack, secrets: Sequence[str], seen: _Findings) -> tuple[Outcome, bool]:
        key, moved, told = str(next(self._keys)), [False], []
        self._verifier.open_attempt(key, PROBLEM, self._start)

        def take(offer: Offer) -> None:
            told.append(any(secret.encode() in offer.buffer for secret in secrets))
            moved[0] |= self._verifier.offer(key, PROBLEM, offer.buffer).improved_attempt

        try:
            job = Job(source, PROBLEM, self._start, 1, attack.budget_seconds)
            outcome = self._sandbox.run(job, attack.limits, take)
        finally:
            self._verifier.close_attempt(key)
        said = outcome.stdout + outcome.stderr + outcome.detail
        if any(told) or any(secret in said for secret in secrets):
            seen.confined.append("told a secret")
        return outcome, moved[0]

    def _judge_time(self, outcome: Outcome, attack: Attack, began: float, seen: _Findings) -> None:
        """Hold the verdict's time against the limit; where the machine itself is late, so may the verdict be."""
        limits = attack.limits
        late = LATE_SECONDS + 4 * self._metronome.worst(began)
        if self.tier is Tier.UNSAFE:
            late += KILL_SECONDS
        allowed = min(attack.budget_seconds, limits.wall_seconds) + limits.grace_seconds + late
        if outcome.wall_seconds > allowed:
            seen.always.append(f"the verdict took {outcome.wall_seconds:.1f} s, at most {allowed:.1f} allowed")
        allowed_cpu = ceil(limits.cpu_seconds + limits.grace_seconds) + late
        if outcome.cpu_seconds > allowed_cpu:
            seen.always.append(f"it used {outcome.cpu_seconds:.1f} s of CPU time, at most {allowed_cpu:.1f} allowed")
        seen.seconds = max(seen.seconds, outcome.wall_seconds)

    # ---- what must not change -------------------------------------------------------------------------------------

    def _neighbour(self, secret: str) -> list[Any]:
        """Run an honest program, and return everything about it that may not depend on who runs beside it."""
        key, scored = str(next(self._keys)), []
        self._verifier.open_attempt(key, PROBLEM, self._start)
        job = Job(NEIGHBOUR.format(secret=secret), PROBLEM, self._start, 7, 60.0)

        def take(offer: Offer) -> None:
            reply = self._verifier.offer(key, PROBLEM, offer.buffer)
            if reply.improved_attempt:  # where the runner dies, others come a second time
                scored.append((offer.buffer, reply.score, reply.exact))

        outcome = self._sandbox.run(job, Limits.for_budget(60.0), take)
        return [outcome.status, outcome.stdout, scored, self._verifier.close_attempt(key)]

    def _ask(self) -> tuple[Any, ...]:
        verdict = self._verifier.verify(PROBLEM, self._start)
        return verdict.valid, verdict.arena_score, verdict.exact_score, verdict.alarms, verdict.verifier_digest


def _verifier_files() -> tuple[str, ...]:
    return tuple(str(path) for path in sorted(Path(verifiers.__file__).parent.glob("*.py")))


def _patiently(look: Callable[[], list[str]]) -> list[str]:
    """Look again while there is something: what has been killed may take a moment to go."""
    give_up = time.monotonic() + LEFT_SECONDS
    while (found := look()) and time.monotonic() < give_up:
        time.sleep(BEAT_SECONDS)
    return found


@contextmanager
def _planted() -> Iterator[str]:
    """Put a key, and paths that would have code loaded, into the environment that the sandbox is opened in."""
    secret = new_secret()
    planted = {
        "EVOCORE_SELFTEST_API_KEY": secret,
        "PYTHONPATH": f"/evocore-selftest/{secret}",
        "PYTHONSTARTUP": f"/evocore-selftest/{secret}/startup.py",
        "PYTHONINSPECT": "",
        "NUMBA_CACHE_DIR": f"/tmp/evocore-selftest-{secret}",
    }
    before = {name: os.environ.get(name) for name in planted}
    os.environ.update(planted)
    try:
        yield secret
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Growth:
    """By how much the resident memory of this process was higher, at its highest, than in the beginning."""

    n_bytes = 0

    def __enter__(self) -> _Growth:
        with suppress(OSError):  # in some containers: the highest ever is then what counts
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _status_bytes("VmRSS")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.n_bytes = _status_bytes("VmHWM") - self._before


def _status_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


class _Metronome:
    """Measures how late this process is woken: what a busy machine adds to every time that is measured in it."""

    def __init__(self) -> None:
        self._late: list[tuple[float, float]] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def worst(self, since: float) -> float:
        """The longest delay from a moment on."""
        return max((late for at, late in reversed(self._late) if at >= since), default=0.0)

    def _beat(self) -> None:
        while True:
            began = time.monotonic()
            if self._end.wait(BEAT_SECONDS):
                return
            now = time.monotonic()
            self._late.append((now, now - began - BEAT_SECONDS))
