/* A fast Fourier transform for convolutions of real vectors, in split arrays (real parts, imaginary parts).

   A real polynomial x of degree below 2m is evaluated at the m points z_t = exp(-2 pi i (t + 1/4) / m), the roots of
   z^m = -i: x_j and x_{j+m} are the real part and minus the imaginary part of one complex number, which is multiplied
   by the weight exp(-2 pi i j / 4m) and goes into a complex transform of length m. Products of such values belong to
   products of polynomials as long as these have degree below 2m; correlations take 1/z = conj(z). ("Right-angle"
   convolution: R. Crandall, C. Pomerance, Prime Numbers, 2nd ed. (2005), section 9.5.) Nothing has to be unpacked or
   packed between the transforms, and a vector that is no longer than m needs no imaginary parts.

   The complex transform: Stockham order (no bit reversal; C. Temperton, J. Comput. Phys. 52 (1983) 1), passes of radix
   4, closed by 2, 3 or 5. (Tried, and slower: two passes at once (radix 16), by 1.1 to 1.3 times from m = 4096 on, as
   its values do not fit into the registers and its 32 streams fall into the same sets of the caches; two sweeps of
   short transforms over eight columns each, by 1.3 times at m = 2^16 to 2^20.) Lengths m = 16 * 2^a * (1, 3, 5, 9, 15,
   25, 45 or 75). Twiddle factors: see twiddles.h. Error bound: fft_relative_error below. */
#ifndef EVOCORE_FFT_H
#define EVOCORE_FFT_H

#include <math.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include "simd.h"
#include "twiddles.h"

#define FFT_MAX_PASSES 32
#define FFT_LINES_FROM 1024 /* shorter transforms stay in the first-level cache anyway */

typedef struct {
    long m;                     /* complex length; sums of up to 2 m values */
    int n_passes;
    int radix[FFT_MAX_PASSES];
    long twiddle_at[FFT_MAX_PASSES];
    double *tr, *ti;            /* twiddles of all passes, radix-1 blocks of one pass behind each other */
    double *pr, *pi;            /* the weights exp(-2 pi i k / 4m), k < m */
    double *wr, *wi;            /* scratch of length m */
    double *block;              /* the one allocation that holds all of them */
} fft_plan;

/* Arrays begin at cache lines of their own and are staggered: powers of two behind each other would all fall into
   the same sets of the first-level cache. */
#define CACHE_STAGGER 168

#define HUGE_PAGE ((size_t)2 << 20)

/* Zeros. Long blocks are made of huge pages where the system has them: the strides of long transforms touch more small
   pages than the processor keeps the addresses of, which costs up to a factor of two (n = 65536 and 2^20). */
static inline double *cache_aligned(long count) {
    void *block = NULL;
    size_t bytes = sizeof(double) * (size_t)count;
    const int is_long = bytes >= HUGE_PAGE / 2;
    if (is_long) bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (posix_memalign(&block, is_long ? HUGE_PAGE : 64, bytes)) return NULL;
#ifdef MADV_HUGEPAGE
    if (is_long) madvise(block, bytes, MADV_HUGEPAGE); /* advice: a refusal changes nothing */
#endif
    memset(block, 0, bytes);
    return block;
}

static inline double *take_staggered(double **at, long count) {
    double *here = *at;
    *at += (count + 7) / 8 * 8 + (CACHE_STAGGER - 8);
    return here;
}

/* The least admissible complex length m for sums of n_real values. */
static inline long fft_good_half(long n_real) {
    long need = (n_real + 1) / 2, best = -1;
    const long bases[8] = {16, 48, 80, 144, 240, 400, 720, 1200};
    for (int b = 0; b < 8; b++) {
        long m = bases[b];
        while (m < need) m *= 2;
        if (best < 0 || m < best) best = m;
    }
    return best;
}

/* The least power of two among them: what the error bound is proved for. */
static inline long fft_binary_half(long n_real) {
    long m = 16;
    while (2 * m < n_real) m *= 2;
    return m;
}

static inline void fft_free(fft_plan *p) {
    free(p->block);
    p->block = NULL;
}

