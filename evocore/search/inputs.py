"""What a run is given: programs and a construction, read and checked before anything is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evocore.errors import ConfigError, InfrastructureError, InputError, InvalidConstruction
from evocore.files import CONSTRUCTION_BYTES, read_bytes, read_text, shown
from evocore.problems.registry import optimizers
from evocore.verifiers.digest import changes, shown_changes
from evocore.verifiers.payload import read

if TYPE_CHECKING:
    from evocore.config import RunConfig
    from evocore.problems.base import Problem
    from evocore.search.memory import FloatArray
    from evocore.search.rundir import RunDir
    from evocore.verifiers import Verdict, Verifier


def check_mutators(config: RunConfig) -> None:
    """Refuse mutators that do not exist, with a ConfigError that names those that do."""
    from evocore.mutators import MUTATORS

    unknown = sorted(set(config.mutators) - set(MUTATORS))
    if unknown:
        raise ConfigError(f"expected mutators among {', '.join(sorted(MUTATORS))}, got {', '.join(unknown)}")


def initial_programs(problem: Problem, config: RunConfig) -> tuple[tuple[str, str, str], ...]:
    """Read the programs that a run begins with: one's own first, then the problem's."""
    found = [(read_program(name), "given", Path(name).stem) for name in config.program]
    found += [(read_program(path), "problem", path.stem) for path in optimizers(problem)]
    if not found:
        raise ConfigError(f"expected an optimizer program for {problem.slug}, found none; give one with --program FILE")
    return tuple(found)


def read_program(file: str | os.PathLike[str]) -> str:
    """Read an optimizer program; an InputError says with the file's name why it is none."""
    source = read_text(file)
    try:
        check_contract(source)
    except InputError as error:
        raise InputError(f"{shown(file)}: {error}") from None
    return source


def check_contract(source: str) -> None:
    """Refuse a text that is no optimizer program, with every reason."""
    from evocore.mutators import check_program

    reasons = check_program(source)
    if reasons:
        raise InputError(f"expected an optimizer program, got one that breaks the contract: {'; '.join(reasons)}")


def read_start(problem: Problem, file: str | os.PathLike[str]) -> FloatArray:
    """Read a construction as `evocore verify` does; an InputError says with the file's name what is wrong with it."""
    try:
        return read(problem, read_bytes(file, CONSTRUCTION_BYTES))
    except InputError as error:
        raise type(error)(f"{shown(file)}: {error}") from None


def check_scoring_code(run: Mapping[str, Any], verifier: Verifier, rundir: RunDir) -> None:
    """Refuse a verifier process that loaded other files than the run began with, and say which.

    Parameters
    ----------
    run : mapping
        The fields of the `run` event; empty for a run that has not begun.
    verifier : Verifier
        Just started.
    rundir : RunDir
    """
    begun = run.get("verifier_digest")
    if begun is None or begun == verifier.digest:
        return
    names = changes(run["verifier_parts"], verifier.parts) if "verifier_parts" in run else ["nobody noted which"]
    raise InfrastructureError(
        f"expected the scoring code that the run began with (digest {begun[:12]}), got another "
        f"({verifier.digest[:12]}); changed: {shown_changes(names)}; undo the change and resume, or begin a new "
        f"run with --start {rundir.best}"
    )


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
