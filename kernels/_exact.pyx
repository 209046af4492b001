# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, autotestdict=False, freethreading_compatible=True
"""Loops of `evocore.kernels.exact`: what they compute is said there."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from evocore.errors import KernelFault

cdef extern from "cpu.h":
    int evocore_has_avx2() nogil

cdef extern from "exact.h":
    enum:
        EXACT_CONVOLUTION
        EXACT_CORRELATION
        EXACT_NO_MEMORY
        EXACT_FAULT
        EXACT_TOO_MANY
    ctypedef struct exact_vector:
        long n
        int exponent
        int bits
        int dropped
        int has_negative
    ctypedef struct exact_number:
        int64_t digit[144]
        int count
    ctypedef struct exact_work:
        long m
        long *candidate
        int has_lags
    long exact_vector_init(exact_vector *v, const double *x, long n) nogil
    void exact_vector_free(exact_vector *v) nogil
    int exact_work_init(exact_work *w, long n_lags) nogil
    void exact_work_free(exact_work *w) nogil
    void exact_total(const exact_vector *v, exact_number *out) nogil
    int exact_filter_base(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double *radius) nogil
    int exact_filter_avx2(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double *radius) nogil
    int exact_extreme_base(
        exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double radius, int sign,
        double max_products, exact_number *out, long *n_candidates
    ) nogil
    int exact_extreme_avx2(
        exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double radius, int sign,
        double max_products, exact_number *out, long *n_candidates
    ) nogil
    long exact_overlap_candidates(exact_work *w, const exact_vector *h, double radius, double extra) nogil
    void exact_overlap_parts(const exact_vector *h, long s, exact_number *head, exact_number *product) nogil
    void exact_clipped_parts(
        const exact_vector *v, const uint8_t *kept, long s, exact_number *parts, long *counts
    ) nogil

HAS_AVX2 = bool(evocore_has_avx2())

cdef long LARGEST_KEPT = 1 << 17  # complex length of the work that is kept for the next call
cdef dict _idle = {}  # complex length: works that no call uses


cdef class Work:
    """Transform and buffers; taken by one call at a time."""

    cdef exact_work w

    def __cinit__(self, long n_lags):
        if exact_work_init(&self.w, n_lags):
            raise MemoryError(f"no memory for the lags of {n_lags} values")

    def __dealloc__(self):
        exact_work_free(&self.w)


cdef Work take(long n_lags):
    cdef long m = 16
    while 2 * m < n_lags:
        m *= 2
    cdef list idle = <list>_idle.get(m)
    if idle:
        try:
            return <Work>idle.pop()
        except IndexError:  # another thread was faster
            pass
    return Work(n_lags)


cdef give_back(Work work):
    if work.w.m <= LARGEST_KEPT:
        (<list>_idle.setdefault(work.w.m, [])).append(work)


cdef as_integer(exact_number *x):
    """Digits of 32 bits, settled, as a Python integer."""
    cdef uint32_t words[144]
    cdef int i
    for i in range(x.count):
        words[i] = <uint32_t>(x.digit[i] & 0xFFFFFFFF)
    # The last digit is far from full: its low half carries the sign.
    return int.from_bytes((<const unsigned char *>words)[: 4 * x.count], "little", signed=True)


cdef class Vector:
    """A vector as integers over one power of two."""

    cdef exact_vector v
    cdef readonly long bad

    def __cinit__(self, const double[::1] x):
        cdef long status, n = x.shape[0]
        with nogil:
            status = exact_vector_init(&self.v, &x[0], n)
        if status < 0:
            raise MemoryError(f"no memory for the exact form of {n} values")
        self.bad = status - 1

    def __dealloc__(self):
        exact_vector_free(&self.v)

    def __len__(self):
        return self.v.n

    @property
    def exponent(self):
        return self.v.exponent

    @property
    def bits(self):
        return self.v.bits

    @property
    def has_negative(self):
        return bool(self.v.has_negative)

    def total(self):
        cdef exact_number out
        with nogil:
            exact_total(&self.v, &out)
        return as_integer(&out)


cdef int _filter(Work work, Vector a, Vector b, int kind, double *radius, bint fast) except -9:
    cdef int status
    with nogil:
        if fast:
            status = exact_filter_avx2(&work.w, &a.v, &b.v, kind, radius)
        else:
            status = exact_filter_base(&work.w, &a.v, &b.v, kind, radius)
    return _checked(status)


cdef int _checked(int status) except -9:
    if status == EXACT_FAULT:
        raise KernelFault("a transform failed its own check: this machine's arithmetic or memory is at fault")
    if status == EXACT_NO_MEMORY:
        raise MemoryError("no memory for the exact sums")
    return status


def extremes(Vector a, Vector b, bint is_correlation, bint both, double max_products, bint fast):
    """(largest, smallest or None, candidates of the largest); None where more products than allowed are in question."""
    cdef Work work = take(a.v.n + b.v.n - 1)
    cdef exact_number out
    cdef double radius = 0.0
    cdef long n_candidates = 0, n_first = 0
    cdef int status, i, sign, kind = EXACT_CORRELATION if is_correlation else EXACT_CONVOLUTION
    found = [None, None]
    for i in range(2 if both else 1):
        sign = 1 - 2 * i
        if not work.w.has_lags or sign == 1:
            _filter(work, a, b, kind, &radius, fast)
        with nogil:
            if fast:
                status = exact_extreme_avx2(
                    &work.w, &a.v, &b.v, kind, radius, sign, max_products, &out, &n_candidates)
            else:
                status = exact_extreme_base(
                    &work.w, &a.v, &b.v, kind, radius, sign, max_products, &out, &n_candidates)
        _checked(status)
        if status == EXACT_TOO_MANY:
            give_back(work)
            return None
        if sign == 1:
            n_first = n_candidates
        found[i] = as_integer(&out)
    give_back(work)
    return found[0], found[1], n_first


cdef Work _overlap_work(Vector h, double extra, long *count, bint fast):
    """A work that holds the shifts in question as its candidates."""
    cdef Work work = take(2 * h.v.n - 1)
    cdef double radius = 0.0
    _filter(work, h, h, EXACT_CORRELATION, &radius, fast)
    with nogil:
        count[0] = exact_overlap_candidates(&work.w, &h.v, radius, extra)
    return work


def overlap(Vector h, double max_products, bint fast):
    """List of (head, product) for every shift that can hold the largest overlap; None where they are too many."""
    cdef exact_number head, product
    cdef long i, count = 0
    cdef Work work = _overlap_work(h, 0.0, &count, fast)
    parts = None
    if <double>count * h.v.n <= max_products:
        parts = []
        for i in range(count):
            with nogil:
                exact_overlap_parts(&h.v, work.w.candidate[i], &head, &product)
            parts.append((as_integer(&head), as_integer(&product)))
    give_back(work)
    return parts


def clipped_overlap(Vector slack, double extra, Vector v, const uint8_t[::1] kept, double max_products, bint fast):
    """List of (first, last, cross, product, n first, n last, n pairs) for the shifts in question by `slack`; or None."""
    cdef exact_number parts[4]
    cdef long counts[3]
    cdef long i, count = 0
    cdef Work work = _overlap_work(slack, extra, &count, fast)
    found = None
    if <double>count * v.v.n <= max_products:
        found = []
        for i in range(count):
            with nogil:
                exact_clipped_parts(&v.v, &kept[0], work.w.candidate[i], parts, counts)
            found.append((
                as_integer(&parts[0]), as_integer(&parts[1]), as_integer(&parts[2]), as_integer(&parts[3]),
                counts[0], counts[1], counts[2],
            ))
    give_back(work)
    return found
