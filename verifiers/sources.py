"""What this process loads: our own modules from their sources, and a note of every file that is opened to be read.

Python runs a module from `__pycache__` where it finds one that claims the source's time and size, so the digest of a
source alone would not say what runs. Modules of `evocore`, and those of a problem's folder, are therefore compiled here
from the very bytes whose SHA-256 is noted. Other people's packages come from their caches, as installed.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

OURS = "evocore"
OF_FOLDERS = "evocore_problem_"

compiled: dict[str, str] = {}
"""SHA-256 of the sources that were compiled here, by path."""

opened: set[str] = set()
"""Paths that were opened to be read since `watch`."""


class _Loader(SourceFileLoader):
    """Compiles the source, whatever a cache says."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        compiled[path] = hashlib.sha256(source).hexdigest()
        code: CodeType = self.source_to_code(source, path)
        return code


class _Finder(MetaPathFinder):
    """Finds what the finders behind it find, and has it loaded from source."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != OURS and not fullname.startswith(OF_FOLDERS):
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(fullname, spec.loader.path)
            spec.cached = None
        return spec


def watch() -> None:
    """Begin: for this process, and for good."""
    sys.addaudithook(_note)
    sys.meta_path.insert(0, _Finder())


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str) and flags & os.O_ACCMODE == os.O_RDONLY:
            opened.add(path)
