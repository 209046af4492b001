"""Tables on standard output: fitted to a terminal, in full and without trailing blanks anywhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

PIPED_WIDTH = 10_000
"""Wider than any line: what reads a pipe does its own wrapping."""


def show(laid_out: RenderableType) -> None:
    """Print what rich laid out."""
    from rich.console import Console

    if sys.stdout.isatty():
        Console(highlight=False).print(laid_out)
        return
    console = Console(highlight=False, width=PIPED_WIDTH)
    with console.capture() as captured:
        console.print(laid_out)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
