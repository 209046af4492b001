"""What a candidate is locked into: the files that it may read, and the system calls that it may make.

It may read what honest programs import when they need it: Python's own library, NumPy, SciPy, Numba and what they
stand on, the kernels and the building blocks of this project, and the folder of a problem of one's own. Nothing else:
no home, no run, no stored construction, none of the controller's or the verifier's code. It may write nothing.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evocore.verifiers import lockdown
from evocore.verifiers.lockdown import READ, READ_DIR, READ_FILE, TRUNCATE, WRITE_FILE, Filter, Ruleset

# Packages that programs may import, and that what they import may load later.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "flint", "mpmath", "pyfftw", "evocore.kernels", "evocore.optim")

_LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/local/lib")
_DEVICES = {
    "/dev/null": READ_FILE | WRITE_FILE | TRUNCATE,
    "/dev/zero": READ_FILE,
    "/dev/urandom": READ_FILE,
    "/dev/random": READ_FILE,
}


@dataclass(frozen=True)
class Lock:
    """What one candidate is locked into."""

    ruleset: Ruleset
    filter: Filter

    def close(self) -> None:
        """Lock this process in, for good. It has forgone privileges before."""
        lockdown.forgo_powers()
        lockdown.hide_memory()
        self.ruleset.enforce()
        self.ruleset.close()
        self.filter.install()


class Confinement:
    """Makes the locks, in the runner: only closing them is left to the candidates.

    Raises
    ------
    SandboxUnavailable
        The machine has no Landlock, or another processor.
    """

    def __init__(self) -> None:
        lockdown.check_machine()
        self._filter = Filter(lockdown.CANDIDATE)
        self._paths = list(dict.fromkeys(readable()))
        self._folder = ""
        self._lock = self._make(self._paths)

    def lock(self, problem: str) -> Lock:
        """Give the lock of a candidate that works on a problem: a name, or the absolute path of a folder."""
        folder = problem if "/" in problem else ""
        if folder != self._folder:
            self._lock.ruleset.close()
            self._folder = folder
            self._lock = self._make([*self._paths, (Path(folder), READ)] if folder else self._paths)
        return self._lock

    def _make(self, paths: list[tuple[Path, int]]) -> Lock:
        ruleset = Ruleset()
        for path, rights in paths:
            ruleset.allow(path, rights)
        return Lock(ruleset, self._filter)


def readable() -> Iterator[tuple[Path, int]]:
    """Paths that candidates may use, and how."""
    yield from ((Path(device), rights) for device, rights in _DEVICES.items())
    yield Path("/etc/ld.so.cache"), READ
    for folder in _LIBRARIES:
        yield from _native(Path(folder))
    for prefix in {Path(sys.base_prefix), Path(sys.base_exec_prefix)}:
        yield from _native(prefix / "lib")
    for name in ("stdlib", "platstdlib"):
        yield from _without_packages(Path(sysconfig.get_path(name)))
    for name in PACKAGES:
        yield from _package(name)
    yield from _problems()


def visible() -> list[str]:
    """Paths that a runner needs which is to see nothing else: what candidates may use, and what it loads itself."""
    paths = [str(path) for path, _ in readable()]
    paths += [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    for name in ("evocore", "evocore.verifiers", "evocore.problems", "evocore.kernels"):
        spec = importlib.util.find_spec(name)
        paths += spec.submodule_search_locations or () if spec else ()
    # Where packages are links, and where Debian's libraries are links to.
    return [*paths, *map(os.path.realpath, paths), "/etc/alternatives"]


def _native(folder: Path) -> Iterator[tuple[Path, int]]:
    """The libraries of a folder: all that is in it where it is a folder of libraries and nothing else."""
    if folder.name in ("x86_64-linux-gnu", "lib64") and not any(
        Path(entry).is_relative_to(folder) for entry in sys.path
    ):
        yield folder, READ
    else:
        yield from ((library, READ) for library in folder.glob("lib*.so*"))


def _without_packages(library: Path) -> Iterator[tuple[Path, int]]:
    """Python's own library; the installed packages, where they are in it, only by their names."""
    installed = {Path(entry) for entry in sys.path} & {library / "site-packages", library / "dist-packages"}
    if not installed:
        yield library, READ
        return
    yield library, READ_DIR
    yield from ((entry, READ) for entry in library.iterdir() if entry not in installed)


def _package(name: str) -> Iterator[tuple[Path, int]]:
    """A package, and the libraries that its wheel has put beside it; nothing where it is not installed."""
    spec = importlib.util.find_spec(name)
    for folder in map(Path, spec.submodule_search_locations or () if spec else ()):
        yield folder, READ
        if "." not in name:
            yield folder.parent, READ_DIR  # Python lists a folder before it imports from it
            yield from ((libraries, READ) for libraries in folder.parent.glob("*.libs"))


def _problems() -> Iterator[tuple[Path, int]]:
    """What the built-in problems share; not what is stored with them."""
    spec = importlib.util.find_spec("evocore.problems")
    for folder in map(Path, spec.submodule_search_locations or () if spec else ()):
        yield folder, READ_DIR
        yield from ((module, READ) for module in folder.glob("*.py"))
