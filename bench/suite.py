"""The kernel benchmarks as one report: what `evocore bench` prints; `make bench` keeps it in RESULTS.md."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from evocore import __version__
from evocore.bench import timing
from evocore.errors import InputError

TOPICS = ("hypervolume", "dominance", "similarity", "fft", "exact", "blocks")
PACKAGES = ("scipy", "moocore", "pygmo", "hvwfg", "paretoset", "pymoo", "ducc0", "pyfftw", "python-flint")

FULL = {"turns": 15, "budget_seconds": 4.0}
QUICK = {"turns": 5, "budget_seconds": 0.3}


def run(topic: str, *, is_quick: bool = False) -> dict[str, Any]:
    """Check and time the rows of a topic.

    Parameters
    ----------
    topic : str
        One of `TOPICS`, or all.
    is_quick : bool
        Fewer turns, and only the short rows.

    Returns
    -------
    dict
        As JSON types: date, version, commit, ``machine`` and ``rows``.

    Raises
    ------
    InputError
        There is no such topic.
    """
    if topic not in (*TOPICS, "all"):
        raise InputError(f"expected a topic out of {', '.join(TOPICS)}, or all, got {topic!r}")
    effort: dict[str, Any] = QUICK if is_quick else FULL
    begun, machine, lines = time.time(), timing.machine(PACKAGES), []
    for name in TOPICS if topic == "all" else (topic,):
        for row in importlib.import_module(f"evocore.bench.bench_{name}").rows():
            if row.is_quick or not is_quick:
                if sys.stderr.isatty():
                    print(f"{row.id} {row.title}", file=sys.stderr)
                lines.append(timing.measure(row, **effort))
    command = f"evocore bench {topic}{' --quick' if is_quick else ''}"
    return {**stamp(command, begun), "machine": machine, "rows": lines}


def stamp(command: str, begun: float) -> dict[str, Any]:
    """Return what a report says about itself: date, version, commit, command, seconds since it was begun."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime(begun)),
        "version": __version__,
        "commit": commit(),
        "command": command,
        "seconds": round(time.time() - begun),
    }


def stamp_text(report: dict[str, Any]) -> str:
    """Write what a report says about itself as a line."""
    source = f" ({report['commit']})" if report["commit"] else ""
    return f"{report['date']}, evocore {report['version']}{source}, `{report['command']}`, {report['seconds']} s."


def commit() -> str | None:
    """Return the commit of this checkout, marked where files differ from it; None for an installed copy."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    done = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True
    )
    return done.stdout.strip() or None


def has_failed(report: dict[str, Any]) -> bool:
    """Say whether any result was not what the others found."""
    return any(row.get("wrong") or ("of" in row and row["measured"]) for row in report["rows"])


def text(report: dict[str, Any]) -> str:
    """Write a report as Markdown: the machine, and a table with the goals beside what was measured."""
    at = report["machine"]
    versions = [f"{name} {version or 'not installed'}" for name, version in at["versions"].items()]
    lines = [
        "# Kernels beside other libraries",
        "",
        stamp_text(report),
        "",
        f"{at['cpu']}, {at['n_cpus']} cores, load {at['load']}; {at['fma_gflops']} GFLOP/s in a matrix product, copies "
        f"{at['copy_gbytes']} GB/s. Python {at['python']}, BLAS {at['blas']}, {', '.join(versions)}.",
        "",
        "Measured is CPU time of the anchor, the fastest entrant, over ours (median and quartiles of turns in one "
        "process); all results were compared first. Must and stretch are goals: what a release has to reach, and more.",
        "",
        "| id | input | ours | anchor | must | stretch | measured | others and remarks |",
        "|--|--|--|--|--|--|--|--|",
    ]
    lines += [f"| {' | '.join(_counted(row) if 'of' in row else _timed(row))} |" for row in report["rows"]]
    return "\n".join(lines) + "\n"


def _timed(row: dict[str, Any]) -> list[str]:
    anchor, ratios = row["anchor"], row["ratios"]
    remarks = [f"{name} {ratio['median']:.3g}x" for name, ratio in ratios.items() if name != anchor]
    remarks += [f"{name} gives another result" for name in row["wrong"]]
    remarks += [f"{name} not installed" for name in row["not_installed"]]
    remarks += [row["note"]] * bool(row["note"])
    measured = "-"
    if anchor is not None:
        spread = ratios[anchor]
        measured = f"{spread['median']:.3g}x ({spread['q25']:.3g}-{spread['q75']:.3g})"
        if row["must"] is not None:
            reached = "stretch" if spread["median"] >= row["stretch"] else "must"
            measured += f", {reached if spread['median'] >= row['must'] else 'below must'}"
    return [
        row["id"],
        row["title"],
        _seconds(row["ours_seconds"]),
        "-" if anchor is None else f"{anchor} {_seconds(row['seconds'][anchor])}",
        *("-" if row[goal] is None else f"{row[goal]:g}x" for goal in ("must", "stretch")),
        measured,
        ", ".join(remarks),
    ]


def _counted(row: dict[str, Any]) -> list[str]:
    measured = "does not run here" if row["measured"] is None else f"{row['measured']} of {row['of']} differ"
    return [row["id"], row["title"], "", "", f"{row['must']:g} differ", "", measured, row["note"]]


def _seconds(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
