/* Four-lane vectors in the compiler's own vector extension: the same lanes and the same order of additions on every
   machine, so that a result does not depend on which instruction set ran it. */
#ifndef EVOCORE_SIMD_H
#define EVOCORE_SIMD_H

#include <stdint.h>
#include <string.h>

typedef double v4d __attribute__((vector_size(32)));
typedef int64_t v4i __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) v4d v4_load(const double *p) {
    v4d v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline __attribute__((always_inline)) void v4_store(double *p, v4d v) { memcpy(p, &v, sizeof v); }

static inline __attribute__((always_inline)) v4d v4_set(double a) { return (v4d){a, a, a, a}; }

#if defined(__clang__)
#define V4_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define V4_PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (v4i){i, j, k, l})
#endif

static inline __attribute__((always_inline)) v4d v4_reverse(v4d v) { return V4_PICK(v, v, 3, 2, 1, 0); }

static inline __attribute__((always_inline)) double v4_sum(v4d v) { return (v[0] + v[1]) + (v[2] + v[3]); }

static inline __attribute__((always_inline)) double v4_max(v4d v) {
    double a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}

/* a > b ? a : b in each lane: b where one is NaN. */
static inline __attribute__((always_inline)) v4d v4_larger(v4d a, v4d b) {
#if defined(__AVX__) && !defined(__clang__)
    return (v4d)__builtin_ia32_maxpd256(a, b); /* the same, in one instruction that GCC does not find */
#else
    v4i m = a > b;
    return (v4d)(((v4i)a & m) | ((v4i)b & ~m));
#endif
}

/* exp, to about 1 ulp, for arguments in [-700, 700], of four vectors at once, because each step waits for the one
   before: x = k ln 2 + r, the polynomial of degree 11 that meets exp at the Chebyshev points of |r| <= ln 2 / 2
   (relative error 2e-17), and 2^k put into the exponent bits. */
static inline __attribute__((always_inline)) void v4_exp4(v4d x[4]) {
    const v4d magic = v4_set(6755399441055744.0); /* 1.5 * 2^52: adding it rounds to an integer in the low bits */
    static const double c[10] = {2.7632639782881209e-07, 2.7557240918280047e-06, 2.4801485481939763e-05,
                                 1.9841269890047392e-04, 1.3888888952315137e-03, 8.3333333333196010e-03,
                                 4.1666666666488091e-02, 1.6666666666666680e-01, 5.0000000000000189e-01, 1.0};
    v4d t[4], r[4], p[4];
    for (int j = 0; j < 4; j++) {
        t[j] = x[j] * v4_set(1.4426950408889634) + magic;
        v4d k = t[j] - magic;
        r[j] = x[j] - k * v4_set(6.93145751953125e-1);
        r[j] = r[j] - k * v4_set(1.42860682030941723212e-6);
        p[j] = v4_set(2.5110037716573578e-08);
    }
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 4; j++) p[j] = p[j] * r[j] + v4_set(c[i]);
    for (int j = 0; j < 4; j++) {
        p[j] = p[j] * r[j] + v4_set(1.0);
        x[j] = p[j] * (v4d)(((v4i)t[j] + 1023) << 52);
    }
}

/* Sum, dot product and y += a x over arrays of any length; four accumulators of four lanes, then the tail. */
static inline double array_dot(const double *a, const double *b, long n) {
    v4d s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    long i = 0;
    for (; i + 16 <= n; i += 16) {
        s0 += v4_load(a + i) * v4_load(b + i);
        s1 += v4_load(a + i + 4) * v4_load(b + i + 4);
        s2 += v4_load(a + i + 8) * v4_load(b + i + 8);
        s3 += v4_load(a + i + 12) * v4_load(b + i + 12);
    }
    for (; i + 4 <= n; i += 4) s0 += v4_load(a + i) * v4_load(b + i);
    double s = v4_sum((s0 + s1) + (s2 + s3));
    for (; i < n; i++) s += a[i] * b[i];
    return s;
}

static inline double array_sum(const double *a, long n) {
    v4d s0 = {0}, s1 = {0};
    long i = 0;
    for (; i + 8 <= n; i += 8) {
        s0 += v4_load(a + i);
        s1 += v4_load(a + i + 4);
    }
    double s = v4_sum(s0 + s1);
    for (; i < n; i++) s += a[i];
    return s;
}

static inline double array_sum_abs(const double *a, long n) {
    const v4i sign = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    v4d s0 = {0}, s1 = {0};
    long i = 0;
    for (; i + 8 <= n; i += 8) {
        s0 += (v4d)((v4i)v4_load(a + i) & sign);
        s1 += (v4d)((v4i)v4_load(a + i + 4) & sign);
    }
    double s = v4_sum(s0 + s1);
    for (; i < n; i++) s += a[i] < 0.0 ? -a[i] : a[i];
    return s;
}

static inline void array_axpy(double *y, double a, const double *x, long n) {
    v4d va = v4_set(a);
    long i = 0;
    for (; i + 4 <= n; i += 4) v4_store(y + i, v4_load(y + i) + va * v4_load(x + i));
    for (; i < n; i++) y[i] += a * x[i];
}

static inline double array_max(const double *a, long n) {
    double best = a[0];
    long i = 0;
    if (n >= 4) {
        v4d m = v4_load(a), m1 = m, m2 = m, m3 = m;
        for (i = 4; i + 16 <= n; i += 16) {
            m = v4_larger(v4_load(a + i), m);
            m1 = v4_larger(v4_load(a + i + 4), m1);
            m2 = v4_larger(v4_load(a + i + 8), m2);
            m3 = v4_larger(v4_load(a + i + 12), m3);
        }
        for (; i + 4 <= n; i += 4) m = v4_larger(v4_load(a + i), m);
        best = v4_max(v4_larger(v4_larger(m, m1), v4_larger(m2, m3)));
    }
    for (; i < n; i++) best = a[i] > best ? a[i] : best;
    return best;
}

static inline double array_min(const double *a, long n) {
    double best = a[0];
    long i = 0;
    if (n >= 4) {
        v4d m = -v4_load(a), m1 = m;
        for (i = 4; i + 8 <= n; i += 8) {
            m = v4_larger(-v4_load(a + i), m);
            m1 = v4_larger(-v4_load(a + i + 4), m1);
        }
        best = -v4_max(v4_larger(m, m1));
    }
    for (; i < n; i++) best = a[i] < best ? a[i] : best;
    return best;
}

/* out[i] = x[0] + .. + x[i]. */
static inline void array_prefix(const double *x, double *out, long n) {
    v4d carry = {0};
    const v4d zero = {0};
    long i = 0;
    for (; i + 4 <= n; i += 4) {
        v4d v = v4_load(x + i);
        v += V4_PICK(v, zero, 4, 0, 1, 2);
        v += V4_PICK(v, zero, 4, 5, 0, 1);
        v += carry;
        v4_store(out + i, v);
        carry = V4_PICK(v, v, 3, 3, 3, 3);
    }
    double sum = carry[0];
    for (; i < n; i++) out[i] = sum += x[i];
}

#endif
