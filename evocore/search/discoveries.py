"""Discoveries: what is written when the verifier says that the run has a new best, and in which order.

First the construction's file, then the synced event that names it, then `best.json` and `verdict.json`. A kill between
any two of them loses nothing: a file without an event is ignored, and a resume writes the two again from the event.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from evocore.verifiers.verdict import exact_to_json, exact_to_wire

if TYPE_CHECKING:
    from evocore.problems.base import Problem
    from evocore.search.history import Discovery
    from evocore.search.journal import Journal
    from evocore.search.memory import FloatArray
    from evocore.search.rundir import RunDir
    from evocore.verifiers import Verdict

_DIGITS = 6


class Discoveries:
    """Record discoveries; safe to call from several threads.

    Parameters
    ----------
    problem, rundir, journal
        Of the run.
    on_new : callable
        Called with each new best after it is safe.
    say : callable
        Told in a sentence why a construction was set aside, once for each kind of alarm.
    """

    def __init__(
        self,
        problem: Problem,
        rundir: RunDir,
        journal: Journal,
        on_new: Callable[[Discovery], None],
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._problem = problem
        self._rundir = rundir
        self._journal = journal
        self._on_new = on_new
        self._say = say
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def record(
        self, x: FloatArray, verdict: Verdict, *, program: str | None, start: str | None, source: str
    ) -> Discovery | None:
        """Keep a construction that moved the run's ratchet; returns it if it is the run's best now.

        One whose score is not true moves no ratchet and is set aside: recorded where its arena score is better than
        those set aside before, never the best, never in the pool.
        """
        exact, arena = verdict.exact_score, verdict.arena_score
        if exact is None or arena is None:
            raise ValueError("expected the verdict of a valid construction, got one without scores")
        with self._lock:
            if not verdict.is_true and not self._set_aside(verdict, arena):
                return None
            sha = self._rundir.save_construction(self._problem.payload(x))
            self._journal.record(
                "discovery",
                {
                    **described(self._problem, sha, x),
                    "file": self._rundir.construction_file(sha),
                    "arena_score": arena,
                    "exact_hex": exact_to_wire(exact),
                    "construction_sha256": verdict.construction_sha256,
                    "verifier_digest": verdict.verifier_digest,
                    "program": program,
                    "start": start,
                    "source": source,
                    "alarms": list(verdict.alarms),
                    "quarantined": not verdict.is_true,
                    "first_place": verdict.first_place,
                },
                sync=True,
            )
            best = self._journal.history.best
            if best is None or best.sha != sha:
                return None
            self.write_best(x, verdict)
        self._on_new(best)
        return best

    def _set_aside(self, verdict: Verdict, arena: float) -> bool:
        """Say why a construction does not count, and tell whether it is worth an entry: thousands may come in."""
        kind = verdict.doubt.split(":")[0]
        if kind not in self._said:
            self._said.add(kind)
            self._say(f"set aside: {verdict.doubt}")
        apart = [one.arena_score for one in self._journal.history.discoveries if one.quarantined]
        return not apart or all(self._problem.better(arena, score) for score in apart)

    def write_best(self, x: FloatArray, verdict: Verdict) -> None:
        """Write `best.json` and `verdict.json`."""
        self._rundir.write_json(self._rundir.best, self._problem.payload(x))
        self._rundir.write_json(self._rundir.verdict, verdict.to_json(), indent=2)


def described(problem: Problem, sha: str, x: FloatArray) -> dict[str, Any]:
    """Return the fields that make a pool member of a construction (its exact score apart)."""
    descriptor = np.round(problem.descriptor(x), _DIGITS)
    return {"sha": sha, "size": len(x), "descriptor": [float(value) for value in descriptor]}


def shown_exact(discovery: Discovery) -> str | list[str]:
    """Return an exact score as `run --json` prints it: `"p/q"`, or `[lo, hi]` as decimals."""
    shown = exact_to_json(discovery.exact)
    if shown is None:
        raise ValueError("expected an exact score, got none")
    return shown
