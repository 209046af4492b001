"""What a program must keep to be evaluated at all, checked on its text alone.

This is hygiene: it turns away, before they cost anything, programs that cannot work and programs that carry an answer
in them. It is not a guard against malice; the sandbox is.
"""

import ast
import builtins
import hashlib
import re
import threading
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from evocore.mutators.declarations import Malformed, is_stage_list, read_stages, read_tunable
from evocore.mutators.names import Names, imported_as, names_in, nodes_in

ENTRY_POINT = "optimize"
PARAMETERS = ("problem", "start", "seed", "deadline", "offer")
# fmt: off
ALLOWED_IMPORTS = frozenset({
    "__future__", "collections", "dataclasses", "functools", "heapq", "itertools", "math", "numba", "numpy", "random",
    "scipy", "time", "typing", "evocore.kernels", "evocore.optim",
})
FORBIDDEN_NAMES = frozenset({
    "__import__", "breakpoint", "compile", "eval", "exec", "globals", "importlib", "input", "locals", "open", "vars",
})
ALLOWED_DUNDERS = frozenset({
    "__init__", "__post_init__", "__name__", "__call__", "__len__", "__version__", "__setattr__",
})
# fmt: on
MAX_STAGES = 32
MAX_TEXT = 4000
_MODULE_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__"}
_COUNTED_FROM = 3
_BITS_PER_LITERAL = 64
_MAX_INDEX = 1000
_quiet = threading.Lock()

Reasons = Iterator[tuple[int, str]]


@dataclass(frozen=True)
class Contract:
    """The settable part of the contract.

    Parameters
    ----------
    max_bytes : int
        Size of the file.
    max_literals : int
        Numbers in the program, the ones of tunables and of the stage list aside, and so are the indices in `x[3]`. 0, 1
        and 2 count only inside of a list, tuple, set or dictionary, where they are data rather than arithmetic; an
        integer of many digits counts once for every 64 bits.
    bank_names : collection of str
        Names of the tasks that candidates are scored on; no string of a program may hold one.
    """

    max_bytes: int = 200_000
    max_literals: int = 64
    bank_names: Collection[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "bank_names", tuple(self.bank_names))

    def broken_by(self, source: str) -> list[str]:
        """Say in which points `source` breaks the contract: one sentence each, empty if in none."""
        return list(_broken_by(self, source))


@lru_cache(maxsize=1024)  # a parent is checked again with every child, and a child again by the loop
def _broken_by(contract: Contract, source: str) -> tuple[str, ...]:
    try:
        n_bytes = len(source.encode())
    except UnicodeEncodeError as error:
        return (f"the program is not text: character {error.start} cannot be written as UTF-8",)
    if n_bytes > contract.max_bytes:
        return (f"the program has {n_bytes} bytes, the limit is {contract.max_bytes}",)
    try:
        reasons = sorted(set(_broken(parse(source), contract)))
    except SyntaxError as error:
        return (f"line {error.lineno or 1}: not valid Python: {error.msg}",)
    except (ValueError, OverflowError) as error:
        return (f"not valid Python: {error}",)
    except (RecursionError, MemoryError):
        return ("nested too deeply to be read: split the longest expressions",)
    return tuple(f"line {line}: {text}" for line, text in reasons)


def check_program(
    source: str, *, max_bytes: int = 200_000, max_literals: int = 64, bank_names: Collection[str] = ()
) -> list[str]:
    r"""Check a program against the contract, without running it.

    Parameters
    ----------
    source : str
        The whole file.
    max_bytes, max_literals, bank_names
        See `Contract`.

    Returns
    -------
    list of str
        What is wrong, one sentence with its line each; empty if the program keeps the contract. A reason that has
        `hard_coded` in it means that the program carries an answer.

    Examples
    --------
    >>> check_program("def optimize(problem, start, seed, deadline, offer):\n    return start\n")
    []
    >>> check_program("def optimize(problem, start, seed, deadline, offer):\n    return stort\n")
    ['line 2: stort is not defined']
    """
    return Contract(max_bytes, max_literals, bank_names).broken_by(source)


def parse(source: str) -> ast.Module:
    """Parse and compile, silently.

    Compiling finds what parsing does not: `return` outside of a function, `nonlocal` of nothing.

    Raises
    ------
    SyntaxError, ValueError, OverflowError, RecursionError, MemoryError
        Whatever Python says.
    """
    with _quiet, warnings.catch_warnings():  # an odd escape in a child must not print on the live view
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
        compile(tree, "<program>", "exec", dont_inherit=True)
    return tree


def source_sha256(source: str) -> str:
    """Identity of a program: SHA-256 of its text, in hexadecimal."""
    return hashlib.sha256(source.encode()).hexdigest()


