"""`evocore bench [TOPIC] [--json] [--quick]`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from evocore.bench import suite


def command(
    topic: Annotated[str, typer.Argument(help=f"{', '.join(suite.TOPICS)}, or all.")] = "all",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer turns, only the short rows: under a minute.")] = False,
) -> None:
    """Measure the kernels beside other libraries: results checked first, CPU time, entrants in turns.

    The libraries come with the extra: pip install 'evocore-engine[bench]'; what is missing is named in its rows. Exit
    code: 0, or 1 where results disagree.
    """
    report = suite.run(topic, is_quick=quick)
    print(json.dumps(report, indent=1) if as_json else suite.text(report), end="\n" if as_json else "")
    raise typer.Exit(int(suite.has_failed(report)))
