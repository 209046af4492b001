# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.dominance`: what they compute is said there."""

from libc.stdint cimport int64_t, uint8_t

cdef extern from "cpu.h":
    int evocore_has_avx2() nogil

cdef extern from "dominance.h":
    ctypedef struct dom_points:
        const double *rows
        const double *columns
    int dom_pack(dom_points *p, const double *points, int64_t n, int d, const uint8_t *flip, int64_t *bad) nogil
    void dom_release(dom_points *p) nogil
    int dom_filter_base(const dom_points *p, int first, uint8_t *keep) nogil
    int dom_filter_avx2(const dom_points *p, int first, uint8_t *keep) nogil
    int dom_filter(const double *points, int64_t n, int d, int first, uint8_t *keep) nogil
    int dom_ranks_base(const dom_points *p, int64_t *rank) nogil
    int dom_ranks_avx2(const dom_points *p, int64_t *rank) nogil
    void dom_excess_base(const double *p, int64_t n, const double *q_columns, int64_t m, int d, double *out) nogil
    void dom_excess_avx2(const double *p, int64_t n, const double *q_columns, int64_t m, int d, double *out) nogil
    double dom_indicator_base(const double *p_columns, int64_t n, const double *q, int64_t m, int d) nogil
    double dom_indicator_avx2(const double *p_columns, int64_t n, const double *q, int64_t m, int d) nogil
    void dom_outdoes_base(
        const double *f, int64_t n, const double *g_columns, int64_t m, int d, double epsilon, uint8_t *out
    ) nogil
    void dom_outdoes_avx2(
        const double *f, int64_t n, const double *g_columns, int64_t m, int d, double epsilon, uint8_t *out
    ) nogil

HAS_AVX2 = bool(evocore_has_avx2())
ADDRESSES = {"filter": <size_t>&dom_filter}


cdef class Packed:
    """Points as rows and as columns, all to be minimised; `bad` is the flat index of a value that is not finite, or -1."""

    cdef dom_points p
    cdef readonly int64_t n
    cdef readonly int d
    cdef readonly int64_t bad
    cdef object source

    def __cinit__(self, const double[:, ::1] points, const uint8_t[::1] flip):
        cdef int failed
        self.n, self.d = points.shape[0], <int>points.shape[1]
        self.source = points
        with nogil:
            failed = dom_pack(&self.p, &points[0, 0], self.n, self.d, &flip[0], &self.bad)
        if failed:
            raise MemoryError(f"no memory for {self.n} points of {self.d} objectives")

    def __dealloc__(self):
        dom_release(&self.p)

    def filter(self, bint first, bint fast, uint8_t[::1] keep):
        cdef int failed
        with nogil:
            failed = dom_filter_avx2(&self.p, first, &keep[0]) if fast else dom_filter_base(&self.p, first, &keep[0])
        if failed:
            raise MemoryError(f"no memory for the filter of {self.n} points")

    def ranks(self, bint fast, int64_t[::1] rank):
        cdef int failed
        with nogil:
            failed = dom_ranks_avx2(&self.p, &rank[0]) if fast else dom_ranks_base(&self.p, &rank[0])
        if failed:
            raise MemoryError(f"no memory for the ranks of {self.n} points")


def excess(Packed p, Packed q, bint fast, double[:, ::1] out):
    with nogil:
        if fast:
            dom_excess_avx2(p.p.rows, p.n, q.p.columns, q.n, p.d, &out[0, 0])
        else:
            dom_excess_base(p.p.rows, p.n, q.p.columns, q.n, p.d, &out[0, 0])


def indicator(Packed p, Packed q, bint fast):
    cdef double value
    with nogil:
        if fast:
            value = dom_indicator_avx2(p.p.columns, p.n, q.p.rows, q.n, p.d)
        else:
            value = dom_indicator_base(p.p.columns, p.n, q.p.rows, q.n, p.d)
    return value


def outdoes(Packed f, Packed g, double epsilon, bint fast, uint8_t[:, ::1] out):
    with nogil:
        if fast:
            dom_outdoes_avx2(f.p.rows, f.n, g.p.columns, g.n, f.d, epsilon, &out[0, 0])
        else:
            dom_outdoes_base(f.p.rows, f.n, g.p.columns, g.n, f.d, epsilon, &out[0, 0])
