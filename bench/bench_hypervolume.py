"""Hypervolume, contributions and archive queries beside moocore, pygmo and hvwfg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.bench import timing
from evocore.bench.timing import installed
from evocore.kernels.archive import HypervolumeArchive
from evocore.kernels.hypervolume import hypervolume, hypervolume_contributions

Array = npt.NDArray[np.float64]

PACKAGES = ("moocore", "pygmo", "hvwfg")
N_QUERIES = 1000


def sphere(n: int, d: int, seed: int = 0) -> Array:
    """Return points on the positive part of the unit sphere: none dominates another."""
    p = np.abs(np.random.default_rng(seed).standard_normal((n, d)))
    return np.ascontiguousarray(p / np.linalg.norm(p, axis=1)[:, None])


def cliff(n: int, d: int) -> Array:
    """Return (x, 1 - x, z) or (x, 1 - x, z, 1 - z): every point stays on the staircase."""
    rng = np.random.default_rng(0)
    x, z = rng.random(n), rng.random(n)
    return np.ascontiguousarray(np.stack([x, 1 - x, z, 1 - z][:d], axis=1))


def volume_calls(p: Array, r: Array, names: Sequence[str]) -> dict[str, timing.Call | None]:
    moocore, pygmo, hvwfg = (installed(name) for name in PACKAGES)
    calls: dict[str, timing.Call | None] = {
        "moocore": moocore and (lambda: moocore.hypervolume(p, ref=r)),
        "pygmo": pygmo and (lambda: pygmo.hypervolume(p).compute(r)),
        "hvwfg": hvwfg and (lambda: hvwfg.wfg(p, r)),
    }
    return {name: calls[name] for name in names}


def same_volume(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= 1e-9 * ours


# id, objectives, points, front, must, stretch, entrants that finish in reasonable time, quick
VOLUMES: list[tuple[str, int, int, str, float, float, tuple[str, ...], bool]] = [
    ("H2", 2, 10_000, "sphere", 4, 8, PACKAGES, True),
    ("H2", 2, 10, "sphere", 4, 8, PACKAGES, True),
    ("H3", 3, 1_000, "sphere", 4, 6, PACKAGES, True),
    ("H3", 3, 10_000, "sphere", 3, 5, PACKAGES[:2], True),
    ("H3", 3, 10_000, "cliff", 1.2, 3, PACKAGES[:2], True),
    ("H4", 4, 100, "sphere", 1.2, 2, PACKAGES, True),
    ("H4", 4, 1_000, "sphere", 2.3, 4, PACKAGES, True),
    ("H4", 4, 10_000, "sphere", 6, 10, PACKAGES[::2], True),
    ("H4", 4, 10_000, "cliff", 15, 25, PACKAGES[:1], False),
    ("H5", 5, 1_000, "sphere", 3.5, 6, PACKAGES, True),
    ("H5", 5, 10_000, "sphere", 15, 25, PACKAGES[::2], False),
    ("H6", 6, 1_000, "sphere", 6, 12, PACKAGES[2:], True),
    ("H6", 6, 10_000, "sphere", 8, 15, PACKAGES[2:], False),
    ("H8", 7, 1_000, "sphere", 4, 7, PACKAGES[2:], False),
    ("H8", 8, 100, "sphere", 1.5, 4, PACKAGES[2:], True),
]


def volume_rows() -> list[timing.Row]:
    rows = []
    for name, d, n, kind, must, stretch, names, quick in VOLUMES:
        p, r = sphere(n, d) if kind == "sphere" else cliff(n, d), np.full(d, 1.1)
        rows.append(
            timing.Row(
                name,
                f"volume d={d} n={n} {kind}",
                lambda p=p, r=r: hypervolume(p, r),  # type: ignore[misc]
                volume_calls(p, r, names),
                (must, stretch),
                same_volume,
                quick,
            )
        )
    return rows


def same_contributions(ours: Array, theirs: Any) -> bool:
    # moocore sets what is below 1.5e-8 to zero
    return bool(np.allclose(ours, np.asarray(theirs), rtol=1e-6, atol=2e-8))


# id, objectives, points, goal against moocore and against pygmo (must, stretch), quick
CONTRIBUTIONS: list[tuple[str, int, int, tuple[float, float], tuple[float, float] | None, bool]] = [
    ("C3", 3, 1_000, (3, 4), None, True),
    ("C3", 3, 10_000, (2, 4), None, True),
    ("C4", 4, 1_000, (50, 150), None, False),
    ("C4", 5, 300, (20, 50), (3, 8), True),
]


def contribution_rows() -> list[timing.Row]:
    moocore, pygmo = installed("moocore"), installed("pygmo")
    rows = []
    for name, d, n, goal, pygmo_goal, quick in CONTRIBUTIONS:
        p, r = sphere(n, d), np.full(d, 1.1)
        goals = {"moocore": goal, "pygmo": pygmo_goal}
        calls = {
            "moocore": moocore and (lambda p=p, r=r: moocore.hv_contributions(p, ref=r)),
            "pygmo": pygmo and (lambda p=p, r=r: pygmo.hypervolume(p).contributions(r)),
        }
        for entrant, its_goal in goals.items():
            if its_goal is not None:
                rows.append(
                    timing.Row(
                        name,
                        f"contributions d={d} n={n} sphere, against {entrant}",
                        lambda p=p, r=r: hypervolume_contributions(p, r),  # type: ignore[misc]
                        {entrant: calls[entrant]},
                        its_goal,
                        same_contributions,
                        quick,
                    )
                )
    return rows


def query_rows() -> list[timing.Row]:
    """Gain of a point near the front, against the volume computed anew with it."""
    moocore = installed("moocore")
    rows = []
    for d, most in ((3, 0.3), (4, 2), (5, 20)):
        p, r = sphere(1_000, d), np.full(d, 1.1)
        queries = sphere(N_QUERIES, d, seed=1) * 0.99
        archive = HypervolumeArchive(r)
        archive.insert_all(p)
        whole, longer = hypervolume(p, r), np.vstack([p, queries[:1]])
        recompute = moocore and (lambda longer=longer, r=r: moocore.hypervolume(longer, ref=r))
        rows.append(
            timing.Row(
                "Q",
                f"gain of one of {N_QUERIES} queries d={d} n=1000",
                lambda archive=archive, queries=queries: archive.gains(queries),  # type: ignore[misc]
                {"moocore": recompute},
                (1000, 2000),
                lambda ours, theirs, whole=whole: abs(ours[0] + whole - theirs) <= 1e-9 * whole,  # type: ignore[misc]
                work=N_QUERIES,
                note=f"goal in time: {most:g} µs",
            )
        )
    return rows


def rows() -> list[timing.Row]:
    """Return all rows, in the order of the goals."""
    return volume_rows() + contribution_rows() + query_rows()
