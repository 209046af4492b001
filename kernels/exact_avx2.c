/* The same source for AVX2. No fused multiply-add: the error bound and the bits are those of the portable build. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define ISA(name) name##_avx2
#include "exact_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "exact.h"
int exact_filter_avx2(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double *radius) {
    return exact_filter_base(w, a, b, kind, radius);
}
int exact_extreme_avx2(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double radius, int sign,
                       double max_products, exact_number *out, long *n_candidates) {
    return exact_extreme_base(w, a, b, kind, radius, sign, max_products, out, n_candidates);
}
#endif
