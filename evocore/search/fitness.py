"""Fitness vectors, the dominance relation, and how alike two candidates behave.

F = (accuracy, 1 - seconds/cap, 1 - memory/cap), each entry clipped to [0, 1]; means over tasks and attempts. Two
candidates are compared on the tasks that both were scored on, and on no others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evocore.search.memory import FloatArray, ScoreTable, TaskScore


@dataclass(frozen=True, slots=True)
class Caps:
    """What counts as cost 1: CPU seconds to the best hand-in, and bytes of memory. Fixed for a run."""

    seconds: float
    memory_bytes: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One candidate against many.

    Attributes
    ----------
    mine, theirs : (n, 3) float64 arrays
        Fitness vectors of the candidate and of the others, on their common tasks; NaN rows where there are none.
    dominates, dominated : (n,) bool arrays
        Whether the candidate dominates that other; whether that other dominates the candidate.
    similarity : (n,) float64 array
        `sim` of the candidate and that other.
    """

    mine: FloatArray
    theirs: FloatArray
    dominates: NDArray[np.bool_]
    dominated: NDArray[np.bool_]
    similarity: FloatArray


def fitness(scores: Sequence[TaskScore], caps: Caps) -> tuple[float, float, float]:
    """Return the fitness vector of a candidate over the tasks that it was scored on.

    Raises
    ------
    ValueError
        There are no tasks.

    Examples
    --------
    >>> fitness([TaskScore(0.5, 1.0, 100.0), TaskScore(1.0, 3.0, 300.0)], Caps(4.0, 800.0))
    (0.75, 0.5, 0.75)
    """
    if not scores:
        raise ValueError("expected at least one task score, got none")
    count = len(scores)
    accuracy = sum(one.accuracy for one in scores) / count
    seconds = sum(one.seconds_to_best for one in scores) / count
    memory = sum(one.peak_memory for one in scores) / count
    return _clip(accuracy), _clip(1.0 - seconds / caps.seconds), _clip(1.0 - memory / caps.memory_bytes)


def dominates(f: Sequence[float], g: Sequence[float], epsilon: float) -> bool:
    """Whether f dominates g: more accurate by over epsilon, or as accurate within it and better on every cost axis.

    The relation is not transitive: never sort by it.

    Examples
    --------
    >>> dominates((0.9, 0.1, 0.1), (0.8, 0.9, 0.9), 0.02), dominates((0.8, 0.5, 0.5), (0.81, 0.4, 0.4), 0.02)
    (True, True)
    """
    difference = f[0] - g[0]
    if difference > epsilon:
        return True
    return abs(difference) <= epsilon and all(a > b for a, b in zip(f[1:], g[1:], strict=True))


def similarity(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Return 1 - the mean absolute difference of accuracy over the common tasks; 1 where there are none.

    Examples
    --------
    >>> similarity({"a": 1.0, "b": 0.5}, {"a": 0.5, "c": 0.0})
    0.5
    """
    common = [task for task in first if task in second]
    if not common:
        return 1.0
    return 1.0 - math.fsum(abs(first[task] - second[task]) for task in common) / len(common)


def compare(table: ScoreTable, row: int, rows: Sequence[int], caps: Caps, epsilon: float) -> Comparison:
    """Compare one row of the table with others at once: `dominates` and `similarity` for each, O(rows x tasks)."""
    columns = np.flatnonzero(~np.isnan(table.accuracy[row]))
    others = np.asarray(rows, dtype=np.intp)
    grid = np.ix_(others, columns)
    accuracy = table.accuracy[grid]
    common = ~np.isnan(accuracy)
    count = common.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mine = _vectors(table, np.broadcast_to(row, others.shape), columns, common, count, caps)
        theirs = _vectors(table, others, columns, common, count, caps)
        distance = np.where(common, np.abs(accuracy - table.accuracy[row, columns]), 0.0).sum(axis=1) / count
    alike = np.where(count == 0, 1.0, 1.0 - distance)
    return Comparison(
        mine, theirs, _dominates(mine, theirs, epsilon), _dominates(theirs, mine, epsilon), np.asarray(alike)
    )


def _vectors(
    table: ScoreTable,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    common: NDArray[np.bool_],
    count: NDArray[np.intp],
    caps: Caps,
) -> FloatArray:
    """Fitness vectors of rows over the tasks marked in common, (n, 3)."""
    grid = (rows[:, None], columns[None, :])
    means = [np.where(common, source[grid], 0.0).sum(axis=1) / count for source in _sources(table)]
    vectors = np.stack((means[0], 1.0 - means[1] / caps.seconds, 1.0 - means[2] / caps.memory_bytes), axis=1)
    return np.asarray(np.clip(vectors, 0.0, 1.0))


def _sources(table: ScoreTable) -> tuple[FloatArray, FloatArray, FloatArray]:
    return table.accuracy, table.seconds, table.memory


def _dominates(f: FloatArray, g: FloatArray, epsilon: float) -> NDArray[np.bool_]:
    """`dominates` row by row; NaN rows dominate nothing."""
    difference = f[:, 0] - g[:, 0]
    cheaper = (f[:, 1:] > g[:, 1:]).all(axis=1)
    return np.asarray((difference > epsilon) | ((np.abs(difference) <= epsilon) & cheaper))


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
