# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.blas`: what they compute is said there."""

from libc.math cimport NAN
from libc.stdint cimport int64_t

cdef extern from "blas.h":
    double blas_dot_base(int kernel, long n, const double *x, const double *y, int y_is_odd, int n_threads) nogil
    double blas_dot_fma(int kernel, long n, const double *x, const double *y, int y_is_odd, int n_threads) nogil
    double blas_lag_base(
        int kernel, const double *a, long n_a, const double *v, long n_v, long k, int n_threads) nogil
    double blas_lag_fma(
        int kernel, const double *a, long n_a, const double *v, long n_v, long k, int n_threads) nogil

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    static int evocore_has_fma(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    #else
    static int evocore_has_fma(void) { return 0; }
    #endif
    """
    int evocore_has_fma() nogil

HAS_FMA = bool(evocore_has_fma())
ADDRESSES = {"dot": <size_t>&blas_dot_fma if evocore_has_fma() else <size_t>&blas_dot_base}


def dot(int kernel, const double[::1] x, const double[::1] y, bint y_is_odd, int n_threads, bint fast):
    cdef double out
    if not x.shape[0]:
        return 0.0
    with nogil:
        if fast:
            out = blas_dot_fma(kernel, x.shape[0], &x[0], &y[0], y_is_odd, n_threads)
        else:
            out = blas_dot_base(kernel, x.shape[0], &x[0], &y[0], y_is_odd, n_threads)
    return out


def lags(
    int kernel, const double[::1] a, const double[::1] v, const int64_t[::1] which, int n_threads, double[::1] out,
    bint fast,
):
    cdef long i
    with nogil:
        for i in range(which.shape[0]):
            if fast:
                out[i] = blas_lag_fma(kernel, &a[0], a.shape[0], &v[0], v.shape[0], which[i], n_threads)
            else:
                out[i] = blas_lag_base(kernel, &a[0], a.shape[0], &v[0], v.shape[0], which[i], n_threads)
