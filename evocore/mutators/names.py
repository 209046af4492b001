"""Which module-level names a statement binds and reads: Python's scoping rules on a plain syntax tree.

`symtable` knows the same, but not where in the text a name stands, and renaming needs that.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from evocore.mutators.base import NoChild

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


_BINDING = (ast.Store, ast.Del)
_Placed = ast.stmt | ast.expr | ast.alias | ast.excepthandler | ast.pattern


@dataclass(frozen=True)
class Occurrence:
    """One place where a module-level name stands in the text.

    Attributes
    ----------
    name : str
    line : int
        From 1.
    column : int
        From 0, in bytes of UTF-8: where the name stands, or where the statement begins that has it.
    place : {"name", "definition", "global", "import", "other"}
        What the name stands in. Names in `import` and `other` (`except ... as name`, patterns) cannot be changed.
    is_read : bool
        The name is looked up here (otherwise it is bound or declared).
    is_eager : bool
        The statement runs this part at import time, so that the name must be bound already.
    """

    name: str
    line: int
    column: int
    place: str
    is_read: bool
    is_eager: bool


@dataclass(frozen=True)
class Names:
    """What one module-level statement does with module-level names.

    Attributes
    ----------
    binds : tuple of str
        Names that it defines, in order of appearance.
    alters : tuple of str
        Names that it changes in place, as `TABLE["x"] = 1` does.
    declares : frozenset of str
        Names that its functions declare `global`, and so may bind later.
    occurrences : tuple of Occurrence
    """

    binds: tuple[str, ...]
    alters: tuple[str, ...]
    declares: frozenset[str]
    occurrences: tuple[Occurrence, ...]

    @property
    def reads(self) -> frozenset[str]:
        """Module-level and built-in names that it looks up, now or later."""
        return frozenset(one.name for one in self.occurrences if one.is_read)


@dataclass(frozen=True)
class _Scope:
    own: frozenset[str]
    declared_global: frozenset[str]
    is_class: bool
    parent: "_Scope | None"

    def is_module_level(self, name: str) -> bool:
        if name in self.declared_global:
            return True
        if name in self.own:
            return False
        outer = self.parent
        while outer is not None and outer.is_class:  # a class's names are not seen by the functions inside it
            outer = outer.parent
        return outer is None or outer.is_module_level(name)


@dataclass
class _Bound:
    names: dict[str, None] = field(default_factory=dict)  # a dict keeps the order
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)

    def own(self) -> frozenset[str]:
        return frozenset(self.names) - self.declared_global - self.declared_nonlocal


def nodes_in(tree: ast.AST) -> list[ast.AST]:
    """List a tree's nodes as `ast.walk` does, but for the contexts of names: twice as fast."""
    found = [tree]
    for node in found:  # grows while it is read
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found.extend(one for one in value if isinstance(one, ast.AST))
            elif isinstance(value, ast.AST) and name != "ctx":
                found.append(value)
    return found


def names_in(tree: ast.Module) -> list[Names]:
    """Analyse the module-level statements of a module, one `Names` for each.

    Parameters
    ----------
    tree : ast.Module
        With positions, from `ast.parse`.
    """
    has_walrus = any(isinstance(node, ast.NamedExpr) for node in nodes_in(tree))
    futures = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    is_lazy = any(alias.name == "annotations" for one in futures for alias in one.names)
    found = []
    for statement in tree.body:
        walk = _Walk(are_annotations_lazy=is_lazy, has_walrus=has_walrus)
        walk.visit(statement, None, is_eager=True)
        bound = walk.bound_in([statement])
        found.append(Names(tuple(bound.names), _altered(statement), frozenset(walk.declares), tuple(walk.occurrences)))
    return found


