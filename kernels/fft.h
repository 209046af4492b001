/* A real fast Fourier transform for convolutions: split arrays (real parts, imaginary parts), Stockham order (no bit
   reversal), radix 4 with closing passes of radix 2, 3 and 5, the even and odd samples of a real sequence packed
   into one complex sequence of half its length.

   Lengths: N = 2M real samples, M = 16 * 2^a * (1, 3, 5, 9, 15, 25, 45 or 75). Twiddle factors: see twiddles.h.
   Stockham autosort: C. Temperton, J. Comput. Phys. 52 (1983) 1. Error bound: fft_relative_error below. */
#ifndef EVOCORE_FFT_H
#define EVOCORE_FFT_H

#include <math.h>
#include <stdlib.h>
#include "simd.h"
#include "twiddles.h"

#define FFT_MAX_PASSES 32

typedef struct {
    long m;                     /* complex length; the real length is 2 m */
    int n_passes;
    int radix[FFT_MAX_PASSES];
    long twiddle_at[FFT_MAX_PASSES];
    double *tr, *ti;            /* twiddles of all passes, radix-1 blocks of one pass behind each other */
    double *pr, *pi;            /* exp(-2 pi i k / 2m), k <= m/2, for the packing of real sequences */
    double *wr, *wi;            /* scratch of length m */
    double *block;              /* the one allocation that holds all of them */
} fft_plan;

/* Arrays begin at cache lines of their own and are staggered: powers of two behind each other would all fall into
   the same sets of the first-level cache. */
#define CACHE_STAGGER 168

static inline double *cache_aligned(long count) {
    void *block = NULL;
    size_t bytes = sizeof(double) * (size_t)count;
    if (posix_memalign(&block, 64, bytes)) return NULL;
    memset(block, 0, bytes);
    return block;
}

static inline double *take_staggered(double **at, long count) {
    double *here = *at;
    *at += (count + 7) / 8 * 8 + (CACHE_STAGGER - 8);
    return here;
}

/* The least admissible complex length m with 2 m >= n_real. */
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

/* 0, or -1 when there is no memory. m must come from fft_good_half or fft_binary_half. */
static inline int fft_init(fft_plan *p, long m) {
    p->m = m;
    p->n_passes = 0;
    p->block = NULL;
    long rest = m, s = 1, total = 0;
    int threes = 0, fives = 0;
    while (rest % 3 == 0) { threes++; rest /= 3; }
    while (rest % 5 == 0) { fives++; rest /= 5; }
    while (rest % 4 == 0) { p->radix[p->n_passes++] = 4; rest /= 4; }
    if (rest == 2) p->radix[p->n_passes++] = 2;
    while (threes--) p->radix[p->n_passes++] = 3;
    while (fives--) p->radix[p->n_passes++] = 5;
    for (int i = 0; i < p->n_passes; i++) {
        long n = m / s;
        p->twiddle_at[i] = total;
        total += (n / p->radix[i]) * (p->radix[i] - 1);
        s *= p->radix[i];
    }
    long half = m / 2 + 1;
    unit_roots roots;
    if (unit_roots_init(&roots, 2 * m)) return -1;
    p->block = cache_aligned(2 * total + 2 * half + 2 * m + 6 * CACHE_STAGGER);
    if (!p->block) {
        unit_roots_free(&roots);
        return -1;
    }
    double *at = p->block;
    p->tr = take_staggered(&at, total);
    p->ti = take_staggered(&at, total);
    p->pr = take_staggered(&at, half);
    p->pi = take_staggered(&at, half);
    p->wr = take_staggered(&at, m);
    p->wi = take_staggered(&at, m);
    s = 1;
    for (int i = 0; i < p->n_passes; i++) {
        long n = m / s, q = n / p->radix[i];
        for (int j = 1; j < p->radix[i]; j++)
            for (long k = 0; k < q; k++) {
                long to = p->twiddle_at[i] + (j - 1) * q + k;
                unit_root(&roots, j * k * (2 * s), p->tr + to, p->ti + to);
            }
        s *= p->radix[i];
    }
    for (long k = 0; k < half; k++) unit_root(&roots, k, p->pr + k, p->pi + k);
    unit_roots_free(&roots);
    return 0;
}

