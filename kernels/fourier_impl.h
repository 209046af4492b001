/* Included by fourier_base.c and fourier_avx2.c, each of which defines ISA(name). */
#include "fft.h"
#include "fourier.h"

void ISA(fo_range)(const double *x, long n, double *least, double *largest) {
    double lo = x[0], hi = x[0], bad = x[0] - x[0];
    long i = 0;
    if (n >= 4) {
        v4d l = v4_load(x), h = l, b = l - l;
        for (i = 4; i + 4 <= n; i += 4) {
            v4d v = v4_load(x + i);
            l = -v4_larger(-v, -l);
            h = v4_larger(v, h);
            b += v - v; /* 0, or NaN where v is infinite or NaN */
        }
        hi = v4_max(h);
        lo = -v4_max(-l);
        bad = v4_sum(b);
    }
    for (; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
        bad += x[i] - x[i];
    }
    *least = lo;
    *largest = bad == 0.0 ? hi : NAN;
}

/* x, or x times a power of two in `room` where products could leave double's range. *power is that power. */
static const double *moderated(const double *x, long n, double *room, int *power) {
    double sum = array_sum_abs(x, n);
    *power = 0;
    if ((sum > 1e-100 && sum < 1e100) || sum == 0.0) return x;
    double least, largest;
    ISA(fo_range)(x, n, &least, &largest);
    frexp(largest > -least ? largest : -least, power);
    *power = -*power;
    for (long i = 0; i < n; i++) room[i] = ldexp(x[i], *power);
    return room;
}

/* Products of moderate vectors into w->lags, checked. */
static int checked_products(fo_work *w, int kind, const double *x, long n_x, const double *y, long n_y) {
    const fft_plan *plan = w->plan;
    const long n_lags = n_x + n_y - 1;
    const int is_square = x == y && n_x == n_y;
    fft_forward(plan, fft_padded(plan, x, n_x, w->lags), n_x, w->ar, w->ai);
    if (!is_square) fft_forward(plan, fft_padded(plan, y, n_y, w->lags), n_y, w->br, w->bi);
    const int mode = kind == FO_CONVOLVE ? (is_square ? FFT_SQUARE : FFT_MULTIPLY) : (is_square ? FFT_POWER : FFT_CORRELATE);
    double *to = kind == FO_CONVOLVE ? w->lags : w->circular;
    fft_backward(plan, mode, w->ar, w->ai, w->br, w->bi, w->ar, w->ai, to, kind == FO_CONVOLVE ? n_lags : 2 * plan->m);
    if (kind == FO_CORRELATE) {
        fft_unroll(plan, w->circular, n_x, n_y, w->lags);
    }
    double norm = sqrt(array_dot(x, x, n_x) * array_dot(y, y, n_y));
    double error = fft_relative_error(plan, 1) * norm;
    return fft_holds(w->point, x, n_x, y, n_y, w->lags, n_lags, kind == FO_CORRELATE, error) ? FO_OK : FO_FAULT;
}

int ISA(fo_products)(fo_work *w, int kind, const double *x, long n_x, const double *y, long n_y, double *out) {
    int power_x, power_y, is_square = x == y && n_x == n_y;
    const double *a = moderated(x, n_x, w->x, &power_x), *b = a;
    power_y = power_x;
    if (!is_square) b = moderated(y, n_y, w->y, &power_y);
    const long n_lags = n_x + n_y - 1;
    int status = checked_products(w, kind, a, n_x, b, n_y);
    if (power_x || power_y)
        for (long k = 0; k < n_lags; k++) out[k] = ldexp(w->lags[k], -power_x - power_y);
    else memcpy(out, w->lags, sizeof(double) * (size_t)n_lags);
    return status;
}

int ISA(fo_autoconvolution)(fo_work *w, const double *x, long n, double *out) {
    int power;
    const double *a = moderated(x, n, w->x, &power);
    int status = checked_products(w, FO_CONVOLVE, a, n, a, n);
    *out = ldexp(array_max(w->lags, 2 * n - 1), -2 * power);
    return status;
}

int ISA(fo_overlap)(fo_work *w, const double *h, long n, double *out) {
    int status = checked_products(w, FO_CORRELATE, h, n, h, n);
    const double *c = w->lags + n - 1; /* c[s] = c[-s] */
    double first = 0.0, last = 0.0, best = -INFINITY;
    for (long s = n - 1; s >= 0; s--) {
        first += h[n - 1 - s];
        last += h[s];
        double larger = first > last ? first : last, value = larger - c[s];
        best = value > best ? value : best;
    }
    *out = best / (double)n * 2.0;
    return status;
}
