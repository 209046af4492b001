"""A program as mutators see it: its module-level statements, what they bind and read, its tunables and its stages."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import libcst as cst

from evocore.mutators.base import NoChild
from evocore.mutators.contract import ENTRY_POINT, parse
from evocore.mutators.declarations import STAGES, Malformed, Stage, Tunable, is_stage_list, read_stages, read_tunable
from evocore.mutators.names import Names, Occurrence, imported_as, names_in

Node = cst.SimpleStatementLine | cst.BaseCompoundStatement


@dataclass(frozen=True)
class Import:
    """One name that an import statement binds."""

    statement: str

    @classmethod
    def of(cls, statement: ast.Import | ast.ImportFrom, alias: ast.alias, *, bound_as: str | None = None) -> "Import":
        """Write the import of one alias on its own, under another name if asked to."""
        asname = bound_as or alias.asname
        name = f"{alias.name} as {asname}" if asname and asname != alias.name else alias.name
        if isinstance(statement, ast.ImportFrom):
            return cls(f"from {statement.module} import {name}")
        return cls(f"import {name}")


@dataclass(frozen=True, eq=False)
class Item:
    """One module-level statement, or several that share a line.

    Attributes
    ----------
    node : libcst node
        With the comments and blank lines above it.
    text : str
        The node as text.
    statements : tuple of ast.stmt
        The same as plain syntax.
    binds : tuple of str
        Names that it defines.
    alters : tuple of str
        Names that it changes in place.
    reads : frozenset of str
        Module-level and built-in names that it looks up.
    tunable : Tunable or None
    """

    node: Node
    text: str
    statements: tuple[ast.stmt, ...]
    binds: tuple[str, ...]
    alters: tuple[str, ...]
    reads: frozenset[str]
    tunable: Tunable | None

    @property
    def is_import(self) -> bool:
        """Nothing but imports."""
        return all(isinstance(one, ast.Import | ast.ImportFrom) for one in self.statements)

    @cached_property
    def imports(self) -> dict[str, frozenset[Import]]:
        """Bound name to the imports that bind it."""
        found: dict[str, frozenset[Import]] = {}
        for one in self.statements:
            if isinstance(one, ast.Import | ast.ImportFrom):
                for alias in one.names:
                    name = imported_as(alias)
                    found[name] = found.get(name, frozenset()) | {Import.of(one, alias)}
        return found

    @cached_property
    def dump(self) -> str:
        """The syntax tree as text, docstrings aside: equal for equal definitions."""
        return " ".join(_dump(one) for one in self.statements)


def _dump(statement: ast.stmt) -> str:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(statement) is not None:
        fields = {name: getattr(statement, name) for name in statement._fields}
        statement = type(statement)(**{**fields, "body": statement.body[1:]})
    return ast.dump(statement)


@dataclass(frozen=True, eq=False)
class Program:
    """A program that keeps the contract, taken apart.

    Attributes
    ----------
    source : str
        Ends in a newline.
    module : libcst.Module
    header, footer : str
        Comments before the first item and after the last one.
    items : tuple of Item
    occurrences : tuple of Occurrence
        Every place of every module-level name.
    stages : tuple of Stage
        Empty where the program has no stage list.
    """

    source: str
    module: cst.Module
    header: str
    footer: str
    items: tuple[Item, ...]
    occurrences: tuple[Occurrence, ...]
    stages: tuple[Stage, ...]

    @property
    def tunables(self) -> dict[str, Tunable]:
        """Tunables by name, in the order of the file."""
        return {item.tunable.name: item.tunable for item in self.items if item.tunable is not None}


def definitions(items: Iterable[Item]) -> dict[str, list[Item]]:
    """Name to the items that define or alter it, in the order of the file."""
    found: dict[str, list[Item]] = {}
    for item in items:
        for name in dict.fromkeys(item.binds + item.alters):
            found.setdefault(name, []).append(item)
    return found


def reachable(items: Iterable[Item], roots: Iterable[str]) -> list[Item]:
    """Items that the names in `roots` need, directly or not, in the order of the file."""
    items = list(items)
    defined = definitions(items)
    pending = list(roots)
    needed: set[Item] = set()
    while pending:
        for item in defined.get(pending.pop(), ()):
            if item not in needed:
                needed.add(item)
                pending.extend(item.reads)
                pending.extend(item.binds)
    return [item for item in items if item in needed]


def entry_roots(items: Iterable[Item]) -> list[str]:
    """Names from which everything that the program uses can be reached."""
    roots = [ENTRY_POINT, STAGES]
    for item in items:
        if not item.binds and not item.alters:  # runs at import time for its effect
            roots.extend(sorted(item.reads))
    return roots


@lru_cache(maxsize=64)
def read_program(source: str) -> Program:
    """Take a program apart. Trees are shared between calls and never changed.

    Raises
    ------
    NoChild
        The text cannot be read.
    """
    if not source.endswith("\n"):
        source += "\n"
    try:
        tree = parse(source)
        module = cst.parse_module(source)
        items, occurrences = _items(tree, module)
        stages = [read_stages(one) for one in tree.body if is_stage_list(one)]
    except (SyntaxError, ValueError, RecursionError, MemoryError, cst.ParserSyntaxError, Malformed) as error:
        raise NoChild(f"expected a program that can be read, got one with: {error}") from error
    header, footer = ("".join(map(module.code_for_node, lines)) for lines in (module.header, module.footer))
    if header + "".join(item.text for item in items) + footer != source:
        raise NoChild("expected a program that can be written back as it is, got one that cannot")
    return Program(source, module, header, footer, tuple(items), tuple(occurrences), stages[-1] if stages else ())


def _items(tree: ast.Module, module: cst.Module) -> tuple[list[Item], list[Occurrence]]:
    pending = iter(zip(tree.body, names_in(tree), strict=True))
    items: list[Item] = []
    occurrences: list[Occurrence] = []
    for node in module.body:
        n_statements = len(node.body) if isinstance(node, cst.SimpleStatementLine) else 1
        parts = [next(pending) for _ in range(n_statements)]
        for _, names in parts:
            occurrences.extend(names.occurrences)
        items.append(item_of(node, module.code_for_node(node), parts))
    return items, occurrences


def item_of(node: Node, text: str, parts: Sequence[tuple[ast.stmt, Names]]) -> Item:
    """Put one item together from its text and its statements."""
    no_names: frozenset[str] = frozenset()
    return Item(
        node=node,
        text=text,
        statements=tuple(statement for statement, _ in parts),
        binds=tuple(name for _, names in parts for name in names.binds),
        alters=tuple(name for _, names in parts for name in names.alters),
        reads=no_names.union(*(names.reads for _, names in parts)),
        tunable=read_tunable(parts[0][0]) if len(parts) == 1 else None,
    )
