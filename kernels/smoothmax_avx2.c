/* The same source for AVX2. No fused multiply-add: results must not depend on the instruction set. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define ISA(name) name##_avx2
#include "smoothmax_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include <stddef.h>
#include "smoothmax.h"
double sm_evaluate_avx2(sm_state *st, const double *x, double beta, double *gradient, double *peak) {
    return sm_evaluate_base(st, x, beta, gradient, peak);
}
double sm_log_sum_exp_avx2(const double *c, long n, double beta, double *p) { return sm_log_sum_exp_base(c, n, beta, p); }
void sm_exp_avx2(const double *x, long n, double *out) { sm_exp_base(x, n, out); }
int sm_holds_avx2(sm_state *st) { return sm_holds_base(st); }
int sm_hessian_avx2(sm_state *st, const double *x, double beta, const double *v, long count, double *out) {
    return sm_hessian_base(st, x, beta, v, count, out);
}
long sm_stage_avx2(sm_state *st, double *x, double beta, long n_iterations, long mirrored, double deadline) {
    return sm_stage_base(st, x, beta, n_iterations, mirrored, deadline);
}
#endif
