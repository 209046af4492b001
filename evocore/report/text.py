"""A run in words: the table at the end of a run and of `evocore show`, `report.md`, and the writing of both reports."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

from evocore.config import RunConfig
from evocore.ledger import write_file
from evocore.report.summary import Step, Summary, problem_of, read_summary
from evocore.report.words import clock, confinement, distance, exact_digits, minutes, score_digits
from evocore.search.rundir import RunDir

if TYPE_CHECKING:
    from rich.console import RenderableType


def write_report(path: str | os.PathLike[str]) -> Summary:
    """Write `report.md` and `report.png` into a run directory and return what they tell.

    Raises
    ------
    InputError
        There is no run.
    LedgerCorrupt
        The ledger's chain is broken.
    InfrastructureError
        The disk refuses.
    """
    summary = read_summary(path)
    run = RunDir(path)
    write_file(run.path / "report.md", markdown(summary).encode())
    found = problem_of(RunConfig.from_toml(run.config))
    if summary.best is not None and found is not None:
        from evocore.report.picture import draw

        x = found.parse(json.loads((run.path / summary.best.file).read_bytes()))
        drawn = io.BytesIO()
        draw(drawn, found, x, summary.trace, summary.elapsed_seconds)
        write_file(run.path / "report.png", drawn.getvalue())
    return summary


_FILES = ("best.json", "verdict.json", "report.png", "report.md", "winners/lineage.md")
_WHY = {
    "time": "the time is up",
    "target": "the target is reached",
    "interrupted": "interrupted",
    "evaluations": "the evaluations are used up",
    "rounds": "the rounds are done",
    "exhausted": "nothing is left to try",
    "failed": "something failed",
}


def headline(summary: Summary) -> str:
    """Say in one line how the run stands."""
    if summary.status == "running":
        how = f"running, {minutes(summary.elapsed_seconds)} of {minutes(summary.budget_seconds)}"
    elif summary.status == "finished":
        how = f"finished after {minutes(summary.elapsed_seconds)} ({_WHY.get(summary.ended, summary.ended)})"
    else:
        how = f"stopped after {minutes(summary.elapsed_seconds)} of {minutes(summary.budget_seconds)}"
    nothing = "nothing that counts found" if summary.quarantined else "nothing valid found"
    best = nothing if summary.best is None else score_digits(summary.best.arena_score)
    return f"{summary.title}: {best}, {how}"


def standing(summary: Summary) -> str:
    """Say which published values are passed, and how far the next one is."""
    best = summary.best
    if best is None or not summary.references:
        return ""
    if best.first_place:
        return "beats every published value by the minimum improvement"
    ahead = [r for r in summary.references if r.passed_seconds is None]
    beaten = len(summary.references) - len(ahead)
    words = f"beats {beaten} of {len(summary.references)} published values"
    if ahead:
        words += f", {distance(best.arena_score, ahead[0].score)} from the next ({ahead[0].who} {ahead[0].year})"
    return words


def counts(summary: Summary) -> str:
    """Say what the run did, in numbers."""
    words = (
        f"{summary.evaluations:,} evaluations of {summary.programs:,} programs in {summary.rounds:,} rounds, "
        f"{summary.hand_ins:,} hand-ins, {len(summary.trace):,} improvements"
    )
    if summary.quarantined:
        words += f", {summary.quarantined} set aside because their arena scores are not true ({summary.doubt})"
    return words


def final_table(summary: Summary) -> RenderableType:
    """Lay a summary out for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    best = summary.best
    if best is not None:
        facts.add_row("score", Text(repr(best.arena_score), style="bold green"))
        facts.add_row("exact", exact_digits(best.exact_score))
        facts.add_row("found", f"at {clock(best.found_seconds)} by {best.source}")
        if summary.references:
            facts.add_row("standing", standing(summary))
    for step in summary.lineage[:1]:
        facts.add_row("program", step.title or step.file)
    facts.add_row("work", counts(summary))
    if summary.tiers:
        facts.add_row("sandbox", confinement(summary.tiers))
    facts.add_row("run", str(summary.run_dir))
    files = [name for name in _FILES if (summary.run_dir / name).exists()]
    if files:
        facts.add_row("files", ", ".join(files))
    if summary.status == "stopped":
        facts.add_row("go on", f"evocore resume {summary.run_dir}")
    parts: list[RenderableType] = [Text(headline(summary), style="bold"), facts]
    if summary.references:
        parts += [Text(), _references(summary)]
    if summary.islands:
        parts += [Text(), _islands(summary)]
    return Group(*parts)