/* Length and passes, all that the error bound depends on. m must come from fft_good_half or fft_binary_half. */
static inline void fft_lay_out(fft_plan *p, long m) {
    memset(p, 0, sizeof *p);
    p->m = m;
    long rest = m;
    int threes = 0, fives = 0;
    while (rest % 3 == 0) { threes++; rest /= 3; }
    while (rest % 5 == 0) { fives++; rest /= 5; }
    /* A radix-4 pass first; last an odd one, or 2, or 4. */
    int twos = 0;
    for (; rest % 2 == 0; rest /= 2) twos++;
    for (; twos >= 2; twos -= 2) p->radix[p->n_passes++] = 4;
    if (twos) p->radix[p->n_passes++] = 2;
    while (threes--) p->radix[p->n_passes++] = 3;
    while (fives--) p->radix[p->n_passes++] = 5;
}

/* 0, or -1 when there is no memory. */
static inline int fft_init(fft_plan *p, long m) {
    fft_lay_out(p, m);
    long s = 1, total = 0;
    for (int i = 0; i < p->n_passes; i++) {
        long n = m / s;
        p->twiddle_at[i] = total;
        total += (n / p->radix[i]) * (p->radix[i] - 1);
        s *= p->radix[i];
    }
    unit_roots roots;
    if (unit_roots_init(&roots, 4 * m)) return -1;
    p->block = cache_aligned(2 * total + 4 * m + 6 * CACHE_STAGGER);
    if (!p->block) {
        unit_roots_free(&roots);
        return -1;
    }
    double *at = p->block;
    p->tr = take_staggered(&at, total);
    p->ti = take_staggered(&at, total);
    p->pr = take_staggered(&at, m);
    p->pi = take_staggered(&at, m);
    p->wr = take_staggered(&at, m);
    p->wi = take_staggered(&at, m);
    s = 1;
    for (int i = 0; i < p->n_passes; i++) {
        long n = m / s, q = n / p->radix[i];
        for (int j = 1; j < p->radix[i]; j++)
            for (long k = 0; k < q; k++) {
                long to = p->twiddle_at[i] + (j - 1) * q + k;
                unit_root(&roots, j * k * (4 * s), p->tr + to, p->ti + to);
            }
        s *= p->radix[i];
    }
    for (long k = 0; k < m; k++) unit_root(&roots, k, p->pr + k, p->pi + k);
    unit_roots_free(&roots);
    return 0;
}

#define FFT_TIMES(xr, xi, cr, ci, outr, outi) \
    do { v4d r_ = (xr) * (cr) - (xi) * (ci), i_ = (xr) * (ci) + (xi) * (cr); outr = r_; outi = i_; } while (0)

/* ---- products of values --------------------------------------------------------------------------------------- */

/* A, A^2, |A|^2 or A (B + conj B) by its real factor, A B, A conj(B). */
enum { FFT_SAME, FFT_SQUARE, FFT_POWER, FFT_EVEN, FFT_MULTIPLY, FFT_CORRELATE };

static inline __attribute__((always_inline)) void fft_product(const int mode, const double *ar, const double *ai,
        const double *br, const double *bi, long k, v4d *zr, v4d *zi) {
    v4d xr = v4_load(ar + k), xi = v4_load(ai + k), yr, yi;
    if (mode == FFT_MULTIPLY || mode == FFT_CORRELATE) {
        yr = v4_load(br + k);
        yi = v4_load(bi + k);
    }
    if (mode == FFT_SAME) { *zr = xr; *zi = xi; }
    else if (mode == FFT_SQUARE) { *zr = xr * xr - xi * xi; *zi = (xr + xr) * xi; }
    else if (mode == FFT_POWER) { *zr = xr * xr + xi * xi; *zi = xr - xr; }
    else if (mode == FFT_EVEN) { yr = v4_load(br + k); yr += yr; *zr = xr * yr; *zi = xi * yr; }
    else if (mode == FFT_MULTIPLY) { *zr = xr * yr - xi * yi; *zi = xr * yi + xi * yr; }
    else { *zr = xr * yr + xi * yi; *zi = xi * yr - xr * yi; }
}

