"""Exact, protected, fast evaluation for the search of mathematical constructions, and the search itself.

=============== ================================================================================
`problem`       a problem by name, or from a folder of one's own
`problems`      the names of the built-in problems
`score`         the arena's score of a construction
`score_many`    the same for a batch
`verify`        everything about a construction, exactly, from a protected process
`certify`       a proof file of an exact score, which checks itself
`Ratchet`       keep the best construction, by exact score
`Verifier`      the protected process, for many constructions and for programs that are not trusted
`run`           search for better constructions
=============== ================================================================================

What can go wrong stands in `evocore.errors`. Names load on first use.
"""

# Importing this package loads nothing but the next two lines: see the test of its import time.
import importlib

from evocore._version import __version__ as __version__

_HOMES = {
    "Ratchet": "evocore.verifiers.ratchet",
    "Verifier": "evocore.verifiers.client",
    "certify": "evocore.api",
    "problem": "evocore.problems.registry",
    "run": "evocore.search.loop",
    "score": "evocore.api",
    "score_many": "evocore.api",
    "verify": "evocore.api",
}

__all__ = ["Ratchet", "Verifier", "certify", "problem", "problems", "run", "score", "score_many", "verify"]


def __getattr__(name: str) -> object:
    if name == "problems":
        return importlib.import_module("evocore.problems")
    if name not in _HOMES:
        raise AttributeError(f"module 'evocore' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
