"""What an uninterrupted chain does next: which program, from where, for how long.

A chain is a row of segments in one slot. The first is cold: it has the time to find a basin from random numbers. The
later ones are warm, but for every fourth: from the run's best construction and from other members of the pool in
turn, a program staying on as long as its segments improve the run. Everything here is a pure function of what the run
has seen.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evocore.search.pool import Pool, spread

COLD_SHARE = 0.45
COLD_EVERY = 4
WARM_SHARE = 0.2
LAST_SHARE = 0.2
MAX_SEGMENT_SECONDS = 1800.0
MIN_SEGMENT_SECONDS = 0.5

Kind = Literal["cold", "warm"]


@dataclass(frozen=True, slots=True)
class ChainProgram:
    """A program that may run as a chain.

    `good_for` is what it says of itself (`GOOD_FOR`): "cold" and "warm" tasks, and "long" where it needs
    more time than a task has to show what it can; such programs have the cold segments before any other. The gains are
    its mean accuracies on cold and on warm tasks, None before it was measured. The order in
    which programs are handed over is the order in which the problem lists them.
    """

    sha: str
    name: str
    good_for: tuple[str, ...] = ("cold", "warm")
    cold_gain: float | None = None
    warm_gain: float | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of a chain; `start` is a pool member's sha, or None for random numbers."""

    slot: int
    index: int
    program: str
    kind: Kind
    start: str | None
    seconds: float
    seed: int


@dataclass(frozen=True, slots=True)
class Ran:
    """A segment that is over, and whether it moved the run's best."""

    segment: Segment
    improved: bool


def next_segment(
    slot: int,
    *,
    programs: Sequence[ChainProgram],
    pool: Pool,
    history: Sequence[Ran],
    elapsed_seconds: float,
    budget_seconds: float,
    seed: int,
    has_start: bool = False,
) -> Segment | None:
    """Return the next segment of a slot, or None when there is no time or no program for one.

    Parameters
    ----------
    slot : int
        Which chain, from 0.
    programs : sequence of ChainProgram
        In the order in which the problem lists them, the run's children after them.
    pool : Pool
        The run's constructions.
    history : sequence of Ran
        All segments of the run that are over, of every slot, oldest first.
    has_start : bool
        The run was given a construction to begin from: then slot 0 begins warm.
    """
    left = budget_seconds - elapsed_seconds
    if left < MIN_SEGMENT_SECONDS or not programs:
        return None
    mine = [one for one in history if one.segment.slot == slot]
    is_cold = not pool.members or (len(mine) % COLD_EVERY == 0 and not (has_start and slot == 0))
    kind: Kind = "cold" if is_cold else "warm"
    share = COLD_SHARE if is_cold else WARM_SHARE
    seconds = min(share * budget_seconds, MAX_SEGMENT_SECONDS, left)
    if left - seconds < LAST_SHARE * budget_seconds and left <= MAX_SEGMENT_SECONDS:
        seconds = left
    index = len(mine)
    ranked = _ranked(programs, kind)
    return Segment(
        slot=slot,
        index=index,
        program=ranked[_turn(ranked, mine, kind, slot)].sha,
        kind=kind,
        start=None if is_cold else _start(pool, slot, index),
        seconds=seconds,
        seed=derived_seed(seed, "chain", slot, index),
    )


def good_for(source: str) -> tuple[str, ...]:
    """Return what a program says it is good for: its module-level `GOOD_FOR`, or both kinds where it says nothing.

    Examples
    --------
    >>> good_for('GOOD_FOR = ("warm",)')
    ('warm',)
    """
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            value: ast.expr | None = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names, value = [statement.target.id], statement.value
        else:
            continue
        if "GOOD_FOR" in names and isinstance(value, ast.Tuple):
            said = (item.value for item in value.elts if isinstance(item, ast.Constant))
            return tuple(kind for kind in said if kind in ("cold", "warm", "long"))
    return ("cold", "warm")


def derived_seed(*parts: object) -> int:
    """Return a 63-bit seed that depends on every part and on nothing else."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _ranked(programs: Sequence[ChainProgram], kind: Kind) -> list[ChainProgram]:
    """Order what suits a kind: for cold segments programs that need long runs first; then by gain; then as listed."""

    def rank(one: ChainProgram) -> tuple[bool, float]:
        gain = one.cold_gain if kind == "cold" else one.warm_gain
        return (kind == "cold" and "long" not in one.good_for, 0.0 if gain is None else -gain)

    suited = [one for one in programs if kind in one.good_for] or list(programs)
    return sorted(suited, key=rank)


def _turn(ranked: Sequence[ChainProgram], mine: Sequence[Ran], kind: Kind, slot: int) -> int:
    """Which of the ranked programs has its turn: on as long as it improves, else the next; slots begin apart."""
    same = [one for one in mine if one.segment.kind == kind]
    if not same:
        return slot % len(ranked)
    last = same[-1]
    if last.improved:
        for index, one in enumerate(ranked):
            if one.sha == last.segment.program:
                return index
    failures = sum(not one.improved for one in same)
    return (slot + failures) % len(ranked)


def _start(pool: Pool, slot: int, index: int) -> str:
    """The best member every other time, and the diverse ones in turn in between; slots begin apart."""
    turn = slot + index
    if turn % 2 == 1:
        return pool.members[0].sha
    diverse = spread(pool.members, 8)
    return diverse[(turn // 2) % len(diverse)].sha
