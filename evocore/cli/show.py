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
    """Tell how a run stands: the best construction, the published values passed, islands and programs.

    Where the problem can tell what its constructions lack, that too.
    """
    from evocore.report.summary import diagnosis, read_summary

    summary = read_summary(run)
    said = diagnosis(summary)
    if as_json:
        typer.echo(json.dumps({**summary.to_json(), "diagnosis": said}))
        return
    from evocore.cli.printing import show
    from evocore.report.text import final_table

    show(final_table(summary))
    if said:
        typer.echo("\n" + "\n".join(said))
