"""The digest of a verifier process: SHA-256 over everything of ours that it loaded, and what it stands on."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evocore.problems.base import Problem

# Third parties by import name and by the name of their distribution; those that are loaded are digested.
FOUNDATIONS = {
    "numpy": "numpy",
    "flint": "python_flint",
    "scipy": "scipy",
    "mpmath": "mpmath",
}


def parts(problems: Iterable[Problem]) -> dict[str, str]:
    """Digest, one by one, what decides the scores of this process.

    Parameters
    ----------
    problems : iterable of Problem
        What the process scores, loaded.

    Returns
    -------
    dict of str to str
        By name: the SHA-256 of every loaded file of `evocore`, of every file of the problems, the Python version, and
        for NumPy, python-flint and the like the version with the SHA-256 of the RECORD of their distribution.
        The names do not depend on where things are installed.
    """
    found = {name: _sha256(path) for path, name in sorted(_files(problems).items())}
    found["python"] = sys.version
    for module, distribution in FOUNDATIONS.items():
        if module in sys.modules:
            found[module] = _foundation(module, distribution)
    return found


def total(parts: dict[str, str]) -> str:
    """Digest the parts into one name: 64 hexadecimal digits."""
    lines = (f"{name}\0{value}\n" for name, value in sorted(parts.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Name the parts that are new, gone or changed."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _files(problems: Iterable[Problem]) -> dict[Path, str]:
    from evocore.problems.registry import folder_of, problem_files

    files: dict[Path, str] = {}
    loaded = {Path(file).resolve() for m in list(sys.modules.values()) if (file := getattr(m, "__file__", None))}
    for problem in problems:
        folder = folder_of(problem)
        for path in {*problem_files(problem), *(p for p in loaded if p.is_relative_to(folder))}:
            own = path.is_relative_to(folder)
            files[path.resolve()] = f"{problem.slug}/{path.relative_to(folder)}" if own else f"shared/{path.name}"
    # After the problems: a file that belongs to a module goes by the module's name.
    for module in list(sys.modules.values()):
        name = getattr(getattr(module, "__spec__", None), "name", "")  # the spec's: __main__ has another in sys.modules
        file = getattr(module, "__file__", None)
        if (name == "evocore" or name.startswith("evocore.")) and file is not None:
            files[Path(file).resolve()] = name
    return files


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _foundation(module: str, distribution: str) -> str:
    version = getattr(sys.modules[module], "__version__", "")
    home = Path(str(sys.modules[module].__file__)).parent.parent
    record = home / f"{distribution}-{version}.dist-info" / "RECORD"
    return f"{version} {_sha256(record) if record.is_file() else 'without RECORD'}"
