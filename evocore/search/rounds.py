"""What an island proposes in a round: which parent, which mutator, which child.

Pure: the same forest, seed, round and island give the same proposal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evocore.mutators.base import NoChild
from evocore.search.memory import Forest
from evocore.search.presets import Preset
from evocore.search.selection import Etas, draw, softmax

if TYPE_CHECKING:
    from evocore.mutators.base import Child, Mutator

CROSS = "grammar-cross"


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal before it is recorded: a child, or the reason why there is none."""

    round: int
    island: int
    parent: int
    co_parent: int | None
    operator: str
    child: Child | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Breeding:
    """What `propose` needs besides the forest.

    Attributes
    ----------
    preset : Preset
        The strategy.
    seed : int
        Of the run.
    temperature : float
        Of the softmax.
    etas : Etas
        Selection scores.
    mutators : mapping of name to mutator
        The pool of mutators.
    source_of : callable
        Program text by sha.
    initial : sequence of str
        Shas of the programs that the run began with.
    """

    preset: Preset
    seed: int
    temperature: float
    etas: Etas
    mutators: Mapping[str, Mutator]
    source_of: Callable[[str], str]
    initial: Sequence[str]


def rng_for(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one decision: of the run's seed and the decision's place, and of nothing else."""
    return np.random.default_rng([seed, *path])


def propose(forest: Forest, island: int, round_number: int, how: Breeding) -> Draft:
    """Choose a parent and a mutator for an island and breed a child."""
    rng = rng_for(how.seed, 1, round_number, island)
    donor = forest.islands[island].graft_from
    if donor is None and how.preset.migrate_rounds and round_number % how.preset.migrate_rounds == 0:
        donor = _neighbour(forest, island)
    grafted = None if donor is None or donor not in forest.islands else forest.best(donor)
    if grafted is not None and CROSS in how.mutators:
        parent = forest.best(island)
        if parent is not None:
            return _breed(forest, island, round_number, how, rng, parent=parent, co_parent=grafted, operator=CROSS)
    parent = choose_parent(forest, island, how, rng)
    operator = choose_mutator(forest, island, round_number, how)
    co_parent = choose_co_parent(forest, island, parent, rng) if operator == CROSS else None
    return _breed(forest, island, round_number, how, rng, parent=parent, co_parent=co_parent, operator=operator)


def choose_parent(forest: Forest, island: int, how: Breeding, rng: np.random.Generator) -> int:
    """Choose a parent among an island's admitted nodes by the preset's rule."""
    admitted = forest.islands[island].admitted
    rule = how.preset.parents
    if rule == "initial":
        roots = [node for node in forest.islands[island].nodes if forest.nodes[node].round == 0]
        return roots[int(rng.integers(len(roots)))]
    if rule == "best":
        best = forest.best(island)
        return admitted[0] if best is None else best
    etas = how.etas.of(forest, island)
    if rule == "front":
        front = np.flatnonzero(etas == 0.0)
        return admitted[int(front[rng.integers(len(front))])] if len(front) else admitted[int(etas.argmax())]
    return admitted[draw(softmax(etas, how.temperature), rng)]


def choose_mutator(forest: Forest, island: int, round_number: int, how: Breeding) -> str:
    """Choose a mutator by the preset's rule: the island's own, the schedule's, or the bandit's."""
    names = sorted(how.mutators)
    one = forest.islands[island]
    if how.preset.mutators == "schedule":
        return names[round_number % len(names)]
    if how.preset.mutators == "bandit":
        total = sum(one.tried.get(name, 0) for name in names)

        def bound(name: str) -> float:
            tried = one.tried.get(name, 0)
            if tried == 0:
                return float("inf")
            return float(one.successes.get(name, 0) / tried + np.sqrt(2.0 * np.log(total) / tried))

        return max(names, key=bound)
    return one.mutator if one.mutator in how.mutators else names[0]


def choose_co_parent(forest: Forest, island: int, parent: int, rng: np.random.Generator) -> int | None:
    """Choose a second parent of another source: another island's best, else another admitted node of this one."""
    sha = forest.nodes[parent].source_sha
    bests = [forest.best(other) for other in sorted(forest.islands) if other != island]
    choices = [node for node in bests if node is not None and forest.nodes[node].source_sha != sha]
    if not choices:
        choices = [node for node in forest.islands[island].admitted if forest.nodes[node].source_sha != sha]
    return choices[int(rng.integers(len(choices)))] if choices else None


def proposal_event(draft: Draft, sha: str | None, fingerprint: str) -> dict[str, Any]:
    """Return the fields of a draft's `proposal` event."""
    return {
        "round": draft.round,
        "island": draft.island,
        "parent": draft.parent,
        "co_parent": draft.co_parent,
        "operator": draft.operator,
        "description": "" if draft.child is None else draft.child.description,
        "sha": sha,
        "reason": draft.reason,
        "fingerprint": fingerprint,
    }


def _breed(
    forest: Forest,
    island: int,
    round_number: int,
    how: Breeding,
    rng: np.random.Generator,
    *,
    parent: int,
    co_parent: int | None,
    operator: str,
) -> Draft:
    parent_sha = forest.nodes[parent].source_sha
    donors = [sha for sha in _donors(forest, how.initial) if sha != parent_sha]
    second = forest.nodes[co_parent].source_sha if co_parent is not None else None
    if second is None and operator == CROSS and donors:
        second = donors[int(rng.integers(len(donors)))]
    try:
        child = how.mutators[operator].mutate(
            how.source_of(parent_sha),
            co_parent=None if second is None else how.source_of(second),
            donors=[how.source_of(sha) for sha in donors],
            rng=rng,
            rejected=forest.fingerprints,
        )
    except NoChild as error:
        return Draft(round_number, island, parent, co_parent, operator, None, str(error))
    return Draft(round_number, island, parent, co_parent, operator, child)


def _donors(forest: Forest, initial: Sequence[str]) -> list[str]:
    """Shas of the initial programs and of the islands' bests, each once, in a fixed order."""
    bests = (forest.best(island) for island in sorted(forest.islands))
    found = [*initial, *(forest.nodes[node].source_sha for node in bests if node is not None)]
    return list(dict.fromkeys(found))


def _neighbour(forest: Forest, island: int) -> int | None:
    numbers = sorted(forest.islands)
    if len(numbers) < 2:
        return None
    return numbers[(numbers.index(island) + 1) % len(numbers)]
