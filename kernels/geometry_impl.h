/* Included by geometry_base.c and geometry_avx2.c, each of which defines ISA(name). */
#include <float.h>
#include <math.h>
#include "geometry.h"
#include "lanes.h"

static inline v4d squares(const double *columns, int64_t n_padded, int64_t d, int64_t i, int64_t j) {
    v4d sum = {0};
    for (int64_t k = 0; k < d; k++) {
        v4d apart = v4_load(columns + k * n_padded + j) - v4_set(columns[k * n_padded + i]);
        sum += apart * apart;
    }
    return sum;
}

/* The point nearest to i, the first of equal ones. */
static int64_t nearest(const double *columns, int64_t n, int64_t n_padded, int64_t d, int64_t i) {
    int64_t found = -1;
    double least = INFINITY;
    for (int64_t j = 0; j < n; j++) {
        double square = squares(columns, n_padded, d, i, j & -4)[j & 3];
        if (j != i && square < least) {
            least = square;
            found = j;
        }
    }
    return found;
}

/* r^-s out of r^2: square roots and products where s is a small whole number, the library's pow elsewhere. */
static inline v4d inverse_power(v4d square, double s, int whole) {
    if (whole < 0) {
        v4d out;
        for (int lane = 0; lane < 4; lane++) out[lane] = pow(square[lane], -0.5 * s);
        return out;
    }
    v4d inverse = v4_set(1.0) / square, out = whole & 1 ? v4_set(1.0) / v4_sqrt(square) : v4_set(1.0);
    for (int left = whole >> 1; left; left >>= 1) {
        if (left & 1) out *= inverse;
        inverse *= inverse;
    }
    return out;
}

double ISA(geo_riesz)(
    const double *columns, int64_t n, int64_t n_padded, int64_t d, double s, double *gradient, int64_t *pair
) {
    const int whole = s == floor(s) && s <= 64.0 ? (int)s : -1;
    const v4d zero = {0}, first = {0, 1, 2, 3};
    double energy = 0.0;
    pair[0] = pair[1] = -1;
    for (int64_t i = 0; i < n; i++) {
        v4d mine = zero;
        for (int64_t k = 0; k < d && gradient; k++) gradient[k * n_padded + i] = 0.0;
        for (int64_t j = 0; j < n; j += 4) {
            v4d square = squares(columns, n_padded, d, i, j), at = first + v4_set((double)j);
            v4i other = (at != v4_set((double)i)) & (at < v4_set((double)n));
            v4i together = other & (square < v4_set(DBL_MIN));
            if (v4_bits(together)) {
                pair[0] = i;
                pair[1] = j + __builtin_ctz((unsigned)v4_bits(together));
                return INFINITY;
            }
            square = (v4d)(((v4i)square & other) | ((v4i)v4_set(1.0) & ~other));
            v4d term, slope;
            if (s == 0.0) {
                for (int lane = 0; lane < 4; lane++) term[lane] = -0.5 * log(square[lane]);
                slope = v4_set(1.0) / square;
            } else {
                term = inverse_power(square, s, whole);
                slope = v4_set(s) * term / square;
            }
            mine += (v4d)((v4i)term & other);
            slope = (v4d)((v4i)slope & other);
            for (int64_t k = 0; k < d && gradient; k++) {
                v4d apart = v4_load(columns + k * n_padded + j) - v4_set(columns[k * n_padded + i]);
                gradient[k * n_padded + i] += v4_sum(slope * apart);
            }
        }
        energy += v4_sum(mine);
        int within = isfinite(energy) != 0;
        for (int64_t k = 0; k < d && gradient; k++) within &= isfinite(gradient[k * n_padded + i]) != 0;
        if (!within) {
            pair[0] = i;
            pair[1] = nearest(columns, n, n_padded, d, i);
            return INFINITY;
        }
    }
    return 0.5 * energy;
}

