"""Plain slow twins of the compiled kernels: what the tests compare with, and the place to read what is computed.

Arguments are keyword-only, so that no test can mix them up.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


# ---- smoothed maxima ------------------------------------------------------------------------------------------------


def construction(*, kind: str, x: Array) -> Array:
    """Return the construction of `SmoothedMaximum.construction`: the shift of `overlap` by bisection."""
    n = len(x)
    if kind == "overlap":
        lo, hi = -1e3, 1e3
        for _ in range(200):
            shift = 0.5 * (lo + hi)
            h = np.asarray(1.0 / (1.0 + np.exp(-np.clip(x + shift, -40, 40))), dtype=np.float64)
            lo, hi = (lo, shift) if h.sum() > n / 2 else (shift, hi)
        return h
    f = x if kind == "signed" else x * x
    total = np.sqrt(2 * n - 1) if kind == "spread" else np.sqrt(2 * n)
    return np.asarray(f * (total / f.sum()), dtype=np.float64)


def lags(*, kind: str, f: Array) -> Array:
    """Return the lags of a construction in units of the objective."""
    if kind == "overlap":
        return np.correlate(1 - f, f, "full") * (2 / len(f))
    return np.convolve(f, f)


def peak(*, kind: str, f: Array) -> float:
    """Return the true objective of a construction of any scale."""
    n = len(f)
    if kind == "overlap":
        return float(lags(kind=kind, f=f).max())
    g = np.convolve(f, f)
    if kind == "spread":
        return -float((2 * g @ g + g[1:] @ g[:-1]) / (3 * g.sum() * g.max()))
    return float(g.max() * 2 * n / f.sum() ** 2)


def smoothed(*, kind: str, x: Array, beta: float) -> float:
    """Return the smoothed objective of `SmoothedMaximum.evaluate`."""
    c = lags(kind=kind, f=construction(kind=kind, x=x))
    absolute = beta / c.max() if kind == "spread" else beta
    top = c.max()
    smooth = top + np.log(np.exp(absolute * (c - top)).sum()) / absolute
    if kind == "spread":
        return float(np.log(3 * c.sum() * smooth / (2 * c @ c + c[1:] @ c[:-1])))
    return float(smooth)


# ---- hypervolume ----------------------------------------------------------------------------------------------------


def hypervolume(*, points: Array, reference: Array) -> Fraction:
    """Return the exact volume, minimising, by slicing along the last objective."""
    corner = [Fraction(float(r)) for r in reference]
    rows = {tuple(Fraction(float(v)) for v in p) for p in points}
    return _sliced(sorted((p for p in rows if all(a < b for a, b in zip(p, corner, strict=True))), key=_last), corner)


def _last(p: tuple[Fraction, ...]) -> Fraction:
    return p[-1]


def _sliced(rows: list[tuple[Fraction, ...]], corner: list[Fraction]) -> Fraction:
    if not rows:
        return Fraction(0)
    if len(corner) == 1:
        return corner[0] - rows[0][0]
    total = Fraction(0)
    for k, p in enumerate(rows):
        end = rows[k + 1][-1] if k + 1 < len(rows) else corner[-1]
        if end > p[-1]:
            total += (end - p[-1]) * _sliced(sorted({q[:-1] for q in rows[: k + 1]}, key=_last), corner[:-1])
    return total


def hypervolume_by_inclusion(*, points: Array, reference: Array) -> Fraction:
    """Return the exact volume, minimising, by inclusion and exclusion over all subsets: for a dozen points."""
    rows = [[Fraction(float(v)) for v in p] for p in points]
    total = Fraction(0)
    for size in range(1, len(rows) + 1):
        for subset in combinations(rows, size):
            volume = Fraction((-1) ** (size + 1))
            for j, r in enumerate(reference):
                volume *= max(Fraction(float(r)) - max(p[j] for p in subset), Fraction(0))
            total += volume
    return total


def hypervolume_contributions(*, points: Array, reference: Array) -> list[Fraction]:
    """Return the exact volume that is lost with each point alone, minimising."""
    whole = hypervolume(points=points, reference=reference)
    return [whole - hypervolume(points=np.delete(points, i, axis=0), reference=reference) for i in range(len(points))]
