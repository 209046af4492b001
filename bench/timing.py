"""What all kernel benchmarks share: entrants timed in turns in one process, ratios with their spread, the machine.

Everything is CPU time of the process. Entrants take turns, so that what slows the machine slows all of them; a ratio is
the median over the turns of (entrant / ours), because only turns next to each other are comparable.

A benchmark is a list of `Row`. `measure` checks each row's results for equality before anything is timed. Scripts end
in `main(rows, arguments)`, which prints a table, or JSON with ``--json``; ``--quick`` leaves fewer turns and only the
rows marked as quick; ``--rows H2,H3`` only those whose id begins like one of these.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]

SAMPLE_SECONDS = 0.004


@dataclass(frozen=True)
class Timing:
    """CPU seconds of one call: one value a turn."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the turns."""
        return statistics.median(self.seconds)

    def ratio_to(self, other: Timing) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile of self / other, turn by turn."""
        ratios = [a / b for a, b in zip(self.seconds, other.seconds, strict=True)]
        if len(ratios) < 2:
            return ratios[0], ratios[0], ratios[0]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return low, middle, high


@dataclass(frozen=True)
class Row:
    """One line of a benchmark: ours and the entrants on the same input.

    Attributes
    ----------
    id : str
        Name of the goal, such as ``H3``.
    title : str
        Input in words.
    ours : callable
        What is measured, without arguments.
    entrants : mapping of str to callable
        What it is compared with; the fastest of them is the anchor. May be empty where none is installed.
    must, stretch : float
        Goals for anchor time / our time.
    same : callable
        ``same(our_result, their_result)`` tells whether the results agree.
    is_quick : bool
        Whether ``--quick`` has it.
    work : float
        Units of work of our call per unit of work of theirs, such as a batch of 1000 queries against one: ratios count
        one unit.
    note : str
        Shown behind the row.
    """

    id: str
    title: str
    ours: Call
    entrants: Mapping[str, Call]
    must: float
    stretch: float
    same: Callable[[Any, Any], bool]
    is_quick: bool = True
    work: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Measured:
    """A row with its numbers: seconds of one unit of work, ratios with quartiles."""

    row: Row
    ours_seconds: float
    seconds: dict[str, float]
    ratios: dict[str, tuple[float, float, float]]
    wrong: tuple[str, ...] = field(default=())

    @property
    def anchor(self) -> str | None:
        """The fastest entrant that is right."""
        return min(self.seconds, key=self.seconds.__getitem__, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        anchor = self.anchor
        return {
            "id": self.row.id,
            "title": self.row.title,
            "ours_seconds": self.ours_seconds,
            "seconds": self.seconds,
            "ratios": {name: dict(zip(("q25", "median", "q75"), r, strict=True)) for name, r in self.ratios.items()},
            "anchor": anchor,
            "measured": self.ratios[anchor][1] if anchor else None,
            "must": self.row.must,
            "stretch": self.row.stretch,
            "wrong": list(self.wrong),
            "note": self.row.note,
        }


def interleave(entrants: Mapping[str, Call], *, turns: int, budget_seconds: float = 6.0) -> dict[str, Timing]:
    """Time the entrants in turns.

    Parameters
    ----------
    entrants : mapping of str to callable
        Each is called once unmeasured. Short calls are repeated within a turn until they fill `SAMPLE_SECONDS`.
    turns : int
        Samples of each; fewer, but three at least, where they would take longer than the budget.
    budget_seconds : float
        CPU seconds for all of them.

    Returns
    -------
    dict of str to Timing
    """
    repeats = {}
    total = 0.0
    for name, call in entrants.items():
        call()
        seconds = _sample(call, 1)
        repeats[name] = max(1, math.ceil(SAMPLE_SECONDS / max(seconds, 1e-7)))
        if repeats[name] > 1:
            seconds = _sample(call, repeats[name])
            repeats[name] = max(1, math.ceil(SAMPLE_SECONDS / max(seconds, 1e-7)))
        total += seconds * repeats[name]
    turns = max(3, min(turns, int(budget_seconds / total)))
    samples: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(turns):
        for name, call in entrants.items():
            samples[name].append(_sample(call, repeats[name]))
    return {name: Timing(tuple(values)) for name, values in samples.items()}


def _sample(call: Call, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def measure(row: Row, *, turns: int) -> Measured:
    """Check the results of a row, then time it."""
    expected = row.ours()
    wrong = tuple(name for name, call in row.entrants.items() if not row.same(expected, call()))
    right = {name: call for name, call in row.entrants.items() if name not in wrong}
    timings = interleave({"ours": row.ours, **right}, turns=turns)
    ours = timings.pop("ours")
    ratios = {
        name: (low * row.work, middle * row.work, high * row.work)
        for name, (low, middle, high) in ((name, t.ratio_to(ours)) for name, t in timings.items())
    }
    return Measured(row, ours.median / row.work, {name: t.median for name, t in timings.items()}, ratios, wrong)


def machine(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Return processor, versions, load, and what the machine does right now.

    ``fma_gflops`` is a matrix product per CPU second, ``copy_gbytes`` a copy of 64 MiB: low values mean a busy machine.
    """
    versions = {}
    for name in ("numpy", *packages):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    a = np.random.default_rng(0).random((384, 384))
    big = np.zeros(8 << 20)
    flops = min(_sample(lambda: a @ a, 4) for _ in range(5))
    copy = min(_sample(big.copy, 1) for _ in range(5))
    return {
        "cpu": cpu_name(),
        "n_cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": versions,
        "fma_gflops": round(2 * 384**3 / flops / 1e9, 1),
        "copy_gbytes": round(2 * big.nbytes / copy / 1e9, 1),
    }


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def seconds_text(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(results: Sequence[Measured]) -> str:
    """Return a Markdown table: goals beside what was measured."""
    lines = [
        "| id | input | ours | anchor | must | stretch | measured (quartiles) | others |",
        "|--|--|--|--|--|--|--|--|",
    ]
    for m in results:
        anchor = m.anchor
        if anchor is None:
            middle = ["-", f"{m.row.must:g}x", f"{m.row.stretch:g}x", "no entrant installed", ""]
        else:
            low, ratio, high = m.ratios[anchor]
            others = ", ".join(f"{n} {m.ratios[n][1]:.3g}x" for n in m.ratios if n != anchor)
            middle = [
                f"{anchor} {seconds_text(m.seconds[anchor])}",
                f"{m.row.must:g}x",
                f"{m.row.stretch:g}x",
                f"**{ratio:.3g}x** ({low:.3g}-{high:.3g})",
                others,
            ]
        if m.wrong:
            middle[-1] += f" wrong: {', '.join(m.wrong)}"
        lines.append(f"| {m.row.id} | {m.row.title} | {seconds_text(m.ours_seconds)} | {' | '.join(middle)} |")
    return "\n".join(lines)


def main(
    rows: Callable[[], Sequence[Row]],
    arguments: Sequence[str] | None = None,
    *,
    packages: Sequence[str] = (),
    notes: Callable[[], Sequence[str]] = tuple,
) -> int:
    """Run a benchmark script.

    Parameters
    ----------
    rows : callable
        Makes the rows.
    arguments : sequence of str, optional
        Command line; that of the process by default.
    packages : sequence of str
        Distributions whose versions are told.
    notes : callable
        Lines for the end, such as which entrants are not installed.

    Returns
    -------
    int
        Exit code: 1 where an entrant and ours disagree.
    """
    parser = argparse.ArgumentParser(description="Ratios are anchor / ours, in CPU time: above 1 means ours is faster.")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--quick", action="store_true", help="fewer turns, and only the short rows")
    parser.add_argument("--rows", default="", help="only ids that begin like one of these, comma-separated")
    options = parser.parse_args(arguments)
    prefixes = tuple(options.rows.split(",")) if options.rows else ("",)
    chosen = [r for r in rows() if r.id.startswith(prefixes) and (r.is_quick or not options.quick)]
    before = machine(packages)
    results = []
    for row in chosen:
        if sys.stderr.isatty():
            print(f"{row.id} {row.title}", file=sys.stderr)
        results.append(measure(row, turns=5 if options.quick else 15))
    if options.json:
        print(json.dumps({"machine": before, "rows": [m.to_json() for m in results], "notes": list(notes())}, indent=1))
    else:
        versions = ", ".join(f"{name} {version}" for name, version in before["versions"].items())
        print(
            f"{before['cpu']}, {before['n_cpus']} cores, load {before['load']}; Python {before['python']}, {versions}"
        )
        print(f"probe: {before['fma_gflops']} GFLOP/s, copy {before['copy_gbytes']} GB/s\n")
        print(table(results))
        for line in notes():
            print(f"\n{line}")
    return 1 if any(m.wrong for m in results) else 0
