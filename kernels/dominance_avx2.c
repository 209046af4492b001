/* The same source for AVX2. No fused multiply-add: results must not depend on the instruction set. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,popcnt")
#endif
#define ISA(name) name##_avx2
#include "dominance_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "dominance.h"
int dom_filter_avx2(const dom_points *p, int first, uint8_t *keep) { return dom_filter_base(p, first, keep); }
int dom_ranks_avx2(const dom_points *p, int64_t *rank) { return dom_ranks_base(p, rank); }
void dom_excess_avx2(const double *p, int64_t n, const double *q_columns, int64_t m, int d, double *out) {
    dom_excess_base(p, n, q_columns, m, d, out);
}
double dom_indicator_avx2(const double *p_columns, int64_t n, const double *q, int64_t m, int d) {
    return dom_indicator_base(p_columns, n, q, m, d);
}
void dom_outdoes_avx2(const double *f, int64_t n, const double *g_columns, int64_t m, int d, double epsilon, uint8_t *out) {
    dom_outdoes_base(f, n, g_columns, m, d, epsilon, out);
}
#endif
