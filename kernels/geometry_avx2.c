/* The same source for AVX2. No fused multiply-add: results must not depend on the instruction set. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,popcnt")
#endif
#define ISA(name) name##_avx2
#include "geometry_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "geometry.h"
double geo_riesz_avx2(const double *columns, int64_t n, int64_t n_padded, int64_t d, double s, double *gradient, int64_t *pair) {
    return geo_riesz_base(columns, n, n_padded, d, s, gradient, pair);
}
void geo_extremes_avx2(const double *columns, int64_t n, int64_t n_padded, int64_t d, double *square, int64_t *pairs) {
    geo_extremes_base(columns, n, n_padded, d, square, pairs);
}
double geo_triangle_avx2(const double *columns, int64_t n, int64_t n_padded, int64_t *triple) {
    return geo_triangle_base(columns, n, n_padded, triple);
}
uint64_t geo_signs_avx2(const double *columns, int64_t m_padded, int n, double *work) {
    return geo_signs_base(columns, m_padded, n, work);
}
#endif
