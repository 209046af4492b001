"""Judging a construction: the arena's score, the exact score, alarms, and what they amount to."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING

from evocore.errors import InvalidConstruction
from evocore.verifiers.arrays import construction_sha256
from evocore.verifiers.verdict import Standing, Verdict, untrue_alarm

if TYPE_CHECKING:
    from evocore.problems.base import Enclosure, Problem, Vector

FLOAT_TRUST = 1e-9
"""Relative distance of the arena's float from the exact score up to which rounding explains it (FFT scores: 1e-13)."""


def judge(problem: Problem, x: Vector, *, verifier_digest: str = "") -> Verdict:
    """Judge a construction.

    Parameters
    ----------
    problem : Problem
        What is asked.
    x : (n,) float64 array
        What `problem.parse` or `problem.check` returned; not changed.
    verifier_digest : str
        Digest of the process that judges.

    Returns
    -------
    Verdict
        Broken conditions are a verdict, never an exception.
    """
    begin = time.perf_counter()
    arena_score, arena_reason = _arena(problem, x)
    exact = problem.exact(x)
    alarms = problem.alarms(x, arena_score, exact)
    is_true = not is_untrue(problem, arena_score, exact.value, alarms)
    if arena_score is not None and exact.value is not None and not is_true and not untrue_alarm(alarms):
        alarms = (*alarms, _disagreement(problem, arena_score, exact.value))
    reasons = exact.reasons
    if arena_reason is not None and arena_reason not in reasons:
        reasons = (*reasons, f"the arena rejects it: {arena_reason}")
    valid = exact.valid and arena_score is not None
    return Verdict(
        problem=problem.slug,
        valid=valid,
        reasons=reasons,
        arena_valid=arena_score is not None,
        arena_score=arena_score,
        exact_score=exact.value,
        alarms=alarms,
        extras=dict(exact.extras),
        first_place=valid and is_true and leads(problem, arena_score, exact.value),
        standing=standing(problem, exact.value if valid else None),
        construction_sha256=construction_sha256(x),
        verifier_digest=verifier_digest,
        seconds=time.perf_counter() - begin,
    )


def _arena(problem: Problem, x: Vector) -> tuple[float | None, str | None]:
    """The arena's score, or why it refuses."""
    try:
        score = problem.score(x)
    except InvalidConstruction as error:
        return None, str(error)
    if not math.isfinite(score):
        return None, f"its score is {score}"
    return score, None


def is_untrue(
    problem: Problem, arena_score: float | None, exact: Fraction | Enclosure | None, alarms: tuple[str, ...]
) -> bool:
    """Tell whether the arena's float is not the score of the numbers: underflow, a bug, a broken proof.

    An alarm may say so; without one, it is where the two scores differ by more than rounding explains, or where either
    is beyond the problem's proven bound.
    """
    if arena_score is None or exact is None or untrue_alarm(alarms):
        return True
    bound = problem.proven_bound
    if bound is not None and (problem.better(arena_score, bound) or problem.better(exact, bound)):
        return True
    lo, hi = (_float(end) for end in _ends(exact))
    if lo is None or hi is None:
        return True
    slack = FLOAT_TRUST * max(abs(lo), abs(hi))
    return not lo - slack <= arena_score <= hi + slack


def _disagreement(problem: Problem, arena_score: float, exact: Fraction | Enclosure) -> str:
    """Say what is untrue where no alarm of the problem's says it."""
    from evocore.problems.base import to_float

    true, bound = to_float(exact), problem.proven_bound
    if bound is not None and (problem.better(arena_score, bound) or problem.better(exact, bound)):
        return f"impossible: the scores {arena_score!r} and exactly {true!r} are beyond the proven bound {bound!r}"
    return (
        f"disagreement: the arena score {arena_score!r} and the exact score {true!r} differ by more than "
        f"{FLOAT_TRUST!r} of the score, which rounding does not explain"
    )


def leads(problem: Problem, arena_score: float | None, exact: Fraction | Enclosure | None) -> bool:
    """Tell whether the scores would take first place.

    The arena subtracts doubles and asks for at least the minimum improvement; the exact score has to reach the same
    distance by itself, so that a lead made of rounding is none.
    """
    if arena_score is None or exact is None or not problem.takes_first_place(arena_score):
        return False
    best = problem.best_reference
    if best is None:
        return True
    lead = _lead(problem, exact, best.score)
    return lead > 0 and lead >= Fraction(problem.min_improvement)


def standing(problem: Problem, exact: Fraction | Enclosure | None) -> Standing | None:
    """Give rank and lead of an exact score (None: not valid) among the stored references."""
    best = problem.best_reference
    if best is None:
        return None
    return Standing(
        rank=None if exact is None else 1 + sum(not problem.better(exact, r.score) for r in problem.references),
        n_references=len(problem.references),
        best_who=best.who,
        best_score=best.score,
        lead=None if exact is None else _float(_lead(problem, exact, best.score)),
        min_improvement=problem.min_improvement,
    )


def _lead(problem: Problem, exact: Fraction | Enclosure, reference: float) -> Fraction:
    """How far the exact score is proven to lie beyond a reference."""
    lo, hi = _ends(exact)
    return Fraction(reference) - hi if problem.direction == "minimize" else lo - Fraction(reference)


def _float(value: Fraction) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _ends(exact: Fraction | Enclosure) -> tuple[Fraction, Fraction]:
    return (exact, exact) if isinstance(exact, Fraction) else (exact.lo, exact.hi)