/* Of all values; out may be A or B. */
static inline __attribute__((always_inline)) void fft_combine(const fft_plan *f, const int mode, const double *ar,
        const double *ai, const double *br, const double *bi, double *or_, double *oi) {
    for (long k = 0; k < f->m; k += 4) {
        v4d zr, zi;
        fft_product(mode, ar, ai, br, bi, k, &zr, &zi);
        v4_store(or_ + k, zr);
        v4_store(oi + k, zi);
    }
}

/* ---- passes --------------------------------------------------------------------------------------------------- */

/* Radix 4, 5, 3 and 2 on vectors of four: y_j = sum_k x_k exp(-2 pi i jk / radix), in place. */
static inline __attribute__((always_inline)) void fft_butterfly4(v4d *r, v4d *i) {
    v4d sr = r[0] + r[2], si = i[0] + i[2], ur = r[0] - r[2], ui = i[0] - i[2];
    v4d vr = r[1] + r[3], vi = i[1] + i[3], er = r[1] - r[3], ei = i[1] - i[3];
    r[0] = sr + vr; i[0] = si + vi;
    r[1] = ur + ei; i[1] = ui - er;
    r[2] = sr - vr; i[2] = si - vi;
    r[3] = ur - ei; i[3] = ui + er;
}

static inline __attribute__((always_inline)) void fft_butterfly2(v4d *r, v4d *i) {
    v4d dr = r[0] - r[1], di = i[0] - i[1];
    r[0] += r[1]; i[0] += i[1];
    r[1] = dr; i[1] = di;
}

static inline __attribute__((always_inline)) void fft_butterfly3(v4d *r, v4d *i) {
    const v4d half = v4_set(0.5), h = v4_set(0.86602540378443864676);
    v4d tr = r[1] + r[2], ti = i[1] + i[2], dr = (r[1] - r[2]) * h, di = (i[1] - i[2]) * h;
    v4d mr = r[0] - half * tr, mi = i[0] - half * ti;
    r[0] += tr; i[0] += ti;
    r[1] = mr + di; i[1] = mi - dr;
    r[2] = mr - di; i[2] = mi + dr;
}

static inline __attribute__((always_inline)) void fft_butterfly5(v4d *r, v4d *i) {
    const v4d c1 = v4_set(0.30901699437494742410), c2 = v4_set(-0.80901699437494742410);
    const v4d s1 = v4_set(0.95105651629515357212), s2 = v4_set(0.58778525229247312917);
    v4d pr = r[1] + r[4], pi = i[1] + i[4], qr = r[2] + r[3], qi = i[2] + i[3];
    v4d mr = r[1] - r[4], mi = i[1] - i[4], nr = r[2] - r[3], ni = i[2] - i[3];
    v4d fr = r[0] + c1 * pr + c2 * qr, fi = i[0] + c1 * pi + c2 * qi;
    v4d gr = r[0] + c2 * pr + c1 * qr, gi = i[0] + c2 * pi + c1 * qi;
    v4d hr = s1 * mr + s2 * nr, hi = s1 * mi + s2 * ni, lr = s2 * mr - s1 * nr, li = s2 * mi - s1 * ni;
    r[0] = r[0] + pr + qr; i[0] = i[0] + pi + qi;
    r[1] = fr + hi; i[1] = fi - hr;
    r[2] = gr + li; i[2] = gi - lr;
    r[3] = gr - li; i[3] = gi + lr;
    r[4] = fr - hi; i[4] = fi + hr;
}

static inline __attribute__((always_inline)) void fft_butterfly(const int radix, v4d *r, v4d *i) {
    if (radix == 4) fft_butterfly4(r, i);
    else if (radix == 2) fft_butterfly2(r, i);
    else if (radix == 3) fft_butterfly3(r, i);
    else fft_butterfly5(r, i);
}

#define FFT_TRANSPOSE(a, b, c, d, out)                                                         \
    do {                                                                                       \
        v4d ab0 = V4_PICK(a, b, 0, 4, 2, 6), ab1 = V4_PICK(a, b, 1, 5, 3, 7);                  \
        v4d cd0 = V4_PICK(c, d, 0, 4, 2, 6), cd1 = V4_PICK(c, d, 1, 5, 3, 7);                  \
        v4_store(out, V4_PICK(ab0, cd0, 0, 1, 4, 5));                                          \
        v4_store(out + 4, V4_PICK(ab1, cd1, 0, 1, 4, 5));                                      \
        v4_store(out + 8, V4_PICK(ab0, cd0, 2, 3, 6, 7));                                      \
        v4_store(out + 12, V4_PICK(ab1, cd1, 2, 3, 6, 7));                                     \
    } while (0)

