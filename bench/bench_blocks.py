"""The blocks that optimizer programs are made of, beside what their prototypes took on the same kind of processor.

The anchors are measured times of programs that are not here: C with FFTW for values with gradients and for quenches, a
Newton step with LAPACK's eigensolver for the negative eigenvalues alone. Checked are the true objectives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.bench import timing
from evocore.kernels.fourier import autoconvolution_maximum, overlap_maximum
from evocore.kernels.smoothmax import SmoothedMaximum
from evocore.optim import barrier_newton, ladder

Array = npt.NDArray[np.float64]

FIRST_SECONDS = {100: 1.5e-6, 400: 7.5e-6, 1600: 36e-6, 6400: 191e-6}
OVERLAP_SECONDS = {100: 3.1e-6, 400: 12e-6, 1200: 39e-6}
QUENCH_SECONDS = 1 / 600
NEWTON_SECONDS = 45e-3


def true_objective(kind: str, construction: Array) -> float:
    """Compute it without the block."""
    if kind == "overlap":
        return float(overlap_maximum(construction))
    return float(autoconvolution_maximum(construction)) * 2 * len(construction) / float(construction.sum()) ** 2


def iteration_row(rng: np.random.Generator, name: str, kind: str, n: int, anchor_seconds: float) -> timing.Row:
    """One value and gradient with its step of L-BFGS, inside a quench; the anchor is of value and gradient alone."""
    objective, betas, count = SmoothedMaximum(kind, n), ladder(100.0, 1e6, 8), 60
    x = rng.standard_normal(n) if kind == "overlap" else rng.random(n) + 0.5
    found = objective.quench(x, betas, count)
    return timing.Row(
        "O1",
        f"{name}, value, gradient and step, n = {n}",
        lambda: objective.quench(x, betas, count).peak,
        {},
        (1.0, 1.5),
        lambda ours, theirs: abs(ours - theirs) <= 1e-12,
        work=float(objective.n_evaluations),
        elsewhere=("prototype", anchor_seconds, true_objective(kind, objective.construction(found.x))),
    )


def quench_row(rng: np.random.Generator) -> timing.Row:
    """Random numbers to a local minimum of the overlap at n = 100: 8 stages of 60 iterations."""
    objective, x, betas = SmoothedMaximum("overlap", 100), rng.standard_normal(100), ladder(100.0, 1e6, 8)
    found = objective.quench(x, betas, 60)
    return timing.Row(
        "O2",
        "Erdős, quench of 8 stages of 60 iterations, n = 100",
        lambda: objective.quench(x, betas, 60).peak,
        {},
        (1.0, 1.5),
        lambda ours, theirs: abs(ours - theirs) <= 1e-12,
        elsewhere=("600 a second", QUENCH_SECONDS, true_objective("overlap", objective.construction(found.x))),
    )


def newton_row(rng: np.random.Generator, name: str, kind: str) -> timing.Row:
    """One step of 20, on the way from random numbers, all 400 values free."""
    start, n_steps = rng.random(400), 20

    def follow() -> Any:
        return barrier_newton(
            kind, start, mu_start=0.1 / 400, mu_end=1e-9 / 400, mu_factor=0.2, sloppiness=0.03, n_steps=n_steps
        )

    found = follow()
    return timing.Row(
        "O3",
        f"{name}, saddle-free Newton step, n = 400",
        lambda: follow().peak,
        {},
        (5.0, 10.0),
        lambda ours, theirs: abs(ours - theirs) <= 1e-12,
        work=float(n_steps),
        elsewhere=("prototype", NEWTON_SECONDS, true_objective(kind, found.construction)),
    )


def rows() -> list[timing.Row]:
    """Return all rows, in the order of the goals."""
    rng = np.random.default_rng(0)
    made = [iteration_row(rng, "first", "autoconvolution", n, seconds) for n, seconds in FIRST_SECONDS.items()]
    made += [iteration_row(rng, "Erdős", "overlap", n, seconds) for n, seconds in OVERLAP_SECONDS.items()]
    made.append(quench_row(rng))
    made += [newton_row(rng, "first", "autoconvolution"), newton_row(rng, "Erdős", "overlap")]
    return made
