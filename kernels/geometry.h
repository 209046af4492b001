/* Points, triples and sums of the extremal problems; what the functions compute is said in geometry.py. */
#ifndef EVOCORE_GEOMETRY_H
#define EVOCORE_GEOMETRY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Integers whose products and sums are known to fit. */
void geo_gram(const int64_t *x, int64_t n, int64_t d, int64_t *out);
int64_t geo_least_square(const int64_t *x, int64_t n, int64_t d, int64_t *pair);

/* Columns of stride n_padded, a multiple of 4. The gradient as columns of the same stride, or NULL. pair: where two points
   come so near that a square is below double's normal range or energy or gradient beyond it (with INFINITY returned), or -1. */
double geo_riesz_base(const double *columns, int64_t n, int64_t n_padded, int64_t d, double s, double *gradient, int64_t *pair);
double geo_riesz_avx2(const double *columns, int64_t n, int64_t n_padded, int64_t d, double s, double *gradient, int64_t *pair);

/* square[0], square[1]: least and largest squared distance; pairs[0..1], pairs[2..3]: theirs, the first in lexicographic order. */
void geo_extremes_base(const double *columns, int64_t n, int64_t n_padded, int64_t d, double *square, int64_t *pairs);
void geo_extremes_avx2(const double *columns, int64_t n, int64_t n_padded, int64_t d, double *square, int64_t *pairs);

/* Least |cross product| over triples, and the first such triple in lexicographic order. */
double geo_triangle_base(const double *columns, int64_t n, int64_t n_padded, int64_t *triple);
double geo_triangle_avx2(const double *columns, int64_t n, int64_t n_padded, int64_t *triple);

/* max over 1 <= x < next of sum_k value_k floor(x / key_k), the first such x, and the sum itself in two parts. */
typedef struct {
    int64_t next, where;
    double high, low, best;
} geo_floor;

/* Goes on from s->next towards limit until either is done: the limit, or about so many steps. */
void geo_floor_sums(const int64_t *keys, const double *values, int64_t n, int64_t limit, int64_t n_steps, geo_floor *s);

/* Bits of the sign vector (1 is minus, the last sign is plus) with least max |A x|; columns of A of stride m_padded; work: m_padded. */
uint64_t geo_signs_base(const double *columns, int64_t m_padded, int n, double *work);
uint64_t geo_signs_avx2(const double *columns, int64_t m_padded, int n, double *work);

#endif