#define FFT_TIMES(xr, xi, cr, ci, outr, outi) \
    do { v4d r_ = (xr) * (cr) - (xi) * (ci), i_ = (xr) * (ci) + (xi) * (cr); outr = r_; outi = i_; } while (0)

/* First pass: stride one, so the four lanes are four neighbouring butterflies and the result is transposed. */
static inline void fft_pass4_first(long m, const double *tr, const double *ti, const double *xr, const double *xi,
                                   double *yr, double *yi) {
    long q = m / 4;
    for (long p = 0; p < q; p += 4) {
        v4d ar = v4_load(xr + p), ai = v4_load(xi + p), br = v4_load(xr + p + q), bi = v4_load(xi + p + q);
        v4d cr = v4_load(xr + p + 2 * q), ci = v4_load(xi + p + 2 * q);
        v4d dr = v4_load(xr + p + 3 * q), di = v4_load(xi + p + 3 * q);
        v4d sr = ar + cr, si = ai + ci, ur = ar - cr, ui = ai - ci;
        v4d vr = br + dr, vi = bi + di, er = br - dr, ei = bi - di;
        v4d r0 = sr + vr, i0 = si + vi, r2 = sr - vr, i2 = si - vi;
        v4d r1 = ur + ei, i1 = ui - er, r3 = ur - ei, i3 = ui + er;
        FFT_TIMES(r1, i1, v4_load(tr + p), v4_load(ti + p), r1, i1);
        FFT_TIMES(r2, i2, v4_load(tr + q + p), v4_load(ti + q + p), r2, i2);
        FFT_TIMES(r3, i3, v4_load(tr + 2 * q + p), v4_load(ti + 2 * q + p), r3, i3);
#define FFT_TRANSPOSE(a, b, c, d, out)                                                             \
        do {                                                                                       \
            v4d ab0 = V4_PICK(a, b, 0, 4, 2, 6), ab1 = V4_PICK(a, b, 1, 5, 3, 7);                  \
            v4d cd0 = V4_PICK(c, d, 0, 4, 2, 6), cd1 = V4_PICK(c, d, 1, 5, 3, 7);                  \
            v4_store(out, V4_PICK(ab0, cd0, 0, 1, 4, 5));                                          \
            v4_store(out + 4, V4_PICK(ab1, cd1, 0, 1, 4, 5));                                      \
            v4_store(out + 8, V4_PICK(ab0, cd0, 2, 3, 6, 7));                                      \
            v4_store(out + 12, V4_PICK(ab1, cd1, 2, 3, 6, 7));                                     \
        } while (0)
        FFT_TRANSPOSE(r0, r1, r2, r3, yr + 4 * p);
        FFT_TRANSPOSE(i0, i1, i2, i3, yi + 4 * p);
#undef FFT_TRANSPOSE
    }
}

static inline void fft_pass4(long q, long s, const double *tr, const double *ti, const double *xr, const double *xi,
                             double *yr, double *yi) {
    for (long p = 0; p < q; p++) {
        v4d w1r = v4_set(tr[p]), w1i = v4_set(ti[p]), w2r = v4_set(tr[q + p]), w2i = v4_set(ti[q + p]);
        v4d w3r = v4_set(tr[2 * q + p]), w3i = v4_set(ti[2 * q + p]);
        const double *ar_ = xr + s * p, *ai_ = xi + s * p;
        double *or_ = yr + 4 * s * p, *oi_ = yi + 4 * s * p;
        for (long k = 0; k < s; k += 4) {
            v4d ar = v4_load(ar_ + k), ai = v4_load(ai_ + k);
            v4d br = v4_load(ar_ + s * q + k), bi = v4_load(ai_ + s * q + k);
            v4d cr = v4_load(ar_ + 2 * s * q + k), ci = v4_load(ai_ + 2 * s * q + k);
            v4d dr = v4_load(ar_ + 3 * s * q + k), di = v4_load(ai_ + 3 * s * q + k);
            v4d sr = ar + cr, si = ai + ci, ur = ar - cr, ui = ai - ci;
            v4d vr = br + dr, vi = bi + di, er = br - dr, ei = bi - di;
            v4_store(or_ + k, sr + vr);
            v4_store(oi_ + k, si + vi);
            v4d r1 = ur + ei, i1 = ui - er, r2 = sr - vr, i2 = si - vi, r3 = ur - ei, i3 = ui + er;
            FFT_TIMES(r1, i1, w1r, w1i, r1, i1);
            FFT_TIMES(r2, i2, w2r, w2i, r2, i2);
            FFT_TIMES(r3, i3, w3r, w3i, r3, i3);
            v4_store(or_ + s + k, r1);
            v4_store(oi_ + s + k, i1);
            v4_store(or_ + 2 * s + k, r2);
            v4_store(oi_ + 2 * s + k, i2);
            v4_store(or_ + 3 * s + k, r3);
            v4_store(oi_ + 3 * s + k, i3);
        }
    }
}