/* What the first pass reads: m real values ar; 2m of them; or (from FFT_VALUES + mode on) products of values a and b,
   parts swapped, which makes the transform inverse. */
enum { FFT_SHORT, FFT_LONG, FFT_VALUES };

/* First pass: stride one, so the four lanes are four neighbouring butterflies and the result is transposed. `halves`:
   vectors of each line that are read at once. */
static inline __attribute__((always_inline)) void fft_first_of(const fft_plan *f, const int source, const int halves,
        const double *ar, const double *ai, const double *br, const double *bi, double *yr, double *yi) {
    const long m = f->m, q = m / 4;
    const double *tr = f->tr, *ti = f->ti;
    for (long p = 0; p < q; p += 4 * halves) {
        v4d r[2][4], i[2][4];
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < halves; h++) {
                const long at = p + j * q + 4 * h;
                if (source >= FFT_VALUES) {
                    fft_product(source - FFT_VALUES, ar, ai, br, bi, at, &i[h][j], &r[h][j]);
                    continue;
                }
                v4d wr = v4_load(f->pr + at), wi = v4_load(f->pi + at), x = v4_load(ar + at);
                r[h][j] = x * wr;
                i[h][j] = x * wi;
                if (source == FFT_LONG) { /* (x - i y) (wr + i wi) */
                    v4d y = v4_load(ar + m + at);
                    r[h][j] += y * wi;
                    i[h][j] -= y * wr;
                }
            }
        for (int h = 0; h < halves; h++) fft_butterfly4(r[h], i[h]);
        for (int j = 1; j < 4; j++)
            for (int h = 0; h < halves; h++) {
                const long at = (j - 1) * q + p + 4 * h;
                FFT_TIMES(r[h][j], i[h][j], v4_load(tr + at), v4_load(ti + at), r[h][j], i[h][j]);
            }
        for (int h = 0; h < halves; h++) {
            FFT_TRANSPOSE(r[h][0], r[h][1], r[h][2], r[h][3], yr + 4 * p + 16 * h);
            FFT_TRANSPOSE(i[h][0], i[h][1], i[h][2], i[h][3], yi + 4 * p + 16 * h);
        }
    }
}

/* Powers of two make the lines of all streams fall into the same set of the first-level cache, which does not hold
   them until their second half is asked for. */
static inline int fft_halves(long m, long stream) { return m >= FFT_LINES_FROM && stream % 8 == 0 ? 2 : 1; }

static inline __attribute__((always_inline)) void fft_first(const fft_plan *f, const int source, const double *ar,
        const double *ai, const double *br, const double *bi, double *yr, double *yi) {
    if (fft_halves(f->m, f->m / 4) == 2) fft_first_of(f, source, 2, ar, ai, br, bi, yr, yi);
    else fft_first_of(f, source, 1, ar, ai, br, bi, yr, yi);
}

/* One column of a pass in the middle; the twiddles of the first column are all 1. */
static inline __attribute__((always_inline)) void fft_column(const int radix, const int is_first, long s, long q,
        const double *tr, const double *ti, const double *xr, const double *xi, double *yr, double *yi) {
    v4d wr[4], wi[4];
    if (!is_first)
        for (int j = 1; j < radix; j++) {
            wr[j - 1] = v4_set(tr[(j - 1) * q]);
            wi[j - 1] = v4_set(ti[(j - 1) * q]);
        }
    for (long k = 0; k < s; k += 4) {
        v4d r[5], i[5];
        for (int j = 0; j < radix; j++) {
            r[j] = v4_load(xr + j * s * q + k);
            i[j] = v4_load(xi + j * s * q + k);
        }
        fft_butterfly(radix, r, i);
        v4_store(yr + k, r[0]);
        v4_store(yi + k, i[0]);
        for (int j = 1; j < radix; j++) {
            if (!is_first) FFT_TIMES(r[j], i[j], wr[j - 1], wi[j - 1], r[j], i[j]);
            v4_store(yr + j * s + k, r[j]);
            v4_store(yi + j * s + k, i[j]);
        }
    }
}

