"""Exact largest sums beside python-flint, and the bits of NumPy's dot products.

"flint total" is a polynomial from Python integers, its square, the largest coefficient; "flint multiply" the square
alone, whose goals (ids with m) are set against a native build of FLINT with its fastest product (fft_small), which
python-flint's wheel does not have. Row X3 is the exact overlap of Erdős' problem. The last rows compare all bits of
`numpy.convolve` and `numpy.correlate` under each of OpenBLAS' kernels, each in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpz_poly

from evocore.bench import timing
from evocore.kernels.blas import KERNELS
from evocore.kernels.exact import ExactVector, exact_autoconvolution_maximum
from evocore.problems import problem
from evocore.problems.exact import max_overlap, to_integers

Array = npt.NDArray[np.float64]
Goal = tuple[float, float] | None

COMPARE = """
import sys
import numpy as np
from evocore.kernels.blas import convolve, correlate
rng, wrong, total = np.random.default_rng(0), 0, 0
for n in (5, 11, 12, 17, 33, 64, 100, 257, 600, 1500):
    f = rng.standard_normal(n)
    h = rng.random(n)
    for theirs, ours in (
        (np.convolve(f, f), convolve(f, f, kernel=sys.argv[1])),
        (np.correlate(h, 1 - h, "full"), correlate(h, 1 - h, kernel=sys.argv[1])),
    ):
        wrong += int((theirs != ours).sum())
        total += len(ours)
print(wrong, total)
"""


def flat(n: int) -> Array:
    """Coefficients of (1-z)^(-1/2): every sum below n is 1 up to the rounding of the entries."""
    k = np.arange(1, n)
    return np.concatenate([[1.0], np.cumprod((k - 0.5) / k)])


def integers_of(x: Array) -> tuple[list[int], int]:
    """Python integers over one power of two, by float.as_integer_ratio."""
    ratios = [v.as_integer_ratio() for v in x.tolist()]
    bits = max(q.bit_length() for _, q in ratios) - 1
    return [p << (bits - q.bit_length() + 1) for p, q in ratios], -bits


def flint_total(x: Array) -> Callable[[], Any]:
    def call() -> tuple[int, int]:
        integers, exponent = integers_of(x)
        square = fmpz_poly(integers) ** 2
        return int(max(square.coeffs())), 2 * exponent

    return call


def flint_multiply(x: Array) -> Callable[[], Any]:
    polynomial = fmpz_poly(integers_of(x)[0])
    return lambda: polynomial**2


def same_value(ours: tuple[int, int], theirs: Any) -> bool:
    if isinstance(theirs, fmpz_poly):  # multiplication alone: compared by the row before
        return True
    return bool(ours[0] * Fraction(2) ** ours[1] == theirs[0] * Fraction(2) ** theirs[1])


def judged_by_flint(h: Array) -> Callable[[], Any]:
    return lambda: max_overlap(to_integers(h))[0]


def rows() -> list[timing.Row | timing.Count]:
    """Return all rows, in the order of the goals."""
    rng = np.random.default_rng(0)
    made: list[timing.Row | timing.Count] = []
    made += pair("X1", "uniform, n = 600", rng.random(600), None, None)
    for n in (4096, 65536):
        made += pair("X1", f"uniform, n = {n}", rng.random(n), (20.0, 30.0), (2.5, 4.0), is_quick=n < 50_000)
    made += pair("X1", "log-normal e^(8N), n = 4096", np.exp(8 * rng.standard_normal(4096)), (20.0, 30.0), (2.5, 4.0))
    made += pair("X2", "flat, n = 4096", flat(4096), None, None)
    made += pair("X2", "flat, n = 65536", flat(65536), (2.4, 10.0), (0.3, 1.0), is_quick=False)
    erdos = problem("erdos-min-overlap")
    h = erdos.project(np.clip(0.5 + 0.4 * rng.standard_normal(600), 0.0, 1.0))
    made.append(
        timing.Row(
            "X3",
            "exact overlap, n = 600",
            lambda: overlap(h),
            {"flint": judged_by_flint(h)},
            None,
            lambda a, b: bool(a == b),
        )
    )
    made += [
        timing.Count("R", f"lags of numpy.convolve and correlate, {kernel}", lambda kernel=kernel: bits(kernel))  # type: ignore[misc]
        for kernel in KERNELS
    ]
    return made


def bits(kernel: str) -> tuple[int, int] | None:
    env = {**os.environ, "OPENBLAS_CORETYPE": kernel.capitalize().replace("ex", "eX"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", COMPARE, kernel], env=env, text=True, capture_output=True)
    if done.returncode != 0:
        return None
    wrong, total = done.stdout.split()
    return int(wrong), int(total)


def overlap(h: Array) -> Fraction:
    found = ExactVector(h).overlap_maximum()
    return Fraction(found.numerator, 2 * found.total**2)


def pair(
    name: str,
    title: str,
    x: Array,
    total: Goal,
    multiply: Goal,
    *,
    is_quick: bool = True,
) -> list[timing.Row]:
    ours = lambda: exact_autoconvolution_maximum(x)  # noqa: E731
    wheel = {"flint multiply": flint_multiply(x)}
    return [
        timing.Row(name, title, ours, {"flint total": flint_total(x)}, total, same_value, is_quick),
        timing.Row(f"{name}m", title, ours, wheel, multiply, same_value, is_quick, note="not a native FLINT"),
    ]
