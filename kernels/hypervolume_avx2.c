/* The same source for AVX2. No fused multiply-add: results must not depend on the instruction set. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define ISA(name) name##_avx2
#include "hypervolume_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "hypervolume.h"
int hv_volume_avx2(const double *points, long n, long d, const double *reference, hv_call call, double *value) {
    return hv_volume_base(points, n, d, reference, call, value);
}
int hv_contributions_avx2(const double *points, long n, long d, const double *reference, hv_call call, double *out) {
    return hv_contributions_base(points, n, d, reference, call, out);
}
void hv_boxes_gain_avx2(const hv_boxes *b, const double *z, long n, double *gains) { hv_boxes_gain_base(b, z, n, gains); }
int hv_boxes_insert_avx2(hv_boxes *b, const double *z, double *gain, int *taken) {
    return hv_boxes_insert_base(b, z, gain, taken);
}
long hv_drop_covered_avx2(double *columns, long step, long n, long d, const double *z) {
    return hv_drop_covered_base(columns, step, n, d, z);
}
#endif
