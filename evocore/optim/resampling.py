"""Moving a step function from one number of steps to another."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def resample(values: Array, n: int) -> Array:
    """Average a step function over `n` equal cells: exact, and the mean is kept.

    Parameters
    ----------
    values : (m,) float64 array
        Heights on `m` equal cells.
    n : int
        New number of cells.

    Returns
    -------
    (n,) float64 array
        Mean heights; when n is a multiple of m each value is repeated.

    Examples
    --------
    >>> resample(np.array([1.0, 3.0]), 4)
    array([1., 1., 3., 3.])
    >>> resample(np.array([1.0, 3.0, 5.0]), 2)
    array([1.66666667, 4.33333333])
    """
    m = len(values)
    if n % m == 0:
        return np.repeat(values, n // m)
    integral = np.concatenate(([0.0], np.cumsum(values)))
    edges = np.interp(np.arange(n + 1) * (m / n), np.arange(m + 1.0), integral)
    return np.asarray(np.diff(edges) * (n / m), dtype=np.float64)


def stretch(values: Array, n: int) -> Array:
    """Interpolate linearly between cell centres onto `n` cells; for parameters, where means need not be kept."""
    m = len(values)
    centres = (np.arange(n) + 0.5) * (m / n) - 0.5
    return np.asarray(np.interp(centres, np.arange(m), values), dtype=np.float64)
