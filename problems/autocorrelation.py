"""The four problems on step functions share this: float scores as the arena computes them, without its O(n^2).

The arena takes `np.convolve` or `np.correlate`, which compute every lag by one BLAS dot product. Up to 4096 values the
same call is made here. Above, an FFT says which lags can hold the maximum, and only those are computed, by the same
dot product over the same slices: the same bits as the arena's operation on this machine, in O(n log n).

How far "the same bits" goes: the dot product belongs to the machine's BLAS, so that another processor family may differ
by up to 4 ulp; above 10,000 values OpenBLAS also splits it over its threads, so that a program that wants
reproducible bits sets `OPENBLAS_NUM_THREADS=1` in the environment before NumPy is loaded (the verifier process
does). Where more lags compete than `LAG_BUDGET` allows (a plateau that is flat to the last bits), the most
promising ones are computed, and the result is within 4 ulp of the arena's.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from evocore.errors import InvalidConstruction
from evocore.kernels.fourier import value_range
from evocore.problems.base import ExactResult, Problem, Vector, score_alarms, to_float
from evocore.problems.certificate import Certificate

DIRECT_LENGTH = 4096  # up to here the arena's own operation costs at most a few milliseconds
LAG_BUDGET = 2e8  # multiplications spent on candidate lags, about 0.1 s
# Largest error of FFT and of dot product seen is 6 u |a| |b| (n up to 65,536); each candidate may be wrong both ways.
FILTER_MARGIN = 128 * 2.0**-53
DISAGREEMENT = 1e-11  # relative; honest float scores stay far below it
TINIEST_PRODUCT = 2.0**-1022 * 2.0**53  # a product below this may have lost digits to underflow


@lru_cache(maxsize=256)
def good_length(n: int) -> int:
    """Return the least 2^a 3^b 5^c >= n, where real FFTs are fast; equal to `scipy.fft.next_fast_len(n, real=True)`."""
    best = 1 << max(n - 1, 0).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            best = min(best, three << max(-(-n // three) - 1, 0).bit_length())
            three *= 3
        five *= 5
    return best


def fft_autoconvolution(f: Vector) -> Vector:
    """Return `f * f` at all 2n-1 lags by FFT; error below 10 u |f|^2. Bit-equal to scipy.signal.oaconvolve(f, f)."""
    length = good_length(2 * len(f) - 1)
    spectrum = np.fft.rfft(f, length)
    return np.fft.irfft(spectrum**2, length)[: 2 * len(f) - 1]


def fft_correlation(a: Vector, b: Vector) -> Vector:
    """Return `np.correlate(a, b, "full")` of two vectors of one length by FFT; error below 10 u |a| |b|."""
    length = good_length(2 * len(a) - 1)
    spectrum = np.fft.rfft(a, length) * np.fft.rfft(b[::-1], length)
    return np.fft.irfft(spectrum, length)[: 2 * len(a) - 1]


def peak_convolution(f: Vector) -> float:
    """Return `np.convolve(f, f).max()`, bit for bit where the module's docstring says so.

    Parameters
    ----------
    f : (n,) float64 array, C order
        Finite.

    Returns
    -------
    float
        Infinite or NaN where squares overflow, as the arena's would be.
    """
    if len(f) <= DIRECT_LENGTH:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return float(np.convolve(f, f).max())
    return _peak(f, np.ascontiguousarray(f[::-1]), f, None)


def peak_correlation(a: Vector, b: Vector) -> float:
    """Return `np.correlate(a, b, "full").max()` of two vectors of one length, bit for bit as `peak_convolution`."""
    if len(a) <= DIRECT_LENGTH:
        with np.errstate(under="ignore"):
            return float(np.correlate(a, b, "full").max())
    return _peak(a, b, a, b)


def _peak(a: Vector, r: Vector, left: Vector, right: Vector | None) -> float:
    """Compute the lags that an FFT of `left` (with itself, or `right`) cannot rule out: dots of slices of a and r."""
    n = len(a)
    largest = float(np.abs(a).max())
    if largest == 0.0:
        return 0.0
    if math.isinf(largest * largest):
        return math.inf
    # Scaled by a power of two the FFT neither overflows nor underflows; the dots below see the numbers as they are, and
    # where their products are subnormal each may be wrong by 2^-1075: that widens the margin.
    power = -math.frexp(largest)[1] if right is None else 0
    scaled = np.ldexp(left, power)
    if right is None:
        lags, norm = fft_autoconvolution(scaled), float(scaled @ scaled)
    else:
        lags, norm = fft_correlation(scaled, right), math.sqrt(float(scaled @ scaled) * float(right @ right))
    margin = FILTER_MARGIN * norm + math.ldexp(float(n), min(900, 2 * power - 1073))
    candidates = np.flatnonzero(lags >= lags.max() - margin)
    allowed = max(1, int(LAG_BUDGET / n))
    if len(candidates) > allowed:
        order = np.argpartition(lags[candidates], len(candidates) - allowed)
        candidates = candidates[order[-allowed:]]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return max(_lag(a, r, int(k)) for k in candidates)


def _lag(a: Vector, r: Vector, k: int) -> float:
    """Entry k of `np.correlate(a, r, "full")`: the same BLAS call on the same memory."""
    n = len(a)
    if k < n:
        return float(np.dot(a[: k + 1], r[n - 1 - k :]))
    return float(np.dot(a[k - n + 1 :], r[: 2 * n - 1 - k]))


def moderate(x: Vector) -> Vector:
    """Scale by a power of two where fourth powers could leave double's range; the same array otherwise."""
    least, most = value_range(x)
    largest = max(-least, most)
    if largest == 0.0 or 1e-60 < largest < 1e60:
        return x
    return np.ldexp(x, -math.frexp(largest)[1])


