"""`evocore evaluate PROGRAM PROBLEM`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from evocore.errors import ConfigError

if TYPE_CHECKING:
    from evocore.search.metrics import Estimate
    from evocore.tasks import ProgramEvaluation

LINES_SAID = 3
TASKS = {"cold": ("cold",), "warm": ("warm",), "both": ("cold", "warm")}


def command(
    program: Annotated[str, typer.Argument(help="Optimizer program, a Python file.")],
    problem: Annotated[str, typer.Argument(help="Name of a problem, or the folder of your own (./my_problem).")],
    tasks: Annotated[
        str, typer.Option(help="cold (from random numbers), warm (from a construction) or both.")
    ] = "both",
    k: Annotated[int | None, typer.Option(help="Attempts on every task.  [default: 3]", show_default=False)] = None,
    seeds: Annotated[
        str, typer.Option(help="First seed, the attempts count on from it; or one for each attempt: 3,5,8.")
    ] = "0",
    budget: Annotated[str, typer.Option(help="Time of one attempt: 10s, 2m.")] = "10s",
    start: Annotated[str | None, typer.Option(help="Construction (JSON) to begin the warm task from.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Attempts at a time.  [default: one a core]")] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            help="How the program is confined: docker, linux-strict, linux, or unsafe (not at all). Default: as "
            "strongly as the machine allows with nothing to install.",
            metavar="TIER",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Evaluate one optimizer program, without a search: gains, costs and statuses, pass@k.

    A gain is 0 where nothing handed in beats the start, and 1 at the problem's target. Exit code: 0 at least one
    attempt improved on its start, 1 none did, 2 the program or a setting is not usable, 3 the machine failed.
    """
    from evocore.config import parse_duration
    from evocore.problems.registry import problem as find
    from evocore.search.inputs import read_program, read_start
    from evocore.tasks import evaluate_program

    if tasks not in TASKS:
        raise ConfigError(f"expected --tasks cold, warm or both, got {tasks}")
    result = evaluate_program(
        read_program(program),
        problem,
        kinds=TASKS[tasks],  # type: ignore[arg-type]
        seeds=read_seeds(seeds, k),
        budget_seconds=parse_duration(budget),
        start=None if start is None else read_start(find(problem), start),
        workers=workers,
        sandbox=sandbox,
        say=lambda words: print(words, file=sys.stderr),
    )
    print(
        json.dumps({"program": program, **result.to_json()}) if as_json else report(result), end="\n" if as_json else ""
    )
    raise typer.Exit(0 if any(r.best_buffer is not None for t in result.tasks for r in t.results) else 1)


def read_seeds(text: str, k: int | None) -> list[int]:
    """Read `--seeds` and `--k`.

    Raises
    ------
    ConfigError
        They are no whole numbers from 0 on, or contradict each other.
    """
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"expected --seeds to be whole numbers, like 0 or 3,5,8, got {text}") from None
    if k is not None and k < 1:
        raise ConfigError(f"expected --k of at least 1, got {k}")
    if len(numbers) == 1:
        numbers = [numbers[0] + i for i in range(3 if k is None else k)]
    elif k is not None and k != len(numbers):
        raise ConfigError(f"expected as many seeds as attempts, got --k {k} and {len(numbers)} seeds")
    if min(numbers) < 0 or max(numbers) >= 2**63:
        raise ConfigError(f"expected seeds from 0 to 2^63 - 1, got {text}")
    if len(set(numbers)) < len(numbers):
        raise ConfigError(f"expected seeds that differ, got {text}")
    return numbers


def report(result: ProgramEvaluation) -> str:
    """Write an evaluation for people."""
    rows = [("task", "seed", "status", "gain", "score", "CPU s to best", "peak MB", "hand-ins")]
    for one in result.tasks:
        for seed, r in zip(one.seeds, one.results, strict=True):
            numbers = (f"{r.gain:.4f}", f"{float(r.best_exact):.12g}", f"{r.seconds_to_best:.2f}")
            memory = f"{r.peak_memory_bytes / 1e6:.0f}"
            rows.append((one.task.kind, str(seed), str(r.status), *numbers, memory, str(r.n_hand_ins)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += ["", *(f"{t.task.kind} start: {t.origin}, {float(t.task.start_exact):.12g}" for t in result.tasks)]
    lines += [f"{t.task.kind} target: {t.task.target!r}" for t in result.tasks]
    lines += [f"sandbox: {result.tier}"]
    lines += ["", *_metrics(result)]
    details = {r.detail for t in result.tasks for r in t.results if r.detail}
    lines += [""] * bool(details) + sorted(details)
    for one in result.tasks:
        for seed, r in zip(one.seeds, one.results, strict=True):
            said = [line if line.isprintable() else repr(line) for line in r.stderr.splitlines()[-LINES_SAID:]]
            lines += [f"{one.task.kind} seed {seed} said: {line}" for line in said]
    return "\n".join(lines) + "\n"


def _metrics(result: ProgramEvaluation) -> list[str]:
    from evocore.tasks.evaluate import THRESHOLDS

    lines = []
    for threshold in THRESHOLDS:
        m = result.metrics(threshold)
        lines.append(f"pass@{m.k} (gain >= {threshold:g}): {_estimate(m.pass_at_k)}")
        lines.append(f"RR@{m.k}   (gain >= {threshold:g}): {_estimate(m.rr_at_k)}")
    lines.append(f"PR@{m.k}   (mean gain): {_estimate(m.pr_at_k)}")
    return lines


def _estimate(e: Estimate) -> str:
    return f"{e.value:.3f}  95 % interval {e.low:.3f} to {e.high:.3f}, over tasks"
