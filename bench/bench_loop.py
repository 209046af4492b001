"""What the search loop costs: `python -m evocore.bench.bench_loop [--nodes 100,1000,10000] [--mutators grammar]`.

Attempts are made up in no time, so all that is left is the loop: selection, mutation, the contract, admission, the
ledger with its syncs, the pool. Overhead is given per evaluation (one attempt on one task; a child takes two), over the
last nodes before each mark: wall time, CPU time of the process, and the part of the wall time that mutation takes.
Before a number is told, the ledger is replayed and must give the forest that the run had.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import evocore.mutators
from evocore.config import RunConfig
from evocore.ledger import read_ledger
from evocore.mutators import Child, Mutator
from evocore.sandbox import Status
from evocore.search.evaluation import Request
from evocore.search.loop import Run
from evocore.search.memory import Forest
from evocore.tasks import AttemptResult
from evocore.verifiers import Ratchet
from evocore.verifiers.arrays import encode

PROBLEM = "third-autocorrelation-inequality"
WINDOW = 0.2


@dataclass(frozen=True)
class Renaming:
    """The cheapest mutator there can be: puts a new number into a constant of its own."""

    name: str = "renaming"

    def mutate(
        self,
        parent: str,
        *,
        co_parent: str | None,
        donors: Sequence[str],
        rng: np.random.Generator,
        rejected: Collection[str],
    ) -> Child:
        """Make a child that differs in one number."""
        number = int(rng.integers(2**60))
        source, n = re.subn(r"^_BENCH = \d+$", f"_BENCH = {number}", parent, flags=re.M)
        return Child(source if n else f"{parent}\n_BENCH = {number}\n", f"_BENCH {number}", self.name)


class Timed:
    """A mutator whose time is added up."""

    total_seconds = 0.0

    def __init__(self, inner: Mutator) -> None:
        self._inner = inner
        self.name = inner.name

    def mutate(self, parent: str, **kwargs: Any) -> Child:
        """Make a child and note how long it took."""
        begun = time.perf_counter()
        try:
            return self._inner.mutate(parent, **kwargs)
        finally:
            Timed.total_seconds += time.perf_counter() - begun


class Instant:
    """Makes attempts up, and notes the time at which the run reached each evaluation."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float, float]] = []
        x = np.array([1.0, 1.25, 1.0])
        ratchet = Ratchet(PROBLEM)
        ratchet.offer(x)
        self._exact, self._buffer = ratchet.best_exact or Fraction(2), encode(x)

    def __call__(self, request: Request) -> AttemptResult:
        """Give a result that follows from the hashes."""
        self.times.append((time.perf_counter(), time.process_time(), Timed.total_seconds))
        digest = hashlib.sha256(f"{request.sha}/{request.task.hash}".encode()).digest()
        accuracy, seconds, memory = (int.from_bytes(digest[i : i + 4], "big") / 2**32 for i in (0, 4, 8))
        return AttemptResult(
            task_hash=request.task.hash,
            status=Status.OK,
            gain=accuracy,
            best_exact=self._exact,
            best_buffer=self._buffer,
            seconds_to_best=seconds,
            peak_memory_bytes=int(1e8 * (1 + memory)),
            cpu_seconds=1.0,
            wall_seconds=1.0,
            n_hand_ins=10,
            trace=tuple((i / 8, 2.0 - i / 100) for i in range(8)),
            stderr="",
            detail="",
            stopped_early=False,
        )


def measure(nodes: Sequence[int], mutators: str, folder: Path) -> list[dict[str, float]]:
    """Run the loop up to the largest number of nodes; one row a mark."""
    chosen = {"renaming": Renaming()} if mutators == "renaming" else evocore.mutators.MUTATORS
    timed: dict[str, Mutator] = {name: Timed(one) for name, one in chosen.items()}
    instant, islands = Instant(), 3
    config = RunConfig.create(
        {
            "problem": PROBLEM,
            "budget": "100h",
            "task_seconds": 1.0,
            "attempts": 1,
            "chain_slots": 0,
            "islands": islands,
            "max_rounds": max(nodes) // islands + 1,
        }
    )
    plain = evocore.mutators.MUTATORS
    evocore.mutators.MUTATORS = timed
    try:
        run = Run.create(config, out=folder / "run", evaluate=instant)
        run.go()
    finally:
        evocore.mutators.MUTATORS = plain
    replayed = Forest().apply_all(read_ledger(run.rundir.ledger))
    if replayed.nodes != run.journal.forest.nodes:
        raise AssertionError("expected the replayed ledger to give the run's forest, got another")
    return [_row(mark, replayed, instant) for mark in nodes]


def _row(mark: int, forest: Forest, instant: Instant) -> dict[str, float]:
    per_node = len(instant.times) / len(forest.nodes)
    end = min(len(instant.times) - 1, int(mark * per_node))
    begin = int(end * (1 - WINDOW))
    (t0, c0, m0), (t1, c1, m1) = instant.times[begin], instant.times[end]
    count = end - begin
    return {
        "nodes": mark,
        "evaluations": count,
        "overhead_ms": 1000 * (t1 - t0) / count,
        "cpu_ms": 1000 * (c1 - c0) / count,
        "mutation_ms": 1000 * (m1 - m0) / count,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100,1000,10000", help="marks, comma-separated")
    parser.add_argument("--mutators", choices=("grammar", "renaming"), default="renaming")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    nodes = [int(part) for part in options.nodes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(nodes, options.mutators, Path(folder))
    machine = {"cpu": _cpu(), "cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    if options.json:
        print(json.dumps({"mutators": options.mutators, "machine": machine, "rows": rows}))
        return 0
    print(f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, mutators: {options.mutators}")
    print(f"{'nodes':>8} {'evaluations':>12} {'overhead ms':>12} {'CPU ms':>8} {'mutation ms':>12}")
    for row in rows:
        times = f"{row['overhead_ms']:12.2f} {row['cpu_ms']:8.2f} {row['mutation_ms']:12.2f}"
        print(f"{row['nodes']:8.0f} {row['evaluations']:12.0f} {times}")
    return 0


def _cpu() -> str:
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.M)
    return found.group(1) if found else platform.processor()


if __name__ == "__main__":
    sys.exit(main())
