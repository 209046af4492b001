"""pass@k, PR@k and RR@k of attempts on tasks, with intervals that respect that attempts on one task are alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from evocore.errors import InputError


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks, with its 95 % confidence interval.

    Attributes
    ----------
    value : float
    low, high : float
        Clipped to [0, 1]; all of [0, 1] where there is one task only.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Metrics:
    """How well k attempts on each of n tasks went.

    Attributes
    ----------
    k, n_tasks : int
    threshold : float
        From which score on an attempt has solved its task.
    pass_at_k : Estimate
        Share of tasks that at least one attempt solved.
    pr_at_k : Estimate
        Mean score of an attempt.
    rr_at_k : Estimate
        Share of attempts that solved their task.
    """

    k: int
    n_tasks: int
    threshold: float
    pass_at_k: Estimate
    pr_at_k: Estimate
    rr_at_k: Estimate


def metrics(scores: Sequence[Sequence[float]], *, threshold: float = 1.0) -> Metrics:
    """Summarise scores of attempts.

    Parameters
    ----------
    scores : (n_tasks, k) numbers in [0, 1]
        One row a task, one entry an attempt.
    threshold : float
        From which score on an attempt has solved its task.

    Returns
    -------
    Metrics

    Raises
    ------
    InputError
        No tasks, no attempts, unequal numbers of attempts, or a score outside [0, 1].

    Notes
    -----
    Attempts on one task are no independent observations; tasks are. So each task is first averaged, and the interval
    is Student's, mean ± t(0.975, n - 1) s / sqrt(n), over the n task means with their sample deviation s. It has no
    width where all task means agree: then it says nothing about tasks that were not tried.

    Examples
    --------
    >>> m = metrics([[1.0, 0.5], [0.0, 0.5]])
    >>> m.pass_at_k.value, m.pr_at_k.value, m.rr_at_k.value
    (0.5, 0.5, 0.25)
    """
    k = _checked(scores)
    solved = [[1.0 if s >= threshold else 0.0 for s in row] for row in scores]
    return Metrics(
        k=k,
        n_tasks=len(scores),
        threshold=threshold,
        pass_at_k=estimate([max(row) for row in solved]),
        pr_at_k=estimate([_mean(row) for row in scores]),
        rr_at_k=estimate([_mean(row) for row in solved]),
    )


def _checked(scores: Sequence[Sequence[float]]) -> int:
    """Return the number of attempts a task."""
    if not scores:
        raise InputError("expected scores of at least one task, got none")
    counts = sorted({len(row) for row in scores})
    if len(counts) > 1 or counts[0] == 0:
        raise InputError(f"expected the same number of attempts, at least one, on every task, got {counts}")
    for i, row in enumerate(scores):
        for j, score in enumerate(row):
            if not 0.0 <= score <= 1.0:  # NaN as well
                raise InputError(f"expected scores from 0 to 1, got {score} for attempt {j} on task {i}")
    return counts[0]


def estimate(means: Sequence[float]) -> Estimate:
    """Return the mean of task means, with its interval."""
    n, value = len(means), _mean(means)
    if n == 1:
        return Estimate(value, 0.0, 1.0)
    deviation = math.sqrt(sum((m - value) ** 2 for m in means) / (n - 1))
    half = _student(n - 1) * deviation / math.sqrt(n)
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def _mean(values: Sequence[float]) -> float:
    """Rounded once: the mean of equal numbers is that number."""
    return float(sum(map(Fraction, values)) / len(values))


def _student(degrees: int) -> float:
    """The 97.5 % point of Student's distribution."""
    from scipy.special import stdtrit  # only here: it takes longer to load than everything else

    return float(stdtrit(degrees, 0.975))
