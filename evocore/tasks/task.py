"""The task of an optimizer program, and the gain that a result on it is worth."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from evocore.errors import ConfigError
from evocore.problems import Enclosure
from evocore.problems import problem as find_problem
from evocore.sandbox.base import Limits
from evocore.verifiers.arrays import construction_sha256
from evocore.verifiers.verdict import exact_to_wire

if TYPE_CHECKING:
    from evocore.problems import Exact, Problem


@dataclass(frozen=True, eq=False)
class OptimizerTask:
    """Improve this construction of this problem, in so much time.

    Attributes
    ----------
    problem : str
        Name of a built-in problem, or path of a folder.
    kind : "cold", "warm" or "chain"
        From random numbers; from a construction that was found before; a long uninterrupted run.
    start : (n,) float64 array
        A valid construction. Kept as a read-only copy.
    start_exact : Fraction or Enclosure
        Its exact score.
    target : float
        s*: the score that counts as a full gain. It must be better than the start's.
    floor : float
        f: what is closer to the target than this hardly counts. For the logarithmic gain only.
    variant : "log" or "linear"
        Which gain.
    budget_seconds : float
        Time from start to deadline.
    limits : Limits
        What the program may use.

    Raises
    ------
    ConfigError
        The start has reached the target, or a number makes no sense.
    """

    problem: str
    kind: Literal["cold", "warm", "chain"]
    start: npt.NDArray[np.float64]
    start_exact: Exact
    target: float
    floor: float
    variant: Literal["log", "linear"]
    budget_seconds: float
    limits: Limits

    def __post_init__(self) -> None:
        if self.kind not in ("cold", "warm", "chain"):
            raise ConfigError(f'expected a task of kind "cold", "warm" or "chain", got {self.kind!r}')
        if self.variant not in ("log", "linear"):
            raise ConfigError(f'expected the gain "log" or "linear", got {self.variant!r}')
        if not (math.isfinite(self.floor) and self.floor > 0):
            raise ConfigError(f"expected a floor above 0, got {self.floor}")
        if not math.isfinite(self.target):
            raise ConfigError(f"expected a finite target, got {self.target}")
        if not (math.isfinite(self.budget_seconds) and self.budget_seconds > 0):
            raise ConfigError(f"expected a budget above 0 seconds, got {self.budget_seconds}")
        start = np.array(self.start, dtype=np.float64, order="C")
        start.flags.writeable = False
        object.__setattr__(self, "start", start)
        if self.distance(self.start_exact, is_start=True) <= 0:
            raise ConfigError(
                f"expected a start worse than the target {self.target!r} of {self.problem}, "
                f"got one that scores {float(self.start_exact)!r}; choose a target beyond it"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptimizerTask) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    @cached_property
    def hash(self) -> str:
        """SHA-256 over everything that decides what a result on this task is worth, in hexadecimal."""
        content: dict[str, Any] = {
            "problem": self._problem.slug,  # a folder may be moved; what is in it, the verifier's digest covers
            "kind": self.kind,
            "start": construction_sha256(self.start),
            "start_exact": exact_to_wire(self.start_exact),
            "target": self.target.hex() if isinstance(self.target, float) else float(self.target).hex(),
            "floor": float(self.floor).hex(),
            "variant": self.variant,
            "budget_seconds": float(self.budget_seconds).hex(),
            "limits": {name: float(value).hex() for name, value in asdict(self.limits).items()},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def _problem(self) -> Problem:
        return find_problem(self.problem)

    def distance(self, score: Exact | float, *, is_start: bool = False) -> Fraction:
        """How far a score is from the target, exactly; at most 0 where it has reached it.

        Of an enclosure the end counts that makes the gain smaller.
        """
        sign = 1 if self._problem.direction == "minimize" else -1
        if isinstance(score, Enclosure):
            score = score.lo if is_start == (sign == 1) else score.hi
        return sign * (Fraction(score) - Fraction(self.target))


def gain(task: OptimizerTask, best: Exact | float | None) -> float:
    """Return what a score is worth on a task.

    Parameters
    ----------
    task : OptimizerTask
    best : Fraction, Enclosure, float or None
        The best score that was handed in; None where nothing valid was.

    Returns
    -------
    float
        From 0 (no better than the start) to 1 (the target, or beyond it).

    Notes
    -----
    With d0 and d the distances of start and result from the target s*, and the floor f: linear ``1 - d / d0``,
    logarithmic ``log((d0 + f) / (d + f)) / log((d0 + f) / f)``, both clipped. The logarithmic one tells results apart
    that are all close to the target.

    Examples
    --------
    >>> task = OptimizerTask(
    ...     problem="third-autocorrelation-inequality", kind="cold", start=np.ones(2), start_exact=Fraction(2),
    ...     target=1.0, floor=0.125, variant="log", budget_seconds=1.0, limits=Limits.for_budget(1.0),
    ... )
    >>> gain(task, Fraction(5, 4)), gain(task, Fraction(2)), gain(task, 0.5)
    (0.5, 0.0, 1.0)
    """
    if best is None:
        return 0.0
    left, whole = task.distance(best), task.distance(task.start_exact, is_start=True)
    if left <= 0:
        return 1.0
    if left >= whole:
        return 0.0
    if task.variant == "linear":
        return float(1 - left / whole)
    floor = task.floor
    return math.log((float(whole) + floor) / (float(left) + floor)) / math.log((float(whole) + floor) / floor)
