"""Constructions whose mass sits on a lattice of teeth: finding its period, and growing it.

A comb has two resolutions, teeth and values a tooth, and a finer grid alone raises only the second. How a tooth looks
changes slowly along the comb, so a tooth between two others can be guessed as their mean: `more_teeth` doubles the
teeth and keeps what was learned of their shapes, `grow` raises whichever of the two resolutions is behind.
"""

import numpy as np
import numpy.typing as npt

from evocore.optim.pool import Member
from evocore.optim.search import Search

Array = npt.NDArray[np.float64]

_LEAST_LIKENESS = 0.5
_FLOOR = 1e-4  # of the mean: under x^2 a value that is 0 stays 0


def trimmed(values: Array) -> Array:
    """Cut off what is nearly zero at both ends, less than a thousandth of the mean."""
    inside = np.flatnonzero(values > 1e-3 * values.mean())
    return values[inside[0] : inside[-1] + 1] if len(inside) else values


def lattice_period(values: Array) -> int | None:
    """Return the distance of the teeth of a comb in cells, or None where the values are no comb.

    Parameters
    ----------
    values : (n,) float64 array
        Nonnegative heights.

    Returns
    -------
    int or None
        The shift, up to n / 8, at which the square roots of the heights are most like themselves, once the likeness
        has stopped to fall. The roots weigh tall and small teeth alike.

    Examples
    --------
    >>> comb = np.zeros(90)
    >>> comb[::9] = comb[1::9] = np.arange(10.0)
    >>> lattice_period(np.concatenate((comb, np.full(20, 3.0))))
    9
    >>> lattice_period(np.ones(90)) is None
    True
    """
    n = len(values)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(np.sqrt(np.maximum(values, 0.0)), size)
    likeness = np.fft.irfft(np.abs(spectrum) ** 2, size)[: n // 8 + 1]
    rising = np.flatnonzero(np.diff(likeness) > 1e-9 * likeness[0])
    if not len(rising):
        return None
    period = int(rising[0] + np.argmax(likeness[rising[0] :]))
    return period if likeness[period] > _LEAST_LIKENESS * likeness[0] else None


def more_teeth(values: Array, period: int) -> Array:
    """Return a comb with a tooth more between any two; the period stays, the length doubles.

    Parameters
    ----------
    values : (n,) float64 array
        Heights; the first tooth begins with the first value.
    period : int
        Cells from tooth to tooth.

    Examples
    --------
    >>> more_teeth(np.array([4.0, 0.0, 0.0, 8.0, 2.0, 0.0]), 3)
    array([4., 0., 0., 6., 1., 0., 8., 2., 0.])
    """
    rows = np.concatenate((values, np.zeros(-len(values) % period))).reshape(-1, period)
    out = np.empty((2 * len(rows) - 1, period))
    out[::2] = rows
    out[1::2] = 0.5 * (rows[1:] + rows[:-1])
    return out.ravel()


def grow(
    search: Search,
    member: Member,
    until: float,
    *,
    balance: float,
    betas: Array,
    least: int,
    most: int,
    n_max: int,
) -> Member:
    """Double a comb again and again, quenching it each time, as long as time and `n_max` allow; returns the best.

    Parameters
    ----------
    balance : float
        Teeth to have per cell of the period.
    betas : sequence of float
        Of each quench.
    least, most : int
        Iterations a stage: a size that cannot have the least in the time left is not begun. A third of the time goes
        to a size that is not the last, at most.
    n_max : int
        Longest construction.
    """
    best, may_add_teeth = member, True
    while not search.is_over(until):
        values = trimmed(search.construction(best))
        period = lattice_period(values) if may_add_teeth else None
        if period is not None and len(values) >= balance * period**2:
            period = None  # it has teeth enough for cells as coarse as these
        if period is not None:
            # Teeth grow to both sides: the first one is to stand in the middle of its cell.
            values = more_teeth(np.concatenate((np.zeros(period // 2), values)), period)
        else:
            values = np.repeat(values, 2)
        x = search.objective(len(values)).parameters(values + _FLOOR * values.mean())
        affordable = search.affordable(x, betas[0], until) // len(betas)
        if len(x) > n_max or affordable < least:
            break
        is_last = 2 * len(x) > n_max or affordable < 4 * least
        count = min(most, affordable if is_last else max(least, affordable // 3))
        found = search.quench(x, betas, count, until)
        if found.value < best.value:
            best = found
            search.consider(best)
        elif period is not None:
            may_add_teeth = False
        else:
            break
    return best
