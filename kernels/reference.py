"""Plain slow twins of the compiled kernels: what the tests compare with, and the place to read what is computed.

Arguments are keyword-only, so that no test can mix them up.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

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


def log_sum_exp(*, values: Array, beta: float) -> tuple[float, Array]:
    """Return the smoothed maximum of values and its gradient."""
    p = np.exp(beta * (values - values.max()))
    return float(values.max() + np.log(p.sum()) / beta), p / p.sum()


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


# ---- dominance, similarity -------------------------------------------------------------------------------------------


def dominates(*, p: Array, q: Array) -> bool:
    """Whether p dominates q, minimising."""
    return bool(np.all(p <= q) and np.any(p < q))


def non_dominated(*, points: Array) -> list[bool]:
    """Mark the points that no other dominates, minimising."""
    return [not any(dominates(p=q, q=p) for q in points) for p in points]


def ranks(*, points: Array) -> list[int]:
    """Number the fronts by taking one after the other away, minimising."""
    out = [0] * len(points)
    left = list(range(len(points)))
    front = 0
    while left:
        stays = non_dominated(points=points[left])
        for i, first in zip(left, stays, strict=True):
            if first:
                out[i] = front
        left = [i for i, first in zip(left, stays, strict=True) if not first]
        front += 1
    return out


def excess(*, p: Array, q: Array) -> Array:
    """Return max over k of (p_ik - q_jk), minimising."""
    return np.asarray((p[:, None, :] - q[None, :, :]).max(axis=2), dtype=np.float64)


def epsilon_indicator(*, p: Array, q: Array) -> float:
    """Return the additive epsilon indicator, minimising."""
    return float(excess(p=p, q=q).min(axis=0).max())


def outdoes(*, f: Array, g: Array, epsilon: float) -> bool:
    """Whether f is more accurate by over epsilon, or as accurate within it and larger in every other coordinate."""
    lead = f[0] - g[0]
    return bool(lead > epsilon or (abs(lead) <= epsilon and np.all(f[1:] > g[1:])))


def similarity(*, a: npt.NDArray[np.generic], b: npt.NDArray[np.generic], levels: int = 1) -> Fraction:
    """Return 1 - the mean absolute difference of two rows, exactly."""
    rows = [[Fraction(float(v)) for v in row.astype(np.float64)] for row in (a, b)]
    if not rows[0]:
        return Fraction(1)
    return 1 - sum((abs(x - y) for x, y in zip(*rows, strict=True)), Fraction(0)) / (len(rows[0]) * levels)


def farthest_points(*, distance: npt.NDArray[np.generic], k: int, first: int) -> list[int]:
    """Choose k points, each farthest from those before; of equal ones the lowest index."""
    picks = [first][:k]
    while len(picks) < k:
        rest = [i for i in range(len(distance)) if i not in picks]
        picks.append(max(rest, key=lambda i: (min(distance[i, j] for j in picks), -i)))
    return picks


def most_dispersed(*, distance: Array, k: int) -> list[int]:
    """Choose the k points whose least mutual distance is the largest; the first in lexicographic order."""
    choices = combinations(range(len(distance)), k)
    return list(max(choices, key=lambda c: min((distance[i, j] for i, j in combinations(c, 2)), default=np.inf)))


def parent_weights(*, fitness: Array, similarities: Array, epsilon: float) -> list[float]:
    """Return minus the sum of similarities to those that outdo each."""
    n = len(fitness)
    return [
        -sum(float(similarities[i, j]) for j in range(n) if outdoes(f=fitness[j], g=fitness[i], epsilon=epsilon))
        for i in range(n)
    ]


# ---- configurations --------------------------------------------------------------------------------------------------


def squared_distances(*, points: Sequence[Sequence[int | float | Fraction]]) -> dict[tuple[int, int], Fraction]:
    """Return the exact squared distance of every pair."""
    rows = [[Fraction(v) for v in p] for p in points]
    return {
        (i, j): sum(((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True)), Fraction(0))
        for i, j in combinations(range(len(rows)), 2)
    }


def riesz_energy(*, points: Array, exponent: float) -> float:
    """Return the Riesz energy, pair by pair."""
    apart = [float(np.linalg.norm(p - q)) for p, q in combinations(points, 2)]
    return float(sum(-np.log(r) if exponent == 0 else r**-exponent for r in apart))


def least_triangle(*, points: Array) -> Fraction:
    """Return the exact least area of a triangle."""
    rows = [[Fraction(float(v)) for v in p] for p in points]
    return min(
        abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2 for a, b, c in combinations(rows, 3)
    )


def floor_sum_maximum(*, keys: Sequence[int], values: Sequence[float], limit: int) -> tuple[Fraction, int]:
    """Return the exact maximum of sum value floor(x / key) over 1 <= x < limit, and the least x that has it."""
    exact = [Fraction(float(v)) for v in values]
    sums = [sum((v * (x // k) for k, v in zip(keys, exact, strict=True)), Fraction(0)) for x in range(1, limit)]
    best = max(sums)
    return best, 1 + sums.index(best)


def discrepancy(*, matrix: Array) -> float:
    """Return the least max |A x| over all vectors of signs."""
    return min(float(np.abs(matrix @ np.array(signs)).max()) for signs in product((1, -1), repeat=matrix.shape[1]))


# ---- convolutions, correlations and overlaps -------------------------------------------------------------------------


def sums_of_products(*, x: Sequence[float], y: Sequence[float], is_correlation: bool = False) -> list[Fraction]:
    """Return `numpy.convolve(x, y)` or `numpy.correlate(x, y, "full")`, exactly."""
    a = [Fraction(float(v)) for v in x]
    b = [Fraction(float(v)) for v in (reversed(y) if is_correlation else y)]
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            out[i + j] += p * q
    return out


def overlap_maximum(*, h: Sequence[float | Fraction]) -> Fraction:
    """Return the largest `2/n sum_i h[i] (1 - h[i+s])` over all shifts, exactly."""
    a, n = [Fraction(v) for v in h], len(h)
    pairs = ((range(max(0, -s), min(n, n - s))) for s in range(1 - n, n))
    return max(
        sum((a[i] * (1 - a[i + s]) for i in indices), Fraction(0))
        for s, indices in zip(range(1 - n, n), pairs, strict=True)
    ) * Fraction(2, n)


def repaired(*, h: Sequence[float]) -> list[Fraction]:
    """Return h scaled to mean one half; above 1 clipped, the removed mass spread in proportion to the slack 1 - h."""
    a, n = [Fraction(float(v)) for v in h], len(h)
    scaled = [v * Fraction(n, 2) / sum(a) for v in a]
    removed = sum((v - 1 for v in scaled if v > 1), Fraction(0))
    slack = [max(Fraction(0), 1 - v) for v in scaled]
    total = sum(slack)
    return [min(Fraction(1), v) + (removed * s / total if total else 0) for v, s in zip(scaled, slack, strict=True)]


def hessian_product(*, kind: str, x: Array, beta: float, direction: Array, step: float = 1e-4) -> Array:
    """Return the Hessian of `smoothed` times a direction, by fourth-order differences of central differences."""
    n = len(x)

    def gradient(point: Array) -> Array:
        slopes = np.empty(n)
        for i in range(n):
            e = np.zeros(n)
            e[i] = step
            values = [smoothed(kind=kind, x=point + k * e, beta=beta) for k in (-2, -1, 1, 2)]
            slopes[i] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
        return slopes

    h = step * 10
    at = [gradient(x + k * h * direction) for k in (-2, -1, 1, 2)]
    return np.asarray((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h), dtype=np.float64)