def _references(summary: Summary) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("published value")
    table.add_column("score")
    table.add_column("passed")
    for row in summary.references:
        note = "" if row.passed_seconds is None else f"at {clock(row.passed_seconds)}"
        style = "green" if note else ""
        table.add_row(f"{row.who} {row.year}", f"{row.score:.12g}", note or "not yet", style=style)
    return table


def _islands(summary: Summary) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("island", justify="right")
    table.add_column("mutator")
    for name in ("nodes", "admitted", "rejected", "best gain"):
        table.add_column(name, justify="right")
    for one in summary.islands:
        cells = (one.number, one.mutator, one.n_nodes, one.n_admitted, one.n_rejected, f"{one.best_accuracy:.4f}")
        table.add_row(*map(str, cells))
    return table


def markdown(summary: Summary) -> str:
    """Write a summary as the text of `report.md`."""
    best = summary.best
    lines = [f"# {headline(summary)}", ""]
    if best is not None:
        lines += [
            f"- score as the arena computes it: `{best.arena_score!r}`",
            f"- exact score: `{exact_digits(best.exact_score)}` (in full in `verdict.json`)",
            f"- found after {clock(best.found_seconds)} by {best.source}; `{best.file}`, a copy of it is `best.json`",
        ]
        if summary.references:
            lines.append(f"- {standing(summary)}")
    lines += [
        f"- {counts(summary)}",
        f"- seed {summary.seed}, {summary.sessions} {'session' if summary.sessions == 1 else 'sessions'}",
        f"- verifier `{summary.verifier_digest or 'unknown'}`",
        f"- sandbox: {confinement(summary.tiers) or 'unknown'}",
        "",
    ]
    if best is not None:
        lines += ["![function, objective and progress](report.png)", ""]
    lines += _reference_rows(summary) + _island_rows(summary) + _program_rows(summary) + _trace_rows(summary)
    return "\n".join(lines).rstrip("\n") + "\n"


def _reference_rows(summary: Summary) -> list[str]:
    if not summary.references:
        return []
    rows = ["## Published values", "", "| who | score | passed |", "|---|---|---|"]
    for one in summary.references:
        when = "no" if one.passed_seconds is None else f"after {clock(one.passed_seconds)}"
        rows.append(f"| {one.who} {one.year} | {one.score:.12g} | {when} |")
    return [*rows, ""]


def _island_rows(summary: Summary) -> list[str]:
    if not summary.islands:
        return []
    rows = [
        "## Islands",
        "",
        "| island | mutator | nodes | admitted | rejected | best gain |",
        "|---|---|---|---|---|---|",
    ]
    for one in summary.islands:
        rows.append(
            f"| {one.number} | {one.mutator} | {one.n_nodes} | {one.n_admitted} | {one.n_rejected} "
            f"| {one.best_accuracy:.4f} |"
        )
    return [*rows, ""]


def _program_rows(summary: Summary) -> list[str]:
    rows: list[str] = []
    if summary.lineage:
        rows += ["## The program that found it", ""]
        rows += [f"{i}. {_step_line(step)}" for i, step in enumerate(summary.lineage, 1)]
        rows.append("")
    if len(summary.path_of_construction) > 1:
        rows += ["## What the construction went through", ""]
        rows += [f"{i}. {_step_line(step)}" for i, step in enumerate(summary.path_of_construction, 1)]
        rows.append("")
    return rows


def _step_line(step: Step) -> str:
    words = f"[`{step.sha[:12]}`]({step.file})"
    if step.title:
        words += f" {step.title}"
    if step.operator:
        words += f", {step.operator}"
    return f"{words}: {step.description}" if step.description else words


def _trace_rows(summary: Summary) -> list[str]:
    """Improvements, thinned to some thirty rows: the first, the last, and those between in equal steps."""
    if not summary.trace:
        return []
    step = max(1, len(summary.trace) // 30)
    rows = [*summary.trace[:-1:step], summary.trace[-1]]
    lines = ["## Improvements", "", "| after | score |", "|---|---|"]
    return [*lines, *(f"| {clock(t)} | {score!r} |" for t, score in rows), ""]
