"""`evocore resume RUN`: go on with a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evocore.cli.run import finish


def command(
    run: Annotated[Path, typer.Argument(help="A run directory.", metavar="RUN")],
    budget: Annotated[str | None, typer.Option(help="Time to add: 90s, 2m, 1h30m, 10h.")] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            help="Confine programs in another way than before: docker, linux-strict, linux, or unsafe (not at all).",
            metavar="TIER",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Go on with a run that was stopped, interrupted or killed, with the time that it has left.

    Nothing that was verified is lost, and no evaluation that was finished is made again.
    """
    from evocore.search.loop import Run

    finish(Run.resume(run, budget=budget, sandbox=sandbox), as_json=as_json, quiet=quiet)
