"""What every mutator takes and gives."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evocore.errors import EvocoreError

if TYPE_CHECKING:
    import numpy as np


class NoChild(EvocoreError):
    """A mutator found no child of this parent; the message says why. The search goes on with another parent."""


@dataclass(frozen=True)
class Child:
    """A program that a mutator made.

    Attributes
    ----------
    source : str
        The whole file.
    description : str
        What was changed, in one line.
    operator : str
        Name of the mutator.
    """

    source: str
    description: str
    operator: str


class Mutator(Protocol):
    """Anything that turns a parent program into a child."""

    @property
    def name(self) -> str:
        """Name in `MUTATORS`, in the settings and in the ledger."""
        ...

    def mutate(
        self,
        parent: str,
        *,
        co_parent: str | None,
        donors: Sequence[str],
        rng: "np.random.Generator",
        rejected: Collection[str],
    ) -> Child:
        """Make one child.

        Parameters
        ----------
        parent : str
            Source of the program to change.
        co_parent : str or None
            Source of a second parent, for mutators that cross two.
        donors : sequence of str
            Sources of other programs that stages may be taken from.
        rng : numpy.random.Generator
            The only source of chance: the same state gives the same child.
        rejected : collection of str
            Fingerprints (`evocore.mutators.fingerprint`) of programs that must not come out again.

        Raises
        ------
        NoChild
            No new program that keeps the contract was found.
        """
        ...
