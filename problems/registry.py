"""Find problems by name or folder, and load them the same way in every process."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from evocore.errors import ConfigError, UnknownProblem

if TYPE_CHECKING:
    from evocore.problems.base import Problem

HOME = Path(__file__).resolve().parent
GENERIC_OPTIMIZERS = HOME / "general" / "optimizers"

_loaded: dict[Path, tuple[bytes, Problem]] = {}
_lock = threading.RLock()


def problems() -> tuple[str, ...]:
    """Return the names of the built-in problems, in alphabetical order."""
    return tuple(sorted(p.parent.name.replace("_", "-") for p in HOME.glob("*/problem.py")))


def problem(name: str | os.PathLike[str] | Problem) -> Problem:
    """Return a problem by name or folder.

    Parameters
    ----------
    name : str or path
        Name of a built-in problem ("erdos-min-overlap"), or path of a folder that holds `problem.py`; a path is told
        from a name by its slash ("./my_problem"). A problem is returned as it is.

    Returns
    -------
    Problem
        The same object for the same name, as long as the folder's files do not change.

    Raises
    ------
    UnknownProblem
        No such name or folder; names the near ones.
    ConfigError
        The folder's `problem.py` is not a problem; says why, and in which line.
    """
    if not isinstance(name, str | os.PathLike):
        return name
    text = os.fspath(name)
    if isinstance(name, os.PathLike) or "/" in text or os.sep in text or text in (".", ".."):
        return load_folder(text)
    if text in problems():
        found: Problem = importlib.import_module(f"evocore.problems.{text.replace('-', '_')}.problem").problem
        return found
    raise UnknownProblem(_unknown(text))


def _unknown(name: str) -> str:
    import difflib

    known = problems()
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    near = difflib.get_close_matches(plain, known, n=3, cutoff=0.5) or [k for k in known if plain and plain in k]
    advice = f"did you mean {' or '.join(near)}?" if near else f"known problems: {', '.join(known)}"
    if (Path(name) / "problem.py").is_file():
        advice = f'for the folder of that name write "./{name}"'
    return f'expected the name of a problem or a folder, got "{name}"; {advice}'


def load_folder(path: str | os.PathLike[str]) -> Problem:
    """Load the problem of a folder.

    Parameters
    ----------
    path : str or path
        A folder that holds `problem.py`, which defines `problem = MyProblem()`. The folder's other modules can be
        imported relatively (`from .tables import T`).

    Returns
    -------
    Problem
        Loading twice gives the same object, unless a file has changed in between.

    Raises
    ------
    UnknownProblem
        No such folder, or no `problem.py` in it.
    ConfigError
        `problem.py` does not load or does not define a problem.
    """
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise UnknownProblem(f"expected the folder of a problem, got {os.fspath(path)}, which is no folder")
    file = folder / "problem.py"
    if not file.is_file():
        raise UnknownProblem(f"expected a file problem.py in the folder {os.fspath(path)}, found none")
    if folder.parent == HOME:
        return problem(folder.name.replace("_", "-"))
    with _lock:
        try:
            digest = _digest(folder)
        except OSError as error:
            raise ConfigError(f"expected readable files in {folder}, got {error}") from error
        known = _loaded.get(folder)
        if known is not None and known[0] == digest:
            return known[1]
        found = _checked(_execute(folder, file), file)
        found.folder = folder
        _loaded[folder] = (digest, found)
        return found


def _sources(folder: Path) -> list[Path]:
    """The Python files that decide what a folder's problem is: its modules and sub-packages, not its optimizers."""
    found = [p for p in folder.glob("*.py") if p.is_file()]
    for package in folder.glob("*/__init__.py"):
        if package.parent.name != "optimizers":
            found += _sources(package.parent)
    return sorted(found)


def _digest(folder: Path) -> bytes:
    total = hashlib.sha256()
    for file in _sources(folder):
        content = file.read_bytes()
        total.update(f"{file.relative_to(folder)}\0{len(content)}\0".encode())
        total.update(content)
    return total.digest()


