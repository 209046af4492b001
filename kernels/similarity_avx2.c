/* The same source for AVX2. No fused multiply-add: results must not depend on the instruction set. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,popcnt")
#endif
#define ISA(name) name##_avx2
#include "similarity_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "similarity.h"
int64_t sim_sums_avx2(sim_rows *r, double limit) { return sim_sums_base(r, limit); }
int sim_pairs_avx2(const sim_rows *r, const sim_rows *other, const sim_sink *sink) {
    return sim_pairs_base(r, other, sink);
}
int sim_farthest_f64_avx2(const double *x, int64_t n, int64_t m, int64_t k, int64_t *picks) {
    return sim_farthest_f64_base(x, n, m, k, picks);
}
int sim_farthest_bytes_avx2(const uint8_t *x, int64_t n, int64_t row_bytes, int is_bits, int64_t k, int64_t *picks) {
    return sim_farthest_bytes_base(x, n, row_bytes, is_bits, k, picks);
}
#endif
