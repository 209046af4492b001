/* Dominance among points that are to be minimised; what the functions compute is said in dominance.py. */
#ifndef EVOCORE_DOMINANCE_H
#define EVOCORE_DOMINANCE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* n points of d coordinates, as rows (rows[i * d + k]) and as columns (columns[k * n + i]); finite, to be minimised. */
typedef struct {
    int64_t n;
    int d;
    const double *rows;
    const double *columns;
    double *own_rows;
    double *own_columns;
} dom_points;

/* 0, or -1: no memory. *bad is the flat index of the first value that is not finite, or -1. */
int dom_pack(dom_points *p, const double *points, int64_t n, int d, const uint8_t *flip, int64_t *bad);
void dom_release(dom_points *p);

/* Equal coordinates: a[0..d-1] == b[0..d-1]. */
static inline int dom_equal(const dom_points *p, int64_t a, int64_t b) {
    for (int k = 0; k < p->d; k++)
        if (p->rows[a * p->d + k] != p->rows[b * p->d + k]) return 0;
    return 1;
}

/* Sorts the m indices of `order` by the keys in [0, 1], then by the coordinates (starting at coordinate `first`), then by index; a key
   must not fall where the coordinates rise. work: 2 m values. */
void dom_sort(const dom_points *p, uint32_t *order, const double *key, int64_t m, int first, uint64_t *work);

/* keep[i] = 1 for the points that no other dominates; of equal ones the first alone if `first`. Each returns 0, or -1: no memory. */
int dom_filter_base(const dom_points *p, int first, uint8_t *keep);
int dom_filter_avx2(const dom_points *p, int first, uint8_t *keep);

/* The same of rows as they are, on the fastest path of this processor: what a caller from another language needs. */
enum { DOM_OK = 0, DOM_NO_MEMORY = -1, DOM_NOT_FINITE = -2 };
int dom_filter(const double *points, int64_t n, int d, int first, uint8_t *keep);

/* rank[i] = 0 for the points that no other dominates, 1 for those that only these dominate, and so on. */
int dom_ranks_base(const dom_points *p, int64_t *rank);
int dom_ranks_avx2(const dom_points *p, int64_t *rank);

/* out[i * m + j] = max over k of p[i, k] - q[j, k]; q as columns. */
void dom_excess_base(const double *p, int64_t n, const double *q_columns, int64_t m, int d, double *out);
void dom_excess_avx2(const double *p, int64_t n, const double *q_columns, int64_t m, int d, double *out);

/* max over j of min over i of max over k of p[i, k] - q[j, k]; p as columns, q as rows. */
double dom_indicator_base(const double *p_columns, int64_t n, const double *q, int64_t m, int d);
double dom_indicator_avx2(const double *p_columns, int64_t n, const double *q, int64_t m, int d);

/* out[i * m + j] = 1 where f_i outdoes g_j: first coordinate more than epsilon larger, or within epsilon and strictly larger in every
   other one. f as rows, g as columns. */
void dom_outdoes_base(const double *f, int64_t n, const double *g_columns, int64_t m, int d, double epsilon, uint8_t *out);
void dom_outdoes_avx2(const double *f, int64_t n, const double *g_columns, int64_t m, int d, double epsilon, uint8_t *out);

/* The sweeps for two and three coordinates, over the m indices of `order`; out as in the filter. */
void dom_sweep2(const dom_points *p, const uint32_t *order, int64_t m, int first, uint8_t *keep);
int dom_sweep3(
    const dom_points *p, const uint32_t *order, const double *key0, int64_t m, int first, uint64_t *work, uint8_t *keep
);
int dom_ranks2(const dom_points *p, const uint32_t *order, int64_t *rank);

#endif