static inline __attribute__((always_inline)) void fft_columns(const int radix, long q, long s, const double *tr,
        const double *ti, const double *xr, const double *xi, double *yr, double *yi) {
    fft_column(radix, 1, s, q, tr, ti, xr, xi, yr, yi);
    for (long p = 1; p < q; p++)
        fft_column(radix, 0, s, q, tr + p, ti + p, xr + s * p, xi + s * p, yr + radix * s * p, yi + radix * s * p);
}

static inline void fft_pass4(long q, long s, const double *tr, const double *ti, const double *xr, const double *xi,
                             double *yr, double *yi) {
    fft_columns(4, q, s, tr, ti, xr, xi, yr, yi);
}

static inline void fft_pass3(long q, long s, const double *tr, const double *ti, const double *xr, const double *xi,
                             double *yr, double *yi) {
    fft_columns(3, q, s, tr, ti, xr, xi, yr, yi);
}

static inline void fft_pass5(long q, long s, const double *tr, const double *ti, const double *xr, const double *xi,
                             double *yr, double *yi) {
    fft_columns(5, q, s, tr, ti, xr, xi, yr, yi);
}

/* What the last pass writes. */
enum { FFT_BINS, FFT_REAL, FFT_BOTH }; /* (yr, yi); the first m of the real results; all 2m of them */

/* Last pass: one column without twiddles. Backwards, real and imaginary parts are swapped, weights undone and 1/m
   applied; then yr receives the results, and is m (FFT_REAL) or 2m long. */
static inline __attribute__((always_inline)) void fft_last_of(const fft_plan *f, const int radix, const int target,
        const int halves, const double *xr, const double *xi, double *yr, double *yi) {
    const long m = f->m, s = m / radix;
    const v4d scale = v4_set(1.0 / (double)m);
    for (long k = 0; k < s; k += 4 * halves) {
        v4d r[2][5], i[2][5];
        for (int j = 0; j < radix; j++)
            for (int h = 0; h < halves; h++) {
                r[h][j] = v4_load(xr + j * s + k + 4 * h);
                i[h][j] = v4_load(xi + j * s + k + 4 * h);
            }
        for (int h = 0; h < halves; h++) fft_butterfly(radix, r[h], i[h]);
        for (int j = 0; j < radix; j++)
            for (int h = 0; h < halves; h++) {
                const long at = j * s + k + 4 * h;
                if (target == FFT_BINS) {
                    v4_store(yr + at, r[h][j]);
                    v4_store(yi + at, i[h][j]);
                    continue;
                }
                /* (i[j] + i r[j]) conj(w) = c - i d for the results c (at j) and d (at m + j) */
                v4d wr = v4_load(f->pr + at), wi = v4_load(f->pi + at);
                v4_store(yr + at, (i[h][j] * wr + r[h][j] * wi) * scale);
                if (target == FFT_BOTH) v4_store(yr + m + at, (i[h][j] * wi - r[h][j] * wr) * scale);
            }
    }
}

static inline void fft_last(const fft_plan *f, const int target, const double *xr, const double *xi, double *yr,
                            double *yi) {
    const int radix = f->radix[f->n_passes - 1], halves = fft_halves(f->m, f->m / radix);
#define FFT_LAST(R)                                                        \
    do {                                                                   \
        if (halves == 2) fft_last_of(f, R, target, 2, xr, xi, yr, yi);     \
        else fft_last_of(f, R, target, 1, xr, xi, yr, yi);                 \
    } while (0)
    if (radix == 4) FFT_LAST(4);
    else if (radix == 2) FFT_LAST(2);
    else if (radix == 3) FFT_LAST(3);
    else FFT_LAST(5);
#undef FFT_LAST
}

