"""The command `evocore`: finds the subcommand, loads that one alone, and turns errors into one line and an exit code.

Exit codes: 0 success, 1 negative verdict (or target not reached), 2 bad input or usage, 3 infrastructure, 130 Ctrl-C.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import takewhile
from typing import Annotated, Any, cast

import typer
import typer.core
import typer.main

from evocore import __version__
from evocore.errors import EvocoreError

# A command is a file evocore/cli/NAME.py with a function `command`, or with a Typer `app` of several; this table alone
# makes `evocore --help`.
COMMANDS = {
    "run": "Search for better constructions of a problem.",
    "resume": "Go on with a run that was stopped or interrupted.",
    "show": "Show what a run found.",
    "verify": "Check constructions: validity, arena score, exact score, rank.",
    "certify": "Write a proof of a construction's exact score that checks itself.",
    "evaluate": "Evaluate one optimizer program, without a search.",
    "problems": "List the problems, or show one in full.",
    "sandbox": "Prepare the sandbox on this machine, or attack it.",
    "bench": "Measure the kernels beside other libraries.",
}

INTERRUPTED = 130
BROKEN_PIPE = 141  # as the shell reports a program that SIGPIPE ended

# Typer brings its own copy of click or uses the installed one, by version; its exceptions are the same tree in both.
_UsageError = typer.BadParameter.__bases__[0]
_ClickException = cast("type[Exception]", _UsageError.__bases__[0])


class _Commands(typer.core.TyperGroup):
    """The subcommands, each loaded when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in COMMANDS if importlib.util.find_spec(f"evocore.cli.{name}") is not None]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"evocore.cli.{cmd_name}")
        if hasattr(module, "app"):
            return typer.main.get_command(module.app)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(cmd_name)(module.command)
        return typer.main.get_command(app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known:
            near = difflib.get_close_matches(args[0], known, n=1)
            advice = f"did you mean {near[0]}?" if near else f"commands: {', '.join(known)}"
            ctx.fail(f'expected a command, got "{args[0]}"; {advice}')
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        # Here, because what calls this method ends on the two in ways of its own.
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(_failed("interrupted", INTERRUPTED)) from None
        except BrokenPipeError:
            raise typer.Exit(_hushed()) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


def _show_version(value: bool) -> None:
    if value:
        print(f"evocore {__version__}")
        raise typer.Exit


def _evocore(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where an error was raised.")] = False,
) -> None:
    """Exact evaluation for the search of mathematical constructions, and the search itself."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands behind `evocore` on the command line; by default what this process was started with.

    Returns
    -------
    int
        The exit code.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--traceback" in takewhile(lambda word: word.startswith("-"), words):
        return _run(words)
    try:
        return _run(words)
    except EvocoreError as error:
        return _failed(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _failed("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return _hushed()
    except OSError as error:
        return _failed(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""), 3)
    except Exception as error:  # the outermost process boundary: a defect is told in one line too
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return _failed(f"a defect of evocore: {said} ({place.filename}, line {place.lineno}); see --traceback", 3)


def _run(words: list[str]) -> int:
    app = typer.Typer(cls=_Commands, rich_markup_mode=None)
    app.callback()(_evocore)
    command = typer.main.get_command(app)
    try:
        if not words:
            command(["--help"], prog_name="evocore", standalone_mode=False)
            return 2
        code = command(words, prog_name="evocore", standalone_mode=False)
    except _ClickException as error:
        usage: Any = error
        where = getattr(usage, "ctx", None)
        path = "evocore" if where is None else where.command_path
        return _failed(f"{usage.format_message().rstrip('.')}; see {path} --help", usage.exit_code)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _hushed() -> int:
    """Nobody reads what is printed any more; Python flushes stdout once more at its end: let that go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _failed(message: str, code: int) -> int:
    print(f"evocore: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
