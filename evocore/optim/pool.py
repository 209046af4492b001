"""A small set of good constructions that stay different from each other."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from evocore.optim.resampling import resample

Array = npt.NDArray[np.float64]

_CELLS = 64


@dataclass(frozen=True)
class Member:
    """One construction in the pool.

    Attributes
    ----------
    x : (n,) float64 array
        Parameters (`evocore.kernels.smoothmax`).
    value : float
        True objective, smaller is better.
    shape : (64,) float64 array
        Coarse outline of the construction with mean one, by which members are told apart.
    """

    x: Array
    value: float
    shape: Array = field(repr=False)

    @property
    def n(self) -> int:
        """Length of the construction."""
        return len(self.x)


def outline(construction: Array) -> Array:
    """Return the construction on 64 cells, divided by its mean."""
    cells = resample(construction, _CELLS)
    mean = cells.mean()
    return cells / mean if abs(mean) > 1e-300 else cells


def distance(a: Array, b: Array) -> float:
    """Mean absolute difference of two outlines, or of one and the other's mirror image: mirroring changes no score."""
    return float(min(np.abs(a - b).mean(), np.abs(a - b[::-1]).mean()))


@dataclass
class Pool:
    """At most `size` members, no two nearer than `radius`.

    A newcomer that is near to members must beat all of them, and then takes their place; one that is near to none
    needs a free place or must beat the worst.
    """

    size: int
    radius: float
    members: list[Member] = field(default_factory=list)

    def insert(self, member: Member) -> bool:
        """Let a member in if it earns a place; says whether it did."""
        if not np.isfinite(member.value):
            return False
        near = [m for m in self.members if distance(m.shape, member.shape) < self.radius]
        if any(m.value <= member.value for m in near):
            return False
        if not near and len(self.members) >= self.size and self.members[-1].value <= member.value:
            return False
        kept = [m for m in self.members if all(m is not other for other in near)]
        self.members = sorted([*kept, member], key=lambda m: m.value)[: self.size]
        return True

    def draw(self, rng: np.random.Generator) -> Member:
        """Draw a member, the better ones more often: index size * u^2."""
        return self.members[int(len(self.members) * rng.random() ** 2)]
