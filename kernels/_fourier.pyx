# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.fourier`: what they compute is said there."""

from libc.math cimport NAN

from evocore.errors import KernelFault

cdef extern from "cpu.h":
    int evocore_has_avx2() nogil

cdef extern from "fourier.h":
    enum:
        FO_CONVOLVE
        FO_CORRELATE
        FO_AUTOCONVOLUTION
        FO_OVERLAP
        FO_NO_MEMORY
        FO_FAULT
    long fo_half(long n_lags, int is_binary) nogil
    double fo_relative_error(long n_lags, int is_binary) nogil
    int fo_roots(long n, double *re, double *im) nogil
    int fo_holds(
        int kind, const double *x, long n_x, const double *y, long n_y, const double *sums, double error) nogil
    void fo_range(const double *x, long n, double *range) nogil
    int fo_products(
        int kind, const double *x, long n_x, const double *y, long n_y, double *out, int is_binary, int is_fast) nogil
    int fo_maximum(int kind, const double *x, long n, double *out, int is_binary, int is_fast) nogil

HAS_AVX2 = bool(evocore_has_avx2())
ADDRESSES = {"products": <size_t>&fo_products, "maximum": <size_t>&fo_maximum, "range": <size_t>&fo_range}


cdef int _checked(int status) except -9:
    if status == FO_FAULT:
        raise KernelFault("a transform failed its own check: this machine's arithmetic or memory is at fault")
    if status == FO_NO_MEMORY:
        raise MemoryError("no memory for a transform")
    return status


def real_length(long n, bint is_binary):
    return 2 * fo_half(n, is_binary)


def relative_error(long n_lags, bint is_binary):
    return fo_relative_error(n_lags, is_binary)


def roots(double[::1] re, double[::1] im):
    if fo_roots(re.shape[0], &re[0], &im[0]):
        raise MemoryError(f"no memory for {re.shape[0]} roots of unity")


def holds(bint is_correlation, const double[::1] x, const double[::1] y, const double[::1] sums, double error):
    cdef int kind = FO_CORRELATE if is_correlation else FO_CONVOLVE
    return bool(fo_holds(kind, &x[0], x.shape[0], &y[0], y.shape[0], &sums[0], error))


def value_range(const double[::1] x):
    cdef double[2] found
    found[0] = found[1] = NAN
    if x.shape[0]:
        fo_range(&x[0], x.shape[0], found)
    return found[0], found[1]


def products(bint is_correlation, const double[::1] x, const double[::1] y, double[::1] out, bint is_binary, bint fast):
    cdef int status, kind = FO_CORRELATE if is_correlation else FO_CONVOLVE
    with nogil:
        status = fo_products(kind, &x[0], x.shape[0], &y[0], y.shape[0], &out[0], is_binary, fast)
    _checked(status)


def maximum(bint is_overlap, const double[::1] x, bint is_binary, bint fast):
    cdef double out = NAN
    cdef int status, kind = FO_OVERLAP if is_overlap else FO_AUTOCONVOLUTION
    with nogil:
        status = fo_maximum(kind, &x[0], x.shape[0], &out, is_binary, fast)
    _checked(status)
    return out


def maxima(bint is_overlap, const double[:, ::1] x, double[::1] out, bint is_binary, bint fast):
    cdef int status = 0, kind = FO_OVERLAP if is_overlap else FO_AUTOCONVOLUTION
    cdef long i
    with nogil:
        for i in range(x.shape[0]):
            status = fo_maximum(kind, &x[i, 0], x.shape[1], &out[i], is_binary, fast)
            if status:
                break
    _checked(status)
