/* The portable build: fma() is exact everywhere, and slow only where the processor has none. */
#include <math.h>
#define ISA(name) name##_base
#define FMA1(a, b, c) fma(a, b, c)
#define FMA4(a, b, c) fma4(a, b, c)
#include "simd.h"
static inline v4d fma4(v4d a, v4d b, v4d c) {
    return (v4d){fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1]), fma(a[2], b[2], c[2]), fma(a[3], b[3], c[3])};
}
#include "blas_impl.h"
