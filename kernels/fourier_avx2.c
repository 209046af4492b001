/* The same source for AVX2. No fused multiply-add: results must not depend on the instruction set. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define ISA(name) name##_avx2
#include "fourier_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "fourier.h"
void fo_range_avx2(const double *x, long n, double *least, double *largest) { fo_range_base(x, n, least, largest); }
int fo_products_avx2(fo_work *w, int kind, const double *x, long n_x, const double *y, long n_y, double *out) {
    return fo_products_base(w, kind, x, n_x, y, n_y, out);
}
int fo_autoconvolution_avx2(fo_work *w, const double *x, long n, double *out) {
    return fo_autoconvolution_base(w, x, n, out);
}
int fo_overlap_avx2(fo_work *w, const double *h, long n, double *out) { return fo_overlap_base(w, h, n, out); }
#endif
