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
    if (fft_init(plan, fft_good_half(2 * n))) return -1;
    long m = plan->m, lags = 2 * n; /* one spare value keeps the arrays even */
    /* x_t is followed by 2m values: the circular kernel of the overlap's gradient. */
    long total = 7 * n + 2 * lags + 6 * m + 2 * memory * (n + 1);
    st->block = cache_aligned(total + 17 * CACHE_STAGGER);
    if (!st->block) return -1;
    double *at = st->block;
#define TAKE(name, count) st->name = take_staggered(&at, count)
    TAKE(f, n);
    TAKE(c, lags);
    TAKE(p, lags);
    TAKE(gf, n);
    TAKE(fr, m);
    TAKE(fi, m);
    TAKE(qr, m);
    TAKE(qi, m);
    TAKE(grad, n);
    TAKE(dir, n);
    TAKE(gt, n);
    TAKE(best_x, n);
    TAKE(xt, n + 2 * m);
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
    free(st->block);
    st->block = NULL;
}
