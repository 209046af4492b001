"""A small pool of good constructions that stay different from one another.

Rule: a new construction that lies within the threshold of members is kept only if it is better than all of these, and
then takes their place; one that is far from every member enters while there is room, and else must beat the worst.
Without the rule the pool fills with copies of its best member within seconds and stops helping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from evocore.search.memory import FloatArray

if TYPE_CHECKING:
    from evocore.problems.base import Enclosure

_RELATIVE_THRESHOLD = 0.08


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A construction of the pool.

    Attributes
    ----------
    sha : str
        SHA-256 of its file's bytes, which names it.
    exact : Fraction or Enclosure
        Exact score, the order of the pool.
    descriptor : (64,) float64 array
        `problem.descriptor` of it.
    size : int
        How many values it has.
    """

    sha: str
    exact: Fraction | Enclosure
    descriptor: FloatArray
    size: int = 0

    @property
    def score(self) -> float:
        """The exact score as a float."""
        return float(self.exact)


@dataclass(frozen=True, slots=True)
class Pool:
    """An immutable pool, best member first.

    Parameters
    ----------
    direction : str
        `"minimize"` or `"maximize"`.
    capacity : int
        How many members fit.
    threshold : float or None
        Distance below which two constructions count as one family; None takes 8 % of the descriptor's mean size.
    """

    direction: Literal["minimize", "maximize"]
    capacity: int = 24
    threshold: float | None = None
    members: tuple[Member, ...] = ()

    def __len__(self) -> int:
        return len(self.members)

    def near(self, one: Member) -> tuple[Member, ...]:
        """Return the members within the threshold of a construction."""
        if not self.members:
            return ()
        limit = self.threshold
        if limit is None:
            limit = _RELATIVE_THRESHOLD * float(np.abs(one.descriptor).mean())
        gaps = distances(one.descriptor, np.stack([member.descriptor for member in self.members]))
        return tuple(member for member, gap in zip(self.members, gaps, strict=True) if gap < limit)

    def offer(self, one: Member) -> Pool:
        """Return the pool with a construction taken in, or this very pool if it is not good or not new enough."""
        if any(member.sha == one.sha for member in self.members):
            return self
        near = self.near(one)
        if not all(self._better(one, member) for member in near):
            return self
        kept = [member for member in self.members if member not in near]
        if len(kept) >= self.capacity:
            if not self._better(one, kept[-1]):
                return self
            kept.pop()
        sign = 1.0 if self.direction == "minimize" else -1.0
        kept.append(one)
        kept.sort(key=lambda member: (sign * member.score, member.sha))
        return Pool(self.direction, self.capacity, self.threshold, tuple(kept))

    def draw(self, rng: np.random.Generator) -> Member:
        """Return a member by the rule size * u^2, which prefers the better ones.

        Raises
        ------
        ValueError
            The pool is empty.
        """
        if not self.members:
            raise ValueError("expected a pool with members, got an empty one")
        return self.members[int(len(self.members) * rng.random() ** 2)]

    def _better(self, one: Member, other: Member) -> bool:
        """Strict, by the exact values as floats where these differ; equal floats are no progress here."""
        return one.score < other.score if self.direction == "minimize" else one.score > other.score


def distances(one: FloatArray, others: FloatArray) -> FloatArray:
    """Return the mean absolute differences of descriptors, the smaller of each pair under reflection.

    Parameters
    ----------
    one : (d,) float64 array
    others : (n, d) float64 array

    Examples
    --------
    >>> distances(np.array([0.0, 1.0]), np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([0. , 0.5])
    """
    direct = np.abs(others - one).mean(axis=1)
    mirrored = np.abs(others - one[::-1]).mean(axis=1)
    return np.asarray(np.minimum(direct, mirrored))


def spread(members: Sequence[Member], count: int) -> tuple[Member, ...]:
    """Choose the first member and then, one after the other, the one farthest from those chosen."""
    chosen: list[Member] = list(members[:1])
    left = list(members[1:])
    while left and len(chosen) < count:
        gaps = [distances(one.descriptor, np.stack([c.descriptor for c in chosen])).min() for one in left]
        chosen.append(left.pop(int(np.argmax(gaps))))
    return tuple(chosen)