def _execute(folder: Path, file: Path) -> ModuleType:
    """Run `problem.py` as a package of its own, so that two folders with the same file names do not meet."""
    name = f"evocore_problem_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    for old in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
        del sys.modules[old]
    module = ModuleType(name)
    module.__file__ = str(file)
    module.__path__ = [str(folder)]
    module.__package__ = name
    sys.modules[name] = module
    try:
        # Compiled here, not by the import system: a cached .pyc could outlive an edit, and nothing is written.
        exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:  # another's file: whatever it raises is its defect, and is told as such
        del sys.modules[name]
        raise ConfigError(_defect(error, folder, file)) from error
    return module


def _defect(error: BaseException, folder: Path, file: Path) -> str:
    """One sentence with the file and line where loading failed."""
    import traceback

    where, line = str(file), 0
    if isinstance(error, SyntaxError) and error.filename:
        return f"expected valid Python in {error.filename}, line {error.lineno}: {error.msg}"
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename).is_relative_to(folder):
            where, line = frame.filename, frame.lineno or 0
    said = " ".join(str(error).split())
    at = f"{where}, line {line}" if line else where
    return f"expected {file} to load, got {type(error).__name__} in {at}: {said}"


def _checked(module: ModuleType, file: Path) -> Problem:
    from evocore.problems.base import Problem

    found = module.__dict__.get("problem")
    if found is None:
        raise ConfigError(f'expected {file} to define "problem", an object of a subclass of Problem; it does not')
    if isinstance(found, type):
        raise ConfigError(
            f'expected "problem" in {file} to be an object, got the class itself: write problem = {found.__name__}()'
        )
    if not isinstance(found, Problem):
        raise ConfigError(
            f'expected "problem" in {file} to be an object of a subclass of Problem, got a {type(found).__name__}'
        )
    for defect in _defects(found):
        raise ConfigError(f"{file}: {defect}")
    return found


def _defects(found: Problem) -> list[str]:
    """What is missing or wrong in a problem's own statement, one sentence each."""
    from evocore.problems.base import Problem, Reference

    bad = []
    for name in ("slug", "title", "statement", "direction"):
        value = getattr(found, name, None)
        if not isinstance(value, str) or not value.strip():
            bad.append(f"expected the attribute {name}, a text, got {value!r}")
    if not bad and found.direction not in ("minimize", "maximize"):
        bad.append(f'expected direction "minimize" or "maximize", got {found.direction!r}')
    for name in ("score", "exact"):
        if getattr(type(found), name) is getattr(Problem, name):
            bad.append(f"expected the method {name}(self, x), found none")
    lengths = (found.min_length, found.default_size, found.max_length)
    if not all(type(n) is int for n in lengths) or not 1 <= lengths[0] <= lengths[1] <= lengths[2]:
        shown = ", ".join(map(repr, lengths))
        bad.append(f"expected integers 1 <= min_length <= default_size <= max_length, got {shown}")
    if not all(isinstance(r, Reference) for r in found.references):
        bad.append("expected references to be a tuple of Reference objects")
        return bad
    if type(found).target is Problem.target and not found.references:
        bad.append("expected references, or a number target to reach, found neither")
    elif type(found).target is not Problem.target and type(found.target) not in (int, float):
        bad.append(f"expected a number target, got {found.target!r}")
    return bad


def problem_files(which: str | os.PathLike[str] | Problem) -> list[Path]:
    """Return the files that decide how a problem is scored, sorted: what a digest of the problem must cover.

    For a built-in problem the modules that all of them share belong to it too; optimizer programs never do.
    """
    found = problem(which)
    folder = folder_of(found)
    shared = [p for p in HOME.glob("*.py") if p.is_file()]
    return sorted({*_sources(folder), *shared})


def folder_of(which: str | os.PathLike[str] | Problem) -> Path:
    """Return the folder of a problem: `problem.py`, `optimizers/`, `starts/`, `records/`."""
    found = problem(which)
    return found.folder if found.folder is not None else HOME / found.slug.replace("-", "_")


def optimizers(which: str | os.PathLike[str] | Problem) -> list[Path]:
    """Return the optimizer programs of a problem, sorted; the generic ones where it has none of its own."""
    own = _programs(folder_of(which) / "optimizers")
    return own or _programs(GENERIC_OPTIMIZERS)


def _programs(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("*.py") if not p.name.startswith("_"))
