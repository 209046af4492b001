"""The digest of a verifier process: SHA-256 over everything that it loaded, and what it stands on."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import BYTECODE_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING

from evocore.verifiers import sources

if TYPE_CHECKING:
    from evocore.problems.base import Problem

# Third parties by import name and by the name of their distribution; of those that are loaded, RECORD counts as well.
FOUNDATIONS = {
    "numpy": "numpy",
    "flint": "python_flint",
    "scipy": "scipy",
    "mpmath": "mpmath",
}

_NO_FILES = ("/proc/", "/dev/", "/sys/")
_CACHES = tuple(BYTECODE_SUFFIXES)


def parts(problems: Iterable[Problem]) -> dict[str, str]:
    """Digest, one by one, what decides the scores of this process.

    Parameters
    ----------
    problems : iterable of Problem
        What the process scores, loaded, each of them scored once.

    Returns
    -------
    dict of str to str
        By name: the SHA-256 of every file that was loaded (modules of whoever, shared objects, the interpreter, what a
        problem opened) and of every file of the problems, the Python version, and for NumPy, python-flint and the like
        the version with the SHA-256 of the RECORD of their distribution. The names do not depend on where things are
        installed.
    """
    found: dict[str, str] = {}
    compiled = {os.path.realpath(path): digest for path, digest in sources.compiled.items()}
    for path, name in sorted(_files(problems).items()):
        found[path if name in found else name] = compiled.get(path) or _sha256(path)
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


def shown_changes(names: list[str]) -> str:
    """Write the names of changed parts for a message: the first few of them."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _files(problems: Iterable[Problem]) -> dict[str, str]:
    """The files, and what they are called."""
    from evocore.problems.registry import folder_of, problem_files

    loaded = {os.path.realpath(path) for path in {*_modules(), *_mapped(), *sources.opened}}
    loaded = {p for p in loaded if not p.startswith(_NO_FILES) and not p.endswith(_CACHES) and os.path.isfile(p)}
    roots = _roots()
    files = {path: _name(path, roots) for path in loaded}
    for problem in problems:
        folder = os.path.realpath(folder_of(problem)) + os.sep
        for path in {*map(os.path.realpath, problem_files(problem)), *(p for p in loaded if p.startswith(folder))}:
            own = path.startswith(folder)
            files[path] = f"{problem.slug}/{path[len(folder) :]}" if own else f"shared/{os.path.basename(path)}"
    # After the problems: a file that belongs to a module goes by the module's name.
    for module in list(sys.modules.values()):
        name = getattr(getattr(module, "__spec__", None), "name", "")  # the spec's: __main__ has another in sys.modules
        file = getattr(module, "__file__", None)
        if (name == "evocore" or name.startswith("evocore.")) and file is not None:
            files[os.path.realpath(file)] = name
    return files


def _modules() -> Iterator[str]:
    """The files of the modules that are loaded."""
    for module in list(sys.modules.values()):
        if file := getattr(module, "__file__", None):
            yield file


def _mapped() -> Iterator[str]:
    """The shared objects and the interpreter: whatever stands in this process's memory as code, and has a file."""
    maps = Path("/proc/self/maps")
    for line in maps.read_text().splitlines() if maps.is_file() else ():
        _, rights, _, _, _, *path = line.split(maxsplit=5)
        if "x" in rights and path and path[0].startswith("/"):
            yield path[0]


def _roots() -> list[tuple[str, str]]:
    """The folders on Python's path, longest first, with what is written before a name in them."""
    library = os.path.realpath(os.path.dirname(os.__file__)) + os.sep
    parts_of_library = {library, f"{library}lib-dynload{os.sep}"}
    roots = {os.path.realpath(entry) + os.sep for entry in sys.path if entry} | parts_of_library
    return [(root, "python/" if root in parts_of_library else "") for root in sorted(roots, key=len, reverse=True)]


def _name(path: str, roots: list[tuple[str, str]]) -> str:
    """Name a file by its place below the folder that it was found in."""
    for root, prefix in roots:
        if path.startswith(root):
            return prefix + path[len(root) :]
    return f"system/{os.path.basename(path)}"


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _foundation(module: str, distribution: str) -> str:
    version = getattr(sys.modules[module], "__version__", "")
    home = Path(str(sys.modules[module].__file__)).parent.parent
    record = home / f"{distribution}-{version}.dist-info" / "RECORD"
    return f"{version} {_sha256(str(record)) if record.is_file() else 'without RECORD'}"