/* All passes but the first and the last; the data are in a, and at the end in *in_r, *in_i, which is a or b. */
static inline void fft_middle(const fft_plan *f, double *ar, double *ai, double *br, double *bi, double **in_r,
                              double **in_i) {
    long s = 4;
    for (int i = 1; i < f->n_passes - 1; i++) {
        const long q = f->m / s / f->radix[i];
        const double *tr = f->tr + f->twiddle_at[i], *ti = f->ti + f->twiddle_at[i];
        if (f->radix[i] == 4) fft_pass4(q, s, tr, ti, ar, ai, br, bi);
        else if (f->radix[i] == 3) fft_pass3(q, s, tr, ti, ar, ai, br, bi);
        else if (f->radix[i] == 5) fft_pass5(q, s, tr, ti, ar, ai, br, bi);
        else fft_columns(2, q, s, tr, ti, ar, ai, br, bi);
        double *t = ar; ar = br; br = t;
        t = ai; ai = bi; bi = t;
        s *= f->radix[i];
    }
    *in_r = ar;
    *in_i = ai;
}

/* Values of the polynomial with real coefficients x at the m points. x is m long where n <= m, and 2m where it is not:
   zeros stand behind the n coefficients. */
static inline void fft_forward(const fft_plan *f, const double *x, long n, double *re, double *im) {
    double *r, *i;
    const int is_odd = f->n_passes & 1; /* the pass before the last must not end where the last one writes */
    double *ar = is_odd ? re : f->wr, *ai = is_odd ? im : f->wi, *br = is_odd ? f->wr : re, *bi = is_odd ? f->wi : im;
    if (n <= f->m) fft_first(f, FFT_SHORT, x, NULL, NULL, NULL, ar, ai);
    else fft_first(f, FFT_LONG, x, NULL, NULL, NULL, ar, ai);
    fft_middle(f, ar, ai, br, bi, &r, &i);
    fft_last(f, FFT_BINS, r, i, re, im);
}

/* x, n values, with the zeros that fft_forward wants behind them, in `room` of 2m. */
static inline const double *fft_padded(const fft_plan *f, const double *x, long n, double *room) {
    const long length = n <= f->m ? f->m : 2 * f->m;
    memcpy(room, x, sizeof(double) * (size_t)n);
    memset(room + n, 0, sizeof(double) * (size_t)(length - n));
    return room;
}

/* Coefficients from products of values at the m points (see fft_product): x receives m of them where n <= m, 2m
   otherwise. (re, im), of length m, are overwritten; they may be a or b. */
static inline void fft_backward(const fft_plan *f, int mode, const double *ar, const double *ai, const double *br,
                                const double *bi, double *re, double *im, double *x, long n) {
    double *r, *i;
#define FFT_CASE(MODE) case MODE: fft_first(f, FFT_VALUES + MODE, ar, ai, br, bi, f->wr, f->wi); break
    switch (mode) {
        FFT_CASE(FFT_SAME);
        FFT_CASE(FFT_SQUARE);
        FFT_CASE(FFT_POWER);
        FFT_CASE(FFT_EVEN);
        FFT_CASE(FFT_MULTIPLY);
        FFT_CASE(FFT_CORRELATE);
    }
#undef FFT_CASE
    fft_middle(f, f->wr, f->wi, re, im, &r, &i);
    if (n <= f->m) fft_last(f, FFT_REAL, r, i, x, NULL);
    else fft_last(f, FFT_BOTH, r, i, x, NULL);
}

/* Coefficients in the order of numpy.correlate "full" from those of x(z) y(1/z): that of z^-k stands, with the other
   sign, at 2m - k. */
static inline void fft_unroll(const fft_plan *f, const double *c, long n_x, long n_y, double *out) {
    const double *last = c + 2 * f->m - (n_y - 1);
    for (long k = 0; k < n_y - 1; k++) out[k] = -last[k];
    memcpy(out + n_y - 1, c, sizeof(double) * (size_t)n_x);
}

/* ---- the error bound ------------------------------------------------------------------------------------------- */

