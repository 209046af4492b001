"""A child in the making: the items of its parent, edited one after another and written out at the end."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst

from evocore.mutators.base import NoChild
from evocore.mutators.declarations import STAGES
from evocore.mutators.program import Item, Node, Program, definitions, entry_roots, reachable
from evocore.mutators.stage_list import Entry, read_entries, render, with_values


class Draft:
    """A child in the making.

    Parameters
    ----------
    program : Program
        The parent. It is not changed.
    """

    def __init__(self, program: Program) -> None:
        self._module = program.module
        self._header, self._footer = program.header, program.footer
        self.items = list(program.items)
        in_use = reachable(program.items, entry_roots(program.items))
        self._was_in_use = set(in_use)
        self._was_read = _reads(in_use)
        self._is_new: set[Item] = set()

    def source(self) -> str:
        """Write the child out."""
        return self._header + "".join(item.text for item in self.items) + self._footer

    def with_node(self, item: Item, node: Node) -> Item:
        """Give an item another text."""
        return replace(item, node=node, text=self._module.code_for_node(node))

    def set_tunable(self, name: str, text: str) -> None:
        """Give a tunable another value, written as `text`."""
        position = next(i for i, item in enumerate(self.items) if item.tunable and item.tunable.name == name)
        self._set_value(position, cst.parse_expression(text))

    def entries(self) -> list[Entry]:
        """Give the entries of the stage list."""
        position = self._stages_position()
        return [] if position is None else read_entries(_value(self.items[position].node))[0]

    def set_stages(self, entries: Sequence[Entry]) -> None:
        """Write another stage list; every function that it names must be there."""
        position = self._stages_position()
        if position is None:
            raise NoChild(f"expected a program with a list {STAGES}, got one without")
        item = self.items[position]
        old = _value(item.node)
        before, below = read_entries(old)
        old_functions = [entry.function for entry in before]
        functions = [entry.function for entry in entries]
        is_same_layout = functions == old_functions
        self._set_value(position, with_values(old, entries) if is_same_layout else render(old, entries, below))
        reads = (item.reads - set(old_functions)) | set(functions)
        self._replace(position, replace(self.items[position], reads=reads))

    def insert(self, item: Item, position: int) -> None:
        """Put a new item in."""
        self.items.insert(position, item)
        self._is_new.add(item)

    def place_of_imports(self) -> int:
        """Position after the last import at the head of the file."""
        place = 1 if self.items and _is_docstring(self.items[0]) else 0
        for position in range(place, len(self.items)):
            if not self.items[position].is_import:
                return position
        return len(self.items)

    def place_of_tunables(self) -> int:
        """Position after the last tunable, or after the imports."""
        tunables = [i for i, item in enumerate(self.items) if item.tunable]
        return max([*(i + 1 for i in tunables), self.place_of_imports()])

    def place_of_functions(self) -> int:
        """Position before the stage list, or at the end of the file."""
        position = self._stages_position()
        return len(self.items) if position is None else position

    def drop_leftovers(self) -> None:
        """Remove what only the replaced stages needed; what nobody used before stays."""
        in_use = set(reachable(self.items, entry_roots(self.items)))
        gone = [
            item
            for item in self.items
            if item not in in_use and (item in self._was_in_use or item in self._is_new) and not item.is_import
        ]
        for item in reversed(gone):  # a removal can touch the item below it, never one above
            self._remove(self.items.index(item))
        still_read = _reads(self.items)
        for position in range(len(self.items) - 1, -1, -1):
            item = self.items[position]
            unread = (self._was_read | set(item.binds if item in self._is_new else ())) - still_read
            if item.is_import and unread.intersection(item.binds):
                self._drop_imports(position, unread)

    def _drop_imports(self, position: int, unread: Iterable[str]) -> None:
        item = self.items[position]
        line = cst.ensure_type(item.node, cst.SimpleStatementLine)
        kept = [small for small in (_without_aliases(one, frozenset(unread)) for one in line.body) if small is not None]
        if not kept:
            self._remove(position)
            return
        binds = tuple(name for name in item.binds if name not in unread)
        self._replace(position, replace(self.with_node(item, line.with_changes(body=kept)), binds=binds))

    def _remove(self, position: int) -> None:
        """Take an item out with the comments that stand directly on it.

        Blank lines and comments further up go to the next item where it would otherwise lose touch with its block.
        """
        removed = self.items.pop(position)
        lines = list(removed.node.leading_lines)
        while lines and lines[-1].comment is not None:
            lines.pop()
        following = self.items[position] if position < len(self.items) else None
        is_first_of_block = following is not None and not following.node.leading_lines
        if not is_first_of_block and not any(line.comment for line in lines):
            return
        if following is not None:
            node = following.node.with_changes(leading_lines=[*lines, *following.node.leading_lines])
            self._replace(position, self.with_node(following, node))
        else:
            self._footer = "".join(map(self._module.code_for_node, lines)) + self._footer

    def _replace(self, position: int, item: Item) -> None:
        old = self.items[position]
        self.items[position] = item
        for group in (self._was_in_use, self._is_new):
            if old in group:
                group.add(item)

    def _stages_position(self) -> int | None:
        found = definitions(self.items).get(STAGES)
        return self.items.index(found[-1]) if found else None

    def _set_value(self, position: int, value: cst.BaseExpression) -> None:
        item = self.items[position]
        line = cst.ensure_type(item.node, cst.SimpleStatementLine)
        if len(line.body) != 1:
            raise NoChild("expected a declaration on a line of its own, got several statements on one line")
        node = line.with_changes(body=[line.body[0].with_changes(value=value)])
        self._replace(position, self.with_node(item, node))


def _reads(items: Iterable[Item]) -> frozenset[str]:
    return frozenset(name for item in items for name in item.reads)


def _value(node: Node) -> cst.BaseExpression:
    line = cst.ensure_type(node, cst.SimpleStatementLine)
    assignment = line.body[0] if len(line.body) == 1 else None
    if not isinstance(assignment, cst.Assign | cst.AnnAssign) or assignment.value is None:
        raise NoChild(f"expected {STAGES} on a line of its own, got another statement")
    return assignment.value


def _is_docstring(item: Item) -> bool:
    line = item.node
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Expr):
        return False
    return isinstance(line.body[0].value, cst.SimpleString | cst.ConcatenatedString)


def _without_aliases(statement: cst.BaseSmallStatement, unread: frozenset[str]) -> cst.BaseSmallStatement | None:
    if not isinstance(statement, cst.Import | cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
        return statement
    kept = [alias for alias in statement.names if _bound_by(alias, statement) not in unread]
    if not kept:
        return None
    if kept[-1] is statement.names[-1]:
        return statement.with_changes(names=kept)
    # The layout of the closing bracket stays; the comment of the removed name goes.
    own, closing = kept[-1].comma, statement.names[-1].comma
    kept[-1] = kept[-1].with_changes(comma=_with_comment_of(closing, own))
    return statement.with_changes(names=kept)


def _with_comment_of(
    closing: cst.Comma | cst.MaybeSentinel, own: cst.Comma | cst.MaybeSentinel
) -> cst.Comma | cst.MaybeSentinel:
    if not isinstance(closing, cst.Comma) or not isinstance(own, cst.Comma):
        return closing
    gap, own_gap = closing.whitespace_after, own.whitespace_after
    if not isinstance(gap, cst.ParenthesizedWhitespace) or not isinstance(own_gap, cst.ParenthesizedWhitespace):
        return closing
    return closing.with_changes(whitespace_after=gap.with_changes(first_line=own_gap.first_line))


def _bound_by(alias: cst.ImportAlias, statement: cst.Import | cst.ImportFrom) -> str:
    if alias.asname is not None:
        return cst.ensure_type(alias.asname.name, cst.Name).value
    dotted = alias.evaluated_name
    return dotted if isinstance(statement, cst.ImportFrom) else dotted.partition(".")[0]
