"""The hand-in of an optimizer program: makes a construction exactly feasible and keeps it if it is better."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.errors import InvalidConstruction

Array = npt.NDArray[np.float64]


def score_or_none(problem: Any, x: Array) -> float | None:
    """Return the float score, or None where the problem refuses the construction."""
    try:
        return float(problem.fast(x))
    except InvalidConstruction:
        return None


class Ratchet:
    """Project, score, and hand in what is strictly better than all before.

    Unlike the verifier's ratchet, which never changes what it is given, this one first projects on the feasible set
    (`problem.project` restores exact sums and bounds).

    Parameters
    ----------
    problem : evocore.problems.Problem
        What is asked.
    hand_in : callable
        The `offer` that the program was given.

    Attributes
    ----------
    best : (n,) float64 array or None
        The last construction that was handed in.
    best_score : float or None
        Its float score.
    """

    def __init__(self, problem: Any, hand_in: Callable[[Array], Any]) -> None:
        self._problem = problem
        self._hand_in = hand_in
        self.best: Array | None = None
        self.best_score: float | None = None

    def offer(self, x: Array) -> bool:
        """Hand `x` in if, once projected, it scores strictly better than all before; says whether it did."""
        feasible = self._problem.project(np.asarray(x, dtype=np.float64))
        score = score_or_none(self._problem, feasible)
        if score is None:
            return False
        if self.best_score is not None and not self._problem.better(score, self.best_score):
            return False
        self.best, self.best_score = feasible, score
        self._hand_in(feasible)
        return True
