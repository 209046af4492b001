/* Minimising the largest value of an autoconvolution or overlap through its smoothed maximum (log-sum-exp).
   The implementation is smoothmax_impl.h, compiled twice: for the baseline and for AVX2. */
#ifndef EVOCORE_SMOOTHMAX_H
#define EVOCORE_SMOOTHMAX_H

#include "pool.h"

enum { SM_AUTOCONVOLUTION, SM_SIGNED, SM_SPREAD, SM_OVERLAP };

typedef struct {
    pooled idle;
    int kind;
    long n;             /* length of the construction */
    long n_lags;        /* 2n - 1 */
    int memory;         /* pairs that L-BFGS keeps */
    void *plan;         /* fft_plan */
    void *point;        /* fft_point */
    double *f, *c, *p, *gf;     /* construction, its lags (scores' unit), weights, gradient in f */
    double *q;                  /* one half of an even kernel */
    double *fr, *fi, *qr, *qi;  /* values of f and of the weights at the plan's points */
    double *grad, *dir, *xt, *gt, *best_x; /* of length n */
    double *s, *y, *rho, *alpha; /* L-BFGS pairs */
    double *sums;               /* prefix sums of the overlap */
    double shift;       /* SM_OVERLAP: of the last construction */
    double level;       /* SM_SPREAD: the maximum that beta is relative to, fixed within a stage */
    double best;        /* least true objective seen since sm_reset_best */
    long n_evaluations;
    double *block;
} sm_state;

int sm_init(sm_state *st, int kind, long n, int memory);
void sm_free(sm_state *st);

/* Value of the smoothed objective at x and its gradient; *peak receives the true objective. */
double sm_evaluate_base(sm_state *st, const double *x, double beta, double *gradient, double *peak);
double sm_evaluate_avx2(sm_state *st, const double *x, double beta, double *gradient, double *peak);

/* max + log(sum exp(beta (c - max))) / beta, and its gradient p; exp(x) into out. At least one value. */
double sm_log_sum_exp_base(const double *c, long n, double beta, double *p);
double sm_log_sum_exp_avx2(const double *c, long n, double beta, double *p);
void sm_exp_base(const double *x, long n, double *out);
void sm_exp_avx2(const double *x, long n, double *out);

/* All of this with buffers of their own and on the fastest path of this processor: what a caller from another language
   needs. SM_SPREAD's beta is relative to the maximum at x. */
enum { SM_OK = 0, SM_NO_MEMORY = -1, SM_FAULT = -2 };
int sm_value(int kind, const double *x, long n, double beta, double *gradient, double *value, double *peak);
double sm_log_sum_exp(const double *c, long n, double beta, double *p);
void sm_exp(const double *x, long n, double *out);

/* Whether the transforms of the last evaluation pass the check of fft.h. */
int sm_holds_base(sm_state *st);
int sm_holds_avx2(sm_state *st);

/* Products of the Hessian at x with `count` directions v, a row each, into out (a row each; at least one row). Not for
   SM_SPREAD. 0, or -1 when there is no memory. */
int sm_hessian_base(sm_state *st, const double *x, double beta, const double *v, long count, double *out);
int sm_hessian_avx2(sm_state *st, const double *x, double beta, const double *v, long count, double *out);

/* One stage: at most n_iterations of L-BFGS at a fixed beta, in place. Stops early at the deadline (CLOCK_MONOTONIC
   seconds) or when nothing moves. The best point by true objective is kept in st->best_x. Returns iterations done.
   The last `mirrored` values (at most n/2) are set to the mirror image of the first ones, and stay that. */
long sm_stage_base(sm_state *st, double *x, double beta, long n_iterations, long mirrored, double deadline);
long sm_stage_avx2(sm_state *st, double *x, double beta, long n_iterations, long mirrored, double deadline);

#endif
