/* The portable build, and what both builds share: allocation. */
#define ISA(name) name##_base
#include "smoothmax_impl.h"

int sm_init(sm_state *st, int kind, long n, int memory) {
    memset(st, 0, sizeof *st);
    st->kind = kind;
    st->n = n;
    st->n_lags = 2 * n - 1;
    st->memory = memory;
    st->level = 1.0;
    st->best = INFINITY;
    fft_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return -1;
    st->plan = plan;
    st->point = calloc(1, sizeof(fft_point));
    if (!st->point) return -1;
    fft_point_init(st->point);
    if (fft_init(plan, fft_good_half(2 * n))) return -1;
    long m = plan->m;
    /* results of a transform take m or 2m values, and behind its arguments stand zeros up to m or 2m, never written */
    st->block = cache_aligned(7 * n + 11 * m + 2 * memory * (n + 1) + 20 * CACHE_STAGGER);
    if (!st->block) return -1;
    double *at = st->block;
#define TAKE(name, count) st->name = take_staggered(&at, count)
    TAKE(f, m);
    TAKE(c, 2 * m);
    TAKE(p, 2 * m);
    TAKE(q, m);
    TAKE(sums, 2 * n);
    TAKE(gf, m);
    TAKE(fr, m);
    TAKE(fi, m);
    TAKE(qr, m);
    TAKE(qi, m);
    TAKE(grad, n);
    TAKE(dir, n);
    TAKE(xt, n);
    TAKE(gt, n);
    TAKE(best_x, n);
    TAKE(s, memory * n);
    TAKE(y, memory * n);
    TAKE(rho, memory);
    TAKE(alpha, memory);
#undef TAKE
    return 0;
}

void sm_free(sm_state *st) {
    if (st->plan) {
        fft_free(st->plan);
        free(st->plan);
        st->plan = NULL;
    }
    free(st->point);
    st->point = NULL;
    free(st->block);
    st->block = NULL;
}
