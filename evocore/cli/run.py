"""`evocore run PROBLEM`: search for better constructions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evocore.search.loop import Run


def command(
    problem: Annotated[
        str | None, typer.Argument(help="Name of a problem, or the folder of your own (./my_problem).")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Wall time: 90s, 2m, 1h30m, 10h. Default 2m.")] = None,
    target: Annotated[
        float | None, typer.Option(help="Stop at a construction at least this good; exit code 1 if it is not reached.")
    ] = None,
    islands: Annotated[int | None, typer.Option(help="Number of islands. Default 3.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random choice. Default 0.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="Strategy: milo (default), adaptive, population, refine or best-of-n.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run directory. Default: a new one in evocore-runs/.", metavar="DIR")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings as TOML; options given here win.", metavar="FILE.toml")
    ] = None,
    program: Annotated[
        list[str] | None, typer.Option(help="An optimizer program to begin with; may be repeated.", metavar="FILE")
    ] = None,
    start: Annotated[str | None, typer.Option(help="A construction (JSON) to begin with.", metavar="FILE")] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            help="How programs are confined: docker, linux-strict, linux, or unsafe (not at all). Default: as "
            "strongly as the machine allows with nothing to install.",
            metavar="TIER",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Search for better constructions of a problem by evolving its optimizer programs.

    Ctrl-C ends the run in order, with everything saved; `evocore resume RUN` goes on with it. Exit code: 0; 1 where a
    target was set and not reached; 130 where it was interrupted before anything was found.
    """
    from evocore.config import RunConfig, read_toml
    from evocore.search.loop import Run

    settings = {} if config is None else read_toml(config)
    if budget is not None:
        settings.pop("budget_seconds", None)
    given = {
        "problem": problem,
        "budget": budget,
        "target": target,
        "islands": islands,
        "seed": seed,
        "preset": preset,
        "program": tuple(program) if program else None,
        "start": start,
        "sandbox": sandbox,
    }
    settings.update({key: value for key, value in given.items() if value is not None})
    where = "the command line" if config is None else str(config)
    checked = RunConfig.create(settings, where=where)
    finish(Run.create(checked, out=out), as_json=as_json, quiet=quiet)


def finish(run: Run, *, as_json: bool, quiet: bool) -> None:
    """Carry a run to its end under a live view, show what came out of it, and exit with its code."""
    from evocore.report.live import LiveView

    with LiveView(run.poll, quiet=quiet or (as_json and not sys.stderr.isatty())):
        result = run.go()
    if as_json:
        typer.echo(json.dumps(result.to_json()))
    elif not quiet:
        from evocore.cli.printing import show
        from evocore.report.summary import read_summary
        from evocore.report.text import final_table

        show(final_table(read_summary(result.run)))
    raise typer.Exit(result.exit_code)
