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

static inline __attribute__((always_inline)) v4d v4_larger(v4d a, v4d b) {
    v4i m = a > b;
    return (v4d)(((v4i)a & m) | ((v4i)b & ~m));
}

/* exp, to about 1 ulp, for arguments in [-700, 700]: x = k ln 2 + r, a degree-12 Taylor polynomial for exp(r) on
   |r| <= ln 2 / 2 (its remainder is below 2^-54), and 2^k put into the exponent bits. */
static inline __attribute__((always_inline)) v4d v4_exp(v4d x) {
    const v4d magic = v4_set(6755399441055744.0); /* 1.5 * 2^52: adding it rounds to an integer in the low bits */
    v4d t = x * v4_set(1.4426950408889634) + magic;
    v4d k = t - magic;
    v4d r = x - k * v4_set(6.93145751953125e-1);
    r = r - k * v4_set(1.42860682030941723212e-6);
    v4d p = v4_set(2.08767569878681e-09);
    p = p * r + v4_set(2.505210838544172e-08);
    p = p * r + v4_set(2.755731922398589e-07);
    p = p * r + v4_set(2.7557319223985893e-06);
    p = p * r + v4_set(2.48015873015873e-05);
    p = p * r + v4_set(1.984126984126984e-04);
    p = p * r + v4_set(1.388888888888889e-03);
    p = p * r + v4_set(8.333333333333333e-03);
    p = p * r + v4_set(4.1666666666666664e-02);
    p = p * r + v4_set(1.6666666666666666e-01);
    p = p * r + v4_set(0.5);
    p = p * r + v4_set(1.0);
    p = p * r + v4_set(1.0);
    v4i bits = ((v4i)t + 1023) << 52;
    return p * (v4d)bits;
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
        v4d m = v4_load(a);
        for (i = 4; i + 4 <= n; i += 4) m = v4_larger(v4_load(a + i), m);
        best = v4_max(m);
    }
    for (; i < n; i++) best = a[i] > best ? a[i] : best;
    return best;
}

#endif
