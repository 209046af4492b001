"""Whether a child enters its island's admitted set: by dominance and by hypervolume, both always worked out.

The two can disagree, since dominance has a tolerance. The run's setting decides; both are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evocore.search.fitness import Caps, compare, fitness
from evocore.search.memory import FloatArray, Forest


@dataclass(frozen=True, slots=True)
class Admission:
    """The verdict on a child.

    Attributes
    ----------
    admitted : bool
        By the rule that the run has set.
    verdict : str
        The reason in a few words.
    fitness : tuple of float
        The child's fitness vector.
    by_dominance, by_hypervolume : bool
        What each rule says.
    contribution : float
        The hypervolume that only the child covers, from the origin; for reports, it decides nothing.
    """

    admitted: bool
    verdict: str
    fitness: tuple[float, ...]
    by_dominance: bool
    by_hypervolume: bool
    contribution: float


def admit(
    forest: Forest,
    island: int,
    sha: str,
    *,
    caps: Caps,
    epsilon: float,
    rule: Literal["dominance", "hypervolume", "better"],
) -> Admission:
    """Decide on a source that was scored, against an island's whole admitted set.

    An exact duplicate of an admitted vector is not admitted by any rule. The rule `"better"` asks for a higher mean
    accuracy than every member's.
    """
    scores = [score for _, score in sorted(forest.scores[sha].items())]
    vector = fitness(scores, caps)
    members = forest.islands[island].admitted
    if not members:
        return Admission(True, "first of its island", vector, True, all(v > 0.0 for v in vector), _volume(vector))
    table = forest.table
    rows = [table.rows[forest.nodes[node].source_sha] for node in members]
    result = compare(table, table.rows[sha], rows, caps, epsilon)
    known = ~np.isnan(result.theirs[:, 0])
    duplicate = (result.mine == result.theirs).all(axis=1)
    weakly = (result.theirs >= result.mine).all(axis=1)
    by_dominance = not bool((result.dominated | duplicate).any())
    by_hypervolume = all(v > 0.0 for v in vector) and not bool(weakly.any())
    contribution = exclusive_hypervolume(np.asarray(vector), result.theirs[known]) if by_hypervolume else 0.0
    is_better = bool((result.mine[known, 0] > result.theirs[known, 0]).all())
    admitted = {"dominance": by_dominance, "hypervolume": by_hypervolume, "better": is_better}[rule]
    if admitted:
        verdict = "admitted"
    elif duplicate.any():
        verdict = f"same fitness as node {members[int(np.argmax(duplicate))]}"
    elif rule == "dominance":
        verdict = f"dominated by node {members[int(np.argmax(result.dominated))]}"
    elif rule == "hypervolume":
        verdict = "adds no hypervolume"
    else:
        verdict = "not more accurate than the island's best"
    return Admission(admitted, verdict, vector, by_dominance, by_hypervolume, contribution)


def exclusive_hypervolume(point: FloatArray, others: FloatArray) -> float:
    """Return the volume of the box from the origin to a point that no other point's box covers.

    Parameters
    ----------
    point : (d,) float64 array
        In [0, 1], larger is better.
    others : (n, d) float64 array
        The points that are there already.

    Returns
    -------
    float
        Within a few ulp times the number of boxes.

    Notes
    -----
    The others are clipped to the point's box and thinned to those that are not dominated; what they cover is summed
    over slices along the last axis, recursively: O(n^(d-1)).
    """
    inside = np.minimum(others, point)
    inside = inside[(inside > 0.0).all(axis=1)]
    return max(0.0, _volume(tuple(float(v) for v in point)) - _covered(_thin(inside)))


def _covered(points: FloatArray) -> float:
    """Hypervolume from the origin of points that do not dominate one another."""
    if not len(points):
        return 0.0
    if points.shape[1] == 1:
        return float(points.max())
    if points.shape[1] == 2:
        return _staircase(points)
    order = points[np.argsort(-points[:, -1], kind="stable")]
    heights = np.append(order[:, -1], 0.0)
    total = 0.0
    for end in range(1, len(order) + 1):
        thickness = float(heights[end - 1] - heights[end])
        if thickness > 0.0:
            total += thickness * _covered(_thin(order[:end, :-1]))
    return total


def _staircase(points: FloatArray) -> float:
    """Area under a staircase of points in the plane."""
    order = points[np.lexsort((-points[:, 1], -points[:, 0]))]
    tops = np.maximum.accumulate(order[:, 1])
    below = np.concatenate(([0.0], tops[:-1]))
    return float((order[:, 0] * (tops - below)).sum())


def _thin(points: FloatArray) -> FloatArray:
    """Drop points that another one weakly dominates; of equal ones the first stays."""
    kept: list[FloatArray] = []
    while len(points):
        # nothing that is left dominates the point with the largest sum
        best = points[points.sum(axis=1).argmax()]
        kept.append(best)
        points = points[~(points <= best).all(axis=1)]
    return np.stack(kept) if kept else points


def _volume(vector: tuple[float, ...]) -> float:
    return float(np.prod(vector))