static inline void fft_pass2(long q, long s, const double *tr, const double *ti, const double *xr, const double *xi,
                             double *yr, double *yi) {
    for (long p = 0; p < q; p++) {
        v4d wr = v4_set(tr[p]), wi = v4_set(ti[p]);
        for (long k = 0; k < s; k += 4) {
            v4d ar = v4_load(xr + s * p + k), ai = v4_load(xi + s * p + k);
            v4d br = v4_load(xr + s * (p + q) + k), bi = v4_load(xi + s * (p + q) + k);
            v4_store(yr + 2 * s * p + k, ar + br);
            v4_store(yi + 2 * s * p + k, ai + bi);
            v4d dr = ar - br, di = ai - bi;
            FFT_TIMES(dr, di, wr, wi, dr, di);
            v4_store(yr + 2 * s * p + s + k, dr);
            v4_store(yi + 2 * s * p + s + k, di);
        }
    }
}

/* Radix 3 and 5 close the transform; the butterflies of the column p = 0, all of the last pass, need no twiddles. */
static inline __attribute__((always_inline)) void fft_column3(long s, long q, const int is_first, v4d w1r, v4d w1i,
        v4d w2r, v4d w2i, const double *xr, const double *xi, double *yr, double *yi) {
    const v4d half = v4_set(0.5), h = v4_set(0.86602540378443864676);
    for (long k = 0; k < s; k += 4) {
        v4d ar = v4_load(xr + k), ai = v4_load(xi + k), br = v4_load(xr + s * q + k), bi = v4_load(xi + s * q + k);
        v4d cr = v4_load(xr + 2 * s * q + k), ci = v4_load(xi + 2 * s * q + k);
        v4d tr = br + cr, ti = bi + ci, dr = (br - cr) * h, di = (bi - ci) * h;
        v4d mr = ar - half * tr, mi = ai - half * ti;
        v4_store(yr + k, ar + tr);
        v4_store(yi + k, ai + ti);
        v4d r1 = mr + di, i1 = mi - dr, r2 = mr - di, i2 = mi + dr;
        if (!is_first) {
            FFT_TIMES(r1, i1, w1r, w1i, r1, i1);
            FFT_TIMES(r2, i2, w2r, w2i, r2, i2);
        }
        v4_store(yr + s + k, r1);
        v4_store(yi + s + k, i1);
        v4_store(yr + 2 * s + k, r2);
        v4_store(yi + 2 * s + k, i2);
    }
}

static inline void fft_pass3(long q, long s, const double *tr, const double *ti, const double *xr, const double *xi,
                             double *yr, double *yi) {
    const v4d none = v4_set(0.0);
    fft_column3(s, q, 1, none, none, none, none, xr, xi, yr, yi);
    for (long p = 1; p < q; p++)
        fft_column3(s, q, 0, v4_set(tr[p]), v4_set(ti[p]), v4_set(tr[q + p]), v4_set(ti[q + p]), xr + s * p,
                    xi + s * p, yr + 3 * s * p, yi + 3 * s * p);
}

