"""Whether a child enters its island's admitted set: by dominance and by hypervolume, both always worked out.

The two can disagree, since dominance has a tolerance. The run's setting decides; both are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evocore.kernels.hypervolume import hypervolume_contributions
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
        As accurate as `evocore.kernels.hypervolume.hypervolume_contributions`.
    """
    points = np.vstack((point, others))
    return float(hypervolume_contributions(points, np.zeros(point.size), maximize=True)[0])


def _volume(vector: tuple[float, ...]) -> float:
    return float(np.prod(vector))
