# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.hypervolume` and `evocore.kernels.archive`: what they compute is said there."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals, PyErr_Clear
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact

import numpy as np

cdef extern from "hypervolume.h":
    enum:
        HV_OK
        HV_NO_MEMORY
        HV_NOT_FINITE
        HV_INTERRUPTED
        HV_MAX_ARCHIVE_OBJECTIVES
    size_t hv_memory_limit
    ctypedef struct hv_call:
        const double *signs
        int (*poll)() noexcept nogil
        int method
    ctypedef struct hv_boxes:
        int d
        long n_boxes
        long n_rows
    int hv_volume_base(const double *points, long n, long d, const double *reference, hv_call call, double *value) noexcept nogil
    int hv_volume_avx2(const double *points, long n, long d, const double *reference, hv_call call, double *value) noexcept nogil
    int hv_contributions_base(const double *points, long n, long d, const double *reference, hv_call call, double *out) noexcept nogil
    int hv_contributions_avx2(const double *points, long n, long d, const double *reference, hv_call call, double *out) noexcept nogil
    int hv_volume(const double *points, long n, long d, const double *reference, double *value) noexcept nogil
    int hv_contributions(const double *points, long n, long d, const double *reference, double *out) noexcept nogil
    int hv_boxes_init(hv_boxes *b, int d, const double *reference) noexcept nogil
    void hv_boxes_free(hv_boxes *b) noexcept nogil
    void hv_boxes_reset(hv_boxes *b, const double *low) noexcept nogil
    long hv_drop_covered_base(double *columns, long step, long n, long d, const double *z) noexcept nogil
    long hv_drop_covered_avx2(double *columns, long step, long n, long d, const double *z) noexcept nogil
    size_t hv_boxes_bytes(const hv_boxes *b) noexcept nogil
    void hv_boxes_gain_base(const hv_boxes *b, const double *z, long n, double *gains) noexcept nogil
    void hv_boxes_gain_avx2(const hv_boxes *b, const double *z, long n, double *gains) noexcept nogil
    int hv_boxes_insert_base(hv_boxes *b, const double *z, double *gain, int *taken) noexcept nogil
    int hv_boxes_insert_avx2(hv_boxes *b, const double *z, double *gain, int *taken) noexcept nogil

cdef extern from "cpu.h":
    int evocore_has_avx2() nogil

HAS_AVX2 = bool(evocore_has_avx2())
ADDRESSES = {"volume": <size_t>&hv_volume, "contributions": <size_t>&hv_contributions}
MAX_ARCHIVE_OBJECTIVES = int(HV_MAX_ARCHIVE_OBJECTIVES)
cdef bint _fast = evocore_has_avx2()

DEF SMALL_REFERENCE = 16
DEF SMALL_WORK = 64


def select(bint fast):
    """Choose the instruction set of everything after this call (for tests): AVX2 or the baseline."""
    global _fast
    _fast = fast and evocore_has_avx2()


def limit_memory(size_t n_bytes):
    """Set how much memory the boxes of one computation or archive may take, and return what it was."""
    global hv_memory_limit
    old, hv_memory_limit = hv_memory_limit, n_bytes
    return old


cdef int poll() noexcept nogil:
    with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            _pending.append(error)
            return 1
    return 0

_pending = []  # the exception that a signal raised inside a computation, until the computation has unwound


cdef object failure(int status, long n, long d):
    if status == HV_NO_MEMORY:
        return MemoryError(
            f"the hypervolume of {n} points with {d} objectives needs more memory than there is, or than the limit of "
            f"{hv_memory_limit >> 20} MiB for one computation"
        )
    return _pending.pop()


cdef bint _take(object points, object reference, Py_buffer *p, double *local) except -1:
    """Whether both are plain float64 in C order and fit together; then p is the points' buffer and local the reference."""
    cdef Py_buffer r
    cdef long d, j
    if not PyObject_CheckBuffer(points):
        return False
    if PyObject_GetBuffer(points, p, PyBUF_FORMAT | PyBUF_STRIDES) < 0:
        PyErr_Clear()
        return False
    if _is_plain(p, 2):
        d = p.shape[1]
        if p.shape[0] >= 1 and 1 <= d <= SMALL_REFERENCE and p.strides[1] == 8 and p.strides[0] == 8 * d:
            if type(reference) is list or type(reference) is tuple:
                if len(reference) == d:
                    for j in range(d):
                        item = reference[j]
                        if not PyFloat_CheckExact(item):
                            break
                        local[j] = PyFloat_AS_DOUBLE(item)
                    else:
                        return True
            elif PyObject_CheckBuffer(reference):
                if PyObject_GetBuffer(reference, &r, PyBUF_FORMAT | PyBUF_STRIDES) < 0:
                    PyErr_Clear()
                else:
                    if _is_plain(&r, 1) and r.shape[0] == d and r.strides[0] == 8:
                        for j in range(d):
                            local[j] = (<const double *>r.buf)[j]
                        PyBuffer_Release(&r)
                        return True
                    PyBuffer_Release(&r)
    PyBuffer_Release(p)
    return False


cdef inline bint _is_plain(const Py_buffer *p, int ndim) noexcept:
    return p.ndim == ndim and p.itemsize == 8 and p.format[0] == c"d" and not p.format[1] and not (<size_t>p.buf) & 7


cdef inline hv_call _call(double *signs, long d, bint maximize, bint is_short) noexcept:
    cdef hv_call call
    cdef long j
    call.signs = NULL
    call.poll = poll
    if is_short:
        call.poll = NULL
    call.method = 0
    if maximize:
        for j in range(d):
            signs[j] = -1.0
        call.signs = signs
    return call