static inline __attribute__((always_inline)) void fft_column5(long s, long q, const int is_first, const v4d *wr,
        const v4d *wi, const double *xr, const double *xi, double *yr, double *yi) {
    const v4d c1 = v4_set(0.30901699437494742410), c2 = v4_set(-0.80901699437494742410);
    const v4d s1 = v4_set(0.95105651629515357212), s2 = v4_set(0.58778525229247312917);
    const long t = s * q;
    for (long k = 0; k < s; k += 4) {
        v4d ar = v4_load(xr + k), ai = v4_load(xi + k), br = v4_load(xr + t + k), bi = v4_load(xi + t + k);
        v4d cr = v4_load(xr + 2 * t + k), ci = v4_load(xi + 2 * t + k);
        v4d dr = v4_load(xr + 3 * t + k), di = v4_load(xi + 3 * t + k);
        v4d er = v4_load(xr + 4 * t + k), ei = v4_load(xi + 4 * t + k);
        v4d pr = br + er, pi = bi + ei, qr = cr + dr, qi = ci + di;
        v4d mr = br - er, mi = bi - ei, nr = cr - dr, ni = ci - di;
        v4d fr = ar + c1 * pr + c2 * qr, fi = ai + c1 * pi + c2 * qi;
        v4d gr = ar + c2 * pr + c1 * qr, gi = ai + c2 * pi + c1 * qi;
        v4d hr = s1 * mr + s2 * nr, hi = s1 * mi + s2 * ni;
        v4d lr = s2 * mr - s1 * nr, li = s2 * mi - s1 * ni;
        v4_store(yr + k, ar + pr + qr);
        v4_store(yi + k, ai + pi + qi);
        v4d r[4] = {fr + hi, gr + li, gr - li, fr - hi}, i[4] = {fi - hr, gi - lr, gi + lr, fi + hr};
        for (int j = 0; j < 4; j++) {
            if (!is_first) FFT_TIMES(r[j], i[j], wr[j], wi[j], r[j], i[j]);
            v4_store(yr + (j + 1) * s + k, r[j]);
            v4_store(yi + (j + 1) * s + k, i[j]);
        }
    }
}

static inline void fft_pass5(long q, long s, const double *tr, const double *ti, const double *xr, const double *xi,
                             double *yr, double *yi) {
    v4d wr[4] = {{0}}, wi[4] = {{0}};
    fft_column5(s, q, 1, wr, wi, xr, xi, yr, yi);
    for (long p = 1; p < q; p++) {
        for (int j = 0; j < 4; j++) {
            wr[j] = v4_set(tr[j * q + p]);
            wi[j] = v4_set(ti[j * q + p]);
        }
        fft_column5(s, q, 0, wr, wi, xr + s * p, xi + s * p, yr + 5 * s * p, yi + 5 * s * p);
    }
}

/* Complex transform of (re, im) in place, exp(-2 pi i jk/m), unscaled. Called with the two swapped it is the inverse. */
static inline void fft_complex(const fft_plan *p, double *re, double *im) {
    double *ar = re, *ai = im, *br = p->wr, *bi = p->wi;
    long s = 1;
    for (int i = 0; i < p->n_passes; i++) {
        long q = p->m / s / p->radix[i];
        const double *tr = p->tr + p->twiddle_at[i], *ti = p->ti + p->twiddle_at[i];
        if (i == 0) fft_pass4_first(p->m, tr, ti, ar, ai, br, bi);
        else if (p->radix[i] == 4) fft_pass4(q, s, tr, ti, ar, ai, br, bi);
        else if (p->radix[i] == 2) fft_pass2(q, s, tr, ti, ar, ai, br, bi);
        else if (p->radix[i] == 3) fft_pass3(q, s, tr, ti, ar, ai, br, bi);
        else fft_pass5(q, s, tr, ti, ar, ai, br, bi);
        double *t = ar; ar = br; br = t;
        t = ai; ai = bi; bi = t;
        s *= p->radix[i];
    }
    if (ar != re) {
        memcpy(re, ar, sizeof(double) * (size_t)p->m);
        memcpy(im, ai, sizeof(double) * (size_t)p->m);
    }
}

/* Real x of length n <= 2m, zero-padded, into packed (re, im), then transformed. The result is the packed spectrum. */
static inline void fft_forward(const fft_plan *p, const double *x, long n, double *re, double *im) {
    long j = 0, pairs = n / 2;
    for (; j + 4 <= pairs; j += 4) {
        v4d a = v4_load(x + 2 * j), b = v4_load(x + 2 * j + 4);
        v4_store(re + j, V4_PICK(a, b, 0, 2, 4, 6));
        v4_store(im + j, V4_PICK(a, b, 1, 3, 5, 7));
    }
    for (; j < pairs; j++) { re[j] = x[2 * j]; im[j] = x[2 * j + 1]; }
    if (n & 1) { re[pairs] = x[n - 1]; im[pairs] = 0.0; j++; }
    memset(re + j, 0, sizeof(double) * (size_t)(p->m - j));
    memset(im + j, 0, sizeof(double) * (size_t)(p->m - j));
    fft_complex(p, re, im);
}