/* A bound on max_k |c_k computed - c_k| / (|x|_2 |y|_2) for the convolution or correlation c of x and y by fft_forward,
   fft_backward, for lengths that are powers of two and entries scaled to at most 1 in size.

   u = 2^-53. A complex sum is off by a factor 1 + d, |d| <= u (both parts are). A complex product with a rounded root
   of unity is off by 1 + d, |d| <= g = (1 + r)(1 + sqrt5 u) - 1: sqrt5 u for the product (Brent, Percival, Zimmermann,
   Math. Comp. 76 (2007) 1469, no fused operations), r = u (1 + 2^-42) for the root (twiddles.h).

   A radix-4 pass is two radix-2 stages of additions (its inner factor -i is exact) and one product, a radix-2 pass one
   of each, and the weights are one more product. So every path from an entry to a value, and from a value to a result,
   meets A = log2(m) sums and at most M = passes + 1 products: a factor 1 + d with |d| <= t = (1 + u)^A (1 + g)^M - 1.

   Forward, in the 2-norm: a stage is sqrt2 times a unitary map and its error is at most u (sums) or g (products) times
   the norm of what it returns, so that |X computed - X|_2 <= t |X|_2 (the theorem of Brisebarre, Joldes, Muller,
   Nanes, Picot, ACM Trans. Math. Softw. 46 (2020) 11, has this form for radix 2), and |X|_2 = sqrt(m) |x|_2. Products
   of values: another factor 1 + d, |d| <= sqrt5 u. By Cauchy-Schwarz they are off by at most ((1+t)^2 (1+sqrt5 u) - 1)
   m |x| |y| in the 1-norm, of which an exact inverse makes 1/m times as much in the maximum norm (C. Percival, Math.
   Comp. 72 (2003) 387). Backward, in the maximum norm: every result is the real or imaginary part of a mean of m
   values times roots of unity times their paths' factors. Scaling by 1/m is exact where m is a power of two. Together

       (1 + t)^3 (1 + sqrt5 u) - 1,

   evaluated with log1p and expm1 because 1 + u is not a double. Underflow adds less than 2^-900 in absolute terms where
   the largest entry is at least 1/2; that, and the rounding of this evaluation and of the norms, is what the closing
   factor is for. Passes of radix 3 and 5 (never part of exact results; the self-check needs a bound for them as
   well) sum 3 or 5 terms with rounded constants: by the same counting at most 6 u and 9 u, and 2 u for a scale that is
   no power of two. Products of r accumulated spectra add (r - 1) u. */
static inline double fft_relative_error(const fft_plan *p, int n_accumulated) {
    const double u = 1.1102230246251565e-16, product = 2.2360679774997900 * u;
    double sums = 0.0, products = 1.0;
    for (int i = 0; i < p->n_passes; i++) {
        int r = p->radix[i];
        products += 1.0;
        sums += r == 4 ? 2.0 : r == 2 ? 1.0 : r == 3 ? 6.0 : 9.0;
        if (r & 1) sums += 2.0;
    }
    double g = log1p(u * (1.0 + 0x1p-42)) + log1p(product);
    double t = sums * log1p(u) + products * g;
    double whole = 3.0 * t + log1p(product) + (double)(n_accumulated - 1) * log1p(u);
    return expm1(whole) * 1.001;
}

/* ---- the self-check -------------------------------------------------------------------------------------------- */

/* Powers of zeta = exp(i), which is no root of unity of any order: zeta^k for k < FFT_BLOCK, and zeta^(k FFT_BLOCK). */
#define FFT_BLOCK 256
#define FFT_STEPS 64
typedef struct { double re[FFT_BLOCK], im[FFT_BLOCK], step_re[FFT_STEPS], step_im[FFT_STEPS]; } fft_point;

static inline void fft_point_init(fft_point *z) {
    for (int k = 0; k < FFT_BLOCK; k++) {
        z->re[k] = cos((double)k);
        z->im[k] = sin((double)k);
    }
    for (int k = 0; k < FFT_STEPS; k++) {
        z->step_re[k] = cos((double)(k * FFT_BLOCK));
        z->step_im[k] = sin((double)(k * FFT_BLOCK));
    }
}

/* A bound on |sum_k c_k zeta^k computed - true| / sum |c_k| by fft_evaluate, whatever the length. In a block every term
   meets a power of zeta (2 u, as the library's cosine and sine are within 1 ulp), a product (u), at most FFT_BLOCK / 16
   sums of a chain and 5 that join the chains: 24 u. The block's power is a product of two such (2 u + 2 u + sqrt5 u),
   and is multiplied with it (sqrt5 u): 9 u. The sum over blocks is compensated (A. Neumaier, Z. Angew. Math. Mech. 54
   (1974) 39): 2 u and a multiple of u^2. */
