"""Convolutions, correlations and their maxima by a real fast Fourier transform of our own.

Plans need no measuring and are kept between calls; calls from several threads do not disturb each other. Results have
the same bits on every machine: twiddle factors are correctly rounded, nothing is fused, and the order of all operations
is fixed.

Error
-----
For lengths that are powers of two (`is_binary=True`) every sum is within ``error_bound(n) * |x| * |y|`` of the true
one, in 2-norms; about 1.5e-14 for a thousand values, 2.3e-14 for 65,536, and some fifty times more than what is seen.
A real vector is transformed as the values of its polynomial at the m roots of z^m = -i [1]: entries j and m+j are parts
of one complex number, weighted by a root of unity, and a complex transform of length m follows. Derivation (also in
fft.h, beside the code): every rounding is a factor 1 + d. A sum of two complex numbers has |d| <= u = 2^-53; a product
with a rounded root of unity |d| <= g = (1 + u)(1 + sqrt(5) u) - 1 [2]. A radix-4 pass is two radix-2 stages of
additions (its inner factor -i is exact) and one product, a radix-2 pass one of each, and the weights are one more
product. With A = log2(m) sums and M products on every path, t = (1 + u)^A (1 + g)^M - 1:

- forward, in the 2-norm, as every stage is sqrt(2) times a unitary map: ``|X~ - X| <= t |X|`` [3];
- products of values: one more factor, |d| <= sqrt(5) u; in the 1-norm, by Cauchy-Schwarz, together
  ``((1 + t)^2 (1 + sqrt(5) u) - 1) m |x| |y|``, of which an exact inverse makes 1/m times as much in the maximum norm
  [4];
- backward, in the maximum norm: each result is a part of a mean of m values times roots of unity and path factors.

Together ``(1 + t)^3 (1 + sqrt(5) u) - 1``, evaluated by log1p and expm1: 1 + u is not a double.

Every call checks itself: the sums c_k of a convolution satisfy ``sum c_k z^k = x(z) y(z)`` at z = exp(i), which is no
root of unity of any order, so that no lag is out of sight there; both sides are computed to 40 u times the sum of the
absolute values (in blocks, and by a compensated sum over these [5]), and a gap that this and the transform's own bound
do not explain raises `KernelFault`. The bounds are worst cases: for values of one sign, a fault of one lag is certain
to be noticed from 6e-11 of the largest sum on for 600 values, 4e-10 for 4096, 8e-9 for 65,536 (see `sums_hold`).

References
----------
[1] R. Crandall, C. Pomerance, Prime Numbers, 2nd ed. (2005), section 9.5 ("right-angle" convolution).
[2] R. Brent, C. Percival, P. Zimmermann, Math. Comp. 76 (2007) 1469.
[3] N. Brisebarre, M. Joldes, J.-M. Muller, A.-M. Nanes, J. Picot, ACM Trans. Math. Softw. 46 (2020) 11.
[4] C. Percival, Math. Comp. 72 (2003) 387.
[5] A. Neumaier, Z. Angew. Math. Mech. 54 (1974) 39.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType

import numpy as np
import numpy.typing as npt

from evocore.kernels import _fourier
from evocore.kernels.points import as_choice, as_count, as_reals

Array = npt.NDArray[np.float64]

MAX_VALUES = 2**40  # beyond any memory, and far from where lengths overflow
BACKENDS = ("evocore", "numpy", "fftw")


def rfft_length(n: int, *, is_binary: bool = False) -> int:
    """Return the least length of a transform that holds n real values.

    Parameters
    ----------
    n : int
        1 to `MAX_VALUES`.
    is_binary : bool
        Only powers of two, for which `error_bound` is proved.

    Returns
    -------
    int
        A multiple of 32: 32 * 2^a * (1, 3, 5, 9, 15, 25, 45 or 75).

    Examples
    --------
    >>> rfft_length(1199), rfft_length(1199, is_binary=True)
    (1280, 2048)
    """
    return _fourier.real_length(as_count(n, "n", 1, MAX_VALUES), is_binary)


def error_bound(n: int) -> float:
    """Return the proved bound on the error of a sum, over |x| |y|, where n values go in and sums of 2n-1 come out.

    Examples
    --------
    >>> 1e-14 < error_bound(1000) < 2e-14
    True
    """
    return _fourier.relative_error(2 * as_count(n, "n", 1, MAX_VALUES) - 1, True)


def sums_hold(x: npt.ArrayLike, y: npt.ArrayLike, sums: npt.ArrayLike, *, is_correlation: bool = False) -> bool:
    """Tell whether given sums can be `numpy.convolve(x, y)` (or the full correlation), by the check of every transform.

    Parameters
    ----------
    x, y : (n,), (m,) array_like of float64
        Finite, of moderate size: products do not leave double's range.
    sums : (n + m - 1,) array_like of float64
    is_correlation : bool
        Whether the sums are those of `numpy.correlate(x, y, "full")`.

    Returns
    -------
    bool
        False where one sum is off by more than twice, or in all by more than once, what the error bounds of the
        transform and ``130 u sum|x| sum|y|`` (u = 2^-53) for the check itself explain together.

    Examples
    --------
    >>> sums_hold([1.0, 2.0], [3.0, 4.0], [3.0, 10.0, 8.0])
    True
    >>> sums_hold([1.0, 2.0], [3.0, 4.0], [3.0, 10.0, 8.0 + 1e-9])
    False
    """
    a, b, c = _vector(x, "x"), _vector(y, "y"), _vector(sums, "sums")
    if len(c) != len(a) + len(b) - 1:
        raise ValueError(f"expected {len(a) + len(b) - 1} sums, got {len(c)}")
    error = _fourier.relative_error(len(c), False) * float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
    return _fourier.holds(is_correlation, a, b, c, error)


def value_range(x: Array) -> tuple[float, float]:
    """Return least and largest value of a float64 vector in one pass; the largest is NaN where any is not finite."""
    return _fourier.value_range(np.ascontiguousarray(x))


def convolve(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    is_binary: bool = False,
    backend: str = "evocore",
    use_avx2: bool = _fourier.HAS_AVX2,
) -> Array:
    """Return `numpy.convolve(x, y)` by FFT.

    Parameters
    ----------
    x, y : (n,), (m,) array_like of float64
        Finite; of any scale.
    is_binary : bool
        Use a power of two: the error bound of the module's docstring is proved for it.
    backend : str
        One of `BACKENDS`: "numpy" is the reference, "fftw" needs pyFFTW (extra `fftw`).
    use_avx2 : bool, optional
        Only for tests: both paths give the same bits.

    Returns
    -------
    (n + m - 1,) float64 array

    Examples
    --------
    >>> [round(v, 9) for v in convolve([1.0, 2.0], [3.0, 4.0]).tolist()]
    [3.0, 10.0, 8.0]
    """
    return _products(False, _vector(x, "x"), _vector(y, "y"), is_binary, backend, use_avx2)


def autoconvolve(
    f: npt.ArrayLike, *, is_binary: bool = False, backend: str = "evocore", use_avx2: bool = _fourier.HAS_AVX2
) -> Array:
    """Return `numpy.convolve(f, f)` by FFT, (2n - 1,); see `convolve`."""
    values = _vector(f, "f")
    return _products(False, values, values, is_binary, backend, use_avx2)


def cross_correlate(
    f: npt.ArrayLike,
    g: npt.ArrayLike,
    *,
    is_binary: bool = False,
    backend: str = "evocore",
    use_avx2: bool = _fourier.HAS_AVX2,
) -> Array:
    """Return `numpy.correlate(f, g, "full")` by FFT: sum_i f[i+s] g[i] at index s + len(g) - 1; see `convolve`.

    Examples
    --------
    >>> [round(v, 9) for v in cross_correlate([1.0, 2.0], [3.0, 4.0]).tolist()]
    [4.0, 11.0, 6.0]
    """
    return _products(True, _vector(f, "f"), _vector(g, "g"), is_binary, backend, use_avx2)


def autoconvolution_maximum(
    f: npt.ArrayLike, *, is_binary: bool = False, backend: str = "evocore", use_avx2: bool = _fourier.HAS_AVX2
) -> float | Array:
    """Return the largest of the sums `sum_i f[i] f[k-i]`.

    Parameters
    ----------
    f : (n,) or (b, n) array_like of float64
        One vector, or b of them.
    is_binary, backend, use_avx2
        See `convolve`.

    Returns
    -------
    float or (b,) float64 array

    Examples
    --------
    >>> round(autoconvolution_maximum([1.0, 2.0]), 9)
    4.0
    """
    return _maximum(False, f, is_binary, backend, use_avx2)


def overlap_maximum(
    h: npt.ArrayLike, *, is_binary: bool = False, backend: str = "evocore", use_avx2: bool = _fourier.HAS_AVX2
) -> float | Array:
    """Return the largest of `2/n sum_i h[i] (1 - h[i+s])` over all shifts s, both indices inside.

    Parameters
    ----------
    h : (n,) or (b, n) array_like of float64
        One vector, or b of them; values in [0, 1].
    is_binary, backend, use_avx2
        See `convolve`.

    Returns
    -------
    float or (b,) float64 array

    Examples
    --------
    >>> round(overlap_maximum([1.0, 0.0]), 9)
    1.0
    """
    return _maximum(True, h, is_binary, backend, use_avx2)


def _vector(x: npt.ArrayLike, name: str) -> Array:
    values = as_reals(x, name)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"expected {name} to be a vector of one or more values, got shape {values.shape}")
    _require_finite(values, name)
    return values


def _require_finite(values: Array, name: str) -> tuple[float, float]:
    least, largest = _fourier.value_range(values.reshape(-1))
    if largest != largest and values.size:
        at = np.argwhere(~np.isfinite(values))[0].tolist()
        raise ValueError(f"expected finite values, got {name}{at} = {values[tuple(at)]}")
    return least, largest


def _products(is_correlation: bool, x: Array, y: Array, is_binary: bool, backend: str, use_avx2: bool) -> Array:
    if not isinstance(backend, str) or backend != "evocore":
        return _by_others(is_correlation, x, y, backend)
    out = np.empty(len(x) + len(y) - 1)
    _fourier.products(is_correlation, x, y, out, is_binary, use_avx2)
    return out


def _maximum(is_overlap: bool, x: npt.ArrayLike, is_binary: bool, backend: str, use_avx2: bool) -> float | Array:
    values = as_reals(x, "x")
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        raise ValueError(f"expected a vector or a batch of vectors of one or more values, got shape {values.shape}")
    least, largest = _require_finite(values, "x")
    if is_overlap and (least < 0.0 or largest > 1.0):
        raise ValueError(f"expected values in [0, 1], got {least} to {largest}")
    if not isinstance(backend, str) or backend != "evocore":
        found = [_maximum_by_others(is_overlap, row, backend) for row in values.reshape(-1, values.shape[-1])]
        return found[0] if values.ndim == 1 else np.array(found)
    if values.ndim == 1:
        return _fourier.maximum(is_overlap, values, is_binary, use_avx2)
    out = np.empty(len(values))
    if len(values):
        _fourier.maxima(is_overlap, values, out, is_binary, use_avx2)
    return out


# ---- other people's transforms -----------------------------------------------------------------------------------


def _by_others(is_correlation: bool, x: Array, y: Array, backend: str) -> Array:
    n_lags = len(x) + len(y) - 1
    length = rfft_length(n_lags)
    forward, backward = _transforms(backend)
    if is_correlation:
        y = y[::-1]
    return backward(forward(x, length) * forward(y, length), length)[:n_lags]


def _maximum_by_others(is_overlap: bool, x: Array, backend: str) -> float:
    if is_overlap:
        return float(_by_others(True, x, 1.0 - x, backend).max()) / len(x) * 2.0
    return float(_by_others(False, x, x, backend).max())


Forward = Callable[[Array, int], npt.NDArray[np.complex128]]
Backward = Callable[[npt.NDArray[np.complex128], int], Array]


def _transforms(backend: str) -> tuple[Forward, Backward]:
    if as_choice(backend, "a backend", BACKENDS) == "numpy":
        return np.fft.rfft, np.fft.irfft
    interfaces = _fftw()
    return interfaces.rfft, interfaces.irfft


@functools.lru_cache(maxsize=1)
def _fftw() -> ModuleType:
    """PyFFTW's twin of `numpy.fft`, with plans kept between calls; estimated, never measured."""
    try:
        import pyfftw
        import pyfftw.interfaces.numpy_fft as interfaces
    except ModuleNotFoundError:
        raise ValueError("backend 'fftw' needs pyFFTW: pip install 'evocore-engine[fftw]'") from None
    pyfftw.interfaces.cache.enable()
    pyfftw.interfaces.cache.set_keepalive_time(60.0)
    pyfftw.config.PLANNER_EFFORT = "FFTW_ESTIMATE"
    module: ModuleType = interfaces
    return module
