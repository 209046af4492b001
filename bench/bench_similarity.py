"""Similarity matrices and farthest points beside SciPy and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist, pdist, squareform

from evocore.bench import timing
from evocore.kernels.dominance import outdoes
from evocore.kernels.similarity import farthest_points, parent_weights, similarity

Array = npt.NDArray[np.float64]

LEVELS = 100


def scipy_calls(x: Array, out: Array | None) -> dict[str, Callable[[], Any]]:
    return {
        "cdist": lambda: 1 - cdist(x, x, "cityblock") / x.shape[1] if out is None else _cdist_into(x, out),
        "pdist": lambda: 1 - squareform(pdist(x, "cityblock")) / x.shape[1],
        # what SciPy alone takes, without turning distances into similarities
        "cdist alone": lambda: cdist(x, x, "cityblock", out=out),
        "pdist alone": lambda: squareform(pdist(x, "cityblock")),
    }


def _cdist_into(x: Array, out: Array) -> Array:
    cdist(x, x, "cityblock", out=out)
    np.divide(out, -x.shape[1], out=out)
    np.add(out, 1, out=out)
    return out


def same_matrix(ours: Array, theirs: Array) -> bool:
    """SciPy's similarities, or its distances."""
    if theirs[0, 0] == 0:
        scale = float(theirs.max()) / float(1 - ours.min())
        return bool(np.allclose(1 - ours, theirs / scale, rtol=0, atol=1e-12))
    return bool(np.allclose(ours, theirs, rtol=0, atol=1e-12))


def numpy_farthest(x: Array, k: int) -> list[int]:
    """Return the picks of the plain loop."""
    picks, nearest = [0], np.abs(x - x[0]).sum(axis=1)
    for _ in range(k - 1):
        picks.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.abs(x - x[picks[-1]]).sum(axis=1))
    return picks


def numpy_weights(fitness: Array, x: Array) -> Array:
    matrix = 1 - squareform(pdist(x, "cityblock")) / x.shape[1]
    lead = fitness[:, None, 0] - fitness[None, :, 0]
    cheaper = (fitness[:, None, 1:] > fitness[None, :, 1:]).all(axis=2)
    beats = (lead > 0.02) | ((np.abs(lead) <= 0.02) & cheaper)
    return np.asarray(-(beats.T * matrix).sum(axis=1))


def rows() -> list[timing.Row]:
    """Return all rows, in the order of the goals."""
    rng = np.random.default_rng(0)
    made = []
    for n, m, goal in ((1000, 1000, (3.5, 6.0)), (4000, 64, (4.5, 8.0))):
        x = rng.random((n, m))
        for out, how in ((None, ""), (np.empty((n, n)), ", out=")):
            made.append(
                timing.Row(
                    "S",
                    f"similarity float64 {n} x {m}{how}",
                    lambda x=x, out=out: similarity(x, out=out),  # type: ignore[misc]
                    scipy_calls(x, None if out is None else np.empty((n, n))),
                    goal,
                    same_matrix,
                    is_quick=n < 4000 and out is None,
                )
            )
    for n, m, exact_goal in ((1000, 1000, (25.0, 40.0)), (4000, 64, None)):
        counts = rng.integers(0, LEVELS + 1, (n, m)).astype(np.uint8)
        made.append(
            timing.Row(
                "S8",
                f"similarity uint8 {n} x {m}, exact",
                lambda counts=counts: similarity(counts, levels=LEVELS),  # type: ignore[misc]
                scipy_calls(counts / LEVELS, None),
                exact_goal,
                same_matrix,
                is_quick=n < 4000,
            )
        )
    for n, m, k, float_goal, byte_goal in ((20_000, 200, 64, (5, 7), (80, 120)), (5_000, 100, 16, None, None)):
        counts = rng.integers(0, LEVELS + 1, (n, m)).astype(np.uint8)
        # multiples of 1/1024: sums are exact, so that equal distances are equal for every order of additions
        x, whole = np.floor(rng.random((n, m)) * 1024) / 1024, counts.astype(np.float64)
        made += [
            timing.Row(
                "F",
                f"{k} farthest of {n} x {m} float64",
                lambda x=x, k=k: farthest_points(x, k),  # type: ignore[misc]
                {"numpy": lambda x=x, k=k: numpy_farthest(x, k)},  # type: ignore[misc]
                float_goal,
                lambda ours, theirs: ours.tolist() == theirs,
                is_quick=n < 20_000,
            ),
            timing.Row(
                "F",
                f"{k} farthest of {n} x {m} uint8",
                lambda counts=counts, k=k: farthest_points(counts, k, levels=LEVELS),  # type: ignore[misc]
                {"numpy": lambda whole=whole, k=k: numpy_farthest(whole, k)},  # type: ignore[misc]
                byte_goal,
                lambda ours, theirs: ours.tolist() == theirs,
                is_quick=n < 20_000,
            ),
        ]
    fitness, x1 = rng.random((1000, 3)), rng.random((1000, 100))
    made.append(
        timing.Row(
            "eta",
            "selection scores of 1000 x 100",
            lambda: parent_weights(fitness, x1, epsilon=0.02),
            {
                "numpy": lambda: numpy_weights(fitness, x1),
                "ours in two steps": lambda: -(outdoes(fitness, epsilon=0.02).T * similarity(x1)).sum(axis=1),
            },
            None,
            lambda ours, theirs: bool(np.allclose(ours, theirs, rtol=0, atol=1e-10)),
        )
    )
    return made
