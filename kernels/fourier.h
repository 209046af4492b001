/* Convolutions, correlations and overlaps of real vectors by FFT; the loops are in fourier_impl.h, compiled twice. */
#ifndef EVOCORE_FOURIER_H
#define EVOCORE_FOURIER_H

#include "pool.h"

enum { FO_CONVOLVE, FO_CORRELATE };
enum { FO_OK = 0, FO_NO_MEMORY = -1, FO_FAULT = -2 };
enum { FO_AUTOCONVOLUTION, FO_OVERLAP };

/* Transform and buffers of one length. */
typedef struct {
    pooled idle; /* its key is m */
    void *plan, *point;
    long m;
    double *ar, *ai, *br, *bi, *lags, *circular, *x, *y;
    double *block;
} fo_work;

/* For sums of n_lags values; is_binary: a power of two, for which the error bound is proved. */
fo_work *fo_take(long n_lags, int is_binary); /* NULL: no memory */
void fo_give_back(fo_work *w);
long fo_half(long n_lags, int is_binary);
double fo_relative_error(long n_lags, int is_binary);

/* exp(-2 pi i k / n) for all k < n, n a multiple of 8, as the transforms have them. */
int fo_roots(long n, double *re, double *im);

/* Whether sums, each within `error`, may be the products of x and y. */
int fo_holds(int kind, const double *x, long n_x, const double *y, long n_y, const double *sums, double error);

/* Least and largest value; *largest is NaN where a value is not finite. */
void fo_range_base(const double *x, long n, double *least, double *largest);
void fo_range_avx2(const double *x, long n, double *least, double *largest);

void fo_range(const double *x, long n, double *range); /* the same, range[0] and range[1], on the fastest path */

/* All sums, in the order of numpy.convolve or numpy.correlate "full"; y may be x. */
int fo_products_base(fo_work *w, int kind, const double *x, long n_x, const double *y, long n_y, double *out);
int fo_products_avx2(fo_work *w, int kind, const double *x, long n_x, const double *y, long n_y, double *out);

/* The same, with a work of its own and on the fastest path of this processor (where is_fast): all that a caller from
   another language needs. */
int fo_products(int kind, const double *x, long n_x, const double *y, long n_y, double *out, int is_binary, int is_fast);
int fo_maximum(int kind, const double *x, long n, double *out, int is_binary, int is_fast);

/* Largest sum of x with itself. */
int fo_autoconvolution_base(fo_work *w, const double *x, long n, double *out);
int fo_autoconvolution_avx2(fo_work *w, const double *x, long n, double *out);

/* max over shifts s of 2/n sum_i h_i (1 - h_(i+s)). */
int fo_overlap_base(fo_work *w, const double *h, long n, double *out);
int fo_overlap_avx2(fo_work *w, const double *h, long n, double *out);

#endif
