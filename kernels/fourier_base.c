/* The portable build, and what both builds share: buffers. */
#define ISA(name) name##_base
#include "fourier_impl.h"
#include "cpu.h"

#define LARGEST_KEPT (1 << 17) /* complex length */

static pool idle = POOL_OF(64);

long fo_half(long n_lags, int is_binary) { return is_binary ? fft_binary_half(n_lags) : fft_good_half(n_lags); }

static int fo_work_init(fo_work *w, long n_lags, int is_binary) {
    fft_plan *plan = calloc(1, sizeof *plan);
    fft_point *point = calloc(1, sizeof *point);
    w->plan = plan;
    w->point = point;
    if (!plan || !point || fft_init(plan, fo_half(n_lags, is_binary))) return FO_NO_MEMORY;
    fft_point_init(point);
    const long m = w->m = w->idle.key = plan->m;
    w->block = cache_aligned(4 * m + 8 * m + 9 * CACHE_STAGGER);
    if (!w->block) return FO_NO_MEMORY;
    double *at = w->block;
    w->ar = take_staggered(&at, m);
    w->ai = take_staggered(&at, m);
    w->br = take_staggered(&at, m);
    w->bi = take_staggered(&at, m);
    w->lags = take_staggered(&at, 2 * m);
    w->circular = take_staggered(&at, 2 * m);
    w->x = take_staggered(&at, 2 * m);
    w->y = take_staggered(&at, 2 * m);
    return FO_OK;
}

static void fo_work_free(fo_work *w) {
    if (!w) return;
    if (w->plan) fft_free(w->plan);
    free(w->plan);
    free(w->point);
    free(w->block);
    free(w);
}

fo_work *fo_take(long n_lags, int is_binary) {
    fo_work *w = (fo_work *)pool_take(&idle, fo_half(n_lags, is_binary));
    if (w) return w;
    w = calloc(1, sizeof *w);
    if (!w || fo_work_init(w, n_lags, is_binary) == FO_OK) return w;
    fo_work_free(w);
    return NULL;
}

void fo_give_back(fo_work *w) {
    fo_work_free(w->m <= LARGEST_KEPT ? (fo_work *)pool_put(&idle, &w->idle) : w);
}

void fo_range(const double *x, long n, double *range) {
    (evocore_has_avx2() ? fo_range_avx2 : fo_range_base)(x, n, range, range + 1);
}

int fo_products(int kind, const double *x, long n_x, const double *y, long n_y, double *out, int is_binary, int is_fast) {
    fo_work *w = fo_take(n_x + n_y - 1, is_binary);
    if (!w) return FO_NO_MEMORY;
    int status = (is_fast && evocore_has_avx2() ? fo_products_avx2 : fo_products_base)(w, kind, x, n_x, y, n_y, out);
    fo_give_back(w);
    return status;
}

int fo_maximum(int kind, const double *x, long n, double *out, int is_binary, int is_fast) {
    fo_work *w = fo_take(2 * n - 1, is_binary);
    if (!w) return FO_NO_MEMORY;
    const int fast = is_fast && evocore_has_avx2();
    int status = kind == FO_OVERLAP ? (fast ? fo_overlap_avx2 : fo_overlap_base)(w, x, n, out)
                                    : (fast ? fo_autoconvolution_avx2 : fo_autoconvolution_base)(w, x, n, out);
    fo_give_back(w);
    return status;
}

double fo_relative_error(long n_lags, int is_binary) {
    fft_plan plan;
    fft_lay_out(&plan, fo_half(n_lags, is_binary));
    return fft_relative_error(&plan, 1);
}

int fo_roots(long n, double *re, double *im) {
    unit_roots roots;
    if (unit_roots_init(&roots, n)) return FO_NO_MEMORY;
    for (long k = 0; k < n; k++) unit_root(&roots, k, re + k, im + k);
    unit_roots_free(&roots);
    return FO_OK;
}

int fo_holds(int kind, const double *x, long n_x, const double *y, long n_y, const double *sums, double error) {
    fft_point point;
    fft_point_init(&point);
    return fft_holds(&point, x, n_x, y, n_y, sums, n_x + n_y - 1, kind == FO_CORRELATE, error);
}
