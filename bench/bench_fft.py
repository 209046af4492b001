"""Autoconvolutions and smoothed maxima beside NumPy, SciPy, FFTW and ducc.

Row A compares with NumPy at a good
length (the goal's anchor), the row behind it with the other libraries; the libraries get the least length of small
factors, plans that are kept, and no self-check, which ours includes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from evocore.bench import timing
from evocore.bench.timing import installed
from evocore.kernels.fourier import autoconvolution_maximum
from evocore.kernels.smoothmax import SmoothedMaximum
from evocore.problems.autocorrelation import good_length

Array = npt.NDArray[np.float64]
Call = Callable[[], Any]


def numpy_maximum(f: Array) -> Call:
    length = good_length(2 * len(f) - 1)
    return lambda: np.fft.irfft(np.fft.rfft(f, length) ** 2, length).max()


def other_maxima(f: Array) -> dict[str, Call | None]:
    import scipy.fft

    length = good_length(2 * len(f) - 1)
    calls: dict[str, Call | None] = {
        "scipy": lambda: scipy.fft.irfft(scipy.fft.rfft(f, length) ** 2, length).max(),
    }
    if len(f) <= 1000:
        calls["numpy.convolve"] = lambda: np.convolve(f, f).max()
    return {**calls, "pyfftw": by_fftw(f, length), "ducc0": by_ducc(f, length)}


def by_fftw(f: Array, length: int) -> Call | None:
    pyfftw = installed("pyfftw")
    if pyfftw is None:
        return None
    x, spectrum = pyfftw.zeros_aligned(length), pyfftw.zeros_aligned(length // 2 + 1, dtype=np.complex128)
    forward = pyfftw.FFTW(x, spectrum, flags=("FFTW_ESTIMATE",))
    backward = pyfftw.FFTW(spectrum, x.copy(), direction="FFTW_BACKWARD", flags=("FFTW_ESTIMATE",))

    def call() -> Any:
        x[: len(f)] = f
        values = forward()
        np.multiply(values, values, out=values)
        return backward().max()

    return call


def by_ducc(f: Array, length: int) -> Call | None:
    ducc0 = installed("ducc0")
    if ducc0 is None:
        return None
    padded = np.zeros(length)
    padded[: len(f)] = f

    def call() -> Any:
        values = ducc0.fft.r2c(padded)
        return ducc0.fft.c2r(values * values, lastsize=length, forward=False, inorm=2).max()

    return call


def naive_smoothed(x: Array, beta: float) -> Call:
    """Value and gradient of the smoothed maximum of 2n (f*f) / (sum f)^2, as one would write it."""
    n = len(x)
    length = good_length(2 * n)
    total = np.sqrt(2.0 * n)

    def call() -> tuple[float, Array]:
        s = x.sum()
        f = x * (total / s)
        values = np.fft.rfft(f, length)
        c = np.fft.irfft(values * values, length)[: 2 * n - 1]
        top = c.max()
        p = np.exp(beta * (c - top))
        weight = p.sum()
        p /= weight
        g = 2 * np.fft.irfft(np.fft.rfft(p, length) * values.conj(), length)[:n]
        return top + np.log(weight) / beta, total / s * (g - (g @ f) / total)

    return call


def same_smoothed(ours: tuple[float, float, Array], theirs: tuple[float, Array]) -> bool:
    scale = float(np.abs(theirs[1]).max())
    return abs(ours[0] - theirs[0]) <= 1e-12 * abs(ours[0]) and bool(np.abs(ours[2] - theirs[1]).max() <= 1e-9 * scale)


def rows() -> list[timing.Row]:
    """Return all rows, in the order of the goals."""
    rng = np.random.default_rng(0)
    made = []

    def close(a: Any, b: Any) -> bool:
        return abs(float(a) - float(b)) <= 1e-12 * float(a)

    for n, must, stretch in ((600, 4.0, 6.0), (65536, 1.5, 2.2)):
        f = rng.random(n)
        ours = lambda f=f: autoconvolution_maximum(f)  # noqa: E731
        numpy_call = {"numpy, good length": numpy_maximum(f)}
        made.append(timing.Row("A", f"autoconvolution and maximum, n = {n}", ours, numpy_call, (must, stretch), close))
        made.append(timing.Row("others", f"the same, n = {n}", ours, other_maxima(f), None, close))
    for n, must, stretch, beta in ((300, 7.0, 10.0, 300.0), (4096, 4.5, 7.0, 300.0), (65536, 2.5, 3.5, 300.0)):
        made.append(smoothed_row(rng, n, must, stretch, beta, is_quick=n < 50_000))
    made.append(smoothed_row(rng, 1 << 20, 2.5, 5.0, 300.0, is_quick=False))
    return made


def smoothed_row(
    rng: np.random.Generator, n: int, must: float, stretch: float, beta: float, *, is_quick: bool
) -> timing.Row:
    x = rng.random(n) + 0.5
    objective = SmoothedMaximum("signed", n)
    return timing.Row(
        "L",
        f"smoothed maximum, value and gradient, n = {n}",
        lambda: objective.evaluate(x, beta),
        {"numpy, good length": naive_smoothed(x, beta)},
        (must, stretch),
        same_smoothed,
        is_quick,
    )
