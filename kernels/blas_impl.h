/* Included by blas_base.c and blas_fma.c, which define ISA(name), and FMA4(a, b, c) = a b + c rounded once a lane. */
#include "blas.h"
#include "simd.h"

#define SHORTEST 11 /* NumPy's small_correlate: up to here no BLAS for the lags at which all of v meets a */
#define THREADED_FROM 10001 /* OpenBLAS' interface/dot: shorter vectors stay with one thread */

/* Sum of four accumulators of four lanes as Haswell and Sandybridge do it: halves, then pairs of accumulators, then the
   two lanes. */
static double folded(v4d a, v4d b, v4d c, v4d d) {
    double low = ((a[0] + a[2]) + (b[0] + b[2])) + ((c[0] + c[2]) + (d[0] + d[2]));
    double high = ((a[1] + a[3]) + (b[1] + b[3])) + ((c[1] + c[3]) + (d[1] + d[3]));
    return low + high;
}

static double dot_haswell(long n, const double *x, const double *y) {
    v4d a = {0}, b = {0}, c = {0}, d = {0};
    long i = 0;
    for (; i + 16 <= n; i += 16) {
        a = FMA4(v4_load(x + i), v4_load(y + i), a);
        b = FMA4(v4_load(x + i + 4), v4_load(y + i + 4), b);
        c = FMA4(v4_load(x + i + 8), v4_load(y + i + 8), c);
        d = FMA4(v4_load(x + i + 12), v4_load(y + i + 12), d);
    }
    double dot = i ? folded(a, b, c, d) : 0.0;
    for (; i < n; i++) dot += y[i] * x[i];
    return dot;
}

/* Blocks of 32 in eight lanes, folded to four; a block of 16 in four; and the accumulators added one after another. */
static double dot_skylakex(long n, const double *x, const double *y) {
    v4d low[4] = {{0}}, high[4] = {{0}};
    long i = 0;
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 4; j++) {
            low[j] = FMA4(v4_load(x + i + 8 * j), v4_load(y + i + 8 * j), low[j]);
            high[j] = FMA4(v4_load(x + i + 8 * j + 4), v4_load(y + i + 8 * j + 4), high[j]);
        }
    for (int j = 0; j < 4; j++) low[j] += high[j];
    if (i + 16 <= n) {
        for (int j = 0; j < 4; j++) low[j] = FMA4(v4_load(x + i + 4 * j), v4_load(y + i + 4 * j), low[j]);
        i += 16;
    }
    v4d s = ((low[0] + low[1]) + low[2]) + low[3];
    double dot = (s[0] + s[2]) + (s[1] + s[3]);
    for (; i < n; i++) dot = FMA1(y[i], x[i], dot);
    return dot;
}

static double dot_sandybridge(long n, const double *x, const double *y) {
    v4d a = {0}, b = {0}, c = {0}, d = {0};
    long i = 0;
    for (; i + 16 <= n; i += 16) {
        a += v4_load(x + i) * v4_load(y + i);
        b += v4_load(x + i + 4) * v4_load(y + i + 4);
        c += v4_load(x + i + 8) * v4_load(y + i + 8);
        d += v4_load(x + i + 12) * v4_load(y + i + 12);
    }
    double dot = i ? folded(a, b, c, d) : 0.0;
    for (; i < n; i++) dot += y[i] * x[i];
    return dot;
}

/* Eight sums, product i into sum i mod 8; sum j and j + 2 are two lanes of one register. */
static double eight_folded(const double s[8]) {
    double low = (s[0] + s[2]) + (s[4] + s[6]), high = (s[1] + s[3]) + (s[5] + s[7]);
    return low + high;
}

static double dot_nehalem(long n, const double *x, const double *y) {
    v4d a = {0}, b = {0};
    const long whole = n & -16;
    long i = 0;
    for (; i < whole; i += 8) {
        a += v4_load(x + i) * v4_load(y + i);
        b += v4_load(x + i + 4) * v4_load(y + i + 4);
    }
    double s[8];
    v4_store(s, a);
    v4_store(s + 4, b);
    double dot = eight_folded(s);
    for (; i < n; i++) dot += y[i] * x[i];
    return dot;
}

/* The first product by itself where y is odd; the rest of up to 7 by 4, 2 and 1 into the first sums. */
static double dot_prescott(long n, const double *x, const double *y, int y_is_odd) {
    double s[8] = {0};
    long i = 0;
    if (y_is_odd) {
        s[0] = x[0] * y[0];
        i = 1;
    }
    v4d a = v4_load(s), b = v4_load(s + 4);
    for (; i + 8 <= n; i += 8) {
        a += v4_load(x + i) * v4_load(y + i);
        b += v4_load(x + i + 4) * v4_load(y + i + 4);
    }
    if (i + 4 <= n) {
        a += v4_load(x + i) * v4_load(y + i);
        i += 4;
    }
    v4_store(s, a);
    v4_store(s + 4, b);
    if (i + 2 <= n) {
        s[0] += x[i] * y[i];
        s[1] += x[i + 1] * y[i + 1];
        i += 2;
    }
    if (i < n) s[0] += x[i] * y[i];
    return eight_folded(s);
}

static double dot_of(int kernel, long n, const double *x, const double *y, int y_is_odd) {
    switch (kernel) {
    case BLAS_HASWELL: return dot_haswell(n, x, y);
    case BLAS_SKYLAKEX: return dot_skylakex(n, x, y);
    case BLAS_SANDYBRIDGE: return dot_sandybridge(n, x, y);
    case BLAS_NEHALEM: return dot_nehalem(n, x, y);
    default: return dot_prescott(n, x, y, y_is_odd);
    }
}

double ISA(blas_dot)(int kernel, long n, const double *x, const double *y, int y_is_odd, int n_threads) {
    if (n <= 0) return 0.0;
    if (n < THREADED_FROM || n_threads < 2) return dot_of(kernel, n, x, y, y_is_odd);
    double dot = 0.0; /* equal parts, the later ones shorter by at most one; their sums added in order */
    for (long rest = n, i = 0; n_threads > 0 && rest > 0; n_threads--) {
        long width = (rest + n_threads - 1) / n_threads;
        dot += dot_of(kernel, width, x + i, y + i, (y_is_odd + (int)(i & 1)) & 1);
        i += width;
        rest -= width;
    }
    return dot;
}

double ISA(blas_lag)(int kernel, const double *a, long n_a, const double *v, long n_v, long k, int n_threads) {
    long skip = n_v - 1 - k, n;
    if (skip > 0) { /* the head of a on the tail of v */
        return ISA(blas_dot)(kernel, k + 1, a, v + skip, (int)(skip & 1), n_threads);
    }
    n = n_a + skip < n_v ? n_a + skip : n_v;
    if (n == n_v && n_v <= SHORTEST) { /* NumPy's own loop over the whole of a very short v */
        double dot = 0.0;
        for (long i = 0; i < n; i++) dot += a[i - skip] * v[i];
        return dot;
    }
    return ISA(blas_dot)(kernel, n, a - skip, v, 0, n_threads);
}
