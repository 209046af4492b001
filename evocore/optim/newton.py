"""Saddle-free Newton on the logarithmic barrier: an accurate finder of basins at a few hundred cells, and a polisher.

Minimise t subject to c_k(f) <= t for all lags, f within its bounds and with its sum fixed. For a barrier weight mu
the level t is eliminated exactly: the merit function is

    phi(f) = min_t [t - mu sum_k log(t - c_k(f))] - mu sum_i log(f_i - lower) - mu sum_i log(upper - f_i),

and every trial point is strictly feasible. Newton's matrix A is taken on the space of changes without a sum. It is
indefinite until the end, with tens of negative eigenvalues among hundreds: a step is -(|A| + d)^-1 times the gradient,
where |A| has their absolute values (Y. Dauphin et al., arXiv 1406.2572, for the idea: a shift that makes A positive
ruins the step in all other directions). The damping d is the one that lowers phi most; without it most steps are cut
to a hundredth, for eigenvalues close to 0 make them too long. No eigenvectors are computed: A is brought to tridiagonal
form, and for a tridiagonal T

    (|T| + d)^-1 = (2 / pi) integral over v > 0 of v^2 / (v^2 + d^2) (T^2 + v^2)^-1 dv,

which the trapezoidal rule in log v gives to four digits from forty complex solutions (T - i v)^-1 g, the same for all
d.

Multipliers of the lags and bounds are unknowns of their own (primal-dual): they stay right when mu falls, where those
of the barrier, mu / slack, are too small by as much. Failed: Lanczos' method for the negative eigenpairs (there are
too many), and a Bunch-Kaufman factorisation with absolute pivots.
"""

import math
import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import lapack
from scipy.linalg.blas import dsymv, dsyr, dsyr2, dsyrk

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

NEGLIGIBLE = 1e-10  # lags with a smaller part in the Hessian, against the largest, are left out of it
TRUSTED = 1e4  # multipliers stay within this factor of the barrier's own
TO_THE_BOUND = 0.99  # a step goes at most so far towards a bound
DAMPINGS = (1e-9, 1e5)
SPACING = 0.8  # of the nodes in log v: the relative error is about exp(-pi^2 / spacing)
NODES = np.exp(np.arange(math.log(1e-9), math.log(1e6), SPACING))


class _Point(NamedTuple):
    """A construction, its lags, and what the barrier is there: distances from the level and the bounds, and phi."""

    f: Array
    lags: Array
    slack: Array
    above: Array
    below: Array
    merit: float


class _Multipliers(NamedTuple):
    """Of the lags (their sum is 1) and of the two bounds."""

    lags: Array
    lower: Array
    upper: Array


class NewtonResult(NamedTuple):
    """Where the barrier method ended: construction, its largest lag, Newton steps."""

    construction: Array
    peak: float
    n_steps: int


def barrier_newton(
    kind: str,
    construction: Array,
    *,
    mu_start: float,
    mu_end: float,
    mu_factor: float,
    sloppiness: float,
    n_steps: int,
    pin_below: float = 0.0,
    margin: float = 1e-3,
    deadline: float = math.inf,
) -> NewtonResult:
    """Follow the barrier from `mu_start` to `mu_end`.

    Parameters
    ----------
    kind : str
        "overlap" (values in (0, 1), sum n/2), "autoconvolution" (positive) or "signed" (free).
    construction : (n,) float64 array
        Where to start; scaled and moved inside its bounds first.
    mu_start, mu_end : float
        Barrier weights: about 0.1/n and 1e-9/n from random numbers, 1e-4/n and 1e-10/n to polish.
    mu_factor : float
        mu is multiplied by it whenever a step lowers the barrier function by less than `sloppiness * mu * n`: small
        factors with a large sloppiness quench, large ones with a small sloppiness anneal (and forget the start).
    sloppiness : float
        See above, about 0.03 to 0.1.
    n_steps : int
        At most so many Newton steps.
    pin_below : float
        Values below it (times the mean, for autoconvolutions) are set to 0 and stay there: fewer unknowns, and no
        bound in the way of the others. Not for "signed".
    margin : float
        The least distance from the bounds to start with; small where a good start must not be moved.
    deadline : float
        On `time.monotonic`.

    Notes
    -----
    One step costs a reduction to tridiagonal form, 4/3 m^3 flops for m values that are not pinned, and m^2 k for the
    matrix with k lags near the maximum: 1 ms for 100 values, 9 for 400.
    """
    barrier = _Barrier(kind, construction, pin_below=pin_below, margin=margin)
    mu, done, damping = mu_start, 0, 1e-3
    point = barrier.at(barrier.start, mu)
    multipliers = barrier.multipliers(point, mu)
    best, best_peak = point.f, float(point.lags.max())
    while done < n_steps and mu > mu_end and time.monotonic() < deadline:
        done += 1
        model = SaddleFreeModel(barrier.hessian(point, multipliers), barrier.gradient(point, mu))
        moved, damping = barrier.search(point, model, damping, mu)
        is_slow = moved.merit > point.merit - sloppiness * mu * len(point.f)
        if moved.merit < point.merit:
            multipliers = barrier.followed(multipliers, point, moved, mu)
            point = moved
            if float(point.lags.max()) < best_peak:
                best, best_peak = point.f, float(point.lags.max())
        else:
            multipliers = barrier.multipliers(point, mu)
        if is_slow:
            mu *= mu_factor
            point = barrier.at(point.f, mu, point.lags)
    return NewtonResult(best, best_peak, done)