#define FFT_POINT_ERROR (40.0 * 1.1102230246251565e-16)

/* Sum of c_k zeta^k, k < count, a multiple of 16 up to FFT_BLOCK: four accumulators of four lanes. */
static inline void fft_evaluate_block(const fft_point *z, const double *c, long count, double *re, double *im) {
    v4d r[4] = {{0}}, i[4] = {{0}};
    for (long k = 0; k < count; k += 16)
        for (int j = 0; j < 4; j++) {
            const v4d x = v4_load(c + k + 4 * j);
            r[j] += x * v4_load(z->re + k + 4 * j);
            i[j] += x * v4_load(z->im + k + 4 * j);
        }
    *re = v4_sum((r[0] + r[1]) + (r[2] + r[3]));
    *im = v4_sum((i[0] + i[1]) + (i[2] + i[3]));
}

static inline void add_compensated(double *sum, double *lost, double x) {
    double s = *sum + x;
    *lost += fabs(*sum) >= fabs(x) ? (*sum - s) + x : (x - s) + *sum;
    *sum = s;
}

/* sum_k c_k zeta^k. */
static inline void fft_evaluate(const fft_point *z, const double *c, long n, double *re, double *im) {
    double sr = 0.0, si = 0.0, lost_r = 0.0, lost_i = 0.0, far_r = 1.0, far_i = 0.0;
    for (long block = 0; block * FFT_BLOCK < n; block++) {
        const long from = block * FFT_BLOCK, count = n - from < FFT_BLOCK ? n - from : FFT_BLOCK;
        const long even = count / 16 * 16;
        const int step = (int)(block % FFT_STEPS);
        if (step == 0 && block) {
            far_r = cos((double)from);
            far_i = sin((double)from);
        }
        double br, bi, tail_r = 0.0, tail_i = 0.0;
        fft_evaluate_block(z, c + from, even, &br, &bi);
        for (long k = even; k < count; k++) {
            tail_r += c[from + k] * z->re[k];
            tail_i += c[from + k] * z->im[k];
        }
        br += tail_r;
        bi += tail_i;
        const double pr = z->step_re[step] * far_r - z->step_im[step] * far_i;
        const double pi = z->step_re[step] * far_i + z->step_im[step] * far_r;
        add_compensated(&sr, &lost_r, br * pr - bi * pi);
        add_compensated(&si, &lost_i, br * pi + bi * pr);
    }
    *re = sr + lost_r;
    *im = si + lost_i;
}

/* Whether c, n_lags values that begin at lag `first` (0, or -(n_y - 1) for correlations), are the products of x and y,
   up to `error` a lag and the rounding of the check itself: three evaluations, their product, and for correlations a
   power of zeta, 3 * 40 u + 10 u. A fault in a lag adds its full size to the gap: one of twice the bound is seen. */
static inline int fft_holds(const fft_point *z, const double *x, long n_x, const double *y, long n_y, const double *c,
                            long n_lags, int is_correlation, double error) {
    double xr, xi, yr, yi, cr, ci, x_sum = 0.0, y_sum = 0.0;
    fft_evaluate(z, x, n_x, &xr, &xi);
    x_sum = array_sum_abs(x, n_x);
    if (x == y && n_x == n_y) {
        yr = xr; yi = xi; y_sum = x_sum;
    } else {
        fft_evaluate(z, y, n_y, &yr, &yi);
        y_sum = array_sum_abs(y, n_y);
    }
    if (is_correlation) { /* sum c_k zeta^(k - (n_y - 1)) = x(zeta) conj(y(zeta)) */
        double t = (double)(n_y - 1), tr = cos(t), ti = sin(t), r = yr * tr + yi * ti;
        yi = yr * ti - yi * tr;
        yr = r;
    }
    fft_evaluate(z, c, n_lags, &cr, &ci);
    double gap_r = cr - (xr * yr - xi * yi), gap_i = ci - (xr * yi + xi * yr);
    double bound = 1.001 * (3.25 * FFT_POINT_ERROR * x_sum * y_sum + error * (double)n_lags);
    return hypot(gap_r, gap_i) <= bound;
}

#endif
