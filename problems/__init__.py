"""What is asked: schemas, scores, exact scores, references, starts.

`problem("erdos-min-overlap")` gives a built-in problem, `problem("./my_problem")` one from a folder. Importing this
package imports no problem and no numeric library; asking for a problem imports that one.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from evocore.problems.registry import load_folder, optimizers, problem, problem_files, problems

if TYPE_CHECKING:
    from evocore.problems.base import Enclosure, Exact, ExactResult, Problem, Reference

_BASE = ("Enclosure", "Exact", "ExactResult", "Problem", "Reference")

__all__ = [  # noqa: RUF022 (grouped: finding problems, then writing them)
    "load_folder",
    "optimizers",
    "problem",
    "problem_files",
    "problems",
    "Enclosure",
    "Exact",
    "ExactResult",
    "Problem",
    "Reference",
]


def __getattr__(name: str) -> Any:
    if name in _BASE:
        from evocore.problems import base

        return getattr(base, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Listing(ModuleType):
    """The class of this package: called, it lists the built-in problems, as in `evocore.problems()`.

    The name stands for both, the public function and the package; importing the package binds it to the package.
    """

    def __call__(self) -> tuple[str, ...]:
        return problems()


sys.modules[__name__].__class__ = _Listing
