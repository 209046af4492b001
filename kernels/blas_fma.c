/* The same source for AVX2 and FMA. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define ISA(name) name##_fma
#define FMA1(a, b, c) __builtin_fma(a, b, c)
#define FMA4(a, b, c) ((v4d)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#include "blas_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "blas.h"
double blas_dot_fma(int kernel, long n, const double *x, const double *y, int y_is_odd, int n_threads) {
    return blas_dot_base(kernel, n, x, y, y_is_odd, n_threads);
}
double blas_lag_fma(int kernel, const double *a, long n_a, const double *v, long n_v, long k, int n_threads) {
    return blas_lag_base(kernel, a, n_a, v, n_v, k, n_threads);
}
#endif
