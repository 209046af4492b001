"""Mutators without a model: they move constants, edit stage lists and cross two programs.

Edits are made on the concrete syntax tree, so that comments and layout survive. Every child keeps the contract, and
does something else than its parents and than everything rejected before; where no such child turns up, `NoChild` says
why. All chance comes from the generator that is handed in.

libcst takes 0.2 s to import, so the modules that need it are imported where a mutation begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evocore.mutators.base import Child, NoChild
from evocore.mutators.contract import Contract, fingerprint, source_sha256
from evocore.mutators.moves import moved, moved_share, share_text, written

if TYPE_CHECKING:
    import numpy as np

    from evocore.mutators.draft import Draft
    from evocore.mutators.program import Program
    from evocore.mutators.stage_list import Entry

MAX_MOVES = 3

Edit = tuple[str, str]  # source of the child, one line on what was changed


@dataclass(frozen=True)
class GrammarTune:
    """Move one to three tunables, or shares of stages.

    Parameters
    ----------
    contract : Contract
        What children keep.
    n_tries : int
        Draws before giving up.
    """

    contract: Contract = field(default_factory=Contract)
    n_tries: int = 24
    name = "grammar-tune"

    def mutate(
        self,
        parent: str,
        *,
        co_parent: str | None,
        donors: Sequence[str],
        rng: np.random.Generator,
        rejected: Collection[str],
    ) -> Child:
        """Make one child of `parent`; `co_parent` and `donors` are not used. See `Mutator.mutate`."""
        program = _read(parent, self.contract)
        genes = list(program.tunables)
        shares = list(range(len(program.stages))) if len(program.stages) > 1 else []
        if not genes and not shares:
            raise NoChild(
                "expected a program with constants such as `BETA: Annotated[float, Range(1, 100, log=True)] = 10.0`, "
                "or with a list STAGES of two stages or more, got one without either: annotate what may be moved"
            )

        def draw() -> Edit:
            return _tuned(program, [*genes, *shares], rng)

        return _first_new(self, draw, [parent], rejected)


def _tuned(program: Program, genes: Sequence[str | int], rng: np.random.Generator) -> Edit:
    from evocore.mutators.draft import Draft

    draft = Draft(program)
    n_moves = min(MAX_MOVES, len(genes), int(rng.geometric(0.5)))
    changes = []
    for index in sorted(rng.choice(len(genes), size=n_moves, replace=False).tolist()):
        gene = genes[index]
        if isinstance(gene, str):
            tunable = program.tunables[gene]
            text = written(moved(tunable, rng))
            draft.set_tunable(gene, text)
            changes.append(f"{gene} {written(tunable.value)} -> {text}")
        else:
            entries = draft.entries()
            stage = program.stages[gene]
            text = moved_share(stage.share, rng)
            entries[gene] = entries[gene].with_share(text)
            draft.set_stages(entries)
            changes.append(f"share of stage {gene + 1} ({stage.function}) {stage.share:g} -> {text}")
    return draft.source(), "; ".join(changes)


@dataclass(frozen=True)
class GrammarStages:
    """Edit the stage list: insert, delete, swap, or replace by a stage of another program.

    Parameters
    ----------
    contract : Contract
        What children keep.
    n_tries : int
        Draws before giving up.
    max_stages : int
        No list grows beyond it.
    """

    contract: Contract = field(default_factory=Contract)
    n_tries: int = 24
    max_stages: int = 12
    name = "grammar-stages"

    def mutate(
        self,
        parent: str,
        *,
        co_parent: str | None,
        donors: Sequence[str],
        rng: np.random.Generator,
        rejected: Collection[str],
    ) -> Child:
        """Make one child of `parent` with stages of its own or of `donors`. See `Mutator.mutate`."""
        program = _read(parent, self.contract)
        _expect_stages(program)
        others = [one for one in _readable([*donors, *([co_parent] if co_parent else [])], self.contract) if one.stages]
        edits: list[Callable[[Draft], str]] = []
        n_stages = len(program.stages)
        if n_stages < self.max_stages:
            edits.append(lambda draft: _insert_own(draft, rng))
        if n_stages > 1:
            edits.append(lambda draft: _delete(draft, rng))
            edits.append(lambda draft: _swap(draft, rng))
        if others:
            edits.append(lambda draft: _replace(draft, others, rng))
            if n_stages < self.max_stages:
                edits.append(lambda draft: _insert_foreign(draft, others, rng))

        def draw() -> Edit:
            from evocore.mutators.draft import Draft

            draft = Draft(program)
            description = edits[int(rng.integers(len(edits)))](draft)
            draft.drop_leftovers()
            return draft.source(), description

        return _first_new(self, draw, [parent], rejected)


def _insert_own(draft: Draft, rng: np.random.Generator) -> str:
    entries = draft.entries()
    copied = entries[int(rng.integers(len(entries)))].without_comments()
    return _insert_entry(draft, entries, copied, "", rng)


def _insert_foreign(draft: Draft, others: Sequence[Program], rng: np.random.Generator) -> str:
    entry, origin = _foreign(draft, others, rng)
    return _insert_entry(draft, draft.entries(), entry, origin, rng)


def _insert_entry(draft: Draft, entries: list[Entry], new: Entry, origin: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(entries) + 1))
    mean = sum(entry.share for entry in entries) / len(entries)
    entries.insert(place, new.with_share(moved_share(mean, rng)))
    draft.set_stages(_normalised(entries))
    where = f"after {entries[place - 1].function}" if place else "at the beginning"
    return f"insert stage {new.function}{origin} {where}"


def _delete(draft: Draft, rng: np.random.Generator) -> str:
    entries = draft.entries()
    place = int(rng.integers(len(entries)))
    gone = entries.pop(place)
    draft.set_stages(_normalised(entries))
    return f"delete stage {place + 1} ({gone.function})"


def _swap(draft: Draft, rng: np.random.Generator) -> str:
    entries = draft.entries()
    first, second = sorted(rng.choice(len(entries), size=2, replace=False).tolist())
    entries[first], entries[second] = entries[second], entries[first]
    draft.set_stages(_normalised(entries))
    return f"swap stages {first + 1} ({entries[second].function}) and {second + 1} ({entries[first].function})"


def _replace(draft: Draft, others: Sequence[Program], rng: np.random.Generator) -> str:
    entry, origin = _foreign(draft, others, rng)
    entries = draft.entries()
    place = int(rng.integers(len(entries)))
    old = entries[place]
    entries[place] = old.with_function(entry.function)
    draft.set_stages(_normalised(entries))
    return f"replace stage {place + 1} ({old.function}) by {entry.function}{origin}"


def _foreign(draft: Draft, others: Sequence[Program], rng: np.random.Generator) -> tuple[Entry, str]:
    """Bring a random stage of a random other program in; gives its entry and where it comes from."""
    from evocore.mutators.graft import graft

    donor = others[int(rng.integers(len(others)))]
    stage = donor.stages[int(rng.integers(len(donor.stages)))]
    function = graft(draft, donor, [stage.function])[stage.function]
    return draft.entries()[0].with_function(function), f" from {_short(donor.source)}"


@dataclass(frozen=True)
class GrammarCross:
    """Cross two programs: tunables that both have from either, and the head of one stage list with the other's tail.

    Parameters
    ----------
    contract : Contract
        What children keep.
    n_tries : int
        Draws before giving up.
    max_stages : int
        No list grows beyond it.
    """

    contract: Contract = field(default_factory=Contract)
    n_tries: int = 24
    max_stages: int = 12
    name = "grammar-cross"

    def mutate(
        self,
        parent: str,
        *,
        co_parent: str | None,
        donors: Sequence[str],
        rng: np.random.Generator,
        rejected: Collection[str],
    ) -> Child:
        """Make one child of `parent` and `co_parent`, or of a random donor where that is None. See `Mutator.mutate`."""
        program = _read(parent, self.contract)
        others = [_read(co_parent, self.contract)] if co_parent is not None else _readable(donors, self.contract)
        others = [other for other in others if other.source != program.source]
        if not others:
            raise NoChild("expected a second parent that differs from the first, got none")

        def draw() -> Edit:
            return _crossed(program, others[int(rng.integers(len(others)))], self.max_stages, rng)

        return _first_new(self, draw, [parent, *(other.source for other in others)], rejected)


def _crossed(program: Program, other: Program, max_stages: int, rng: np.random.Generator) -> Edit:
    from evocore.mutators.draft import Draft

    draft = Draft(program)
    changes = []
    if program.stages and other.stages:
        changes.append(_cross_stages(draft, other, max_stages, rng))
    ours, theirs = program.tunables, other.tunables
    for name in [item.tunable.name for item in draft.items if item.tunable is not None]:
        tunable, partner = ours.get(name), theirs.get(name)
        if tunable is None or partner is None or partner.value == tunable.value:
            continue
        if tunable.is_same_gene(partner) and tunable.limits.contains(partner.value) and rng.random() < 0.5:
            draft.set_tunable(name, written(partner.value))
            changes.append(f"{name} {written(tunable.value)} -> {written(partner.value)}")
    changes = [change for change in changes if change]
    if not changes:
        raise NoChild("the two parents have no tunable and no stage list to exchange")
    return draft.source(), f"cross with {_short(other.source)}: {'; '.join(changes)}"


def _cross_stages(draft: Draft, other: Program, max_stages: int, rng: np.random.Generator) -> str:
    """One-point crossover: the head of our list up to one cut, the tail of theirs from another."""
    from evocore.mutators.graft import graft

    entries = draft.entries()
    n_head = int(rng.integers(len(entries) + 1))
    tail = other.stages[int(rng.integers(len(other.stages) + 1)) :]
    if (not n_head and not tail) or n_head + len(tail) > max_stages:
        raise NoChild(f"a crossover of stage lists has 1 to {max_stages} stages")
    if n_head == len(entries) and not tail:
        return ""
    functions = graft(draft, other, dict.fromkeys(one.function for one in tail))
    bare = entries[0].without_comments()
    new = [bare.with_function(functions[stage.function]).with_share(share_text(stage.share)) for stage in tail]
    draft.set_stages(_normalised([*entries[:n_head], *new]))
    draft.drop_leftovers()
    return f"stages {_listed(entry.function for entry in entries[:n_head])} | {_listed(e.function for e in new)}"


def _listed(functions: Iterable[str]) -> str:
    return ", ".join(functions) or "none"


def _normalised(entries: Sequence[Entry]) -> list[Entry]:
    """Make the shares sum to about 1; where they do already, they stay as they are written."""
    total = sum(entry.share for entry in entries)
    if abs(total - 1) < 0.005:
        return list(entries)
    return [entry.with_share(share_text(entry.share / total)) for entry in entries]


def _short(source: str) -> str:
    return source_sha256(source)[:6]


def _expect_stages(program: Program) -> None:
    if not program.stages:
        raise NoChild(
            "expected a program with a list such as `STAGES = [(multistart, 0.6), (hop, 0.4)]` of (function, share of "
            "the time), got one without: split the program into stages"
        )


def _read(source: str, contract: Contract) -> Program:
    from evocore.mutators.program import read_program

    reasons = contract.broken_by(source)
    if reasons:
        raise NoChild(f"expected a program that keeps the contract, got one that breaks it: {reasons[0]}")
    return read_program(source)


def _readable(sources: Sequence[str], contract: Contract) -> list[Program]:
    """Programs that stages can be taken from; one that keeps no contract is passed over."""
    return [_read(source, contract) for source in sources if not contract.broken_by(source)]


def _first_new(
    mutator: GrammarTune | GrammarStages | GrammarCross,
    draw: Callable[[], Edit],
    known: Sequence[str],
    rejected: Collection[str],
) -> Child:
    """Draw until a child keeps the contract and was not there before."""
    seen = {fingerprint(source) for source in known}
    failures: Counter[str] = Counter()
    for _ in range(mutator.n_tries):
        try:
            source, description = draw()
        except NoChild as error:
            failures[str(error)] += 1
            continue
        reasons = mutator.contract.broken_by(source)
        if reasons:
            failures[f"the child breaks the contract: {reasons[0]}"] += 1
            continue
        identity = fingerprint(source)
        if identity in seen or identity in rejected:
            failures["the child is a program that was there before"] += 1
            continue
        return Child(source, description, mutator.name)
    reason, _ = failures.most_common(1)[0]
    raise NoChild(f"{mutator.name} found no child in {mutator.n_tries} draws; most often: {reason}")
