"""`evocore certify PROBLEM FILE`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from evocore.api import certify
from evocore.cli.verify import read
from evocore.errors import InputError


def command(
    problem: Annotated[str, typer.Argument(help="Name of a problem, or the folder of your own (./my_problem).")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="A construction as JSON; - reads it from stdin.")],
    out: Annotated[
        str | None, typer.Option("--out", help="File to write; by default FILE with the ending .certificate.py.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Prove the exact score of a construction: write one Python file of integers that checks itself.

    It needs neither evocore nor any import: `python3 best.certificate.py` says whether the stated rational is true.
    """
    target = Path(out) if out is not None else _beside(file)
    if target.exists():
        raise InputError(f"expected a file that does not exist yet, found {target}: choose another with --out")
    try:
        text = certify(problem, read(file))
    except InputError as error:
        raise type(error)(f"{file}: {error}") from error
    # completed under another name: whoever finds a certificate finds a whole one
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    print(json.dumps({"certificate": str(target)}) if as_json else f"{target}: true; check it with python3 {target}")


def _beside(file: str) -> Path:
    if file == "-":
        raise InputError("expected --out FILE where the construction comes from standard input")
    return Path(file).with_suffix(".certificate.py")
