/* Integer sums of products, and what goes with them: shared by both builds of exact_impl.h and by exact_base.c. */
#ifndef EVOCORE_EXACT_SUMS_H
#define EVOCORE_EXACT_SUMS_H

#include <math.h>
#include <string.h>
#include "exact.h"
#include "fft.h"

typedef __int128 exact_wide;
typedef unsigned __int128 exact_uwide;

/* Nanoseconds, roughly: which of two exact ways is taken depends on them, never a result. */
static inline double exact_lag_cost(const exact_vector *a, const exact_vector *b) {
    double products = (double)(a->n < b->n ? a->n : b->n) * (a == b ? 0.5 : 0.75);
    return 100.0 + products * (a->dropped || b->dropped ? 3.0 : 0.8);
}

static inline double exact_transform_cost(long m) { return 1.2 * (double)m * log2((double)m); }

/* Indices k >= first with sign * lag >= best - 2 radius. */
static inline long exact_candidates(const double *lags, long n_lags, double radius, int sign, long *out, long first) {
    const double s = (double)sign;
    const double best = sign > 0 ? array_max(lags + first, n_lags - first) : -array_min(lags + first, n_lags - first);
    const double least = best - 2.0 * radius * (1.0 + 1e-12) - 1e-300;
    const v4d bound = v4_set(least), factor = v4_set(s);
    long count = 0, k = first;
    for (; k + 8 <= n_lags; k += 8) { /* usually none of eight */
        v4i hit = (v4_load(lags + k) * factor >= bound) | (v4_load(lags + k + 4) * factor >= bound);
        if (hit[0] | hit[1] | hit[2] | hit[3])
            for (long j = k; j < k + 8; j++)
                if (s * lags[j] >= least) out[count++] = j;
    }
    for (; k < n_lags; k++)
        if (s * lags[k] >= least) out[count++] = k;
    return count;
}

