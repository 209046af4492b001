"""`evocore sandbox`: what has to do with running programs that nobody trusts."""

from __future__ import annotations

import json
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback()
def sandbox() -> None:
    """Prepare the sandbox on this machine."""


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
