# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.smoothmax`: what they compute is said there."""

from libc.math cimport INFINITY
from libc.string cimport memcpy

from evocore.errors import KernelFault

cdef extern from "smoothmax.h":
    ctypedef struct sm_state:
        int kind
        long n
        long n_lags
        double *f
        double *c
        double *best_x
        double best
        double level
        long n_evaluations
    int sm_init(sm_state *st, int kind, long n, int memory) nogil
    void sm_free(sm_state *st) nogil
    double sm_evaluate_base(sm_state *st, const double *x, double beta, double *gradient, double *peak) nogil
    double sm_evaluate_avx2(sm_state *st, const double *x, double beta, double *gradient, double *peak) nogil
    int sm_holds_base(sm_state *st) nogil
    int sm_holds_avx2(sm_state *st) nogil
    int sm_hessian_base(
        sm_state *st, const double *x, double beta, const double *v, long count, double *out) nogil
    int sm_hessian_avx2(
        sm_state *st, const double *x, double beta, const double *v, long count, double *out) nogil
    long sm_stage_base(sm_state *st, double *x, double beta, long n_iterations, long mirrored, double deadline) nogil
    long sm_stage_avx2(sm_state *st, double *x, double beta, long n_iterations, long mirrored, double deadline) nogil

    double sm_log_sum_exp_base(const double *c, long n, double beta, double *p) nogil
    double sm_log_sum_exp_avx2(const double *c, long n, double beta, double *p) nogil
    void sm_exp_base(const double *x, long n, double *out) nogil
    void sm_exp_avx2(const double *x, long n, double *out) nogil
    int sm_value(int kind, const double *x, long n, double beta, double *gradient, double *value, double *peak) nogil
    double sm_log_sum_exp(const double *c, long n, double beta, double *p) nogil
    void sm_exp(const double *x, long n, double *out) nogil

cdef extern from "cpu.h":
    int evocore_has_avx2() nogil

HAS_AVX2 = bool(evocore_has_avx2())
ADDRESSES = {"value": <size_t>&sm_value, "log_sum_exp": <size_t>&sm_log_sum_exp, "exp": <size_t>&sm_exp}


def log_sum_exp(const double[::1] values, double beta, double[::1] weights, bint fast):
    cdef double value
    with nogil:
        if fast:
            value = sm_log_sum_exp_avx2(&values[0], values.shape[0], beta, &weights[0])
        else:
            value = sm_log_sum_exp_base(&values[0], values.shape[0], beta, &weights[0])
    return value


def exponentials(const double[::1] x, double[::1] out, bint fast):
    with nogil:
        if fast:
            sm_exp_avx2(&x[0], x.shape[0], &out[0])
        else:
            sm_exp_base(&x[0], x.shape[0], &out[0])


cdef class State:
    """Buffers of one problem size; not to be used from two threads at once."""

    cdef sm_state st
    cdef bint fast

    def __cinit__(self, int kind, long n, int memory, bint fast):
        if sm_init(&self.st, kind, n, memory):
            sm_free(&self.st)
            raise MemoryError(f"no memory for a smoothed maximum of {n} values")
        self.fast = fast

    def __dealloc__(self):
        sm_free(&self.st)

    @property
    def n_evaluations(self):
        return self.st.n_evaluations

    @property
    def best(self):
        return self.st.best

    @property
    def level(self):
        return self.st.level

    @level.setter
    def level(self, double value):
        self.st.level = value

    def reset_best(self):
        self.st.best = INFINITY

    def best_parameters(self, double[::1] out):
        memcpy(&out[0], self.st.best_x, self.st.n * sizeof(double))

    cdef int require_sound(self) except -1:
        cdef bint holds
        with nogil:
            holds = sm_holds_avx2(&self.st) if self.fast else sm_holds_base(&self.st)
        if not holds:
            raise KernelFault("a transform failed its own check: this machine's arithmetic or memory is at fault")
        return 0

    def evaluate(self, const double[::1] x, double beta, double[::1] gradient):
        cdef double value, peak = 0.0
        with nogil:
            if self.fast:
                value = sm_evaluate_avx2(&self.st, &x[0], beta, &gradient[0], &peak)
            else:
                value = sm_evaluate_base(&self.st, &x[0], beta, &gradient[0], &peak)
        self.require_sound()
        return value, peak

    def hessian(self, const double[::1] x, double beta, const double[:, ::1] directions, double[:, ::1] out):
        cdef int failed
        with nogil:
            if self.fast:
                failed = sm_hessian_avx2(&self.st, &x[0], beta, &directions[0, 0], directions.shape[0], &out[0, 0])
            else:
                failed = sm_hessian_base(&self.st, &x[0], beta, &directions[0, 0], directions.shape[0], &out[0, 0])
        if failed:
            raise MemoryError(f"no memory for the Hessian products of {self.st.n} values")
        self.require_sound()

    def construction(self, double[::1] out):
        memcpy(&out[0], self.st.f, self.st.n * sizeof(double))

    def lags(self, double[::1] out):
        memcpy(&out[0], self.st.c, self.st.n_lags * sizeof(double))

    def stage(self, double[::1] x, double beta, long n_iterations, long mirrored, double deadline):
        cdef long done
        with nogil:
            if self.fast:
                done = sm_stage_avx2(&self.st, &x[0], beta, n_iterations, mirrored, deadline)
            else:
                done = sm_stage_base(&self.st, &x[0], beta, n_iterations, mirrored, deadline)
        self.require_sound()
        return done
