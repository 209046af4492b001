"""`evocore show RUN`: how a run stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(help="A run directory: running, finished, killed or moved.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Tell how a run stands: the best construction, the published values passed, islands and programs."""
    from evocore.report.summary import read_summary

    summary = read_summary(run)
    if as_json:
        typer.echo(json.dumps(summary.to_json()))
        return
    from evocore.cli.printing import show
    from evocore.report.text import final_table

    show(final_table(summary))
