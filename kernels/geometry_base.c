/* The portable build, and the loops over integers. */
#define ISA(name) name##_base
#include "geometry_impl.h"

void geo_gram(const int64_t *x, int64_t n, int64_t d, int64_t *out) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < d; k++) sum += x[i * d + k] * x[j * d + k];
            out[i * n + j] = out[j * n + i] = sum;
        }
}

int64_t geo_least_square(const int64_t *x, int64_t n, int64_t d, int64_t *pair) {
    int64_t best = INT64_MAX;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < d; k++) {
                int64_t apart = x[i * d + k] - x[j * d + k];
                sum += apart * apart;
            }
            if (sum < best) {
                best = sum;
                pair[0] = i;
                pair[1] = j;
            }
        }
    return best;
}

/* (high, low) += x, without loss as long as low stays far below high. */
static inline void add_to(double *high, double *low, double x) {
    double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

/* sum_k value_k floor(x / key_k) grows at the multiples of each key: a sieve over windows of x, then running sums. Offsets
   are unsigned: one beyond the window may pass 2^63. */
void geo_floor_sums(const int64_t *keys, const double *values, int64_t n, int64_t limit, int64_t n_steps, geo_floor *s) {
    enum { WINDOW = 4096 };
    double step_high[WINDOW], step_low[WINDOW];
    while (s->next < limit && n_steps > 0) {
        uint64_t left = (uint64_t)(limit - s->next), count = left < WINDOW ? left : WINDOW, nearest = left;
        memset(step_high, 0, sizeof step_high);
        memset(step_low, 0, sizeof step_low);
        n_steps -= WINDOW + n;
        for (int64_t i = 0; i < n; i++) {
            uint64_t key = (uint64_t)keys[i], at = key - 1 - (uint64_t)(s->next - 1) % key;
            for (; at < count; at += key) {
                add_to(step_high + at, step_low + at, values[i]);
                n_steps--;
            }
            if (at < nearest) nearest = at;
        }
        for (uint64_t at = 0; at < count; at++) {
            add_to(&s->high, &s->low, step_high[at]);
            s->low += step_low[at];
            if (s->high + s->low > s->best) {
                s->best = s->high + s->low;
                s->where = s->next + (int64_t)at;
            }
        }
        s->next += (int64_t)nearest;
    }
}
