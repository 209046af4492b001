"""What a run found and spent, as a fold over the ledger's events: discoveries, chains, the pool, counts, time.

The forest (`memory`) holds the candidates; this holds everything else that a resumed run must know.

Events
------
``run``           problem, seed, verifier_digest, verifier_parts, sandbox, plan, …
``session``       number (a resume begins one), sandbox
``evaluation``    hand_ins, trace, best: {sha, exact_hex, size, descriptor} or null
``construction``  sha, exact_hex, size, descriptor, program, start: offered to the pool
``discovery``     the same, and file, arena_score, source, quarantined, first_place
``chain``         phase (begin | end), slot, index, program, chain_kind, start, seconds, seed; at the end also improved,
                  hand_ins
``end``           reason
Every event has `elapsed`, the run's seconds so far over all sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evocore.search.chains import Ran, Segment
from evocore.search.memory import EventLike
from evocore.search.pool import Member, Pool
from evocore.verifiers.verdict import exact_from_wire, untrue_alarm

if TYPE_CHECKING:
    from evocore.problems.base import Enclosure

Trace = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Discovery:
    """A construction that the verifier found strictly better than all before it in the run, or set aside.

    `sha` names its file, `program` is the source that handed it in (None: it was given), `start` the construction that
    this began from (None: random numbers), `quarantined` that its arena score is not true and it is never the best.
    """

    seq: int
    elapsed: float
    sha: str
    file: str
    arena_score: float
    exact: Fraction | Enclosure
    program: str | None
    start: str | None
    source: str
    quarantined: bool
    first_place: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A construction that an evaluation handed in as its best."""

    member: Member
    data: Mapping[str, Any]
    program: str
    start: str | None


class History:
    """Everything of a run that is not the forest.

    Attributes
    ----------
    run : mapping
        The fields of the `run` event.
    tiers : list of str
        How programs were confined, session by session.
    discoveries : list of Discovery
        In order; quarantined ones too.
    bests : list of Discovery
        Those that were the best when they came.
    best : Discovery or None
        The last of these.
    doubt : str
        The alarm of the first quarantined one.
    pool : Pool
        The constructions that chains and warm tasks begin from.
    origins : dict
        By construction sha: (program sha or None, start sha or None).
    chains : list of Ran
        Segments that are over.
    traces : dict of (source sha, task hash) to trace
        Of first attempts: (seconds, score) at the hand-ins.
    found : dict of (source sha, task hash, attempt) to Found
        Best constructions of evaluations that were worth keeping.
    """

    def __init__(self, direction: Literal["minimize", "maximize"]) -> None:
        self.direction = direction
        self.run: Mapping[str, Any] = {}
        self.tiers: list[str] = []
        self.discoveries: list[Discovery] = []
        self.best: Discovery | None = None
        self.pool = Pool(direction)
        self.origins: dict[str, tuple[str | None, str | None]] = {}
        self.chains: list[Ran] = []
        self.traces: dict[tuple[str, str], Trace] = {}
        self.found: dict[tuple[str, str, int], Found] = {}
        self.bests: list[Discovery] = []
        self.epoch_begun = 0.0
        self.evaluations = 0
        self.hand_ins = 0
        self.rejected = 0
        self.quarantined = 0
        self.doubt = ""
        self.sessions = 1
        self.elapsed = 0.0
        self.ended = ""

    def apply(self, event: EventLike) -> None:
        """Take one event in."""
        data = event.data
        self.elapsed = max(self.elapsed, data.get("elapsed", 0.0))
        if event.kind in ("run", "session") and "sandbox" in data:
            self.tiers.append(data["sandbox"])
        if event.kind == "run":
            self.run = data
        elif event.kind == "session":
            self.sessions = data["number"]
            self.ended = ""
        elif event.kind == "epoch":
            self.epoch_begun = data["elapsed"]
        elif event.kind == "end":
            self.ended = data["reason"]
        elif event.kind == "evaluation":
            self._evaluation(data)
        elif event.kind == "construction":
            self._offer(data)
        elif event.kind == "discovery":
            self._discovery(event.seq, data)
        elif event.kind == "chain" and data["phase"] == "end":
            self.chains.append(Ran(segment_from(data), data["improved"]))
            self.hand_ins += data["hand_ins"]
        elif event.kind == "proposal" and data["sha"] is None:
            self.rejected += 1

    def trace(self) -> tuple[tuple[float, float], ...]:
        """Return (elapsed seconds, exact score as a float) of the discoveries that were the best when they came."""
        from evocore.problems.base import to_float

        return tuple((one.elapsed, to_float(one.exact)) for one in self.bests)

    def _evaluation(self, data: Mapping[str, Any]) -> None:
        self.evaluations += 1
        self.hand_ins += data["hand_ins"]
        sha, task = data["sha"], data["task"]
        if data["attempt"] == 0:
            self.traces[sha, task] = tuple((seconds, score) for seconds, score in data["trace"])
        best = data["best"]
        if best is not None:
            self.found[sha, task, data["attempt"]] = Found(member_from(best), best, sha, data["start"])

    def _offer(self, data: Mapping[str, Any]) -> None:
        self.origins.setdefault(data["sha"], (data["program"], data["start"]))
        self.pool = self.pool.offer(member_from(data))

    def _discovery(self, seq: int, data: Mapping[str, Any]) -> None:
        member = member_from(data)
        one = Discovery(
            seq,
            data["elapsed"],
            data["sha"],
            data["file"],
            data["arena_score"],
            member.exact,
            data["program"],
            data["start"],
            data["source"],
            data["quarantined"],
            data["first_place"],
        )
        self.discoveries.append(one)
        if one.quarantined:
            self.quarantined += 1
            self.doubt = self.doubt or untrue_alarm(tuple(data.get("alarms", ())))
            return
        if self.best is None or self._is_better(one.exact, self.best.exact):
            self.best = one
            self.bests.append(one)
        self._offer(data)

    def _is_better(self, a: Fraction | Enclosure, b: Fraction | Enclosure) -> bool:
        """Strict and proven; two threads may record discoveries in the other order than the verifier judged them."""
        from evocore.problems.base import lower, upper

        return bool(upper(a) < lower(b)) if self.direction == "minimize" else bool(lower(a) > upper(b))


def member_from(data: Mapping[str, Any]) -> Member:
    """Make a pool member from the fields of an event."""
    exact = exact_from_wire(data["exact_hex"])
    if exact is None:
        raise ValueError("expected an exact score, got none")
    return Member(data["sha"], exact, np.asarray(data["descriptor"], dtype=np.float64), data["size"])


def segment_from(data: Mapping[str, Any]) -> Segment:
    """Make a chain segment from the fields of its event."""
    return Segment(
        data["slot"],
        data["index"],
        data["program"],
        data["chain_kind"],
        data["start"],
        data["seconds"],
        data["seed"],
    )