/* Packed spectrum to the first n real samples; the scale 1/m is the caller's (fft_combine applies it). */
static inline void fft_backward(const fft_plan *p, double *re, double *im, double *x, long n) {
    fft_complex(p, im, re);
    long j = 0, pairs = n / 2;
    for (; j + 4 <= pairs; j += 4) {
        v4d a = v4_load(re + j), b = v4_load(im + j);
        v4d lo = V4_PICK(a, b, 0, 4, 1, 5), hi = V4_PICK(a, b, 2, 6, 3, 7);
        v4_store(x + 2 * j, lo);
        v4_store(x + 2 * j + 4, hi);
    }
    for (; j < pairs; j++) { x[2 * j] = re[j]; x[2 * j + 1] = im[j]; }
    if (n & 1) x[n - 1] = re[pairs];
}

/* What fft_combine does with two spectra A and B. */
enum { FFT_SQUARE, FFT_POWER, FFT_MULTIPLY, FFT_CORRELATE }; /* A^2, |A|^2, A B, A conj(B) */

#define FFT_PRODUCT(T, mode, ar, ai, br, bi, outr, outi)                                           \
    do {                                                                                           \
        T pr_, pi_;                                                                                \
        if (mode == FFT_SQUARE) { pr_ = ar * ar - ai * ai; pi_ = (ar + ar) * ai; }                 \
        else if (mode == FFT_POWER) { pr_ = ar * ar + ai * ai; pi_ = ar - ar; }                    \
        else if (mode == FFT_MULTIPLY) { pr_ = ar * br - ai * bi; pi_ = ar * bi + ai * br; }       \
        else { pr_ = ar * br + ai * bi; pi_ = ai * br - ar * bi; }                                 \
        outr = pr_; outi = pi_;                                                                    \
    } while (0)

/* One bin k and its mirror m-k: unpack both spectra, multiply, pack again. */
#define FFT_BIN(T, mode, wr, wi, scale, z0r, z0i, z1r, z1i, y0r, y0i, y1r, y1i, o0r, o0i, o1r, o1i) \
    do {                                                                                           \
        T er = z0r + z1r, ei = z0i - z1i, fr = z0i + z1i, fi = z1r - z0r;                          \
        T gr = fr * wr - fi * wi, gi = fr * wi + fi * wr;                                          \
        T a0r = er + gr, a0i = ei + gi, a1r = er - gr, a1i = gi - ei;                              \
        T b0r = a0r, b0i = a0i, b1r = a1r, b1i = a1i;                                              \
        if (mode == FFT_MULTIPLY || mode == FFT_CORRELATE) {                                       \
            T hr = y0r + y1r, hi = y0i - y1i, kr = y0i + y1i, ki = y1r - y0r;                      \
            T lr = kr * wr - ki * wi, li = kr * wi + ki * wr;                                      \
            b0r = hr + lr; b0i = hi + li; b1r = hr - lr; b1i = li - hi;                            \
        }                                                                                          \
        T c0r, c0i, c1r, c1i;                                                                      \
        FFT_PRODUCT(T, mode, a0r, a0i, b0r, b0i, c0r, c0i);                                        \
        FFT_PRODUCT(T, mode, a1r, a1i, b1r, b1i, c1r, c1i);                                        \
        T pr = (c0r + c1r) * scale, pi = (c0i - c1i) * scale;                                      \
        T qr = (c0r - c1r) * scale, qi = (c0i + c1i) * scale;                                      \
        T vr = qr * wr + qi * wi, vi = qi * wr - qr * wi;                                          \
        o0r = pr - vi; o0i = pi + vr; o1r = pr + vi; o1i = vr - pi;                                \
    } while (0)

