"""`evocore problems [PROBLEM]`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evocore.problems.registry import problem as find
from evocore.problems.registry import problems as built_in

if TYPE_CHECKING:
    from evocore.problems.base import Problem

SCORING = """\
Three scores: the arena's float, operation for operation (arena_score); the true value of the numbers, as a rational or
an enclosure (exact_score), which decides; and a fast float inside a search."""


def command(
    problem: Annotated[
        str | None, typer.Argument(help="Name of a problem, or the folder of your own (./my_problem).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: an array of all, or one object.")] = False,
) -> None:
    """List the problems, or show one in full: statement, schema, references, how it is scored."""
    if problem is None:
        found = [find(name) for name in built_in()]
        print(json.dumps([summary(p) for p in found]) if as_json else table(found), end="\n" if as_json else "")
        return
    one = find(problem)
    print(json.dumps(details(one)) if as_json else page(one), end="\n" if as_json else "")


def summary(problem: Problem) -> dict[str, Any]:
    """Give what the list shows of a problem, as JSON types."""
    best = problem.best_reference
    return {
        "problem": problem.slug,
        "title": problem.title,
        "direction": problem.direction,
        "best": None if best is None else {"who": best.who, "score": best.score, "year": best.year},
        "min_improvement": problem.min_improvement,
    }


def details(problem: Problem) -> dict[str, Any]:
    """Give all about a problem, as JSON types."""
    return {
        **summary(problem),
        "statement": problem.statement,
        "arena_id": problem.arena_id,
        "schema": problem.solution.model_json_schema(),
        "schema_key": problem.schema_key,
        "min_length": problem.min_length,
        "max_length": problem.max_length,
        "default_size": problem.default_size,
        "target": problem.target,
        "proven_bound": problem.proven_bound,
        "references": [dict(vars(r)) for r in ranked(problem)],
    }


def table(found: list[Problem]) -> str:
    """Write the list for people."""
    rows = []
    for p in found:
        best = p.best_reference
        rows.append((p.slug, p.direction, "" if best is None else f"{best.score!r} ({best.who})", p.title))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "".join("  ".join([*(c.ljust(w) for c, w in zip(r, widths, strict=False)), r[3]]) + "\n" for r in rows)


def page(problem: Problem) -> str:
    """Write all about a problem for people."""
    arena = "" if problem.arena_id is None else f" (EinsteinArena problem {problem.arena_id})"
    lines = [f"{problem.slug}: {problem.title}{arena}", "", problem.statement.strip(), ""]
    lines += [f'Schema: {{"{problem.schema_key}": [{_length(problem)} finite numbers]}}', ""]
    lines += [SCORING, "", f"Direction: {problem.direction}. To reach: {problem.target!r}" + _asked(problem)]
    if problem.proven_bound is not None:
        lines.append(f"Proven bound: {problem.proven_bound!r}; a score beyond it is a defect of the scoring.")
    lines += ["", "References, best first:" if problem.references else "References: none"]
    who = max((len(r.who) for r in problem.references), default=0)
    score = max((len(repr(r.score)) for r in problem.references), default=0)
    lines += [f"  {r.score!r:<{score}}  {r.who:<{who}}  {r.year}  {r.source}" for r in ranked(problem)]
    return "\n".join(lines) + "\n"


def _length(problem: Problem) -> str:
    least, most = problem.min_length, problem.max_length
    return str(least) if least == most else f"{least} to {most}"


def _asked(problem: Problem) -> str:
    if problem.best_reference is None or not problem.min_improvement:
        return "."
    return f" (the best reference and {problem.min_improvement:g}, which the arena asks of a new first place)."


def ranked(problem: Problem) -> list[Any]:
    """Return the references, best first."""
    return sorted(problem.references, key=lambda r: r.score, reverse=problem.direction == "maximize")