class _Barrier:
    """The barrier function of one kind in the values that are not pinned; `start` is the construction, moved inside."""

    def __init__(self, kind: str, construction: Array, *, pin_below: float, margin: float) -> None:
        n = len(construction)
        self.kind = kind
        self.unit = 2 / n if kind == "overlap" else 2.0
        self.lower = None if kind == "signed" else 0.0
        self.upper = 1.0 if kind == "overlap" else None
        total = n / 2 if kind == "overlap" else math.sqrt(2 * n)
        f = np.asarray(construction, dtype=np.float64) * (total / float(np.sum(construction)))
        least = pin_below * (1.0 if kind == "overlap" else total / n)
        self.free: Indices = np.flatnonzero(f >= least) if pin_below else np.arange(n)
        self.start = np.zeros(n)
        self.start[self.free] = self._inside(f[self.free], total, margin)

    def _inside(self, values: Array, total: float, margin: float) -> Array:
        """Scale to the sum and move strictly inside the bounds."""
        f = values.copy()
        if self.upper is not None:
            f = np.clip(f, margin, self.upper - margin)
            for _ in range(60):  # the shift that restores the sum, in steps of the remaining gap
                gap = (total - f.sum()) / len(f)
                if abs(gap) < 1e-15:
                    break
                f = np.clip(f + gap, margin / 10, self.upper - margin / 10)
            return f
        if self.lower is not None:
            f = np.maximum(f, margin * max(float(np.abs(f).mean()), 1e-12))
        return np.asarray(f * (total / f.sum()), dtype=np.float64)

    def lags(self, f: Array) -> Array:
        """All lags in the scores' unit: (2n-1,); for autoconvolutions the sum of f is sqrt(2n)."""
        if self.kind == "overlap":  # (2/n) sum_i f_i (1 - f_{i+k}), k = -(n-1) .. n-1
            return np.asarray(np.correlate(1 - f, f, "full") * self.unit)
        return np.convolve(f, f)

    def at(self, f: Array, mu: float, lags: Array | None = None) -> _Point:
        """Evaluate phi."""
        if lags is None:
            lags = self.lags(f)
        inside, nothing = f[self.free], np.zeros(0)
        slack = _slack(lags, mu)
        above = nothing if self.lower is None else inside - self.lower
        below = nothing if self.upper is None else self.upper - inside
        logs = float(np.log(slack).sum() + np.log(above).sum() + np.log(below).sum())
        return _Point(f, lags, slack, above, below, float(lags[0] + slack[0]) - mu * logs)

    def multipliers(self, point: _Point, mu: float) -> _Multipliers:
        """Return those that the barrier itself has at a point."""
        return _Multipliers(mu / point.slack, mu / point.above, mu / point.below)

    def gradient(self, point: _Point, mu: float) -> Array:
        """Gradient of phi in the free values."""
        f, weights = point.f, mu / point.slack
        if self.kind == "overlap":
            slope = np.correlate(weights, 1 - f, "valid")[::-1] - np.convolve(weights, f, "valid")
        else:
            slope = np.correlate(weights, f, "valid")
        gradient = self.unit * slope[self.free]
        if self.lower is not None:
            gradient -= mu / point.above
        if self.upper is not None:
            gradient += mu / point.below
        return np.asarray(gradient)

    def hessian(self, point: _Point, multipliers: _Multipliers) -> Array:
        """Newton's matrix in the free values: the lower triangle of an array in Fortran's order."""
        d = multipliers.lags / point.slack
        near = np.flatnonzero(d > NEGLIGIBLE * d.max())
        jacobian = self._jacobian(point.f, near)
        roots = np.sqrt(d[near])
        jacobian *= self.unit * roots
        pulled = jacobian @ roots
        matrix = dsyrk(1.0, jacobian.T, trans=1, lower=1)
        matrix = dsyr(-1.0 / float(d[near].sum()), pulled, a=matrix, lower=1, overwrite_a=1)
        matrix += self._curvature(multipliers.lags)
        diagonal = matrix.reshape(-1, order="F")[:: len(matrix) + 1]
        if self.lower is not None:
            diagonal += multipliers.lower / point.above
        if self.upper is not None:
            diagonal += multipliers.upper / point.below
        return np.asarray(matrix)

    def _jacobian(self, f: Array, near: Indices) -> Array:
        """Slopes of some lags in the free values, over `unit`: a row a value."""
        n, margin = len(f), np.zeros(len(f) - 1)
        low, high = int(near[0]), int(near[-1]) + 1
        if self.kind == "overlap":  # lag s grows with f_i by 1 - f_{i + s}, and falls by f_{i - s}; k = s + n - 1
            ahead = np.concatenate((margin, 1 - f, margin))
            behind = np.concatenate((margin, f, margin))[::-1]
            rows = sliding_window_view(ahead, 2 * n - 1)[:, low:high]
            rows = rows - sliding_window_view(behind, 2 * n - 1)[::-1, low:high]
        else:  # lag k grows with f_i by f_{k - i}
            padded = np.concatenate((margin, f, margin))
            rows = sliding_window_view(padded, 2 * n - 1)[::-1, low:high].copy()
        if len(self.free) < n:
            rows = rows[self.free]
        return rows if len(near) == high - low else np.take(rows, near - low, axis=1)

    def _curvature(self, weights: Array) -> Array:
        """Second derivative of the weighted sum of the lags in the free values."""
        n = (len(weights) + 1) // 2
        if self.kind == "overlap":
            even = (weights[n - 1 :] + weights[n - 1 :: -1]) * -self.unit
            whole = sliding_window_view(np.concatenate((even[:0:-1], even)), n)[::-1]
        else:
            whole = sliding_window_view(2 * weights, n)
        return whole if len(self.free) == n else np.take(whole[self.free], self.free, axis=1)

    def search(self, point: _Point, model: "SaddleFreeModel", damping: float, mu: float) -> tuple[_Point, float]:
        """Look for the damping with the lowest phi, by factors of 4 from the last one on; returns it with its point."""
        best, best_damping = self._stepped(point, model.step(damping), mu), damping
        for factor in (0.25, 4.0):
            trial_damping = damping * factor
            while DAMPINGS[0] < trial_damping < DAMPINGS[1]:
                trial = self._stepped(point, model.step(trial_damping), mu)
                if trial.merit < best.merit:
                    best, best_damping = trial, trial_damping
                elif factor < 1 or best.merit < point.merit:
                    break
                trial_damping *= factor
            if best_damping < damping:
                break
        return best, best_damping

    def _stepped(self, point: _Point, step: Array, mu: float) -> _Point:
        """Evaluate the end of a step, or the point just before a bound."""
        reach = 1.0
        for gap, change in ((point.above, step), (point.below, -step)):
            if len(gap) and (change < 0).any():
                reach = min(reach, TO_THE_BOUND * float((gap[change < 0] / -change[change < 0]).min()))
        f = point.f.copy()
        f[self.free] += reach * step
        return self.at(f, mu)

    def followed(self, old: _Multipliers, point: _Point, moved: _Point, mu: float) -> _Multipliers:
        """Newton's step for the multipliers, as far as they stay positive and near those of the new point."""
        central = self.multipliers(moved, mu)
        whole = moved.f - point.f
        step = whole[self.free]
        change = 0.5 * (self.lags(point.f - whole) - self.lags(point.f + whole))  # of the slack; lags are quadratic
        d = old.lags / point.slack
        change -= float(d @ change) / float(d.sum())
        lags = _towards(old.lags, mu / point.slack - d * change, central.lags)
        lower = upper = np.zeros(0)
        if self.lower is not None:
            lower = _towards(old.lower, (mu - old.lower * step) / point.above, central.lower)
        if self.upper is not None:
            upper = _towards(old.upper, (mu + old.upper * step) / point.below, central.upper)
        return _Multipliers(lags / lags.sum(), lower, upper)