/* out = pack(product of the spectra that A and B pack), scaled for fft_backward. out may be A or B. */
static inline __attribute__((always_inline)) void fft_combine(const fft_plan *p, const int mode, const double *ar,
        const double *ai, const double *br, const double *bi, double *or_, double *oi) {
    const long m = p->m;
    const double scale = 0.125 / (double)m;
    {
        double x0 = ar[0] + ai[0], x1 = ar[0] - ai[0], y0 = br[0] + bi[0], y1 = br[0] - bi[0];
        double c0 = (mode == FFT_SQUARE || mode == FFT_POWER) ? x0 * x0 : x0 * y0;
        double c1 = (mode == FFT_SQUARE || mode == FFT_POWER) ? x1 * x1 : x1 * y1;
        or_[0] = (c0 + c1) * (4.0 * scale);
        oi[0] = (c0 - c1) * (4.0 * scale);
    }
    const v4d vs = v4_set(scale);
    long k = 1, half = m / 2;
    for (; k + 4 <= half; k += 4) {
        long j = m - k - 3;
        v4d wr = v4_load(p->pr + k), wi = v4_load(p->pi + k);
        v4d z0r = v4_load(ar + k), z0i = v4_load(ai + k);
        v4d z1r = v4_reverse(v4_load(ar + j)), z1i = v4_reverse(v4_load(ai + j));
        v4d y0r = v4_load(br + k), y0i = v4_load(bi + k);
        v4d y1r = v4_reverse(v4_load(br + j)), y1i = v4_reverse(v4_load(bi + j));
        v4d o0r, o0i, o1r, o1i;
        FFT_BIN(v4d, mode, wr, wi, vs, z0r, z0i, z1r, z1i, y0r, y0i, y1r, y1i, o0r, o0i, o1r, o1i);
        v4_store(or_ + k, o0r);
        v4_store(oi + k, o0i);
        v4_store(or_ + j, v4_reverse(o1r));
        v4_store(oi + j, v4_reverse(o1i));
    }
    for (; k <= half; k++) {
        long j = m - k;
        double wr = p->pr[k], wi = p->pi[k];
        double z0r = ar[k], z0i = ai[k], z1r = ar[j], z1i = ai[j];
        double y0r = br[k], y0i = bi[k], y1r = br[j], y1i = bi[j];
        double o0r, o0i, o1r, o1i;
        FFT_BIN(double, mode, wr, wi, scale, z0r, z0i, z1r, z1i, y0r, y0i, y1r, y1i, o0r, o0i, o1r, o1i);
        or_[k] = o0r;
        oi[k] = o0i;
        or_[j] = o1r;
        oi[j] = o1i;
    }
}

/* ---- the error bound ------------------------------------------------------------------------------------------- */

/* A bound on max_k |c_k computed - c_k| / (|x|_2 |y|_2) for the convolution or correlation c of x and y by fft_forward,
   fft_combine and fft_backward, for lengths that are powers of two and entries scaled to at most 1 in size.

   u = 2^-53. A complex sum is off by a factor 1 + d, |d| <= u (both parts are). A complex product with a rounded root of
   unity is off by 1 + d, |d| <= g = (1 + r)(1 + sqrt5 u) - 1: sqrt5 u for the product (Brent, Percival, Zimmermann,
   Math. Comp. 76 (2007) 1469, no fused operations), r = u (1 + 2^-42) for the root (twiddles.h).

   A radix-4 pass is two radix-2 stages of additions (its inner factor -i is exact) and one product; a radix-2 pass is one
   of each; unpacking a real transform is two stages of additions and one product, packing likewise. So every path from
   an entry to a result meets A = log2(m) + 2 sums and M = passes + 1 products, forward as backward: factors 1 + d with
   |d| <= t = (1 + u)^A (1 + g)^M - 1.

   Forward, in the 2-norm: a stage is sqrt2 times a unitary map and its error is at most u (sums) or g (products) times
   the norm of what it returns, so that |X computed - X|_2 <= t |X|_2 (the theorem of Brisebarre, Joldes, Muller,
   Nanes, Picot, ACM Trans. Math. Softw. 46 (2020) 11, has this form for radix 2). Products of bins: another factor 1 + d,
   |d| <= sqrt5 u. By Cauchy-Schwarz the bins of the product are off by at most ((1+t)^2 (1+sqrt5 u) - 1) N |x| |y| in
   the 1-norm, and an exact inverse makes of that N^-1 times as much in the maximum norm (C. Percival, Math. Comp. 72
   (2003) 387). Backward, in the maximum norm: every result is a sum over all bins times a root of unity times its path's
   factors; packing sends each bin along two paths, so that the weights add up to at most 2 N^-1 times the 1-norm of the
   bins. Scaling by a power of two is exact. Together

       (1 + t)^2 (1 + sqrt5 u) (1 + 2 t) - 1,

   evaluated with log1p and expm1 because 1 + u is not a double. Underflow adds less than 2^-900 in absolute terms where
   the largest entry is at least 1/2; that, and the rounding of this evaluation and of the norms, is what the closing
   factor is for. Cross products of r accumulated spectra add (r - 1) u. */
