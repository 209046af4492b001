"""What a program declares for mutators: its tunables and its stage list, read from the syntax tree alone."""

import ast
import math
from dataclasses import dataclass

from evocore.errors import ConfigError, EvocoreError
from evocore.optim.tunables import Choice, Literal, Range

STAGES = "STAGES"
_KINDS = {"int": int, "float": float, "str": str, "bool": bool}


class Malformed(EvocoreError):
    """A declaration that does not read as one; `str` of it is a sentence without the line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True)
class Tunable:
    """An annotated module-level constant.

    Attributes
    ----------
    name : str
    kind : {"int", "float", "str", "bool"}
        As written in the annotation.
    limits : Range or Choice
    value : bool, int, float or str
    line : int
    """

    name: str
    kind: str
    limits: Range | Choice
    value: Literal
    line: int

    def is_same_gene(self, other: "Tunable") -> bool:
        """Say whether the value of one makes sense in the place of the other: same name, type and kind of limits."""
        if (self.name, self.kind) != (other.name, other.kind):
            return False
        if isinstance(self.limits, Range) and isinstance(other.limits, Range):
            return self.limits.log == other.limits.log
        return self.limits == other.limits


@dataclass(frozen=True)
class Stage:
    """One entry of the stage list: a module-level function and its share of the time."""

    function: str
    share: float
    line: int


def read_tunable(statement: ast.stmt) -> Tunable | None:
    """Read a module-level statement; None where it does not declare a tunable.

    Raises
    ------
    Malformed
        It declares one, but wrongly.
    """
    if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
        return None
    annotation = statement.annotation
    if not isinstance(annotation, ast.Subscript) or _last_name(annotation.value) != "Annotated":
        return None
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    calls = [part for part in parts[1:] if isinstance(part, ast.Call) and _last_name(part.func) in ("Range", "Choice")]
    if not calls:
        return None
    name, line = statement.target.id, statement.lineno
    if len(calls) > 1:
        raise Malformed(line, f"{name} has {len(calls)} ranges; give it one")
    kind = _last_name(parts[0])
    if kind not in _KINDS:
        raise Malformed(line, f"the type of {name} is int, float, str or bool, got {ast.unparse(parts[0])}")
    limits = _limits(calls[0], name, line)
    if isinstance(limits, Range) and kind not in ("int", "float"):
        raise Malformed(line, f"{name} has a Range, so its type is int or float, got {kind}")
    value = literal(statement.value)
    if value is None:
        raise Malformed(line, f"the value of the tunable {name} is a plain literal, so that mutators can move it")
    tunable = Tunable(name, kind, limits, value, line)
    _check_value(tunable)
    return tunable


def _limits(call: ast.Call, name: str, line: int) -> Range | Choice:
    arguments = [literal(argument) for argument in call.args]
    keywords = {keyword.arg: literal(keyword.value) for keyword in call.keywords}
    if None in arguments or None in keywords.values() or None in keywords:
        raise Malformed(line, f"the arguments of {_last_name(call.func)} of {name} are plain literals")
    try:
        # Arguments of an unchecked program: a wrong number or type is what the except clause is for.
        if _last_name(call.func) == "Range":
            return Range(*arguments, **keywords)  # type: ignore[arg-type]
        return Choice(*arguments, **keywords)  # type: ignore[arg-type]
    except (TypeError, ConfigError) as error:
        raise Malformed(line, f"the range of {name} is wrong: {error}") from None


def _check_value(tunable: Tunable) -> None:
    if isinstance(tunable.limits, Choice) and type(tunable.limits.values[0]) is not _KINDS[tunable.kind]:
        raise Malformed(tunable.line, f"the choices of {tunable.name} are not of its type {tunable.kind}")
    if tunable.kind == "int" and type(tunable.value) is not int:
        raise Malformed(tunable.line, f"{tunable.name} is an int, got {tunable.value!r}")
    if tunable.limits.contains(tunable.value):
        return
    if isinstance(tunable.limits, Range):
        where = f"between {tunable.limits.lo} and {tunable.limits.hi}"
    else:
        where = f"one of {', '.join(repr(value) for value in tunable.limits.values)}"
    raise Malformed(tunable.line, f"{tunable.name} is {where} by its own annotation, got {tunable.value!r}")


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def literal(node: ast.expr | None) -> Literal | None:
    """Value of a plain literal, a minus sign allowed; None for anything else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if not isinstance(node, ast.Constant) or not isinstance(node.value, bool | int | float | str):
        return None
    if sign == 1:
        return node.value
    return None if isinstance(node.value, bool | str) else -node.value


def is_stage_list(statement: ast.stmt) -> bool:
    """Say whether a module-level statement assigns `STAGES`."""
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return False
    return any(isinstance(target, ast.Name) and target.id == STAGES for target in targets)


def read_stages(statement: ast.stmt) -> tuple[Stage, ...]:
    """Read the statement that assigns `STAGES`.

    Raises
    ------
    Malformed
        It is not a list of (function, share).
    """
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    has_company = isinstance(statement, ast.Assign) and len(statement.targets) > 1
    if not isinstance(value, ast.List | ast.Tuple) or not value.elts or has_company:
        raise Malformed(statement.lineno, f"{STAGES} is a list of (function, share) with at least one entry")
    return tuple(_stage(entry) for entry in value.elts)


def _stage(entry: ast.expr) -> Stage:
    if not isinstance(entry, ast.Tuple) or len(entry.elts) != 2 or not isinstance(entry.elts[0], ast.Name):
        raise Malformed(entry.lineno, f"an entry of {STAGES} is (function, share), got {ast.unparse(entry):.60}")
    share = literal(entry.elts[1])
    if isinstance(share, bool | str | None) or not 0 < share < math.inf:
        raise Malformed(entry.lineno, f"the share of a stage is a positive number, got {ast.unparse(entry.elts[1]):.9}")
    return Stage(entry.elts[0].id, float(share), entry.lineno)
