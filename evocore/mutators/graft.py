"""Take a stage of one program into another, with everything at module level that it needs.

A name that means the same in both programs is used as it is there. The same means: the same definition, comments and
docstrings aside, that itself reads only names which mean the same. A tunable of the same name, type and kind of range
is one gene, whatever value each program has for it; the child keeps its own. Every other clash of names is solved by
giving the newcomer a new name.
"""

import ast
import builtins
import re
from collections.abc import Iterable, Sequence

import libcst as cst

from evocore.mutators.base import NoChild
from evocore.mutators.contract import ENTRY_POINT
from evocore.mutators.declarations import STAGES
from evocore.mutators.draft import Draft
from evocore.mutators.names import imported_as, names_in, rename
from evocore.mutators.program import Import, Item, Program, definitions, item_of, reachable, read_program

_BUILTINS = frozenset(dir(builtins))


def graft(draft: Draft, donor: Program, functions: Iterable[str]) -> dict[str, str]:
    """Bring stage functions of a donor into a draft.

    Parameters
    ----------
    draft : Draft
        Gets whatever of the donor it lacks.
    donor : Program
    functions : iterable of str
        Their names in the donor.

    Returns
    -------
    dict
        Their names in the donor to their names in the draft.

    Raises
    ------
    NoChild
        A stage cannot be separated from its program.
    """
    functions = list(functions)
    needed = reachable(donor.items, functions)
    wanted = dict.fromkeys(name for item in needed for name in item.binds)
    for name in (ENTRY_POINT, STAGES):
        if name in wanted:
            raise NoChild(f"a stage of the other program needs {name} of its own program")
    common = _common(draft.items, needed)
    read = frozenset(functions).union(*(item.reads for item in needed))
    missing = [name for name in wanted if name not in common and (name in read or not _is_imported(needed, name))]
    _refuse_hidden_builtins(draft, needed, wanted)
    new_names = _new_names(draft, donor, missing)
    renamed = _renamed(donor, new_names)
    for old, item in zip(donor.items, renamed.items, strict=True):
        if old not in needed:
            continue
        if old.is_import:
            _insert_imports(draft, old, missing, new_names)
        elif not common.issuperset(old.binds + old.alters):
            _insert(draft, item)
    return {function: new_names.get(function, function) for function in functions}


def _is_imported(items: list[Item], name: str) -> bool:
    return any(name in item.imports for item in items)


def _common(items: list[Item], needed: list[Item]) -> set[str]:
    """Names that mean the same in the child and in what is needed of the donor."""
    ours, theirs = definitions(items), definitions(needed)
    common = {name for name in theirs if name in ours and _is_equal(name, ours[name], theirs[name])}
    while True:  # a definition counts as the same only as long as all that it reads does
        apart = {
            name
            for item in needed
            if not item.is_import and not common.issuperset(_names_in(item).intersection(theirs))
            for name in item.binds + item.alters
        }
        if not apart & common:
            return common
        common -= apart


def _names_in(item: Item) -> frozenset[str]:
    return item.reads.union(item.binds)


def _is_equal(name: str, ours: list[Item], theirs: list[Item]) -> bool:
    if any(name in item.imports for item in theirs):
        have = {one for item in ours for one in item.imports.get(name, ())}
        wanted = {one for item in theirs for one in item.imports.get(name, ())}
        return wanted <= have and all(name in item.imports for item in ours)
    if len(ours) == len(theirs) == 1 and ours[0].tunable is not None and theirs[0].tunable is not None:
        return ours[0].tunable.is_same_gene(theirs[0].tunable)
    return [item.dump for item in ours] == [item.dump for item in theirs]


def _refuse_hidden_builtins(draft: Draft, needed: list[Item], wanted: dict[str, None]) -> None:
    defined = definitions(draft.items)
    for item in needed:
        hidden = sorted(name for name in item.reads if name in _BUILTINS and name in defined and name not in wanted)
        if hidden:
            raise NoChild(f"the child gives the built-in {hidden[0]}, which the stage uses, another meaning")


def _new_names(draft: Draft, donor: Program, missing: list[str]) -> dict[str, str]:
    """New names for those that the child uses for something else."""
    defined = definitions(draft.items)
    taken = frozenset(defined).union(*(item.reads for item in draft.items))
    clashes = [name for name in missing if name in taken and not _only_adds_modules(name, defined.get(name, ()), donor)]
    if not clashes:
        return {}
    words = taken.union(re.findall(r"\w+", donor.source))
    new_names = {}
    for name in clashes:
        base = re.sub(r"_\d+\Z", "", name)
        number = 2
        while f"{base}_{number}" in words:
            number += 1
        new_names[name] = f"{base}_{number}"
        words |= {new_names[name]}
    return new_names


def _only_adds_modules(name: str, ours: Sequence[Item], donor: Program) -> bool:
    """Say whether both sides bind a package by importing modules of it: `import scipy.fft`, `import scipy.optimize`."""
    theirs = [item for item in donor.items if name in item.binds]
    plain = [one for item in [*ours, *theirs] for one in item.imports.get(name, ())]
    is_import = all(name in item.imports for item in [*ours, *theirs])
    return (
        bool(ours)
        and is_import
        and all(one.statement.startswith("import ") and " as " not in one.statement for one in plain)
    )


def _renamed(donor: Program, new_names: dict[str, str]) -> Program:
    if not new_names:
        return donor
    return read_program(rename(donor.source, donor.occurrences, new_names))


def _insert_imports(draft: Draft, item: Item, missing: list[str], new_names: dict[str, str]) -> None:
    present = {one for mine in draft.items for group in mine.imports.values() for one in group}
    for statement in item.statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        for alias in statement.names:
            name = imported_as(alias)
            if name not in missing:
                continue
            if name in new_names and isinstance(statement, ast.Import) and alias.asname is None and "." in alias.name:
                raise NoChild(f"import {alias.name} clashes with another {name} of the child")
            one = Import.of(statement, alias, bound_as=new_names.get(name))
            if one not in present:
                _insert_import(draft, one)


def _insert_import(draft: Draft, one: Import) -> None:
    tree = ast.parse(one.statement)
    node = cst.ensure_type(cst.parse_statement(one.statement), cst.SimpleStatementLine)
    item = item_of(node, "", list(zip(tree.body, names_in(tree), strict=True)))
    draft.insert(draft.with_node(item, node), draft.place_of_imports())


def _insert(draft: Draft, item: Item) -> None:
    lines = list(item.node.leading_lines)
    n_comments = next((n for n, line in enumerate(reversed(lines)) if line.comment is None), len(lines))
    comments = lines[len(lines) - n_comments :]
    place = draft.place_of_tunables() if item.tunable else draft.place_of_functions()
    above = draft.items[place - 1].node if place else None
    definition = cst.FunctionDef | cst.ClassDef
    if isinstance(item.node, definition) or isinstance(above, definition):
        n_blank = 2
    else:
        n_blank = min(1, len(lines) - n_comments)
    blank = [cst.EmptyLine(indent=False)] * n_blank
    draft.insert(draft.with_node(item, item.node.with_changes(leading_lines=[*blank, *comments])), place)
