/* Indices that sort doubles, ascending: radix passes over a linear key, then an insertion pass that repairs what the key
   could not tell apart. Keys that tell too little (skewed values) cost eight byte passes over the doubles instead. */
#ifndef EVOCORE_HYPERVOLUME_ORDER_H
#define EVOCORE_HYPERVOLUME_ORDER_H

#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t *a, *b; /* n each: key << 32 | index */
} order_scratch;

static inline uint64_t ordered_bits(double x) { /* unsigned order of the result = order of x; -0 and +0 are one value */
    x += 0.0;
    uint64_t u;
    memcpy(&u, &x, 8);
    return u ^ ((uint64_t)((int64_t)u >> 63) | 0x8000000000000000u);
}

static void order_by_bytes(const double *x, long stride, long n, uint32_t *out, order_scratch s) {
    uint32_t *from = (uint32_t *)s.a, *to = (uint32_t *)s.b;
    for (long i = 0; i < n; i++) from[i] = (uint32_t)i;
    for (int shift = 0; shift < 64; shift += 8) {
        uint32_t at[256] = {0}, sum = 0;
        for (long i = 0; i < n; i++) at[ordered_bits(x[i * stride]) >> shift & 255]++;
        for (int k = 0; k < 256; k++) {
            uint32_t c = at[k];
            at[k] = sum;
            sum += c;
        }
        for (long i = 0; i < n; i++) to[at[ordered_bits(x[from[i] * stride]) >> shift & 255]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    memcpy(out, from, sizeof(uint32_t) * (size_t)n);
}

static void order_small(const double *x, long stride, long n, uint32_t *out) {
    for (long i = 0; i < n; i++) {
        double v = x[i * stride];
        long k = i;
        for (; k > 0 && x[out[k - 1] * stride] > v; k--) out[k] = out[k - 1];
        out[k] = (uint32_t)i;
    }
}

#define ORDER_MAX_DIGIT 11

static void order_by(const double *x, long stride, long n, uint32_t *out, order_scratch s) {
    if (n <= 24) {
        order_small(x, stride, n, out);
        return;
    }
    double low = x[0], high = x[0];
    for (long i = 1; i < n; i++) {
        double v = x[i * stride];
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    const int digit = n < 1024 ? 8 : ORDER_MAX_DIGIT, n_bins = 1 << digit;
    const double top = (double)(1 << 2 * digit) - 1.0, scale = top / (high - low);
    if (!(scale > 0.0 && scale < 1e300)) { /* one value only, or a range beyond doubles */
        order_by_bytes(x, stride, n, out, s);
        return;
    }
    uint32_t first[1 << ORDER_MAX_DIGIT], second[1 << ORDER_MAX_DIGIT];
    memset(first, 0, sizeof(uint32_t) * (size_t)n_bins);
    memset(second, 0, sizeof(uint32_t) * (size_t)n_bins);
    const uint32_t mask = (uint32_t)n_bins - 1;
    for (long i = 0; i < n; i++) {
        double t = (x[i * stride] - low) * scale;
        uint32_t key = (uint32_t)(int32_t)(t < top ? t : top);
        first[key & mask]++;
        second[key >> digit]++;
        s.a[i] = (uint64_t)key << 32 | (uint64_t)i;
    }
    for (uint32_t k = 0, sum1 = 0, sum2 = 0; k <= mask; k++) {
        uint32_t c1 = first[k], c2 = second[k];
        first[k] = sum1;
        second[k] = sum2;
        sum1 += c1;
        sum2 += c2;
    }
    for (long i = 0; i < n; i++) s.b[first[(uint32_t)(s.a[i] >> 32) & mask]++] = s.a[i];
    for (long i = 0; i < n; i++) out[second[(uint32_t)(s.b[i] >> 32) >> digit]++] = (uint32_t)s.b[i];
    long moves = 4 * n;
    double last = x[out[0] * stride];
    for (long i = 1; i < n; i++) {
        uint32_t index = out[i];
        double v = x[index * stride];
        if (v >= last) {
            last = v;
            continue;
        }
        long k = i;
        for (; k > 0 && x[out[k - 1] * stride] > v; k--) out[k] = out[k - 1];
        out[k] = index;
        moves -= i - k;
        if (moves < 0) {
            order_by_bytes(x, stride, n, out, s);
            return;
        }
    }
}

#endif
