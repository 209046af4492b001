"""Non-dominated filters and the epsilon matrix beside moocore, paretoset, pymoo and NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.bench import timing
from evocore.bench.timing import installed
from evocore.kernels.dominance import epsilon_indicator, excess, non_dominated, ranks

Array = npt.NDArray[np.float64]

PACKAGES = ("moocore", "paretoset", "pymoo")


def points(kind: str, n: int, d: int) -> Array:
    """Uniform in the cube (few stay), or on the unit sphere (all stay)."""
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, d))
    p = np.abs(rng.standard_normal((n, d)))
    return np.ascontiguousarray(p / np.linalg.norm(p, axis=1)[:, None])


def filter_calls(p: Array, names: Sequence[str]) -> dict[str, timing.Call | None]:
    moocore, paretoset = installed("moocore"), installed("paretoset")
    sorting = installed("pymoo.util.nds.non_dominated_sorting")

    def by_pymoo() -> Any:
        fronts = sorting.NonDominatedSorting()
        return np.isin(np.arange(len(p)), fronts.do(p, only_non_dominated_front=True))

    calls: dict[str, timing.Call | None] = {
        "moocore": moocore and (lambda: moocore.is_nondominated(p, keep_weakly=True)),
        "paretoset": paretoset and (lambda: paretoset.paretoset(p, distinct=False)),
        "pymoo": sorting and by_pymoo,
    }
    return {name: calls[name] for name in names}


FAST = PACKAGES[:2]

# objectives, points, set, must and stretch, entrants that finish in reasonable time
FILTERS: list[tuple[int, int, str, tuple[float, float] | None, tuple[str, ...]]] = [
    (2, 10_000, "uniform", (0.7, 1.5), FAST),
    (3, 10_000, "sphere", (1, 3), PACKAGES[:1]),
    (4, 1_000, "uniform", (3.3, 6), PACKAGES),
    (6, 1_000, "uniform", (3.3, 6), PACKAGES),
    (8, 1_000, "uniform", (3.3, 6), PACKAGES),
    (4, 1_000, "sphere", (3.3, 6), PACKAGES),
    (6, 1_000, "sphere", (3.3, 6), PACKAGES),
    (8, 1_000, "sphere", (3.3, 6), PACKAGES),
    (8, 10_000, "uniform", (1.3, 3), FAST),
    (8, 10_000, "sphere", (1.3, 3), PACKAGES[:1]),
    (4, 10_000, "sphere", None, PACKAGES[:1]),
]


def filter_rows() -> list[timing.Row]:
    rows = []
    for d, n, kind, goal, names in FILTERS:
        p = points(kind, n, d)
        rows.append(
            timing.Row(
                "N",
                f"non-dominated d={d} n={n} {kind}",
                lambda p=p: non_dominated(p),  # type: ignore[misc]
                filter_calls(p, names),
                goal,
                lambda ours, theirs: np.array_equal(ours, theirs),
            )
        )
    return rows


def rank_rows() -> list[timing.Row]:
    moocore = installed("moocore")
    rows = []
    for d, n in ((2, 10_000), (3, 1_000), (4, 1_000), (6, 1_000)):
        p = points("uniform", n, d)
        rows.append(
            timing.Row(
                "ranks",
                f"ranks d={d} n={n} uniform",
                lambda p=p: ranks(p),  # type: ignore[misc]
                {"moocore": moocore and (lambda p=p: moocore.pareto_rank(p))},
                None,
                lambda ours, theirs: np.array_equal(ours, np.asarray(theirs) - np.min(theirs)),
                is_quick=False,
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
                (30, 60),
                lambda ours, theirs: np.array_equal(ours, theirs),
            )
        )
    p, q = points("sphere", 1000, 3), points("uniform", 1000, 3)
    rows.append(
        timing.Row(
            "indicator",
            "epsilon indicator 1000 x 1000, d=3",
            lambda: epsilon_indicator(p, q),
            {"moocore": moocore and (lambda: moocore.epsilon_additive(p, ref=q))},
            None,
            lambda ours, theirs: abs(ours - theirs) <= 1e-15,
        )
    )
    return rows


def rows() -> list[timing.Row]:
    """Return all rows, in the order of the goals."""
    return filter_rows() + epsilon_rows() + rank_rows()