static inline double fft_relative_error(const fft_plan *p, int n_accumulated) {
    const double u = 1.1102230246251565e-16, product = 2.2360679774997900 * u;
    double sums = 2.0;
    for (int i = 0; i < p->n_passes; i++) {
        int r = p->radix[i];
        sums += r == 4 ? 2.0 : r == 2 ? 1.0 : r == 3 ? 6.0 : 9.0;
        if (r & 1) sums += 2.0;
    }
    double g = log1p(u * (1.0 + 0x1p-42)) + log1p(product);
    double t = sums * log1p(u) + (double)(p->n_passes + 1) * g;
    double whole = 2.0 * t + log1p(product) + log1p(2.0 * expm1(t)) + (double)(n_accumulated - 1) * log1p(u);
    return expm1(whole) * 1.001;
}

/* ---- the self-check -------------------------------------------------------------------------------------------- */

/* Sum of c_k zeta^k at zeta = exp(i), no root of unity of any order, by 16 interleaved Horner chains; zeta^0 .. zeta^16
   are given. |computed - true| <= fft_point_error(n) * sum |c_k|. */
typedef struct { double re[17], im[17]; } fft_point;

static inline void fft_point_init(fft_point *z) {
    for (int k = 0; k <= 16; k++) {
        z->re[k] = cos((double)k);
        z->im[k] = sin((double)k);
    }
}

/* Each step multiplies (sqrt5 u, and 2 u for the power, whose parts the library rounds to 1 ulp) and adds (u): under
   6 u; the closing sum of 16 chains adds under 40 u. */
static inline double fft_point_error(long n) { return (6.0 * ((double)n / 16.0 + 1.0) + 40.0) * 1.1102230246251565e-16; }

static inline void fft_evaluate(const fft_point *z, const double *c, long n, double *re, double *im) {
    const v4d wr = v4_set(z->re[16]), wi = v4_set(z->im[16]);
    v4d ar[4] = {{0}}, ai[4] = {{0}};
    long k = n / 16 * 16;
    double last[16] = {0};
    for (long i = k; i < n; i++) last[i - k] = c[i];
    for (int j = 0; j < 4; j++) ar[j] = v4_load(last + 4 * j);
    for (k -= 16; k >= 0; k -= 16)
        for (int j = 0; j < 4; j++) {
            v4d r = ar[j] * wr - ai[j] * wi, i = ar[j] * wi + ai[j] * wr;
            ar[j] = r + v4_load(c + k + 4 * j);
            ai[j] = i;
        }
    double sr = 0.0, si = 0.0;
    for (int j = 0; j < 16; j++) {
        double r = ar[j / 4][j % 4], i = ai[j / 4][j % 4];
        sr += r * z->re[j] - i * z->im[j];
        si += r * z->im[j] + i * z->re[j];
    }
    *re = sr;
    *im = si;
}

/* Whether c, n_lags values that begin at lag `first` (0, or -(n_y - 1) for correlations), are the products of x and y, up to
   `error` a lag and the rounding of the check itself. A fault in any lag shows, at its full size. */
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
    double gap = fabs(cr - (xr * yr - xi * yi)) + fabs(ci - (xr * yi + xi * yr));
    double rounding = fft_point_error(n_lags) + 2.0 * (fft_point_error(n_x) + fft_point_error(n_y)) + 1e-14;
    return gap <= 2.0 * (rounding * x_sum * y_sum + error * (double)n_lags * (1.0 + fft_point_error(n_lags)));
}

#endif
