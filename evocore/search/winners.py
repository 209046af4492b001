"""`winners/`: the programs that led to the best construction, and how they came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evocore.ledger import write_file

if TYPE_CHECKING:
    from evocore.report.summary import Step
    from evocore.search.rundir import RunDir


def write_winners(rundir: RunDir) -> None:
    """Copy the winning program, its ancestors and the programs before it on the construction's way; tell the lineage.

    Files of an earlier winner are taken away.
    """
    from evocore.report.summary import read_summary

    summary = read_summary(rundir.path)
    folder = rundir.path / "winners"
    steps = list(dict.fromkeys(step.sha for step in (*summary.lineage, *summary.path_of_construction)))
    names = {sha: f"{number:02d}-{sha[:12]}.py" for number, sha in enumerate(steps, 1)}
    for sha, name in names.items():
        write_file(folder / name, rundir.program(sha).encode())
    lines = ["# How the best construction came about", ""]
    if summary.best is not None:
        lines += [f"Score {summary.best.arena_score!r}, found by {summary.best.source}.", ""]
    lines += _told("The program that found it, and its ancestors", summary.lineage, names)
    lines += _told("The programs that the construction went through", summary.path_of_construction, names)
    write_file(folder / "lineage.md", "\n".join(lines).encode())
    for path in folder.glob("*.py"):
        if path.name not in names.values():
            path.unlink()


def _told(title: str, steps: tuple[Step, ...], names: dict[str, str]) -> list[str]:
    if not steps:
        return []
    lines = [f"## {title}", ""]
    for number, step in enumerate(steps, 1):
        how = f": {step.operator}, {step.description}" if step.description else ""
        lines.append(f"{number}. [`{names[step.sha]}`]({names[step.sha]}) {step.title}{how}")
    return [*lines, ""]
