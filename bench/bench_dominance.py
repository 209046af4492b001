"""Non-dominated filters and the epsilon matrix beside moocore, paretoset, pymoo and NumPy.

Run with ``python -m evocore.bench.bench_dominance [--quick] [--json] [--rows N,E]``. Entrants not installed are left
out. They are only measured here; nothing in the engine uses them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.bench import timing
from evocore.kernels.dominance import epsilon_indicator, excess, non_dominated, ranks

Array = npt.NDArray[np.float64]

PACKAGES = ("moocore", "paretoset", "pymoo")


def installed(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def points(kind: str, n: int, d: int) -> Array:
    """Uniform in the cube (few stay), or on the unit sphere (all stay)."""
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, d))
    p = np.abs(rng.standard_normal((n, d)))
    return np.ascontiguousarray(p / np.linalg.norm(p, axis=1)[:, None])


def filter_calls(p: Array, names: Sequence[str]) -> dict[str, Callable[[], Any]]:
    moocore, paretoset, pymoo = (installed(name) for name in PACKAGES)
    calls: dict[str, Callable[[], Any]] = {}
    if moocore and "moocore" in names:
        calls["moocore"] = lambda: moocore.is_nondominated(p, keep_weakly=True)
    if paretoset and "paretoset" in names:
        calls["paretoset"] = lambda: paretoset.paretoset(p, distinct=False)
    if pymoo and "pymoo" in names:
        sorting = importlib.import_module("pymoo.util.nds.non_dominated_sorting").NonDominatedSorting()
        calls["pymoo"] = lambda: np.isin(np.arange(len(p)), sorting.do(p, only_non_dominated_front=True))
    return calls


FAST = PACKAGES[:2]

# objectives, points, set, must, stretch, entrants that finish in reasonable time
FILTERS: list[tuple[int, int, str, float, float, tuple[str, ...]]] = [
    (2, 10_000, "uniform", 0.7, 1.5, FAST),
    (3, 10_000, "sphere", 1, 3, PACKAGES[:1]),
    (4, 1_000, "uniform", 3.3, 6, PACKAGES),
    (6, 1_000, "uniform", 3.3, 6, PACKAGES),
    (8, 1_000, "uniform", 3.3, 6, PACKAGES),
    (4, 1_000, "sphere", 3.3, 6, PACKAGES),
    (6, 1_000, "sphere", 3.3, 6, PACKAGES),
    (8, 1_000, "sphere", 3.3, 6, PACKAGES),
    (8, 10_000, "uniform", 1.3, 3, PACKAGES[:1]),
    (8, 10_000, "sphere", 1.3, 3, PACKAGES[:1]),
    (4, 10_000, "sphere", 1, 3, PACKAGES[:1]),
]


def filter_rows() -> list[timing.Row]:
    rows = []
    for d, n, kind, must, stretch, names in FILTERS:
        p = points(kind, n, d)
        rows.append(
            timing.Row(
                "N",
                f"non-dominated d={d} n={n} {kind}",
                lambda p=p: non_dominated(p),  # type: ignore[misc]
                filter_calls(p, names),
                must,
                stretch,
                lambda ours, theirs: np.array_equal(ours, theirs),
            )
        )
    return rows


def rank_rows() -> list[timing.Row]:
    """No goal was set for these: fronts beside moocore's."""
    moocore = installed("moocore")
    rows = []
    for d, n in ((2, 10_000), (3, 1_000), (4, 1_000), (6, 1_000)):
        p = points("uniform", n, d)
        entrants = {"moocore": lambda p=p: moocore.pareto_rank(p)} if moocore else {}
        rows.append(
            timing.Row(
                "R",
                f"ranks d={d} n={n} uniform",
                lambda p=p: ranks(p),  # type: ignore[misc]
                entrants,
                1,
                1,
                lambda ours, theirs: np.array_equal(ours, np.asarray(theirs) - np.min(theirs)),
                is_quick=False,
                note="no goal was set",
            )
        )
    return rows


def epsilon_rows() -> list[timing.Row]:
    moocore = installed("moocore")
    rows = []
    for d in (3, 8):
        p, q = points("sphere", 1000, d), points("sphere", 1000, d)[::-1] * 0.99
        rows.append(
            timing.Row(
                "E",
                f"epsilon matrix 1000 x 1000, d={d}",
                lambda p=p, q=q: excess(p, q),  # type: ignore[misc]
                {"numpy": lambda p=p, q=q: (p[:, None, :] - q[None, :, :]).max(axis=2)},  # type: ignore[misc]
                30,
                60,
                lambda ours, theirs: np.array_equal(ours, theirs),
            )
        )
    p, q = points("sphere", 1000, 3), points("uniform", 1000, 3)
    entrants = {"moocore": lambda: moocore.epsilon_additive(p, ref=q)} if moocore else {}
    rows.append(
        timing.Row(
            "Ei",
            "epsilon indicator 1000 x 1000, d=3",
            lambda: epsilon_indicator(p, q),
            entrants,
            1,
            1,
            lambda ours, theirs: abs(ours - theirs) <= 1e-15,
            note="no goal was set",
        )
    )
    return rows


def rows() -> list[timing.Row]:
    """Return all rows, in the order of the goals."""
    return filter_rows() + epsilon_rows() + rank_rows()


def notes() -> list[str]:
    missing = [name for name in PACKAGES if installed(name) is None]
    told = ["R and Ei have no goal: 1x stands for one."]
    return [*told, f"not installed, so not measured: {', '.join(missing)}"] if missing else told


def main(arguments: Sequence[str] | None = None) -> int:
    return timing.main(rows, arguments, packages=PACKAGES, notes=notes)


if __name__ == "__main__":
    sys.exit(main())