@lru_cache(maxsize=1024)
def fingerprint(source: str) -> str:
    """Identity of what a program does: SHA-256 of its syntax tree; comments, layout and docstrings do not count.

    Comparable between runs of the same Python version only.

    Raises
    ------
    SyntaxError
        The text is not Python.
    """
    tree = parse(source)
    for node in nodes_in(tree):
        if isinstance(node, ast.Constant):
            node.kind = None  # u"" is ""
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _docstring(node) is not None:
            del body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _docstring(node: ast.AST) -> ast.Constant | None:
    if not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or not node.body:
        return None
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value
    return None


def _broken(tree: ast.Module, contract: Contract) -> Reasons:
    nodes = nodes_in(tree)
    names = names_in(tree)
    yield from _entry_point(tree, names)
    yield from _imports(nodes)
    yield from _forbidden(nodes)
    yield from _undefined(tree, names)
    declarations, reasons = _declarations(tree)
    yield from reasons
    yield from _stage_functions(tree, names)
    yield from _hard_coded(nodes, declarations, contract)


def _entry_point(tree: ast.Module, names: list[Names]) -> Reasons:
    found = [(one, bound) for one, bound in zip(tree.body, names, strict=True) if ENTRY_POINT in bound.binds]
    expected = f"def {ENTRY_POINT}({', '.join(PARAMETERS)})"
    if not found:
        yield 1, f"expected {expected} at module level, found none"
        return
    for statement, _ in found[1:]:
        yield statement.lineno, f"{ENTRY_POINT} is bound a second time; expected exactly one {expected}"
    function = found[0][0]
    if not isinstance(function, ast.FunctionDef):
        yield function.lineno, f"{ENTRY_POINT} is not a plain function; expected {expected}"
        return
    args = function.args
    parameters = tuple(arg.arg for arg in [*args.posonlyargs, *args.args])
    if parameters != PARAMETERS or args.posonlyargs or args.vararg or args.kwonlyargs or args.kwarg:
        yield function.lineno, f"expected {expected}, got def {ENTRY_POINT}({ast.unparse(args)})"


def _imports(nodes: list[ast.AST]) -> Reasons:
    for node in nodes:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level > 0:
                yield node.lineno, "relative import: a program is one file of its own"
                continue
            modules = [node.module or ""]
            if node.module == "evocore":  # `from evocore import optim` is as good as `import evocore.optim`
                modules = [f"evocore.{alias.name}" for alias in node.names]
            if any(alias.name == "*" for alias in node.names):
                yield node.lineno, f"import * from {modules[0]}: name what is imported"
        else:
            continue
        for module in modules:
            if not _is_allowed(module):
                known = ", ".join(sorted(ALLOWED_IMPORTS - {"__future__"}))
                yield node.lineno, f"import of {module}: only these may be imported: {known}"


def _is_allowed(module: str) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:length]) in ALLOWED_IMPORTS for length in range(1, len(parts) + 1))


def _forbidden(nodes: list[ast.AST]) -> Reasons:
    for node in nodes:
        if isinstance(node, ast.Attribute):
            if _is_forbidden_dunder(node.attr):
                yield node.lineno, f"{node.attr} is a forbidden name"
        elif isinstance(node, ast.Name):
            if node.id in FORBIDDEN_NAMES or _is_forbidden_dunder(node.id):
                yield node.lineno, f"{node.id} is a forbidden name"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not _is_plain_access(node):
            yield node.lineno, f"{node.func.id} takes the plain name of an attribute, written out"


def _is_forbidden_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and len(name) > 4 and name not in ALLOWED_DUNDERS


def _is_plain_access(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Name) or call.func.id not in ("getattr", "setattr", "delattr"):
        return True
    name = call.args[1] if len(call.args) > 1 else None
    return isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("_")


def _undefined(tree: ast.Module, names: list[Names]) -> Reasons:
    """Names that would raise a NameError when they are read, or already at import."""
    bound = set(_MODULE_NAMES).union(*(one.declares for one in names))
    later = bound.union(*(one.binds for one in names))
    for statement, one in zip(tree.body, names, strict=True):
        so_far = bound.union(one.binds) if _binds_as_it_goes(statement) else set(bound)
        for occurrence in one.occurrences:
            if not occurrence.is_read:
                continue
            if occurrence.name not in later:
                yield occurrence.line, f"{occurrence.name} is not defined"
            elif occurrence.is_eager and occurrence.name not in so_far:
                yield occurrence.line, f"{occurrence.name} is used before it is defined"
        bound.update(one.binds)


