"""Which node becomes a parent, and which candidates start the islands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evocore.kernels.similarity import MAX_EXACT, most_dispersed
from evocore.search.fitness import Caps, compare, similarity
from evocore.search.memory import FloatArray, Forest


class Etas:
    """The selection scores of the islands' admitted nodes, kept up to date as nodes are admitted.

    eta(a) = - sum over the other members b of [b dominates a] * Sim(a, b): crowded and beaten nodes come last, and one
    that nothing like it beats scores 0. Adding a member costs one comparison with each; a forest whose older scores
    changed (a new epoch, a moved subtree) is worked out anew.
    """

    def __init__(self, caps: Caps, epsilon: float) -> None:
        self._caps = caps
        self._epsilon = epsilon
        self._reshaped = -1
        self._etas: dict[int, list[float]] = {}

    def of(self, forest: Forest, island: int) -> FloatArray:
        """Return the scores of an island's admitted nodes, in their order."""
        if self._reshaped != forest.reshaped:
            self._etas.clear()
            self._reshaped = forest.reshaped
        etas = self._etas.setdefault(island, [])
        rows = [forest.table.rows[forest.nodes[node].source_sha] for node in forest.islands[island].admitted]
        while len(etas) < len(rows):
            count = len(etas)
            mine = 0.0
            if count:
                result = compare(forest.table, rows[count], rows[:count], self._caps, self._epsilon)
                mine = -float(result.similarity[result.dominated].sum())
                for other in np.flatnonzero(result.dominates):
                    etas[other] -= float(result.similarity[other])
            etas.append(mine)
        return np.asarray(etas)


def softmax(etas: FloatArray, temperature: float) -> FloatArray:
    """Return selection probabilities proportional to exp(eta / temperature).

    Examples
    --------
    >>> [round(float(p), 3) for p in softmax(np.array([0.0, -1.0]), 1.0)]
    [0.731, 0.269]
    """
    weights = np.exp((etas - etas.max()) / temperature)
    return np.asarray(weights / weights.sum())


def draw(probabilities: FloatArray, rng: np.random.Generator) -> int:
    """Return an index drawn with the given probabilities."""
    return int(rng.choice(len(probabilities), p=probabilities))


def dissimilar(behaviours: Sequence[Mapping[str, float]], count: int) -> tuple[int, ...]:
    """Choose the candidates whose nearest two lie the farthest apart (distance 1 - similarity).

    Exact for up to 16 candidates, where the first of equally good choices in lexicographic order wins; above, greedy
    farthest-point from the best candidate. With `count` at or above their number all are returned.

    Examples
    --------
    >>> dissimilar([{"t": 0.0}, {"t": 0.1}, {"t": 1.0}], 2)
    (0, 2)
    """
    size = len(behaviours)
    if count >= size:
        return tuple(range(size))
    distance = np.array([[1.0 - similarity(a, b) for b in behaviours] for a in behaviours])
    if count == 1:
        return (_most_accurate(behaviours),)
    if size <= MAX_EXACT:
        return tuple(most_dispersed(distance, count).tolist())
    chosen = [_most_accurate(behaviours)]
    while len(chosen) < count:
        spread = distance[:, chosen].min(axis=1)
        spread[chosen] = -1.0
        chosen.append(int(spread.argmax()))
    return tuple(sorted(chosen))


def _most_accurate(behaviours: Sequence[Mapping[str, float]]) -> int:
    means = [sum(one.values()) / max(1, len(one)) for one in behaviours]
    return int(np.argmax(means))
