"""Where a construction loses what its score falls short of 1: for people who work on it, no part of scoring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evocore.kernels.fourier import autoconvolve, convolve
from evocore.problems.base import Vector

N_CELLS = 40
WIDEST_GAP = 0.02  # of the support: a gap at least this wide parts the construction into two blocks
_SUPPORT = 1e-3  # of the mean: what is less counts as a gap


@dataclass(frozen=True)
class LossBudget:
    """Shares of `1 - score`, which is the integral of G (1 - G) over that of G, with G = f*f over its maximum.

    Attributes
    ----------
    loss : float
        1 - score.
    blocks : tuple of (first, last, mass)
        One block or two: indices into f, and the share of its sum.
    terms : tuple of (name, mass, loss)
        Products of blocks, such as "left x left": share of the integral of f*f, and of the loss. At every point the
        loss is shared out in the proportion in which the products make up f*f.
    level, profile : (40,) float64 arrays
        Mean of G and loss, in cells of equal length over the support of f*f.
    """

    loss: float
    blocks: tuple[tuple[int, int, float], ...]
    terms: tuple[tuple[str, float, float], ...]
    level: Vector
    profile: Vector

    def lines(self) -> tuple[str, ...]:
        """Write it down, the losses along the axis in units of 1e-4."""
        rows = [f"1 - score = {self.loss:.6f}; nothing is lost where G = f*f / max is 0 or 1"]
        rows += [f"block {first} to {last}: {mass:.1%} of f" for first, last, mass in self.blocks]
        rows += [f"{name}: {mass:.1%} of f*f, loses {1e4 * loss:.1f}e-4" for name, mass, loss in self.terms]
        for begin in range(0, N_CELLS, 10):
            part = slice(begin, begin + 10)
            losses = " ".join(f"{1e4 * loss:5.1f}" for loss in self.profile[part])
            levels = " ".join(f"{level:5.2f}" for level in self.level[part])
            rows += [f"{begin / N_CELLS:4.0%} loss   {losses}", f"{begin / N_CELLS:4.0%} mean G {levels}"]
        return tuple(rows)


def loss_budget(f: Vector) -> LossBudget:
    """Share out what the score of f falls short of 1.

    Parameters
    ----------
    f : (n,) float64 array
        Heights, nonnegative, not all zero, n >= 1.

    Examples
    --------
    A box has a triangle as f*f, which loses a third:

    >>> round(loss_budget(np.ones(1000)).loss, 6)
    0.333333
    """
    inside = np.flatnonzero(f > _SUPPORT * f.mean())
    first, last = int(inside[0]), int(inside[-1])
    f = f / f.sum()
    blocks = _blocks(inside, first, last)
    g = np.maximum(autoconvolve(f), 0.0)
    products = _products(f, blocks) if len(blocks) == 2 else {"f x f": g}
    peak, total = float(g.max()), float(g.sum())
    height = np.concatenate(([0.0], g / peak, [0.0]))
    a, b = height[:-1], height[1:]
    losses = ((a + b) / 2 - (a * a + a * b + b * b) / 3) * (peak / total)  # of the pieces between neighbouring lags
    masses = {name: (np.append(h, 0.0) + np.append(0.0, h)) / (2 * total) for name, h in products.items()}
    whole = np.maximum(sum(masses.values(), np.zeros(len(losses))), 1e-300)
    cells = np.minimum(
        N_CELLS * np.maximum(np.arange(len(losses)) - 2 * first, 0) // (2 * (last - first) + 2), N_CELLS - 1
    )
    counts = np.maximum(np.bincount(cells, minlength=N_CELLS), 1)
    return LossBudget(
        loss=float(losses.sum()),
        blocks=tuple((i, j, float(f[i : j + 1].sum())) for i, j in blocks),
        terms=tuple((name, float(m.sum()), float((losses * m / whole).sum())) for name, m in masses.items()),
        level=np.bincount(cells, weights=(a + b) / 2, minlength=N_CELLS) / counts,
        profile=np.asarray(np.bincount(cells, weights=losses, minlength=N_CELLS), dtype=np.float64),
    )


def _blocks(inside: npt.NDArray[np.intp], first: int, last: int) -> list[tuple[int, int]]:
    gaps = np.diff(inside)
    widest = int(np.argmax(gaps)) if len(gaps) else 0
    if not len(gaps) or gaps[widest] <= WIDEST_GAP * (last - first + 1):
        return [(first, last)]
    return [(first, int(inside[widest])), (int(inside[widest + 1]), last)]


def _products(f: Vector, blocks: list[tuple[int, int]]) -> dict[str, Vector]:
    """The three products of two blocks; what lies in the gap counts to the left one."""
    left, right = f.copy(), f.copy()
    left[blocks[1][0] :] = 0.0
    right[: blocks[1][0]] = 0.0
    found = {
        "left x left": autoconvolve(left),
        "left x right": 2.0 * convolve(left, right),
        "right x right": autoconvolve(right),
    }
    return {name: np.maximum(h, 0.0) for name, h in found.items()}