void ISA(geo_extremes)(const double *columns, int64_t n, int64_t n_padded, int64_t d, double *square, int64_t *pairs) {
    square[0] = INFINITY;
    square[1] = -INFINITY;
    for (int64_t i = 0; i + 1 < n; i++) {
        v4d least = v4_set(square[0]), largest = v4_set(square[1]);
        for (int64_t j = i + 1; j < n; j += 4) {
            v4d here = squares(columns, n_padded, d, i, j < n_padded - 4 ? j : n_padded - 4);
            least = v4_min(here, least);
            largest = v4_max_of(here, largest);
        }
        /* the last vector may reach back to points before i + 1, even to i: then the row is looked at one by one */
        if (-v4_max(-least) < square[0] || v4_max(largest) > square[1])
            for (int64_t j = i + 1; j < n; j++) {
                double here = 0.0;
                for (int64_t k = 0; k < d; k++) {
                    double apart = columns[k * n_padded + j] - columns[k * n_padded + i];
                    here += apart * apart;
                }
                if (here < square[0]) {
                    square[0] = here;
                    pairs[0] = i;
                    pairs[1] = j;
                }
                if (here > square[1]) {
                    square[1] = here;
                    pairs[2] = i;
                    pairs[3] = j;
                }
            }
    }
}

static inline double cross(const double *x, const double *y, int64_t i, int64_t j, int64_t k) {
    return fabs((x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i]));
}

double ISA(geo_triangle)(const double *columns, int64_t n, int64_t n_padded, int64_t *triple) {
    const double *x = columns, *y = columns + n_padded;
    double best = INFINITY;
    for (int64_t i = 0; i + 2 < n; i++)
        for (int64_t j = i + 1; j + 1 < n; j++) {
            v4d dx = v4_set(x[j] - x[i]), dy = v4_set(y[j] - y[i]), xi = v4_set(x[i]), yi = v4_set(y[i]);
            v4d limit = v4_set(best);
            int64_t k = j + 1;
            for (; k + 4 <= n; k += 4) {
                v4d area = dx * (v4_load(y + k) - yi) - (v4_load(x + k) - xi) * dy;
                v4i less = (area < limit) & (area > -limit);
                if (!v4_bits(less)) continue;
                for (int64_t t = k; t < k + 4; t++)
                    if (cross(x, y, i, j, t) < best) {
                        best = cross(x, y, i, j, t);
                        triple[0] = i;
                        triple[1] = j;
                        triple[2] = t;
                    }
                limit = v4_set(best);
            }
            for (; k < n; k++)
                if (cross(x, y, i, j, k) < best) {
                    best = cross(x, y, i, j, k);
                    triple[0] = i;
                    triple[1] = j;
                    triple[2] = k;
                }
        }
    return best;
}

/* All sign vectors in the order of Gray's code: one column is added or taken away at a time; every 1024 steps the sum is
   started afresh, so that rounding does not pile up. */
uint64_t ISA(geo_signs)(const double *columns, int64_t m_padded, int n, double *work) {
    uint64_t best_signs = 0, n_steps = (uint64_t)1 << (n - 1);
    double best = INFINITY;
    for (uint64_t step = 0; step < n_steps; step++) {
        uint64_t signs = step ^ step >> 1;
        v4d largest = {0};
        if (step % 1024 == 0) {
            for (int64_t r = 0; r < m_padded; r += 4) {
                v4d sum = {0};
                for (int k = 0; k < n; k++) {
                    v4d a = v4_load(columns + k * m_padded + r);
                    sum = signs >> k & 1 ? sum - a : sum + a;
                }
                v4_store(work + r, sum);
                largest = v4_max_of(v4_max_of(sum, -sum), largest);
            }
        } else {
            int k = __builtin_ctzll(step);
            const double *column = columns + k * m_padded;
            const v4d twice = v4_set(signs >> k & 1 ? -2.0 : 2.0);
            for (int64_t r = 0; r < m_padded; r += 4) {
                v4d sum = v4_load(work + r) + twice * v4_load(column + r);
                v4_store(work + r, sum);
                largest = v4_max_of(v4_max_of(sum, -sum), largest);
            }
        }
        double value = v4_max(largest);
        if (value < best) {
            best = value;
            best_signs = signs;
        }
    }
    return best_signs;
}
