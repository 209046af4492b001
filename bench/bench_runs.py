"""What whole runs reach from random numbers: `python -m evocore.bench.bench_runs --budget 2m --seeds 1 2 3 4 5`.

Runs every problem with every seed, one run after the other with all cores, in processes of their own, then prints the
table of `evocore.bench.results_table`. The run directories stay where `--out` says, and a run that is there already is
not made again, so that a long series can be interrupted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from evocore.bench.results_table import table
from evocore.errors import EvocoreError
from evocore.problems import problems
from evocore.report.summary import read_summary


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the runs and print the table."""
    parser = argparse.ArgumentParser(prog="python -m evocore.bench.bench_runs", description=__doc__)
    parser.add_argument("--problems", nargs="+", default=list(problems()), metavar="PROBLEM")
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--out", type=Path, default=Path("evocore-runs"))
    chosen = parser.parse_args(arguments)
    made = []
    for seed in chosen.seeds:
        for problem in chosen.problems:
            folder = chosen.out / f"{problem}-{chosen.budget}-seed{seed}"
            if not folder.exists():
                command = [sys.executable, "-P", "-m", "evocore.cli.main", "run", problem, "--budget", chosen.budget]
                subprocess.run([*command, "--seed", str(seed), "--out", str(folder), "--quiet"], check=True)
            made.append(folder)
            print(f"{folder}", file=sys.stderr, flush=True)
    try:
        print(table([read_summary(path) for path in made]))
    except EvocoreError as error:
        print(f"bench_runs: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
