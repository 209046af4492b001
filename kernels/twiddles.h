/* exp(-2 pi i k / N), each part rounded correctly to double: computed in double-double arithmetic.

   Two short tables (multiples of 2 pi / N, and multiples of their number) come from Taylor series; every other root is
   one product of two entries, k = B a + b. All arguments lie in the first octant, where sines and cosines are
   positive, so that the sum sin a cos b + cos a sin b does not cancel, and cos a cos b - sin a sin b stays above
   0.7. Relative error of the double-doubles: below 2^-95 (Taylor remainders below 2^-106, under 60 operations of at
   most 2^-102 each: T. J. Dekker, Numer. Math. 18 (1971) 224). The high word is therefore within 1/2 + 2^-43 ulp, and
   is the correctly rounded double unless the sine is nearer than 2^-43 ulp to a point between two doubles.

   No fused multiply-add and no long double: the same bits on every machine. */
#ifndef EVOCORE_TWIDDLES_H
#define EVOCORE_TWIDDLES_H

#include <stdlib.h>

typedef struct { double hi, lo; } twofold;

static inline twofold twofold_of_sum(double a, double b) {
    double s = a + b, t = s - a;
    return (twofold){s, (a - (s - t)) + (b - t)};
}

static inline twofold twofold_of_product(double a, double b) {
    const double splitter = 134217729.0; /* 2^27 + 1 */
    double ca = splitter * a, cb = splitter * b;
    double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh, p = a * b;
    return (twofold){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline twofold twofold_add(twofold a, twofold b) {
    twofold s = twofold_of_sum(a.hi, b.hi), t = twofold_of_sum(a.lo, b.lo);
    s = twofold_of_sum(s.hi, s.lo + t.hi);
    return twofold_of_sum(s.hi, s.lo + t.lo);
}

static inline twofold twofold_negated(twofold a) { return (twofold){-a.hi, -a.lo}; }

static inline twofold twofold_times(twofold a, twofold b) {
    twofold p = twofold_of_product(a.hi, b.hi);
    return twofold_of_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline twofold twofold_over(twofold a, double b) {
    double q = a.hi / b;
    twofold rest = twofold_add(a, twofold_negated(twofold_of_product(q, b)));
    double q2 = rest.hi / b;
    rest = twofold_add(rest, twofold_negated(twofold_of_product(q2, b)));
    return twofold_add(twofold_of_sum(q, q2), (twofold){rest.hi / b, 0.0});
}

/* cos and sin of 2 pi k / n for 0 <= 8 k <= n, by Taylor series. */
static inline void octant_root(long k, long n, twofold *c, twofold *s) {
    const twofold turn = {6.283185307179586232e+00, 2.449293598294706414e-16};
    twofold t = twofold_over(twofold_times(turn, (twofold){(double)k, 0.0}), (double)n);
    twofold t2 = twofold_negated(twofold_times(t, t)), power = {1.0, 0.0};
    *c = power;
    *s = t;
    for (int j = 1; j <= 14; j++) { /* (pi/4)^30 / 30! < 2^-117 */
        power = twofold_over(twofold_times(power, t2), (double)((2 * j - 1) * (2 * j)));
        *c = twofold_add(*c, power);
        *s = twofold_add(*s, twofold_over(twofold_times(power, t), (double)(2 * j + 1)));
    }
}

/* Roots of order n, n a multiple of 8: cosines and sines of the first octant. */
typedef struct {
    long n;
    double *c, *s; /* n/8 + 1 each */
} unit_roots;

static inline void unit_roots_free(unit_roots *r) {
    free(r->c);
    r->c = NULL;
}

static inline int unit_roots_init(unit_roots *r, long n) {
    long count = n / 8 + 1, block = 1;
    while (block * block < count) block *= 2;
    long rows = (count + block - 1) / block;
    r->n = n;
    r->c = malloc(sizeof(double) * 2 * (size_t)count);
    twofold *fine = malloc(sizeof(twofold) * 2 * (size_t)block);
    if (!r->c || !fine) {
        free(fine);
        unit_roots_free(r);
        return -1;
    }
    r->s = r->c + count;
    for (long b = 0; b < block && b < count; b++) octant_root(b, n, fine + 2 * b, fine + 2 * b + 1);
    for (long a = 0; a < rows; a++) {
        twofold ca, sa;
        octant_root(a * block, n, &ca, &sa);
        for (long b = 0; b < block && a * block + b < count; b++) {
            twofold cb = fine[2 * b], sb = fine[2 * b + 1];
            r->c[a * block + b] = twofold_add(twofold_times(ca, cb), twofold_negated(twofold_times(sa, sb))).hi;
            r->s[a * block + b] = twofold_add(twofold_times(sa, cb), twofold_times(ca, sb)).hi;
        }
    }
    free(fine);
    return 0;
}

/* exp(-2 pi i k / n), k >= 0. */
static inline void unit_root(const unit_roots *r, long k, double *re, double *im) {
    long n = r->n;
    int is_conjugate = 0, is_mirrored = 0;
    k %= n;
    if (2 * k > n) { k = n - k; is_conjugate = 1; }
    if (4 * k > n) { k = n / 2 - k; is_mirrored = 1; }
    double c, s;
    if (8 * k > n) { c = r->s[n / 4 - k]; s = r->c[n / 4 - k]; }
    else { c = r->c[k]; s = r->s[k]; }
    *re = is_mirrored ? -c : c;
    *im = is_conjugate ? s : -s;
}

#endif
