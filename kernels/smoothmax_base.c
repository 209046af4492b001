/* The portable build, and what both builds share: allocation. */
#define ISA(name) name##_base
#include "smoothmax_impl.h"
#include "cpu.h"

#define LARGEST_KEPT (1 << 17)

static pool idle = POOL_OF(32);

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

static sm_state *take(int kind, long n) {
    const long key = 4 * n + kind;
    sm_state *st = (sm_state *)pool_take(&idle, key);
    if (st) return st;
    st = malloc(sizeof *st);
    if (st && sm_init(st, kind, n, 1)) {
        sm_free(st);
        free(st);
        return NULL;
    }
    if (st) st->idle.key = key;
    return st;
}

static void give_back(sm_state *st) {
    if (st->n <= LARGEST_KEPT) st = (sm_state *)pool_put(&idle, &st->idle);
    if (!st) return;
    sm_free(st);
    free(st);
}

int sm_value(int kind, const double *x, long n, double beta, double *gradient, double *value, double *peak) {
    const int fast = evocore_has_avx2();
    double (*evaluate_at)(sm_state *, const double *, double, double *, double *) = fast ? sm_evaluate_avx2 : sm_evaluate_base;
    sm_state *st = take(kind, n);
    if (!st) return SM_NO_MEMORY;
    st->level = 1.0;
    if (kind == SM_SPREAD) {
        evaluate_at(st, x, 1.0, gradient, peak);
        st->level = array_max(st->c, st->n_lags);
    }
    *value = evaluate_at(st, x, beta, gradient, peak);
    int holds = fast ? sm_holds_avx2(st) : sm_holds_base(st);
    give_back(st);
    return holds ? SM_OK : SM_FAULT;
}

double sm_log_sum_exp(const double *c, long n, double beta, double *p) {
    return (evocore_has_avx2() ? sm_log_sum_exp_avx2 : sm_log_sum_exp_base)(c, n, beta, p);
}

void sm_exp(const double *x, long n, double *out) { (evocore_has_avx2() ? sm_exp_avx2 : sm_exp_base)(x, n, out); }