def _binds_as_it_goes(statement: ast.stmt) -> bool:
    """Say whether a statement may read at its end what it bound at its beginning."""
    is_definition = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    is_assignment = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
    if not is_definition and not is_assignment:
        return True
    return is_assignment and any(isinstance(node, ast.NamedExpr) for node in nodes_in(statement))


def _declarations(tree: ast.Module) -> tuple[list[ast.stmt], list[tuple[int, str]]]:
    """Statements whose numbers are meant to be there, and what is wrong with them."""
    declarations: list[ast.stmt] = []
    reasons: list[tuple[int, str]] = []
    first_lines: dict[str, int] = {}
    for statement in tree.body:
        try:
            tunable = read_tunable(statement)
            stages = read_stages(statement) if is_stage_list(statement) else ()
        except Malformed as malformed:
            reasons.append((malformed.line, str(malformed)))
            continue
        if tunable is None and not stages:
            continue
        declarations.append(statement)
        name = tunable.name if tunable else "STAGES"
        if name in first_lines:
            reasons.append((statement.lineno, f"{name} is declared a second time, after line {first_lines[name]}"))
        first_lines.setdefault(name, statement.lineno)
        if len(stages) > MAX_STAGES:
            reasons.append((statement.lineno, f"STAGES has {len(stages)} entries, the limit is {MAX_STAGES}"))
    return declarations, reasons


def _stage_functions(tree: ast.Module, names: list[Names]) -> Reasons:
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    imported = {imported_as(a) for one in tree.body if isinstance(one, ast.ImportFrom) for a in one.names}
    for statement in tree.body:
        if not is_stage_list(statement):
            continue
        try:
            stages = read_stages(statement)
        except Malformed:  # reported with the declarations
            continue
        for stage in stages:
            if stage.function in functions:
                args = functions[stage.function].args
                n_required = len(args.posonlyargs) + len(args.args) - len(args.defaults)
                if not args.vararg and not n_required <= 2 <= len(args.posonlyargs) + len(args.args):
                    yield stage.line, f"the stage {stage.function} takes (search, until), got ({ast.unparse(args)})"
            elif stage.function not in imported:
                yield stage.line, f"the stage {stage.function} is not a function of this module"


def _hard_coded(nodes: list[ast.AST], declarations: list[ast.stmt], contract: Contract) -> Reasons:
    docstrings = {id(_docstring(node)) for node in nodes}
    exempt = {id(inner) for one in declarations for inner in nodes_in(one)}
    indices = _indices(nodes)
    displays = [n for n in nodes if isinstance(n, ast.List | ast.Tuple | ast.Set | ast.Dict) and id(n) not in indices]
    in_display = {id(inner) for display in displays for inner in nodes_in(display)}
    n_literals, n_characters = 0, 0
    constants = sorted((node for node in nodes if isinstance(node, ast.Constant)), key=lambda node: node.lineno)
    for node in constants:
        if isinstance(node.value, str | bytes) and id(node) not in docstrings:
            n_characters += len(node.value)
            if n_characters - len(node.value) <= MAX_TEXT < n_characters:
                yield node.lineno, f"hard_coded: more than {MAX_TEXT} characters of text in strings"
            yield from _bank_names_in(node, contract.bank_names)
        elif id(node) not in exempt and _is_number(node.value) and id(node) not in indices:
            n_before, n_literals = n_literals, n_literals + _weight(node.value, is_data=id(node) in in_display)
            if n_before <= contract.max_literals < n_literals:
                yield node.lineno, f"hard_coded: more than {contract.max_literals} numeric literals"
    if len(declarations) > contract.max_literals:
        yield declarations[-1].lineno, f"hard_coded: more than {contract.max_literals} tunables"


def _indices(nodes: list[ast.AST]) -> set[int]:
    """Identities of what stands directly between square brackets: `x[:, 3]` is no data."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Subscript):
            parts = [node.slice, *node.slice.elts] if isinstance(node.slice, ast.Tuple) else [node.slice]
            found.update(id(p) for p in parts if not isinstance(p, ast.Constant) or _is_small(p.value))
    return found


def _is_small(value: object) -> bool:
    return isinstance(value, int) and value < _MAX_INDEX


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _weight(value: object, *, is_data: bool) -> int:
    if not isinstance(value, int):
        return 1
    if value < _COUNTED_FROM and not is_data:
        return 0
    return max(1, -(-value.bit_length() // _BITS_PER_LITERAL))


def _bank_names_in(node: ast.Constant, bank_names: Collection[str]) -> Reasons:
    text = node.value if isinstance(node.value, str) else str(node.value)
    for name in bank_names:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            yield node.lineno, f"hard_coded: the name of the task {name} in a string"
