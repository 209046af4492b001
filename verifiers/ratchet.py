"""Ratchets: a best score that moves only by a strictly better exact one.

An exact score costs many times a float score, and a search hands in thousands of constructions a second, so floats
decide first. Their rule, `NEAR` and `NEAR_TIES` below:

* worse than the best by more than `NEAR`, relatively: rejected. The fast scores are good to about 1e-13, so nothing
  that is really better is lost.
* better by more than `NEAR`: scored exactly.
* between the two, floats cannot tell. The first `NEAR_TIES` such constructions are scored exactly, the others are
  rejected, until the best moves by more than `NEAR` again. So a real gain of 1e-14 is kept, and a program that hands in
  thousands of gains of one ulp each does not buy thousands of exact scores.

The count, not a clock, decides: the same hand-ins give the same moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evocore.errors import InvalidConstruction
from evocore.verifiers.payload import read
from evocore.verifiers.scoring import judge
from evocore.verifiers.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from evocore.problems.base import Enclosure, Problem, Vector

NEAR = 1e-12
NEAR_TIES = 32


class Pawl:
    """The state of one ratchet: best exact score, its float, and how many near ties may still be scored exactly."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.exact: Fraction | Enclosure | None = None
        self.score: float | None = None
        self.near_ties_left = NEAR_TIES

    def may_move(self, score: float) -> bool:
        """Tell by its float score whether a construction is worth an exact one."""
        if self.score is None:
            return True
        gain = self.score - score if self.problem.direction == "minimize" else score - self.score
        near = NEAR * abs(self.score)
        if gain > near:
            return True
        if gain < -near or self.near_ties_left == 0:
            return False
        self.near_ties_left -= 1
        return True

    def beats(self, exact: Fraction | Enclosure) -> bool:
        """Tell whether an exact score is proven to be strictly better than the best."""
        return self.exact is None or self.problem.better(exact, self.exact)

    def move(self, exact: Fraction | Enclosure, score: float) -> None:
        """Make this the best; the caller has asked `beats`."""
        if self.score is None or abs(score - self.score) > NEAR * abs(self.score):
            self.near_ties_left = NEAR_TIES
        self.exact, self.score = exact, score


@dataclass(frozen=True)
class Weighed:
    """What became of a construction held against ratchets: its float score, and the verdict where one was needed."""

    score: float | None
    verdict: Verdict | None
    moved: tuple[bool, ...]
    reason: str


def weigh(x: Vector, pawls: tuple[Pawl, ...], *, verifier_digest: str = "") -> Weighed:
    """Hold a construction against ratchets of one problem, and move those that it beats.

    Parameters
    ----------
    x : (n,) float64 array
        What `problem.check` returned; not changed.
    pawls : tuple of Pawl
        All of the same problem.
    verifier_digest : str
        Goes into the verdict.

    Returns
    -------
    Weighed
        `moved` has one entry a ratchet; `reason` says why none moved, and is empty where one did.
    """
    problem = pawls[0].problem
    stays = tuple(False for _ in pawls)
    try:
        score = problem.fast(x)
    except InvalidConstruction as error:
        return Weighed(None, None, stays, str(error))
    if not math.isfinite(score):
        return Weighed(None, None, stays, f"its score is {score}")
    # A list, not a generator inside any(): every ratchet counts its own near ties.
    candidates = [pawl.may_move(score) for pawl in pawls]
    if not any(candidates):
        return Weighed(score, None, stays, f"the score {score!r} is not better than the best so far")
    verdict = judge(problem, x, verifier_digest=verifier_digest)
    exact = verdict.exact_score
    if not verdict.valid or exact is None:
        return Weighed(score, verdict, stays, "; ".join(verdict.reasons) or "it has no exact score")
    if not verdict.is_true:
        return Weighed(score, verdict, stays, f"set aside: {verdict.doubt}")
    moved = tuple(pawl.beats(exact) for pawl in pawls)
    for pawl, moves in zip(pawls, moved, strict=True):
        if moves:
            pawl.move(exact, score)
    reason = "" if any(moved) else "its exact score is not strictly better than the best so far"
    return Weighed(score, verdict, moved, reason)


class Ratchet:
    """Keep the best construction of a problem: an offer is kept only if its exact score is strictly better.

    Runs in the caller's process: for one's own search loop. Where the offers come from programs that are not trusted,
    use `Verifier`.

    Parameters
    ----------
    problem : str, path or Problem
        Name of a built-in problem, folder of one's own, or the problem itself.

    Attributes
    ----------
    problem : Problem
        What is asked.
    best : (n,) float64 array or None
        The best construction, exactly as it was offered; None before the first. Read-only.
    best_score : float or None
        Its fast score.
    best_exact : Fraction, Enclosure or None
        Its exact score.
    best_verdict : Verdict or None
        All that is known about it.

    Examples
    --------
    >>> ratchet = Ratchet("third-autocorrelation-inequality")
    >>> ratchet.offer([1.0, 1.0, 1.0]), ratchet.best_exact
    (True, Fraction(2, 1))
    >>> ratchet.offer([2.0, 2.0, 2.0])
    False
    """

    def __init__(self, problem: str | Path | Problem) -> None:
        from evocore.problems import problem as find

        self.problem = find(problem)
        self._pawl = Pawl(self.problem)
        self.best: Vector | None = None
        self.best_verdict: Verdict | None = None

    @property
    def best_score(self) -> float | None:
        """The best construction's fast score."""
        return self._pawl.score

    @property
    def best_exact(self) -> Fraction | Enclosure | None:
        """The best construction's exact score."""
        return self._pawl.exact

    def offer(self, x: npt.ArrayLike | dict[str, Any]) -> bool:
        """Offer a construction; tell whether it was kept.

        Parameters
        ----------
        x : (n,) array of numbers, or dict
            The numbers, or a submission in the arena's schema.

        Returns
        -------
        bool
            True if the construction is valid, its arena score true, and its exact score strictly better than the best
            so far.

        Raises
        ------
        InvalidConstruction
            Wrong shape, length or dtype, or a value that is not finite. A construction that can be read but breaks a
            condition of the problem is just not kept.
        """
        numbers = read(self.problem, x)
        weighed = weigh(numbers, (self._pawl,))
        if not weighed.moved[0]:
            return False
        self.best = numbers.copy()  # the caller may go on changing its array
        self.best.flags.writeable = False
        self.best_verdict = weighed.verdict
        return True
