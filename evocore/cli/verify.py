"""`evocore verify PROBLEM FILE...`."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Annotated

import typer

from evocore.errors import EvocoreError, InputError
from evocore.files import CONSTRUCTION_BYTES, read_bytes, read_open
from evocore.problems.registry import problem as find
from evocore.verifiers.client import Verifier
from evocore.verifiers.verdict import Standing, Verdict, decimal_digits, integer_digits

SHOWN_DIGITS = 20
NEGATIVE = 1


def command(
    problem: Annotated[str, typer.Argument(help="Name of a problem, or the folder of your own (./my_problem).")],
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Constructions as JSON; - reads one from stdin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a file.")] = False,
) -> None:
    """Check constructions: validity, arena score, exact score, rank among the references, alarms.

    A file holds what the arena takes, {"values": [...]}, or that inside {"solution": ...}. Exit code: 0 valid, 1 not
    valid, 2 cannot be read, 3 no verdict could be had; of several files the worst counts.
    """
    worst = 0
    with Verifier(problem) as verifier:
        for i, file in enumerate(files):
            name = file if len(files) > 1 else None
            try:
                verdict = verifier.verify(problem, read(file))
            except EvocoreError as error:
                print(f"evocore: {file}: {error}", file=sys.stderr)
                if as_json:
                    print(json.dumps({"file": file, "error": str(error), "problem": find(problem).slug}))
                worst = max(worst, error.exit_code)
                continue
            worst = max(worst, 0 if verdict.valid else NEGATIVE)
            if as_json:
                print(json.dumps({"file": file, **verdict.to_json()}))
            else:
                print(("\n" if i else "") + report(verdict, name), end="")
    raise typer.Exit(worst)


def read(file: str) -> bytes:
    """Read a construction's JSON text from a file, or from stdin for "-".

    Raises
    ------
    InputError
        It is no file, cannot be read, or is larger than any construction.
    """
    if file != "-":
        return read_bytes(file, CONSTRUCTION_BYTES)
    if sys.stdin is None:
        raise InputError("expected a construction on standard input, which is closed")
    return read_open(sys.stdin.fileno(), CONSTRUCTION_BYTES)


def report(verdict: Verdict, file: str | None = None) -> str:
    """Write a verdict for people."""
    rows = [("valid", "yes" if verdict.valid else "no")]
    rows += [("", reason) for reason in verdict.reasons]
    rows.append(("arena score", "none: rejected" if verdict.arena_score is None else repr(verdict.arena_score)))
    rows.append(("exact score", _exact(verdict)))
    rows += _standing(verdict)
    rows += [("alarms" if i == 0 else "", alarm) for i, alarm in enumerate(verdict.alarms or ("none",))]
    rows += list(verdict.extras.items())
    rows.append(("construction", f"sha256 {verdict.construction_sha256}"))
    rows.append(("verifier", f"digest {verdict.verifier_digest}"))
    width = max(len(name) for name, _ in rows)
    head = verdict.problem if file is None else f"{verdict.problem}  {file}"
    return "\n".join([head, *(f"  {name:<{width}}  {text}".rstrip() for name, text in rows)]) + "\n"


def _exact(verdict: Verdict) -> str:
    value = verdict.exact_score
    if value is None:
        return "none"
    if not isinstance(value, Fraction):
        lo = decimal_digits(value.lo, SHOWN_DIGITS, round_up=False)
        return f"between {lo} and {decimal_digits(value.hi, SHOWN_DIGITS, round_up=True)}"
    shown = decimal_digits(value, SHOWN_DIGITS, round_up=False)
    rest = "" if Fraction(shown) == value else "..."
    return f"{shown}{rest} = {_compact(value.numerator)} / {_compact(value.denominator)}"


def _compact(n: int) -> str:
    digits = integer_digits(n)
    return digits if len(digits) <= 20 else f"{digits[:8]}...{digits[-8:]} ({len(digits)} digits)"


def _place(s: Standing) -> str:
    """Say how many of the references are better; a rank counts the construction itself."""
    references = f"{s.n_references} reference{'s' * (s.n_references != 1)}"
    n_better = (s.rank or 1) - 1
    if n_better == 0:
        return f"of {references} none is better"
    return f"behind all {references}" if n_better == s.n_references > 1 else f"behind {n_better} of {references}"


def _standing(verdict: Verdict) -> list[tuple[str, str]]:
    s = verdict.standing
    if s is None:
        return [("rank", "the problem has no references")]
    best = f"{s.best_who} {s.best_score!r}"
    if s.rank is None or s.lead is None:
        return [("rank", f"none; best of {s.n_references} references: {best}")]
    rank = ("rank", f"{s.rank}, {_place(s)}; the best is {best}")
    if verdict.first_place:
        return [rank, ("first place", f"yes: {s.lead:.3g} ahead, {s.min_improvement:g} is asked for")]
    if s.lead <= 0:
        return [rank, ("first place", f"no: {-s.lead:.3g} behind, and {s.min_improvement:g} ahead is asked for")]
    if s.lead < s.min_improvement:
        return [rank, ("first place", f"no: only {s.lead:.3g} ahead, {s.min_improvement:g} is asked for")]
    return [
        rank,
        ("first place", f"no: {s.lead:.3g} ahead by exact score, but the arena's float would not be accepted"),
    ]
