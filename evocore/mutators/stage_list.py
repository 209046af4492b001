"""The stage list as text: entries with their comments, read from libcst and written back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

_MAX_LINE = 100
_Gap = cst.BaseParenthesizableWhitespace


@dataclass(frozen=True)
class Entry:
    """One stage of the list.

    Attributes
    ----------
    value : libcst.Tuple
        `(function, share)` as it is written.
    above : tuple of libcst.EmptyLine
        Comment lines over it.
    comment : libcst.Comment or None
        Comment at the end of its line.
    """

    value: cst.Tuple
    above: tuple[cst.EmptyLine, ...] = ()
    comment: cst.Comment | None = None

    @property
    def function(self) -> str:
        """Name of the stage's function."""
        return cst.ensure_type(self.value.elements[0].value, cst.Name).value

    @property
    def share(self) -> float:
        """Share of the time."""
        return float(cst.Module([]).code_for_node(self.value.elements[1].value).replace("_", ""))

    def with_share(self, text: str) -> "Entry":
        """Give it another share."""
        function, share = self.value.elements
        share = share.with_changes(value=cst.parse_expression(text))
        return replace(self, value=self.value.with_changes(elements=[function, share]))

    def with_function(self, name: str) -> "Entry":
        """Give it another function; comments that spoke of the old one go."""
        function, share = self.value.elements
        function = function.with_changes(value=cst.Name(name))
        return Entry(self.value.with_changes(elements=[function, share]))

    def without_comments(self) -> "Entry":
        """Give the bare entry, for a copy elsewhere."""
        return Entry(self.value)


def read_entries(value: cst.BaseExpression) -> tuple[list[Entry], tuple[cst.EmptyLine, ...]]:
    """Take a list or tuple of stages apart; gives the entries, and the comment lines below the last one."""
    elements = value.elements if isinstance(value, cst.List | cst.Tuple) else ()
    gaps = _gaps(value)
    entries = []
    for position, element in enumerate(elements):
        before, after = gaps[position], gaps[position + 1]
        comment = after.first_line.comment if isinstance(after, cst.ParenthesizedWhitespace) else None
        entries.append(Entry(cst.ensure_type(element.value, cst.Tuple), _comment_lines(before), comment))
    return entries, _comment_lines(gaps[-1])


def _gaps(value: cst.BaseExpression) -> list[_Gap]:
    """White space before, between and after the elements: one more than there are elements."""
    if not isinstance(value, cst.List | cst.Tuple):
        return [cst.SimpleWhitespace("")]
    first: _Gap = cst.SimpleWhitespace("")
    last: _Gap = cst.SimpleWhitespace("")
    if isinstance(value, cst.List):
        first, last = value.lbracket.whitespace_after, value.rbracket.whitespace_before
    elif value.lpar:
        first, last = value.lpar[0].whitespace_after, value.rpar[0].whitespace_before
    commas = [element.comma for element in value.elements[:-1]]
    return [first, *(comma.whitespace_after for comma in commas if isinstance(comma, cst.Comma)), last]


def _comment_lines(gap: _Gap) -> tuple[cst.EmptyLine, ...]:
    if not isinstance(gap, cst.ParenthesizedWhitespace):
        return ()
    return tuple(line for line in gap.empty_lines if line.comment is not None)


def with_values(value: cst.BaseExpression, entries: Sequence[Entry]) -> cst.BaseExpression:
    """Write entries back into the places of a list of as many, so that its layout stays as it is."""
    if not isinstance(value, cst.List | cst.Tuple):
        raise TypeError(f"expected a list or a tuple of stages, got {type(value).__name__}")
    pairs = zip(value.elements, entries, strict=True)
    return value.with_changes(elements=[element.with_changes(value=entry.value) for element, entry in pairs])


def render(old: cst.BaseExpression, entries: Sequence[Entry], below: Sequence[cst.EmptyLine]) -> cst.List:
    """Write a new list: on one line where the old one was and it fits, otherwise one stage a line."""
    has_comments = any(entry.comment or entry.above for entry in entries) or bool(below)
    if not has_comments and not any(isinstance(gap, cst.ParenthesizedWhitespace) for gap in _gaps(old)):
        flat = cst.List([cst.Element(entry.value) for entry in entries])
        if len(cst.Module([]).code_for_node(flat)) <= _MAX_LINE:
            return flat
    elements = []
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        if following is None:  # libcst keeps what follows the last comma in the closing bracket
            elements.append(cst.Element(entry.value, comma=cst.Comma()))
        else:
            gap = _line_break(entry.comment, following.above, indent="    ")
            elements.append(cst.Element(entry.value, comma=cst.Comma(whitespace_after=gap)))
    opening = _line_break(_opening_comment(old), entries[0].above, indent="    ")
    closing = _line_break(entries[-1].comment, below, indent="")
    return cst.List(
        elements,
        lbracket=cst.LeftSquareBracket(whitespace_after=opening),
        rbracket=cst.RightSquareBracket(whitespace_before=closing),
    )


def _opening_comment(value: cst.BaseExpression) -> cst.Comment | None:
    first = _gaps(value)[0]
    return first.first_line.comment if isinstance(first, cst.ParenthesizedWhitespace) else None


def _line_break(
    comment: cst.Comment | None, lines: Sequence[cst.EmptyLine], *, indent: str
) -> cst.ParenthesizedWhitespace:
    return cst.ParenthesizedWhitespace(
        first_line=cst.TrailingWhitespace(cst.SimpleWhitespace("  " if comment else ""), comment),
        empty_lines=[line.with_changes(whitespace=cst.SimpleWhitespace("    ")) for line in lines],
        indent=True,
        last_line=cst.SimpleWhitespace(indent),
    )
