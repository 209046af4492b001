"""Plain slow twins of the compiled kernels: what the tests compare with, and the place to read what is computed.

Arguments are keyword-only, so that no test can mix them up.
"""

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