def finite_score(score: float) -> float:
    """Return a score that the arena would take; it refuses NaN and infinity."""
    if not math.isfinite(score):
        raise InvalidConstruction(
            f"expected a finite score, got {score}: the squares of the values leave the range of doubles, rescale them"
        )
    return float(score)


def index_of(x: Vector, broken: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, float]:
    """Return the first broken index and its value."""
    i = int(np.argmax(broken))
    return i, float(x[i])


class StepFunctionProblem(Problem):
    """What the autocorrelation problems have in common; `is_scale_free` where the score is one of the shape alone."""

    is_scale_free: ClassVar[bool] = True

    def alarms(self, x: Vector, arena: float | None, exact: ExactResult) -> tuple[str, ...]:
        """Return `score_alarms`, and the ways in which the arena's float is wrong about these numbers."""
        found = list(score_alarms(self, arena, exact))
        if arena is not None and exact.value is not None:
            true = to_float(exact.value)
            if abs(arena - true) > DISAGREEMENT * abs(true):
                found.append(self._disagreement(x, arena, true))
        if arena is not None and self.is_scale_free:
            found += self._scale_alarm(x, arena)
        return tuple(found)

    def _disagreement(self, x: Vector, arena: float, true: float) -> str:
        largest = float(np.abs(x).max())
        if largest * largest < TINIEST_PRODUCT:
            return (
                f"underflow: the arena's float score {arena!r} is wrong, because products of values as small as "
                f"{largest:.3g} lose their digits; the true score of these numbers is {true!r}, and only that counts"
            )
        return (
            f"rounding: the arena's float score {arena!r} is off by {abs(arena - true):.3g}; the true score of these "
            f"numbers is {true!r}, and only that counts"
        )

    def _scale_alarm(self, x: Vector, arena: float) -> list[str]:
        largest = float(np.abs(x).max())
        power = -math.frexp(largest)[1] if largest else 0
        if not power:
            return []
        try:
            rescaled = self.score(np.ldexp(x, power))
        except InvalidConstruction:
            return []
        if rescaled == arena:
            return []
        return [f"scale: multiplied by 2^{power} the same shape gets the arena score {rescaled!r} instead of {arena!r}"]

    def descriptor(self, x: Vector) -> Vector:
        """Return 64 cell means, scaled to mean 1, of x or its mirror image: the one that is heavier on the left."""
        cells = super().descriptor(x)
        return mirrored(cells, cells)


def mirrored(cells: Vector, weights: Vector) -> Vector:
    """Return the cells or their mirror image, whichever has more of the weights on the left."""
    slope = np.arange(len(cells)) - (len(cells) - 1) / 2
    return np.ascontiguousarray(cells[::-1]) if float(weights @ slope) > 0 else cells


def step_certificate(f: Vector, score: Fraction, checker: str) -> Certificate:
    """Return a certificate of a score that scaling does not change: the values over their common power of two."""
    from evocore.problems.exact import to_integers

    integers = to_integers(f)
    values = [integers[i] for i in range(len(integers))]
    meaning = f"f[i] = VALUES[i] * 2**{integers.exponent}; the power of two cancels in the score."
    return Certificate(score, {"VALUES": values}, meaning, checker)