static inline double exact_fixed_sum_abs(const exact_vector *v) {
    double sum = 0.0;
    for (long i = 0; i < v->n; i++) sum += fabs((double)v->fixed[i]);
    return sum * (1.0 + 1e-9) + 1.0;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static inline void exact_clear(exact_number *x, int count) {
    x->count = count;
    memset(x->digit, 0, sizeof(int64_t) * (size_t)count);
}

/* Digits so many that products of numbers of these lengths, 2^40 of them, fit with their sign. */
static inline int exact_digits_for(int bits) {
    int count = (bits + 40 + 32) / 32 + 4;
    return count < EXACT_DIGITS ? count : EXACT_DIGITS;
}

/* Carry: every digit but the last in 0 .. 2^32 - 1. */
static inline void exact_settle(exact_number *x) {
    int64_t carry = 0;
    for (int i = 0; i < x->count - 1; i++) {
        int64_t t = x->digit[i] + carry;
        x->digit[i] = t & 0xffffffffLL;
        carry = t >> 32;
    }
    x->digit[x->count - 1] += carry;
}

/* Of settled numbers of one count. */
static inline int exact_compare(const exact_number *a, const exact_number *b) {
    for (int i = a->count - 1; i >= 0; i--)
        if (a->digit[i] != b->digit[i]) return a->digit[i] > b->digit[i] ? 1 : -1;
    return 0;
}

/* x += sign * magnitude * 2^place, magnitude below 2^107. */
static inline void exact_add(exact_number *x, exact_uwide magnitude, int64_t sign, int place) {
    const int s = place & 31;
    int64_t *d = x->digit + (place >> 5);
    const uint64_t low = (uint64_t)magnitude, high = (uint64_t)(magnitude >> 64), mask = 0xffffffffULL;
    uint64_t t0 = (low & mask) << s, t1 = (low >> 32) << s, t2 = (high & mask) << s, t3 = (high >> 32) << s;
    /* sign is 0 or -1: (v ^ sign) - sign negates */
    d[0] += ((int64_t)(t0 & mask) ^ sign) - sign;
    d[1] += ((int64_t)((t0 >> 32) + (t1 & mask)) ^ sign) - sign;
    d[2] += ((int64_t)((t1 >> 32) + (t2 & mask)) ^ sign) - sign;
    d[3] += ((int64_t)((t2 >> 32) + (t3 & mask)) ^ sign) - sign;
    d[4] += ((int64_t)(t3 >> 32) ^ sign) - sign;
}

static inline void exact_add_wide(exact_number *x, exact_wide v, int digit) {
    uint64_t low = (uint64_t)(exact_uwide)v;
    int64_t high = (int64_t)(v >> 64);
    x->digit[digit] += (int64_t)(low & 0xffffffffULL);
    x->digit[digit + 1] += (int64_t)(low >> 32);
    x->digit[digit + 2] += (int64_t)((uint64_t)high & 0xffffffffULL);
    x->digit[digit + 3] += high >> 32;
}

/* ---- sums of products ------------------------------------------------------------------------------------------ */

/* sum a[i] b[step i]: low and high words of the products apart, so that nothing overflows before 2^63 terms. */
static inline __attribute__((always_inline)) void exact_dot_fixed(const int64_t *a, const int64_t *b, long n,
                                                                  const int step, exact_wide *low, exact_wide *high) {
    exact_uwide l = 0;
    exact_wide h = 0;
    for (long i = 0; i < n; i++) {
        exact_wide p = (exact_wide)a[i] * b[step * i];
        l += (uint64_t)(exact_uwide)p;
        h += (int64_t)(p >> 64);
    }
    *low = (exact_wide)l;
    *high = h;
}

/* The same where all sums stay below 2^127. */
static inline __attribute__((always_inline)) exact_wide exact_dot_narrow(const int64_t *a, const int64_t *b, long n,
                                                                         const int step) {
    exact_wide s = 0, t = 0;
    long i = 0;
    for (; i + 2 <= n; i += 2) {
        s += (exact_wide)a[i] * b[step * i];
        t += (exact_wide)a[i + 1] * b[step * (i + 1)];
    }
    if (i < n) s += (exact_wide)a[i] * b[step * i];
    return s + t;
}

static inline void exact_product(const exact_vector *a, const exact_vector *b, long i, long j, int doubled,
                                 exact_number *out) {
    int64_t x = a->mantissa[i], y = b->mantissa[j], sign = (x ^ y) >> 63;
    if (x == 0 || y == 0) return;
    exact_uwide magnitude = (exact_uwide)(uint64_t)(x < 0 ? -x : x) * (uint64_t)(y < 0 ? -y : y);
    exact_add(out, magnitude << doubled, sign, a->place[i] + b->place[j]);
}

/* out = factor * sum_{i < n} a[first_a + i] b[first_b + step i], factor 1 or 2; settled only by the caller. */
static inline void exact_run(const exact_vector *a, long first_a, const exact_vector *b, long first_b, int step, long n,
                             int doubled, exact_number *out) {
    if (a->dropped || b->dropped) {
        for (long i = 0; i < n; i++) exact_product(a, b, first_a + i, first_b + step * i, doubled, out);
        return;
    }
    const int64_t *x = a->fixed + first_a, *y = b->fixed + first_b;
    if (a->bits + b->bits + 1 + 62 - __builtin_clzl((unsigned long)n | 1) <= 124) {
        exact_wide s = step > 0 ? exact_dot_narrow(x, y, n, 1) : exact_dot_narrow(x, y, n, -1);
        exact_add_wide(out, s * (1 + doubled), 0);
        return;
    }
    exact_wide low, high;
    if (step > 0) exact_dot_fixed(x, y, n, 1, &low, &high);
    else exact_dot_fixed(x, y, n, -1, &low, &high);
    for (int twice = 0; twice <= doubled; twice++) {
        exact_add_wide(out, low, 0);
        exact_add_wide(out, high, 2);
    }
}

/* Sum k of numpy.convolve(a, b) or numpy.correlate(a, b, "full") in integers. */
static inline void exact_lag(const exact_vector *a, const exact_vector *b, int kind, long k, exact_number *out) {
    exact_clear(out, exact_digits_for(a->bits + b->bits));
    if (kind == EXACT_CORRELATION) {
        long s = k - (b->n - 1), i = s > 0 ? s : 0, j = s > 0 ? 0 : -s;
        long n = a->n - i < b->n - j ? a->n - i : b->n - j;
        exact_run(a, i, b, j, 1, n, 0, out);
    } else {
        long i = k - (b->n - 1) > 0 ? k - (b->n - 1) : 0, last = k < a->n - 1 ? k : a->n - 1, n = last - i + 1;
        if (a == b) {
            exact_run(a, i, b, k - i, -1, n / 2, 1, out);
            if (n & 1) exact_run(a, i + n / 2, b, i + n / 2, 1, 1, 0, out);
        } else exact_run(a, i, b, k - i, -1, n, 0, out);
    }
    exact_settle(out);
}

/* Sum of the entries i .. j - 1. */
static inline void exact_partial(const exact_vector *v, long i, long j, exact_number *out) {
    exact_clear(out, exact_digits_for(v->bits));
    if (!v->dropped) {
        exact_wide s = 0;
        for (; i < j; i++) s += v->fixed[i];
        exact_add_wide(out, s, 0);
    } else
        for (; i < j; i++) {
            int64_t x = v->mantissa[i], sign = x >> 63;
            exact_add(out, (exact_uwide)(uint64_t)(x < 0 ? -x : x), sign, v->place[i]);
        }
    exact_settle(out);
}

#endif
