/* More on the lanes of simd.h: minimum, comparison, and "is any lane set". Each has one meaning and two spellings. */
#ifndef EVOCORE_LANES_H
#define EVOCORE_LANES_H

#include "simd.h"
#if defined(__SSE2__) || defined(__AVX__)
#include <immintrin.h>
#endif

#define LANES_INLINE static inline __attribute__((always_inline))

typedef float v8f __attribute__((vector_size(32)));
typedef int32_t v8i __attribute__((vector_size(32)));
typedef uint64_t v4u __attribute__((vector_size(32)));

/* a < b ? a : b, lane by lane: the compiler does not find the one instruction for it by itself. */
LANES_INLINE v4d v4_min(v4d a, v4d b) {
#if defined(__AVX__)
    return (v4d)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    v4i m = a < b;
    return (v4d)(((v4i)a & m) | ((v4i)b & ~m));
#endif
}

LANES_INLINE v4d v4_max_of(v4d a, v4d b) {
#if defined(__AVX__)
    return (v4d)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    v4i m = a > b;
    return (v4d)(((v4i)a & m) | ((v4i)b & ~m));
#endif
}

/* Rounded correctly, as IEEE 754 asks for. */
LANES_INLINE v4d v4_sqrt(v4d v) {
#if defined(__AVX__)
    return (v4d)_mm256_sqrt_pd((__m256d)v);
#else
    return (v4d){__builtin_sqrt(v[0]), __builtin_sqrt(v[1]), __builtin_sqrt(v[2]), __builtin_sqrt(v[3])};
#endif
}

LANES_INLINE v8f v8_load(const float *p) {
    v8f v;
    memcpy(&v, p, sizeof v);
    return v;
}

LANES_INLINE v8f v8_min(v8f a, v8f b) {
#if defined(__AVX__)
    return (v8f)_mm256_min_ps((__m256)a, (__m256)b);
#else
    v8i m = a < b;
    return (v8f)(((v8i)a & m) | ((v8i)b & ~m));
#endif
}

LANES_INLINE float v8_sum(v8f v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

LANES_INLINE v4u v4u_load(const uint64_t *p) {
    v4u v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* One bit a lane, out of lanes that are all ones or all zeros. */
LANES_INLINE int v4_bits(v4i m) {
#if defined(__AVX__)
    return _mm256_movemask_pd((__m256d)m);
#else
    return (int)((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
#endif
}

LANES_INLINE int v4_any(v4u v) {
#if defined(__AVX__)
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#else
    return (v[0] | v[1] | v[2] | v[3]) != 0;
#endif
}

#endif
