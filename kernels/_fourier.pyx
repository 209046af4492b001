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
        FO_FAULT
    ctypedef struct fo_work:
        long m
    int fo_work_init(fo_work *w, long n_lags, int is_binary) nogil
    void fo_work_free(fo_work *w) nogil
    long fo_half(long n_lags, int is_binary) nogil
    double fo_relative_error(const fo_work *w) nogil
    int fo_roots(long n, double *re, double *im) nogil
    int fo_holds(
        int kind, const double *x, long n_x, const double *y, long n_y, const double *sums, double error) nogil
    void fo_range_base(const double *x, long n, double *least, double *largest) nogil
    void fo_range_avx2(const double *x, long n, double *least, double *largest) nogil
    int fo_products_base(
        fo_work *w, int kind, const double *x, long n_x, const double *y, long n_y, double *out) nogil
    int fo_products_avx2(
        fo_work *w, int kind, const double *x, long n_x, const double *y, long n_y, double *out) nogil
    int fo_autoconvolution_base(fo_work *w, const double *x, long n, double *out) nogil
    int fo_autoconvolution_avx2(fo_work *w, const double *x, long n, double *out) nogil
    int fo_overlap_base(fo_work *w, const double *h, long n, double *out) nogil
    int fo_overlap_avx2(fo_work *w, const double *h, long n, double *out) nogil

HAS_AVX2 = bool(evocore_has_avx2())

cdef long LARGEST_KEPT = 1 << 17  # complex length of the work that is kept for the next call
cdef dict _idle = {}  # complex length: works that no call uses


cdef class Work:
    """Transform and buffers; taken by one call at a time."""

    cdef fo_work w

    def __cinit__(self, long n_lags, bint is_binary):
        if fo_work_init(&self.w, n_lags, is_binary):
            raise MemoryError(f"no memory for the transform of {n_lags} values")

    def __dealloc__(self):
        fo_work_free(&self.w)


cdef Work take(long n_lags, bint is_binary):
    cdef list idle = <list>_idle.get(fo_half(n_lags, is_binary))
    if idle:
        try:
            return <Work>idle.pop()
        except IndexError:  # another thread was faster
            pass
    return Work(n_lags, is_binary)


cdef give_back(Work work):
    if work.w.m <= LARGEST_KEPT:
        (<list>_idle.setdefault(work.w.m, [])).append(work)


cdef int _checked(int status) except -9:
    if status == FO_FAULT:
        raise KernelFault("a transform failed its own check: this machine's arithmetic or memory is at fault")
    return status


def real_length(long n, bint is_binary):
    return 2 * fo_half(n, is_binary)


def relative_error(long n_lags, bint is_binary):
    cdef Work work = take(n_lags, is_binary)
    cdef double error = fo_relative_error(&work.w)
    give_back(work)
    return error


def roots(double[::1] re, double[::1] im):
    if fo_roots(re.shape[0], &re[0], &im[0]):
        raise MemoryError(f"no memory for {re.shape[0]} roots of unity")


def holds(bint is_correlation, const double[::1] x, const double[::1] y, const double[::1] sums, double error):
    cdef int kind = FO_CORRELATE if is_correlation else FO_CONVOLVE
    return bool(fo_holds(kind, &x[0], x.shape[0], &y[0], y.shape[0], &sums[0], error))


def value_range(const double[::1] x):
    cdef double least = NAN, largest = NAN
    if x.shape[0]:
        if HAS_AVX2:
            fo_range_avx2(&x[0], x.shape[0], &least, &largest)
        else:
            fo_range_base(&x[0], x.shape[0], &least, &largest)
    return least, largest


def products(bint is_correlation, const double[::1] x, const double[::1] y, double[::1] out, bint is_binary, bint fast):
    cdef Work work = take(out.shape[0], is_binary)
    cdef int status, kind = FO_CORRELATE if is_correlation else FO_CONVOLVE
    with nogil:
        if fast:
            status = fo_products_avx2(&work.w, kind, &x[0], x.shape[0], &y[0], y.shape[0], &out[0])
        else:
            status = fo_products_base(&work.w, kind, &x[0], x.shape[0], &y[0], y.shape[0], &out[0])
    _checked(status)
    give_back(work)


def maximum(bint is_overlap, const double[::1] x, bint is_binary, bint fast):
    cdef Work work = take(2 * x.shape[0] - 1, is_binary)
    cdef double out = NAN
    cdef int status
    with nogil:
        if is_overlap and fast:
            status = fo_overlap_avx2(&work.w, &x[0], x.shape[0], &out)
        elif is_overlap:
            status = fo_overlap_base(&work.w, &x[0], x.shape[0], &out)
        elif fast:
            status = fo_autoconvolution_avx2(&work.w, &x[0], x.shape[0], &out)
        else:
            status = fo_autoconvolution_base(&work.w, &x[0], x.shape[0], &out)
    _checked(status)
    give_back(work)
    return out


def maxima(bint is_overlap, const double[:, ::1] x, double[::1] out, bint is_binary, bint fast):
    cdef long i, n = x.shape[1]
    cdef Work work = take(2 * n - 1, is_binary)
    cdef int status = 0
    with nogil:
        for i in range(x.shape[0]):
            if is_overlap and fast:
                status = fo_overlap_avx2(&work.w, &x[i, 0], n, &out[i])
            elif is_overlap:
                status = fo_overlap_base(&work.w, &x[i, 0], n, &out[i])
            elif fast:
                status = fo_autoconvolution_avx2(&work.w, &x[i, 0], n, &out[i])
            else:
                status = fo_autoconvolution_base(&work.w, &x[i, 0], n, &out[i])
            if status:
                break
    _checked(status)
    give_back(work)
