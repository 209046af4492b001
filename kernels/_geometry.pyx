# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.geometry`: what they compute is said there."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t

cdef extern from "cpu.h":
    int evocore_has_avx2() nogil

cdef extern from "geometry.h":
    void geo_gram(const int64_t *x, int64_t n, int64_t d, int64_t *out) nogil
    int64_t geo_least_square(const int64_t *x, int64_t n, int64_t d, int64_t *pair) nogil
    double geo_riesz_base(
        const double *columns, int64_t n, int64_t n_padded, int64_t d, double s, double *gradient, int64_t *pair) nogil
    double geo_riesz_avx2(
        const double *columns, int64_t n, int64_t n_padded, int64_t d, double s, double *gradient, int64_t *pair) nogil
    void geo_extremes_base(
        const double *columns, int64_t n, int64_t n_padded, int64_t d, double *square, int64_t *pairs) nogil
    void geo_extremes_avx2(
        const double *columns, int64_t n, int64_t n_padded, int64_t d, double *square, int64_t *pairs) nogil
    double geo_triangle_base(const double *columns, int64_t n, int64_t n_padded, int64_t *triple) nogil
    double geo_triangle_avx2(const double *columns, int64_t n, int64_t n_padded, int64_t *triple) nogil
    ctypedef struct geo_floor:
        int64_t next
        int64_t where
        double high
        double low
        double best
    void geo_floor_sums(
        const int64_t *keys, const double *values, int64_t n, int64_t limit, int64_t n_steps, geo_floor *s) nogil
    uint64_t geo_signs_base(const double *columns, int64_t m_padded, int n, double *work) nogil
    uint64_t geo_signs_avx2(const double *columns, int64_t m_padded, int n, double *work) nogil

cdef enum:
    STEPS_AT_ONCE = 1 << 24  # some hundredths of a second, after which an interrupt is looked for

HAS_AVX2 = bool(evocore_has_avx2())
ADDRESSES = {
    "riesz": <size_t>&geo_riesz_avx2 if evocore_has_avx2() else <size_t>&geo_riesz_base,
    "extremes": <size_t>&geo_extremes_avx2 if evocore_has_avx2() else <size_t>&geo_extremes_base,
    "triangle": <size_t>&geo_triangle_avx2 if evocore_has_avx2() else <size_t>&geo_triangle_base,
}


def gram(const int64_t[:, ::1] x, int64_t[:, ::1] out):
    with nogil:
        geo_gram(&x[0, 0], x.shape[0], x.shape[1], &out[0, 0])


def least_square(const int64_t[:, ::1] x):
    cdef int64_t pair[2]
    cdef int64_t value
    with nogil:
        value = geo_least_square(&x[0, 0], x.shape[0], x.shape[1], pair)
    return value, pair[0], pair[1]


def riesz(const double[:, ::1] columns, int64_t n, double s, double[:, ::1] gradient, bint fast):
    cdef int64_t pair[2]
    cdef double *slope = NULL if gradient is None else &gradient[0, 0]
    cdef int64_t d = columns.shape[0], n_padded = columns.shape[1]
    cdef double value
    with nogil:
        if fast:
            value = geo_riesz_avx2(&columns[0, 0], n, n_padded, d, s, slope, pair)
        else:
            value = geo_riesz_base(&columns[0, 0], n, n_padded, d, s, slope, pair)
    return value, pair[0], pair[1]


def extremes(const double[:, ::1] columns, int64_t n, bint fast):
    cdef double square[2]
    cdef int64_t pairs[4]
    with nogil:
        if fast:
            geo_extremes_avx2(&columns[0, 0], n, columns.shape[1], columns.shape[0], square, pairs)
        else:
            geo_extremes_base(&columns[0, 0], n, columns.shape[1], columns.shape[0], square, pairs)
    return square[0], (pairs[0], pairs[1]), square[1], (pairs[2], pairs[3])


def triangle(const double[:, ::1] columns, int64_t n, bint fast):
    cdef int64_t triple[3]
    cdef double value
    with nogil:
        if fast:
            value = geo_triangle_avx2(&columns[0, 0], n, columns.shape[1], triple)
        else:
            value = geo_triangle_base(&columns[0, 0], n, columns.shape[1], triple)
    return value, (triple[0], triple[1], triple[2])


def floor_sums(const int64_t[::1] keys, const double[::1] values, int64_t limit):
    cdef geo_floor state
    state.next = state.where = 1
    state.high = state.low = 0.0
    state.best = -INFINITY
    while state.next < limit:
        with nogil:
            geo_floor_sums(&keys[0], &values[0], keys.shape[0], limit, STEPS_AT_ONCE, &state)
        PyErr_CheckSignals()
    return state.best, state.where


def signs(const double[:, ::1] columns, double[::1] work, bint fast):
    cdef uint64_t found
    cdef int n = <int>columns.shape[0]
    with nogil:
        if fast:
            found = geo_signs_avx2(&columns[0, 0], columns.shape[1], n, &work[0])
        else:
            found = geo_signs_base(&columns[0, 0], columns.shape[1], n, &work[0])
    return found