def root_name(target: ast.expr) -> str | None:
    """Give `x` for `x.a[0].b`, and None where the expression does not start with a name."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _altered(statement: ast.stmt) -> tuple[str, ...]:
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    else:
        return ()
    roots = (root_name(target) for target in targets if isinstance(target, ast.Attribute | ast.Subscript))
    return tuple(root for root in roots if root is not None)


def _bound_in(body: Iterable[ast.AST], *, has_walrus: bool) -> _Bound:
    """Names that the statements bind in the scope that they stand in."""
    bound = _Bound()
    pending: list[tuple[ast.AST, bool]] = [(node, False) for node in reversed(list(body))]
    while pending:
        node, is_in_comprehension = pending.pop()
        if not has_walrus and isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), _BINDING):
            continue  # most of a program: expressions bind nothing
        children: Iterable[ast.AST]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.names[node.name] = None
            children = _outer_parts(node)
        elif isinstance(node, ast.Lambda):
            children = _defaults(node.args)
        elif isinstance(node, _COMPREHENSIONS):
            is_in_comprehension = True
            children = ast.iter_child_nodes(node)
        else:
            _bind(node, bound, is_in_comprehension=is_in_comprehension)
            children = ast.iter_child_nodes(node)
            if isinstance(node, ast.NamedExpr):  # binds in the function even from within a comprehension
                bound.names[node.target.id] = None
        pending.extend((child, is_in_comprehension) for child in reversed(list(children)))
    return bound


def _bind(node: ast.AST, bound: _Bound, *, is_in_comprehension: bool) -> None:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if not is_in_comprehension:
            bound.names[name] = None
        case ast.Import() | ast.ImportFrom():
            for alias in node.names:
                bound.names[imported_as(alias)] = None
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            bound.names[name] = None
        case ast.MatchMapping(rest=str(name)):
            bound.names[name] = None
        case ast.Global():
            bound.declared_global.update(node.names)
        case ast.Nonlocal():
            bound.declared_nonlocal.update(node.names)


def imported_as(alias: ast.alias) -> str:
    """Name that an import binds: `np` for `import numpy as np`, `scipy` for `import scipy.fft`."""
    return alias.asname or alias.name.partition(".")[0]


def _outer_parts(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[ast.expr]:
    """Parts of a definition that are evaluated outside of its own scope, annotations aside."""
    yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (keyword.value for keyword in node.keywords)
    else:
        yield from _defaults(node.args)


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [*args.defaults, *(one for one in args.kw_defaults if one is not None)]


def _arguments(args: ast.arguments) -> list[ast.arg]:
    starred = [one for one in (args.vararg, args.kwarg) if one is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *starred]


class _Walk:
    def __init__(self, *, are_annotations_lazy: bool, has_walrus: bool) -> None:
        self.are_annotations_lazy = are_annotations_lazy
        self.has_walrus = has_walrus
        self.occurrences: list[Occurrence] = []
        self.declares: set[str] = set()

    def bound_in(self, body: Iterable[ast.AST]) -> _Bound:
        return _bound_in(body, has_walrus=self.has_walrus)

    def visit(self, node: ast.AST, scope: _Scope | None, *, is_eager: bool) -> None:
        match node:
            case ast.Name():
                is_read = isinstance(node.ctx, ast.Load)
                self._note(node.id, node, "name", scope, is_read=is_read, is_eager=is_eager)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, scope, is_eager=is_eager)
            case ast.ClassDef():
                self._class(node, scope, is_eager=is_eager)
            case ast.Lambda():
                for default in _defaults(node.args):
                    self.visit(default, scope, is_eager=is_eager)
                own = frozenset(arg.arg for arg in _arguments(node.args)) | self.bound_in([node.body]).own()
                self.visit(node.body, _Scope(own, frozenset(), False, scope), is_eager=False)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node, scope, is_eager=is_eager)
            case ast.AnnAssign():
                self._annotated(node, scope, is_eager=is_eager)
            case ast.Global():
                self.declares.update(node.names)
                for name in node.names:
                    self._note(name, node, "global", scope, is_eager=is_eager)
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    self._note(imported_as(alias), alias, "import", scope, is_eager=is_eager)
            case _:
                if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
                    bound = node.rest if isinstance(node, ast.MatchMapping) else node.name
                    if bound is not None:
                        self._note(bound, node, "other", scope, is_eager=is_eager)
                for child in ast.iter_child_nodes(node):
                    self.visit(child, scope, is_eager=is_eager)

    def _note(
        self, name: str, node: _Placed, place: str, scope: _Scope | None, *, is_eager: bool, is_read: bool = False
    ) -> None:
        if scope is None or scope.is_module_level(name):
            self.occurrences.append(Occurrence(name, node.lineno, node.col_offset, place, is_read, is_eager))

    def _annotated(self, node: ast.AnnAssign, scope: _Scope | None, *, is_eager: bool) -> None:
        is_evaluated = is_eager and not self.are_annotations_lazy
        self.visit(node.annotation, scope, is_eager=is_evaluated)
        self.visit(node.target, scope, is_eager=is_eager)
        if node.value is not None:
            self.visit(node.value, scope, is_eager=is_eager)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope | None, *, is_eager: bool) -> None:
        self._note(node.name, node, "definition", scope, is_eager=is_eager)
        for part in _outer_parts(node):
            self.visit(part, scope, is_eager=is_eager)
        arguments = _arguments(node.args)
        annotations = [arg.annotation for arg in arguments] + [node.returns]
        type_parameters = frozenset(one.name for one in getattr(node, "type_params", ()))
        if type_parameters:
            scope = _Scope(type_parameters, frozenset(), False, scope)
        for annotation in annotations:
            if annotation is not None:
                self.visit(annotation, scope, is_eager=is_eager and not self.are_annotations_lazy)
        bound = self.bound_in(node.body)
        own = (bound.own() | {arg.arg for arg in arguments}) - bound.declared_global
        inner = _Scope(own, frozenset(bound.declared_global), False, scope)
        for statement in node.body:
            self.visit(statement, inner, is_eager=False)

    def _class(self, node: ast.ClassDef, scope: _Scope | None, *, is_eager: bool) -> None:
        self._note(node.name, node, "definition", scope, is_eager=is_eager)
        for part in _outer_parts(node):
            self.visit(part, scope, is_eager=is_eager)
        bound = self.bound_in(node.body)
        extra = {"__class__"} | {one.name for one in getattr(node, "type_params", ())}
        scope = _Scope(frozenset(extra), frozenset(), False, scope)
        inner = _Scope(bound.own(), frozenset(bound.declared_global), True, scope)
        for statement in node.body:
            self.visit(statement, inner, is_eager=is_eager)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
        scope: _Scope | None,
        *,
        is_eager: bool,
    ) -> None:
        self.visit(node.generators[0].iter, scope, is_eager=is_eager)  # the only part outside of the inner scope
        targets = self.bound_in([generator.target for generator in node.generators])
        inner = _Scope(frozenset(targets.names), frozenset(), False, scope)
        for position, generator in enumerate(node.generators):
            self.visit(generator.target, inner, is_eager=is_eager)
            if position > 0:
                self.visit(generator.iter, inner, is_eager=is_eager)
            for condition in generator.ifs:
                self.visit(condition, inner, is_eager=is_eager)
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for result in results:
            self.visit(result, inner, is_eager=is_eager)


def rename(source: str, occurrences: Iterable[Occurrence], new_names: dict[str, str]) -> str:
    """Give module-level names new names, everywhere that they stand for the module-level thing.

    Parameters
    ----------
    source : str
        The module.
    occurrences : iterable of Occurrence
        Of all its statements.
    new_names : dict
        Old name to new name. Names that an import binds are left alone in the import itself.

    Raises
    ------
    NoChild
        A name stands in a place where this function cannot change it.
    """
    lines = [line.encode() for line in _lines(source)]
    edits: set[tuple[int, int, str]] = set()
    for one in occurrences:
        if one.name not in new_names or one.place == "import":
            continue
        # Of a definition or a `global` statement the start is known: the name is the first such word after it.
        pattern = rb"(?<!\w)" + one.name.encode() + rb"(?!\w)"
        found = re.compile(pattern).search(lines[one.line - 1], one.column)
        if one.place == "other" or found is None:
            raise NoChild(f"expected a name that can be changed, got {one.name} in line {one.line}")
        edits.add((one.line - 1, found.start(), one.name))
    for row, column, name in sorted(edits, reverse=True):
        line = lines[row]
        lines[row] = line[:column] + new_names[name].encode() + line[column + len(name.encode()) :]
    return b"".join(lines).decode()


def _lines(source: str) -> list[str]:
    """Split as Python's own tokenizer counts lines: `str.splitlines` also splits at form feeds and the like."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", source)