def volume_at_once(points, reference, bint maximize):
    """Volume of plain float64 arrays in C order; None for anything else, which `hypervolume.py` then looks at closely."""
    cdef Py_buffer p
    cdef double[SMALL_REFERENCE] local, signs
    cdef double value = 0.0
    cdef long n, d
    cdef int status
    if not _take(points, reference, &p, local):
        return None
    n, d = p.shape[0], p.shape[1]
    cdef hv_call call = _call(signs, d, maximize, n * d <= SMALL_WORK)
    try:
        if n * d <= SMALL_WORK:  # releasing the GIL would cost more than the work
            status = _volume(<const double *>p.buf, n, d, local, call, &value)
        else:
            with nogil:
                status = _volume(<const double *>p.buf, n, d, local, call, &value)
    finally:
        PyBuffer_Release(&p)
    if status == HV_NOT_FINITE:
        return None
    if status:
        raise failure(status, n, d)
    return value


def contributions_at_once(points, reference, bint maximize):
    """Contributions of plain float64 arrays in C order; None for anything else."""
    cdef Py_buffer p
    cdef double[SMALL_REFERENCE] local, signs
    cdef double[::1] out
    cdef long n, d
    cdef int status
    if not _take(points, reference, &p, local):
        return None
    n, d = p.shape[0], p.shape[1]
    cdef hv_call call = _call(signs, d, maximize, n * d <= SMALL_WORK)
    try:
        found = np.empty(n)
        out = found
        with nogil:
            status = _contributions(<const double *>p.buf, n, d, local, call, &out[0])
    finally:
        PyBuffer_Release(&p)
    if status == HV_NOT_FINITE:
        return None
    if status:
        raise failure(status, n, d)
    return found


cdef inline int _volume(const double *p, long n, long d, const double *r, hv_call call, double *value) noexcept nogil:
    return hv_volume_avx2(p, n, d, r, call, value) if _fast else hv_volume_base(p, n, d, r, call, value)


cdef inline int _contributions(
    const double *p, long n, long d, const double *r, hv_call call, double *out
) noexcept nogil:
    return hv_contributions_avx2(p, n, d, r, call, out) if _fast else hv_contributions_base(p, n, d, r, call, out)


def volume(const double[:, ::1] points, const double[::1] reference, const double[::1] signs, int method):
    """Volume of finite points of one shape; method as in hypervolume.h."""
    cdef double value = 0.0
    cdef long n = points.shape[0], d = points.shape[1]
    cdef hv_call call
    cdef int status
    if n == 0:
        return 0.0
    call.signs = &signs[0]
    call.poll = poll
    call.method = method
    with nogil:
        status = _volume(&points[0, 0], n, d, &reference[0], call, &value)
    if status:
        raise failure(status, n, d)
    return value


def contributions(const double[:, ::1] points, const double[::1] reference, const double[::1] signs, double[::1] out, int method):
    """Exclusive volumes of finite points into `out`; False where a value is not finite."""
    cdef long n = points.shape[0], d = points.shape[1]
    cdef hv_call call
    cdef int status
    if n == 0:
        return True
    call.signs = &signs[0] if signs is not None else NULL
    call.poll = poll
    call.method = method
    with nogil:
        status = _contributions(&points[0, 0], n, d, &reference[0], call, &out[0])
    if status == HV_NOT_FINITE:
        return False
    if status:
        raise failure(status, n, d)
    return True


cdef class Boxes:
    """The boxes that no inserted point dominates, below a reference; minimises. Not to be used from two threads at once."""

    cdef hv_boxes b

    def __cinit__(self, const double[::1] reference):
        if hv_boxes_init(&self.b, <int>reference.shape[0], &reference[0]):
            hv_boxes_free(&self.b)
            raise MemoryError(f"no memory for an archive of {reference.shape[0]} objectives")

    def __dealloc__(self):
        hv_boxes_free(&self.b)

    @property
    def n_boxes(self):
        return self.b.n_boxes

    @property
    def n_rows(self):
        return self.b.n_rows - 1

    @property
    def n_bytes(self):
        return hv_boxes_bytes(&self.b)

    def reset(self, const double[::1] low):
        """Back to no points; keys resolve the values from `low` to the reference best."""
        hv_boxes_reset(&self.b, &low[0])

    def gains(self, const double[:, ::1] points, double[::1] out):
        cdef long n = points.shape[0]
        if n == 0:
            return
        with nogil:
            if _fast:
                hv_boxes_gain_avx2(&self.b, &points[0, 0], n, &out[0])
            else:
                hv_boxes_gain_base(&self.b, &points[0, 0], n, &out[0])

    def insert(self, const double[:, ::1] points, double[:, ::1] columns, long n_members, double[::1] gains):
        """Insert row by row; `gains` receives what each added. Returns the number of members.

        The first n_members entries of the d columns are the members; they change in place and need room for all points,
        and their length is a multiple of four.
        MemoryError leaves boxes that have to be reset, and columns without the points from the failed one on.
        """
        cdef long i, j, n = points.shape[0], d = points.shape[1], step = columns.shape[1], members = n_members
        cdef int status = HV_OK, taken = 0
        if n == 0:
            return members
        with nogil:
            for i in range(n):
                if _fast:
                    status = hv_boxes_insert_avx2(&self.b, &points[i, 0], &gains[i], &taken)
                else:
                    status = hv_boxes_insert_base(&self.b, &points[i, 0], &gains[i], &taken)
                if status:
                    break
                if taken:
                    if _fast:
                        members = hv_drop_covered_avx2(&columns[0, 0], step, members, d, &points[i, 0])
                    else:
                        members = hv_drop_covered_base(&columns[0, 0], step, members, d, &points[i, 0])
                    for j in range(d):
                        columns[j, members] = points[i, j]
                    members += 1
        if status:
            raise failure(status, members, d)
        return members
