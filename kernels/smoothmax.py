"""Minimising the largest value of an autoconvolution or overlap, through its smoothed maximum.

The maximum of many lags is not smooth; ``log(sum(exp(beta * c))) / beta`` is, lies above it by at most
``log(len(c)) / beta``, and tends to it as beta grows. One *stage* runs L-BFGS at one beta; a *quench* is a list of
stages with rising beta. Value and gradient cost four real FFTs and one pass of exponentials; the whole stage is
compiled.

All four objectives are minimised, and are invariant under scaling of the construction where the problem is:

======================  ==================================================  ==========================  =============
kind                    true objective (``peak``)                           construction from x         free values
======================  ==================================================  ==========================  =============
``autoconvolution``     max of 2n (f*f) / (sum f)^2                         f = x^2                     n
``signed``              the same                                            f = x                       n
``spread``              -|g|_2^2 / (|g|_1 |g|_inf), g piecewise linear      f = x^2                     n
                        through the lags of f*f
``overlap``             max over shifts of (2/n) sum h_i (1 - h_{i+k})      h = logistic(x + shift),    n
                                                                            sum h = n/2 by the shift
======================  ==================================================  ==========================  =============
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evocore.kernels import _smoothmax
from evocore.kernels.fourier import value_range
from evocore.kernels.points import as_choice, as_count, as_counts, as_number, as_reals, refuse_nonfinite

Array = npt.NDArray[np.float64]

KINDS = ("autoconvolution", "signed", "spread", "overlap")
MAX_VALUES = 2**31 - 1
MAX_MEMORY = 2**16

_MAX_ITERATIONS = 2**63 - 1
_LOGIT_LIMIT = 36.0


def log_sum_exp(values: npt.ArrayLike, beta: float, *, use_avx2: bool = _smoothmax.HAS_AVX2) -> tuple[float, Array]:
    """Compute the smoothed maximum ``log(sum(exp(beta * values))) / beta`` and its gradient.

    Parameters
    ----------
    values : (n,) array_like of float64
        Finite, n >= 1.
    beta : float
        Inverse temperature, > 0.
    use_avx2 : bool, optional
        Only for tests: both paths give the same bits.

    Returns
    -------
    tuple
        Value, within ``log(n) / beta`` above the maximum, and (n,) weights that sum to 1. A weight below 1e-18 of the
        largest is 0.

    Examples
    --------
    >>> value, weights = log_sum_exp([1.0, 1.0, -100.0], 2.0)
    >>> round(value, 12) == round(1 + math.log(2) / 2, 12), weights.tolist()
    (True, [0.5, 0.5, 0.0])
    """
    c = as_reals(values)
    if c.ndim != 1 or not c.size:
        raise ValueError(f"expected a vector of one or more values, got shape {c.shape}")
    beta = _temperature(beta)
    refuse_nonfinite(c, "values")
    weights = np.empty_like(c)
    return _smoothmax.log_sum_exp(c, beta, weights, use_avx2), weights


def exp(x: npt.ArrayLike, *, use_avx2: bool = _smoothmax.HAS_AVX2) -> Array:
    """Compute exponentials: within 1.5 ulp, and the same bits on every machine for arguments in [-700, 700].

    Parameters
    ----------
    x : array_like of float64
        Of any shape. Beyond 700 in size, or NaN: the C library's.
    use_avx2 : bool, optional
        Only for tests: both paths give the same bits.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> exp([0.0, -math.inf]).tolist()
    [1.0, 0.0]
    """
    values = as_reals(x, "x")
    out = np.empty_like(values)
    if values.size:
        _smoothmax.exponentials(values.reshape(-1), out.reshape(-1), use_avx2)
    return out.reshape(np.shape(x))


class Quenched(NamedTuple):
    """What a quench found: parameters, their true objective (smaller is better), iterations done."""

    x: Array
    peak: float
    n_iterations: int


class SmoothedMaximum:
    """The smoothed objective of one kind and one length, with its buffers.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    n : int
        Length of the construction, 2 to `MAX_VALUES`.
    memory : int
        Pairs that L-BFGS keeps, 1 to `MAX_MEMORY`.
    use_avx2 : bool, optional
        Only for tests: both paths give the same bits.

    Notes
    -----
    Not to be used from two threads at once. Memory is about ``(2 * memory + 30) * n`` values.
    L-BFGS: J. Nocedal, Math. Comp. 35 (1980) 773. Logits move by at most 10 a step: one that runs away stays there.
    """

    def __init__(self, kind: str, n: int, *, memory: int = 10, use_avx2: bool = _smoothmax.HAS_AVX2) -> None:
        as_choice(kind, "a kind", KINDS)
        n, memory = as_count(n, "n", 2, MAX_VALUES), as_count(memory, "memory", 1, MAX_MEMORY)
        if use_avx2 and not _smoothmax.HAS_AVX2:
            raise ValueError("expected a processor with AVX2 for use_avx2=True, got one without")
        self.kind = kind
        self.n = n
        self._state = _smoothmax.State(KINDS.index(kind), n, memory, use_avx2)

    @property
    def n_evaluations(self) -> int:
        """Values and gradients computed so far."""
        return int(self._state.n_evaluations)

    def _parameters(self, x: npt.ArrayLike) -> Array:
        values = as_reals(x, "x")
        if values.shape != (self.n,):
            raise ValueError(f"expected x of shape ({self.n},), got {values.shape}")
        if math.isnan(value_range(values)[1]):
            refuse_nonfinite(values, "x")
        return values

    def evaluate(self, x: npt.ArrayLike, beta: float) -> tuple[float, float, Array]:
        """Smoothed value, true objective and gradient at x.

        Parameters
        ----------
        x : (n,) array_like of float64
            Parameters (see the table above).
        beta : float
            Inverse temperature, > 0, in units of one over the objective; relative to the largest lag for ``spread``.

        Returns
        -------
        tuple
            Smoothed value, true objective, (n,) gradient of the smoothed value. Both values are infinite, and the
            gradient means nothing, where x has no construction: a sum of 0, or logits thousands apart.
        """
        values, beta, gradient = self._parameters(x), _temperature(beta), np.empty(self.n)
        if self.kind == "spread":
            self._state.level = 1.0
            self._state.evaluate(values, 1.0, gradient)
            self._state.level = float(self.lags().max())
        value, peak = self._state.evaluate(values, beta, gradient)
        return value, peak, gradient

    def hessian_product(self, x: npt.ArrayLike, beta: float, directions: npt.ArrayLike) -> Array:
        """Hessian of the smoothed value at x, times directions.

        Parameters
        ----------
        x : (n,) array_like of float64
            Parameters.
        beta : float
            As for `evaluate`.
        directions : (n,) or (k, n) array_like of float64
            One direction, or k of them: the point is evaluated once, each direction costs four transforms.

        Returns
        -------
        (n,) or (k, n) float64 array

        Raises
        ------
        ValueError
            For ``spread``, whose beta depends on the point.

        Notes
        -----
        With the weights p of the smoothed maximum, the gradient in f is ``2 (p corr f)``, and along a change v of f the
        lags change by ``d = 2 f * v``, the weights by ``beta p (d - <p, d>)``; the chain rule through the construction
        is exact.
        """
        if self.kind == "spread":
            raise ValueError("expected a kind other than spread: its beta is relative to a maximum that changes with x")
        values, beta = self._parameters(x), _temperature(beta)
        rows = np.array(as_reals(directions, "directions"), ndmin=2)
        if rows.ndim != 2 or rows.shape[1] != self.n or np.ndim(directions) == 0:
            raise ValueError(f"expected directions of shape ({self.n},) or (k, {self.n}), got {np.shape(directions)}")
        if not np.isfinite(rows).all():
            raise ValueError("expected finite directions")
        out = np.empty_like(rows)
        if len(rows):
            self._state.hessian(values, beta, rows, out)
        return out[0] if np.ndim(directions) == 1 else out

    def lags(self) -> Array:
        """Lags of the construction that was evaluated last: (2n - 1,) in units of the objective."""
        out = np.empty(2 * self.n - 1)
        self._state.lags(out)
        return out

    def construction(self, x: npt.ArrayLike) -> Array:
        """Construction that belongs to the parameters x: (n,), of the scale that the objective uses inside."""
        out = np.empty(self.n)
        self._state.evaluate(self._parameters(x), 1.0, np.empty(self.n))
        self._state.construction(out)
        return out

    def parameters(self, construction: npt.ArrayLike) -> Array:
        """Parameters whose construction is the given one, up to scale; values on a bound move inside by 1e-15."""
        f = self._parameters(construction)
        if self.kind == "signed":
            return f.copy()
        if self.kind == "overlap":
            h = np.clip(f, 1e-15, 1 - 1e-15)
            f = np.clip(np.log(h) - np.log1p(-h), -_LOGIT_LIMIT, _LOGIT_LIMIT)
        else:
            f = np.sqrt(np.maximum(f, 0.0))
        return np.asarray(f, dtype=np.float64)

    def quench(
        self,
        x: npt.ArrayLike,
        betas: Sequence[float] | Array,
        n_iterations: int | Sequence[int],
        deadline: float = math.inf,
        *,
        mirrored: int = 0,
    ) -> Quenched:
        """Run one stage of L-BFGS for each beta, each from where the last one ended.

        Parameters
        ----------
        x : (n,) array_like of float64
            Parameters to start from; not changed.
        betas : sequence of float
            Inverse temperatures, each > 0, usually rising.
        n_iterations : int or sequence of int
            At most so many iterations a stage: one number for all of them, or one for each.
        deadline : float
            On `time.monotonic`; the quench ends at the first iteration after it.
        mirrored : int
            So many parameters at the end, 0 to n/2, are set to the mirror image of those at the beginning, and stay
            that: where a good construction is symmetric in parts, the search has fewer unknowns.

        Returns
        -------
        Quenched
            The point of least true objective in the last stage, its beginning included. What came before does not
            count: a start that is better than where the quench leads would come back as it was.
        """
        current, stages = self._parameters(x).copy(), _stages(betas, n_iterations)
        deadline, mirrored = as_number(deadline, "deadline"), as_count(mirrored, "mirrored", 0, self.n // 2)
        state, total = self._state, 0
        for beta, count in stages:
            state.reset_best()
            total += state.stage(current, beta, count, mirrored, deadline)
        if not stages or math.isinf(state.best):
            return Quenched(current, math.inf, total)
        state.best_parameters(current)
        return Quenched(current, float(state.best), total)


def _temperature(beta: float, name: str = "beta") -> float:
    value = as_number(beta, name)
    if not 0.0 < value < math.inf:
        raise ValueError(f"expected {name} finite and > 0, got {value}")
    return value


def _stages(betas: Sequence[float] | Array, n_iterations: int | Sequence[int]) -> list[tuple[float, int]]:
    """Beta and number of iterations of each stage of a quench."""
    array = as_reals(betas, "betas")
    if array.ndim != 1:
        raise ValueError(f"expected betas as a sequence of numbers, got shape {array.shape}")
    rising = [_temperature(beta, f"betas[{i}]") for i, beta in enumerate(array.tolist())]
    if isinstance(n_iterations, (Sequence, np.ndarray)):
        counts = as_counts(n_iterations, "n_iterations", 0, _MAX_ITERATIONS)
    else:
        counts = [as_count(n_iterations, "n_iterations", 0, _MAX_ITERATIONS)] * len(rising)
    if len(counts) != len(rising):
        raise ValueError(f"expected n_iterations as one number or {len(rising)}, one a beta, got {len(counts)}")
    return list(zip(rising, counts, strict=True))
