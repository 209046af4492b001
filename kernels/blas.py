"""Dot products, convolutions and correlations with the bits that NumPy gets from OpenBLAS on a given processor.

`numpy.convolve` and `numpy.correlate` take one BLAS dot product a lag, so that their last bits depend on the order in
which the BLAS adds: another one for each family of processors, and above 10,000 terms also on the number of threads.
Each order is a fixed one, and is followed here, portably: the same bits on any machine. What NumPy's wheels for x86-64
choose between:

===============  =====================================================================  ==============================
kernel           processors                                                             order
===============  =====================================================================  ==============================
``haswell``      AVX2 and FMA without AVX-512: Intel from Haswell, AMD from Zen          16 fused sums
``skylakex``     AVX-512: Intel from Skylake-X; Zen 4 and later where OpenBLAS says so   32 fused sums, fused tail
``sandybridge``  AVX without FMA                                                         16 sums
``nehalem``      SSE4.2                                                                  8 sums
``prescott``     older; first product apart where the second vector is not aligned       8 sums
===============  =====================================================================  ==============================

Measured for NumPy 1.26 to 2.4 (OpenBLAS 0.3.23 to 0.3.31), which agree. Others (ARM, Accelerate, MKL) are not known.
`numpy_kernel` asks the NumPy of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from evocore.kernels import _blas
from evocore.kernels.fourier import autoconvolve, cross_correlate
from evocore.kernels.points import as_choice, as_count, as_counts, as_reals

Array = npt.NDArray[np.float64]

KERNELS = ("haswell", "skylakex", "sandybridge", "nehalem", "prescott")

DIRECT_LENGTH = 512  # up to here all lags are computed where only the largest is asked for
MAX_THREADS = 2**31 - 1
FILTER_MARGIN = 128 * 2.0**-53  # of |x| |y|: FFT and dot product together are off by less than 20 u up to 2^22 values


def ddot(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    kernel: str = "haswell",
    n_threads: int = 1,
    y_is_odd: bool = False,
    use_fma: bool = _blas.HAS_FMA,
) -> float:
    """Return the dot product of two vectors as OpenBLAS computes it.

    Parameters
    ----------
    x, y : (n,) array_like of float64
    kernel : str
        One of `KERNELS`.
    n_threads : int
        Of OpenBLAS, 1 to `MAX_THREADS`; matters above 10,000 values.
    y_is_odd : bool
        Whether y begins 8 bytes behind a multiple of 16; matters for ``prescott``.
    use_fma : bool, optional
        Only for tests: both paths give the same bits.

    Returns
    -------
    float

    Examples
    --------
    >>> ddot([1.0, 2.0], [3.0, 4.0])
    11.0
    """
    a, b = _vector(x, "x"), _vector(y, "y")
    if len(a) != len(b):
        raise ValueError(f"expected vectors of one length, got {len(a)} and {len(b)}")
    return _blas.dot(_index(kernel), a, b, y_is_odd, _threads(n_threads), use_fma)


def convolve(
    x: npt.ArrayLike, y: npt.ArrayLike, *, kernel: str = "haswell", n_threads: int = 1, use_fma: bool = _blas.HAS_FMA
) -> Array:
    """Return `numpy.convolve(x, y)` with the bits of a kernel; see `ddot`. Cost: n m multiplications.

    Examples
    --------
    >>> convolve([1.0, 2.0], [3.0, 4.0]).tolist()
    [3.0, 10.0, 8.0]
    """
    a, v = _vector(x, "x"), _vector(y, "y")
    if len(v) > len(a):
        a, v = v, a
    return _lags(a, np.ascontiguousarray(v[::-1]), None, kernel, n_threads, use_fma)


def correlate(
    x: npt.ArrayLike, y: npt.ArrayLike, *, kernel: str = "haswell", n_threads: int = 1, use_fma: bool = _blas.HAS_FMA
) -> Array:
    """Return `numpy.correlate(x, y, "full")` with the bits of a kernel; see `ddot`. Cost: n m multiplications.

    Examples
    --------
    >>> correlate([1.0, 2.0], [3.0, 4.0]).tolist()
    [4.0, 11.0, 6.0]
    """
    a, v = _vector(x, "x"), _vector(y, "y")
    if len(v) > len(a):
        return _lags(v, a, None, kernel, n_threads, use_fma)[::-1].copy()
    return _lags(a, v, None, kernel, n_threads, use_fma)


def convolution_maximum(f: npt.ArrayLike, *, kernel: str = "haswell", n_threads: int = 1) -> float:
    """Return `numpy.convolve(f, f).max()` with the bits of a kernel, in O(n log n).

    An FFT says which lags can hold the maximum, and these are computed. Where very many can (a plateau that is flat to
    the last bits) the cost is that of all of them.

    Examples
    --------
    >>> convolution_maximum([1.0, 2.0])
    4.0
    """
    values = _vector(f, "f")
    return _maximum(values, np.ascontiguousarray(values[::-1]), lambda: autoconvolve(values), kernel, n_threads)


def correlation_maximum(x: npt.ArrayLike, y: npt.ArrayLike, *, kernel: str = "haswell", n_threads: int = 1) -> float:
    """Return `numpy.correlate(x, y, "full").max()` for vectors of one length; see `convolution_maximum`.

    Examples
    --------
    >>> correlation_maximum([1.0, 2.0], [3.0, 4.0])
    11.0
    """
    a, v = _vector(x, "x"), _vector(y, "y")
    if len(a) != len(v):
        raise ValueError(f"expected vectors of one length, got {len(a)} and {len(v)}")
    return _maximum(a, v, lambda: cross_correlate(a, v), kernel, n_threads)


def numpy_kernel() -> str | None:
    """Name the kernel whose bits the NumPy of this process gives, or None where it is none of them.

    Returns
    -------
    str or None
        One of `KERNELS`, as the default of OpenBLAS for this processor or ``OPENBLAS_CORETYPE`` has it.

    Notes
    -----
    Compares `numpy.convolve` and `numpy.correlate` with each kernel, all bits of about 400 lags on which no two kernels
    agree. The number of threads, which matters above 10,000 values, cannot be seen in them.

    Examples
    --------
    >>> numpy_kernel() in (*KERNELS, None)
    True
    """
    x, y = _telling_vectors()
    for kernel in KERNELS:
        if np.array_equal(np.convolve(x, x), convolve(x, x, kernel=kernel)) and np.array_equal(
            np.correlate(x, y, "full"), correlate(x, y, kernel=kernel)
        ):
            return kernel
    return None


def possible_maxima(
    x: npt.ArrayLike, y: npt.ArrayLike | None = None, *, n_threads: Sequence[int] = (1, 2)
) -> dict[str, float]:
    """Return the maximum for each kernel: what NumPy may give where the machine is unknown (here: `numpy_kernel`).

    Parameters
    ----------
    x : (n,) array_like of float64
    y : (n,) array_like of float64, optional
        The maximum is that of `numpy.correlate(x, y, "full")`, or of `numpy.convolve(x, x)` without it.
    n_threads : sequence of int
        Numbers of threads that are thinkable, one or more; they matter above 10,000 values only.

    Returns
    -------
    dict of str to float
        By kernel; ``"haswell/2"`` is haswell with two threads.

    Examples
    --------
    >>> sorted(set(possible_maxima([1.0, 2.0]).values()))
    [4.0]
    """
    values, others = _vector(x, "x"), None if y is None else _vector(y, "y")
    thinkable = as_counts(n_threads, "n_threads", 1, MAX_THREADS)
    if not thinkable:
        raise ValueError("expected n_threads as one or more numbers of threads, got none")
    found = {}
    for kernel in KERNELS:
        for threads in thinkable if len(values) > 10_000 else thinkable[:1]:
            name = kernel if threads == 1 else f"{kernel}/{threads}"
            if others is None:
                found[name] = convolution_maximum(values, kernel=kernel, n_threads=threads)
            else:
                found[name] = correlation_maximum(values, others, kernel=kernel, n_threads=threads)
    return found


def _telling_vectors() -> tuple[Array, Array]:
    """Two vectors of 100 values with full mantissas, the same on every machine: parts of square roots."""
    x = np.sqrt(np.arange(2.0, 102.0)) % 1.0
    return x, 1.0 - x[::-1]


def _maximum(a: Array, v: Array, transform: Callable[[], Array], kernel: str, n_threads: int) -> float:
    """Largest lag of a and v; transform() gives all of them roughly."""
    which = None
    if len(a) > DIRECT_LENGTH:
        rough = transform()
        margin = FILTER_MARGIN * float(np.sqrt(np.dot(a, a) * np.dot(v, v)))
        which = np.flatnonzero(rough >= rough.max() - margin).astype(np.int64)
    return float(_lags(a, v, which, kernel, n_threads, _blas.HAS_FMA).max())


def _lags(a: Array, v: Array, which: npt.NDArray[np.int64] | None, kernel: str, n_threads: int, use_fma: bool) -> Array:
    if which is None:
        which = np.arange(len(a) + len(v) - 1, dtype=np.int64)
    out = np.empty(len(which))
    _blas.lags(_index(kernel), a, v, which, _threads(n_threads), out, use_fma)
    return out


def _vector(x: npt.ArrayLike, name: str) -> Array:
    values = as_reals(x, name)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"expected {name} to be a vector of one or more values, got shape {values.shape}")
    return values


def _index(kernel: str) -> int:
    return KERNELS.index(as_choice(kernel, "a kernel", KERNELS))


def _threads(n_threads: int) -> int:
    return as_count(n_threads, "n_threads", 1, MAX_THREADS)
