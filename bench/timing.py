"""What all kernel benchmarks share: entrants timed in turns in one process, ratios with their spread, the machine.

Everything is CPU time of the process. Entrants take turns, so that what slows the machine slows all of them; a ratio is
the median over the turns of (entrant / ours), because only turns next to each other are comparable. `measure` checks
that the results of a row agree before anything is timed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]

SAMPLE_SECONDS = 0.004
LONG_SECONDS = 0.005
PAUSE_SECONDS = 0.2


def installed(name: str) -> Any:
    """Return a module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


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
        What it is compared with; the fastest of them is the anchor. None in place of one that is not installed.
    goal : (float, float), optional
        What the anchor's time over ours must reach, and the stretch beyond; None where none was set.
    same : callable
        ``same(our_result, their_result)`` tells whether the results agree.
    is_quick : bool
        Whether ``--quick`` has it.
    work : float
        Units of work of our call per unit of work of theirs, such as a batch of 1000 queries against one: ratios count
        one unit.
    elsewhere : (str, float, result), optional
        An entrant that is not here: its name, its CPU seconds as once measured, and what the result has to be.
    note : str
        Shown behind the row.
    """

    id: str
    title: str
    ours: Call
    entrants: Mapping[str, Call | None]
    goal: tuple[float, float] | None
    same: Callable[[Any, Any], bool]
    is_quick: bool = True
    work: float = 1.0
    elsewhere: tuple[str, float, Any] | None = None
    note: str = ""


@dataclass(frozen=True)
class Count:
    """A line that counts: ``count()`` gives how many of how many values differ, or None where it does not run here."""

    id: str
    title: str
    count: Callable[[], tuple[int, int] | None]
    must: float = 0.0
    is_quick: bool = True
    note: str = ""


def interleave(entrants: Mapping[str, Call], *, turns: int, budget_seconds: float) -> dict[str, Timing]:
    """Time the entrants in turns.

    Parameters
    ----------
    entrants : mapping of str to callable
        Short calls are repeated within a turn until they fill `SAMPLE_SECONDS`.
    turns : int
        Samples of each; fewer, but three at least, where they would take longer than the budget.
    budget_seconds : float
        CPU seconds for all of them.

    Returns
    -------
    dict of str to Timing
    """
    repeats = {}
    total = longest = 0.0
    for name, call in entrants.items():
        seconds = _sample(call, 1)
        longest = max(longest, seconds)
        repeats[name] = max(1, math.ceil(SAMPLE_SECONDS / max(seconds, 1e-7)))
        if repeats[name] > 1:
            seconds = _sample(call, repeats[name])
            repeats[name] = max(1, math.ceil(SAMPLE_SECONDS / max(seconds, 1e-7)))
        total += seconds * repeats[name]
    turns = max(3, min(turns, int(budget_seconds / total)))
    # A virtual machine gives freed memory back to its host, at the cost of whoever runs in the 0.1 s after: arrays that
    # an entrant drops would slow the next one by up to a factor of two.
    pause = PAUSE_SECONDS if longest > LONG_SECONDS else 0.0
    samples: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(turns):
        for name, call in entrants.items():
            time.sleep(pause)
            samples[name].append(_sample(call, repeats[name]))
    return {name: Timing(tuple(values)) for name, values in samples.items()}


def _sample(call: Call, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def measure(row: Row | Count, *, turns: int, budget_seconds: float) -> dict[str, Any]:
    """Check the results of a row, then time it; returns the line of a report."""
    if isinstance(row, Count):
        found = row.count()
        told = {"of": None, "measured": None} if found is None else {"of": found[1], "measured": found[0]}
        return {"id": row.id, "title": row.title, "must": row.must, **told, "note": row.note}
    expected = row.ours()
    there = {name: call for name, call in row.entrants.items() if call is not None}
    wrong = tuple(name for name, call in there.items() if not row.same(expected, call()))
    right = {name: call for name, call in there.items() if name not in wrong}
    timings = interleave({"ours": row.ours, **right}, turns=turns, budget_seconds=budget_seconds)
    ours = timings.pop("ours")
    if row.elsewhere is not None:
        name, taken, result = row.elsewhere
        if row.same(expected, result):
            timings[name] = Timing((taken,) * len(ours.seconds))
        else:
            wrong = (*wrong, name)
    seconds = {name: timing.median for name, timing in timings.items()}
    ratios = {name: [row.work * ratio for ratio in timing.ratio_to(ours)] for name, timing in timings.items()}
    anchor = min(seconds, key=seconds.__getitem__, default=None)
    return {
        "id": row.id,
        "title": row.title,
        "must": row.goal and row.goal[0],
        "stretch": row.goal and row.goal[1],
        "measured": ratios[anchor][1] if anchor else None,
        "anchor": anchor,
        "ours_seconds": ours.median / row.work,
        "seconds": seconds,
        "ratios": {name: dict(zip(("q25", "median", "q75"), ratio, strict=True)) for name, ratio in ratios.items()},
        "wrong": list(wrong),
        "not_installed": [name for name, call in row.entrants.items() if call is None],
        "note": row.note,
    }


def machine(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Return processor, versions, load, and what the machine does right now.

    ``fma_gflops`` is a matrix product per CPU second, ``copy_gbytes`` a copy of 64 MiB: low values mean a busy machine.
    """
    versions: dict[str, str | None] = {}
    for name in ("numpy", *packages):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    a = np.random.default_rng(0).random((384, 384))
    source, target = np.zeros(8 << 20), np.zeros(8 << 20)
    flops = min(_sample(lambda: a @ a, 4) for _ in range(5))
    copy = min(_sample(lambda: np.copyto(target, source), 1) for _ in range(5))
    blas: Any = np.show_config(mode="dicts")
    blas = blas["Build Dependencies"]["blas"]
    return {
        "cpu": cpu_name(),
        "n_cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "blas": f"{blas['name']} {blas['version']}",
        "versions": versions,
        "fma_gflops": round(2 * 384**3 / flops / 1e9, 1),
        "copy_gbytes": round(2 * source.nbytes / copy / 1e9, 1),
    }


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
