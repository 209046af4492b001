# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.similarity`: what they compute is said there."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

cdef extern from "cpu.h":
    int evocore_has_avx2() nogil

cdef extern from "similarity.h":
    ctypedef struct sim_rows:
        int64_t n
    ctypedef struct sim_sink:
        double *full
        float *full32
        double *condensed
        float *condensed32
        int64_t k
        double *best
        int64_t *best_index
        double *eta
        const double *fitness
        int d
        double epsilon
    int sim_pack(sim_rows *r, int kind, const char *rows, int64_t n, int64_t m, int64_t row_bytes, double unit) nogil
    void sim_release(sim_rows *r) nogil
    int64_t sim_sums_base(sim_rows *r, double limit) nogil
    int64_t sim_sums_avx2(sim_rows *r, double limit) nogil
    int sim_pairs_base(const sim_rows *r, const sim_rows *other, const sim_sink *sink) nogil
    int sim_pairs_avx2(const sim_rows *r, const sim_rows *other, const sim_sink *sink) nogil
    int sim_matrix(
        const double *rows, int64_t n, const double *others, int64_t n_others, int64_t m, double *out) nogil
    int sim_farthest_f64_base(const double *x, int64_t n, int64_t m, int64_t k, int64_t *picks) nogil
    int sim_farthest_f64_avx2(const double *x, int64_t n, int64_t m, int64_t k, int64_t *picks) nogil
    int sim_farthest_bytes_base(
        const uint8_t *x, int64_t n, int64_t row_bytes, int is_bits, int64_t k, int64_t *picks) nogil
    int sim_farthest_bytes_avx2(
        const uint8_t *x, int64_t n, int64_t row_bytes, int is_bits, int64_t k, int64_t *picks) nogil
    void sim_dispersion(const double *distance, int n, int k, int64_t *picks) nogil

HAS_AVX2 = bool(evocore_has_avx2())
ADDRESSES = {"matrix": <size_t>&sim_matrix}


cdef class Rows:
    """Rows in the layout of the block kernels; `bad` is a row whose values cannot be added up, or -1."""

    cdef sim_rows r
    cdef bint fast
    cdef readonly int64_t bad

    def __cinit__(self, const uint8_t[:, ::1] rows, int kind, int64_t m, double unit, double limit, bint fast):
        cdef int64_t n = rows.shape[0], row_bytes = rows.shape[1]
        cdef int failed
        self.fast, self.bad = fast, -1
        with nogil:
            failed = sim_pack(&self.r, kind, <const char *>&rows[0, 0], n, m, row_bytes, unit)
            if not failed and kind < 2:
                self.bad = sim_sums_avx2(&self.r, limit) if fast else sim_sums_base(&self.r, limit)
        if failed:
            raise MemoryError(f"no memory for {n} rows of {row_bytes} bytes")

    def __dealloc__(self):
        sim_release(&self.r)

    cdef void run(self, Rows other, sim_sink *sink) except *:
        cdef const sim_rows *second = NULL
        cdef int failed
        if other is not None:
            second = &other.r
        with nogil:
            failed = sim_pairs_avx2(&self.r, second, sink) if self.fast else sim_pairs_base(&self.r, second, sink)
        if failed:
            raise MemoryError("no memory for a block of similarities")

    def full(self, Rows other, double[:, ::1] out):
        cdef sim_sink sink
        memset(&sink, 0, sizeof(sink))
        sink.full = &out[0, 0]
        self.run(other, &sink)

    def full32(self, Rows other, float[:, ::1] out):
        cdef sim_sink sink
        memset(&sink, 0, sizeof(sink))
        sink.full32 = &out[0, 0]
        self.run(other, &sink)

    def condensed(self, double[::1] out):
        cdef sim_sink sink
        memset(&sink, 0, sizeof(sink))
        sink.condensed = &out[0]
        self.run(None, &sink)

    def condensed32(self, float[::1] out):
        cdef sim_sink sink
        memset(&sink, 0, sizeof(sink))
        sink.condensed32 = &out[0]
        self.run(None, &sink)

    def best(self, Rows other, double[:, ::1] value, int64_t[:, ::1] index):
        cdef sim_sink sink
        memset(&sink, 0, sizeof(sink))
        sink.k = value.shape[1]
        sink.best = &value[0, 0]
        sink.best_index = &index[0, 0]
        value[:, :] = -INFINITY
        self.run(other, &sink)

    def weights(self, const double[:, ::1] fitness_columns, double epsilon, double[::1] eta):
        cdef sim_sink sink
        memset(&sink, 0, sizeof(sink))
        sink.eta = &eta[0]
        sink.fitness = &fitness_columns[0, 0]
        sink.d = <int>fitness_columns.shape[0]
        sink.epsilon = epsilon
        self.run(None, &sink)


def farthest(const double[:, ::1] x, int64_t[::1] picks, bint fast):
    cdef int failed
    cdef int64_t n = x.shape[0], m = x.shape[1], k = picks.shape[0]
    with nogil:
        if fast:
            failed = sim_farthest_f64_avx2(&x[0, 0], n, m, k, &picks[0])
        else:
            failed = sim_farthest_f64_base(&x[0, 0], n, m, k, &picks[0])
    if failed:
        raise MemoryError(f"no memory for the distances of {n} rows")


def farthest_bytes(const uint8_t[:, ::1] x, bint is_bits, int64_t[::1] picks, bint fast):
    cdef int failed
    cdef int64_t n = x.shape[0], m = x.shape[1], k = picks.shape[0]
    with nogil:
        if fast:
            failed = sim_farthest_bytes_avx2(&x[0, 0], n, m, is_bits, k, &picks[0])
        else:
            failed = sim_farthest_bytes_base(&x[0, 0], n, m, is_bits, k, &picks[0])
    if failed:
        raise MemoryError(f"no memory for the distances of {n} rows")


def dispersion(const double[:, ::1] distance, int64_t[::1] picks):
    with nogil:
        sim_dispersion(&distance[0, 0], <int>distance.shape[0], <int>picks.shape[0], &picks[0])
