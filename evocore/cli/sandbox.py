"""`evocore sandbox`: what has to do with running programs that nobody trusts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from evocore.cli.printing import show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evocore.sandbox.attacks import Attack
    from evocore.sandbox.selftest import Report, Result

BROKEN = 1
UNAVAILABLE = 3
MOST_LINES = 6
STOPPED, OPEN, NOT_STOPPED = "stopped", "not promised", "NOT STOPPED"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback()
def sandbox() -> None:
    """Prepare the sandbox on this machine, or attack it."""


@app.command("build-image")
def build_image(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False) -> None:
    """Build the image of the docker tier from this installation, without a registry; print its name.

    An image that is there and up to date is left as it is.
    """
    from evocore.sandbox.docker_container import engine
    from evocore.sandbox.docker_image import ensure

    with engine() as client:
        image = ensure(client)
    print(json.dumps({"image": image.name, "id": image.id}) if as_json else image.name)


@app.command("selftest")
def selftest(
    tier: Annotated[
        str | None,
        typer.Option(
            metavar="TIER",
            help="docker, linux-strict, linux or unsafe.  [default: all that confine]",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the attack programs on this machine, and tell tier by tier which are stopped.

    Takes one to two minutes a tier. Everything that an attack may aim at is put up for it and removed again. Exit code:
    0 everything holds that the tiers promise, 1 something does not, 3 no tier can be had.
    """
    from evocore.sandbox.base import Tier
    from evocore.sandbox.selftest import selftest as run
    from evocore.sandbox.tiers import read_tier

    chosen = [read_tier(tier)] if tier else [one for one in Tier if one is not Tier.UNSAFE]
    reports = []
    for one in chosen:
        reports.append(run(one, lambda n_done, n, one=one: _progress(one, n_done, n)))  # type: ignore[misc]
        if not as_json:
            show(report(reports[-1]))
    if as_json:
        print(json.dumps({"tiers": [one.to_json() for one in reports]}))
    there = [one for one in reports if not one.lacks]
    raise typer.Exit(UNAVAILABLE if not there else 0 if all(one.holds for one in there) else BROKEN)


def _progress(tier: str, n_done: int, n: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{tier}: {n_done} of {n} attacks" + ("\r\x1b[K" if n_done == n else ""), end="", file=sys.stderr)


def report(found: Report) -> RenderableType:
    """Lay out what came of the attacks under one tier."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from evocore.sandbox.attacks import ATTACKS

    if found.lacks:
        return Text(f"{found.tier}: not on this machine: {found.lacks}\n")
    named = {attack.name: attack for attack in ATTACKS}
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for result in found.results:
        table.add_row(_word(result), result.attack, _told(named[result.attack], result))
    words = [_word(result) for result in found.results]
    counts = f"{words.count(STOPPED)} of {len(words)} attacks stopped"
    for word in (OPEN, NOT_STOPPED):
        counts += f", {words.count(word)} {word}" if word in words else ""
    return Group(Text(f"{found.tier}"), table, Text(f"{found.tier}: {counts}\n"))


def _word(result: Result) -> str:
    if not result.is_stopped:
        return NOT_STOPPED
    return OPEN if result.through else STOPPED


def _told(attack: Attack, result: Result) -> str:
    """What the attack does, and line by line what it got through with."""
    lines = [*result.broken, *result.through]
    shown = [f"- {line}" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"- and {len(lines) - MOST_LINES} more (--json has all)")
    return "\n".join([attack.purpose, *shown])