def _slack(lags: Array, mu: float) -> Array:
    """Distances t - c_k from the level at which sum_k mu / (t - c_k) = 1."""
    drop = lags.max() - lags
    height = mu  # of the level over the largest lag: from below, Newton on the reciprocal of the sum
    for _ in range(50):
        shares = mu / (height + drop)
        total = float(shares.sum())
        if total < 1 + 1e-12:
            break
        height += total * (total - 1) * mu / float(shares @ shares)
    return np.asarray(height + drop)


def _towards(old: Array, aim: Array, central: Array) -> Array:
    """Move multipliers towards their aim while all are positive, and keep them near the central ones."""
    falling = aim < 0.005 * old
    reach = 0.995 * float((old[falling] / (old - aim)[falling]).min()) if falling.any() else 1.0
    return np.clip(old + min(1.0, reach) * (aim - old), central / TRUSTED, central * TRUSTED)


class SaddleFreeModel:
    """Steps -(|A| + d)^-1 g among those with a sum of zero, for any damping d.

    Parameters
    ----------
    matrix : (m, m) float64 array, Fortran order
        Symmetric; only the lower triangle is looked at. A is this, scaled to a diagonal of ones in size, on the space
        of changes without a sum.
    gradient : (m,) float64 array
        The g above.
    """

    def __init__(self, matrix: Array, gradient: Array) -> None:
        self._scale = scale = 1 / np.sqrt(np.maximum(np.abs(matrix.diagonal()), 1e-300))
        a = matrix * scale[:, None]
        a *= scale
        # The reflection I - 2 v v' takes the first axis to the normal of that space (in the scaled values).
        v = scale / float(np.linalg.norm(scale))
        v[0] += 1.0
        self._v = v = v / float(np.linalg.norm(v))
        image = dsymv(1.0, a, v, lower=1)
        image -= float(image @ v) * v
        a = dsyr2(-2.0, v, image, a=a, lower=1, overwrite_a=1)
        right = self._reflected(scale * gradient)[1:]
        a, diagonal, beside, self._tau, _ = lapack.dsytrd(
            np.asfortranarray(a[1:, 1:]), lower=1, lwork=64 * len(right), overwrite_a=1
        )
        self._reflectors = np.asfortranarray(a[1:, :-1])
        right = self._turned(right, "T").astype(np.complex128)
        beside = beside.astype(np.complex128)
        self._parts = np.array([lapack.zgtsv(beside, diagonal - 1j * v, beside, right)[3].imag for v in NODES])

    def step(self, damping: float) -> Array:
        """Return the step for a damping >= 0, which is relative to a curvature of about 1."""
        weights = (2 * SPACING / math.pi) * NODES**2 / (NODES**2 + damping**2)
        y = self._turned(weights @ self._parts, "N")
        return -self._scale * self._reflected(np.concatenate(([0.0], y)))

    def _reflected(self, x: Array) -> Array:
        return np.asarray(x - 2 * float(self._v @ x) * self._v)

    def _turned(self, x: Array, how: str) -> Array:
        """Multiply by the matrix of the reduction to tridiagonal form (N), or its transpose (T)."""
        turned = lapack.dormqr("L", how, self._reflectors, self._tau, x[1:, None], 64)[0]
        return np.concatenate((x[:1], turned[:, 0]))
