"""What a run is given: programs and a construction, read and checked before anything is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from evocore.errors import ConfigError, InputError, InvalidConstruction
from evocore.problems.registry import optimizers

if TYPE_CHECKING:
    from evocore.config import RunConfig
    from evocore.problems.base import Problem
    from evocore.search.memory import FloatArray
    from evocore.verifiers import Verdict


def check_mutators(config: RunConfig) -> None:
    """Refuse mutators that do not exist, with a ConfigError that names those that do."""
    from evocore.mutators import MUTATORS

    unknown = sorted(set(config.mutators) - set(MUTATORS))
    if unknown:
        raise ConfigError(f"expected mutators among {', '.join(sorted(MUTATORS))}, got {', '.join(unknown)}")


def initial_programs(problem: Problem, config: RunConfig) -> tuple[tuple[str, str, str], ...]:
    """Read the programs that a run begins with: one's own first, then the problem's."""
    from evocore.mutators import check_program

    found = []
    for name in config.program:
        source = _read_text(Path(name), "an optimizer program")
        reasons = check_program(source)
        if reasons:
            raise InputError(f"expected an optimizer program, got one that breaks the contract: {name}: {reasons[0]}")
        found.append((source, "given", Path(name).stem))
    found += [(path.read_text(), "problem", path.stem) for path in optimizers(problem)]
    if not found:
        raise ConfigError(f"expected an optimizer program for {problem.slug}, found none; give one with --program FILE")
    return tuple(found)


def read_start(problem: Problem, path: Path) -> FloatArray:
    """Read a construction in the problem's schema; an InputError says what is wrong with it."""
    text = _read_text(path, "a construction")
    try:
        payload = json.loads(text)
    except ValueError as error:
        raise InputError(f"expected JSON, got something else ({error}): {path}") from None
    return problem.parse(payload)


def check_start(verdict: Verdict, name: str | None) -> None:
    """Refuse a construction that is not valid, or whose arena score is not true, so that gains on it mean nothing."""
    if not verdict.valid or verdict.arena_score is None:
        reason = verdict.reasons[0] if verdict.reasons else "it has no score"
        raise InputError(f"expected a valid construction to start from, got one that is not: {name}: {reason}")
    if not verdict.is_true:
        raise InvalidConstruction(
            f"expected a construction to start from whose arena score is true, got one with the alarm {verdict.doubt} "
            f"({name})"
        )


def _read_text(path: Path, what: str) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InputError(f"expected {what}, got {(error.strerror or '').lower()}: {path}") from None
    except UnicodeDecodeError:
        raise InputError(f"expected {what}, got a file that is not text: {path}") from None
