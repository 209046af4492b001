/* Exact sums of products of doubles. A vector is integers over one power of two; what an FFT with a proved error cannot
   rule out as the largest sum is computed in integers. The loops are in exact_impl.h, compiled twice. */
#ifndef EVOCORE_EXACT_H
#define EVOCORE_EXACT_H

#include <stdint.h>

#define EXACT_DIGITS 144   /* of 32 bits: products of two doubles of any exponents, and 2^40 of them */
#define EXACT_KEPT_BITS 62 /* of the largest entry, in `fixed` */

/* Entry i is mantissa[i] * 2^(place[i] + exponent), and fixed[i] = floor(entry / 2^(exponent + dropped)). */
typedef struct {
    long n;
    int64_t *mantissa;
    int64_t *fixed;
    double *scaled;     /* entry / 2^top, below 1 in size */
    int32_t *place;
    int exponent;       /* of the common power of two; 0 where all entries are zero */
    int bits;           /* length of the largest entry over 2^exponent */
    int dropped;        /* 0 where fixed holds the entries themselves */
    int top;
    int has_negative;
    double norm;        /* of scaled, 2-norm, rounded up */
    void *block;
} exact_vector;

/* Digits of weight 2^(32 i), each of either sign until exact_settle. */
typedef struct {
    int64_t digit[EXACT_DIGITS];
    int count;
} exact_number;

enum { EXACT_CONVOLUTION, EXACT_CORRELATION }; /* sum_i a_i b_(k-i); sum_i a_(i+s) b_i with s = k - (n_b - 1) */

enum { EXACT_OK = 0, EXACT_NO_MEMORY = -1, EXACT_FAULT = -2, EXACT_TOO_MANY = -3 };

/* Transform, buffers and results of one power of two; used for any vectors whose lags fit. */
typedef struct {
    void *plan;
    void *point;
    long m;
    double *ar, *ai, *br, *bi, *lags, *circular;
    long *candidate;
    int has_lags;       /* lags hold what exact_filter left there */
    double *block;
} exact_work;

/* 0, EXACT_NO_MEMORY, or 1 + the index of a value that is not finite. */
long exact_vector_init(exact_vector *v, const double *x, long n);
void exact_vector_free(exact_vector *v);
int exact_work_init(exact_work *w, long n_lags);
void exact_work_free(exact_work *w);

void exact_total(const exact_vector *v, exact_number *out);

/* Largest (sign 1) or smallest (sign -1) sum, times 2^(-exponents). At most max_products products are computed one by
   one; n_candidates receives how many sums the first filter left. */
int exact_filter_base(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double *radius);
int exact_filter_avx2(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double *radius);
int exact_extreme_base(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double radius, int sign,
                       double max_products, exact_number *out, long *n_candidates);
int exact_extreme_avx2(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double radius, int sign,
                       double max_products, exact_number *out, long *n_candidates);

/* Shifts 0 <= s < n that can hold the largest of max(sum of first n-s, sum of last n-s) - ratio sum_i h_i h_(i+s)
   over h, after exact_filter of h with itself; into w->candidate. `extra` is by how much the values may be wrong
   because h itself is rounded, in units of the entries. Returns their number. */
long exact_overlap_candidates(exact_work *w, const exact_vector *h, double radius, double extra);
/* The two parts for one shift: the larger of both sums, and the correlation. */
void exact_overlap_parts(const exact_vector *h, long s, exact_number *head, exact_number *product);

/* For the complement of a clipped vector: v holds the entries that are kept, zero elsewhere. Sums of the first and of
   the last n-s entries, of v[i] + v[i+s] over the pairs that are both kept, and of v[i] v[i+s]; counts of kept entries
   in both ranges and of kept pairs. */
void exact_clipped_parts(const exact_vector *v, const uint8_t *kept, long s, exact_number parts[4], long counts[3]);

#endif
