/* Dot products in the order of operations of OpenBLAS' x86-64 kernels; the loops are in blas_impl.h, compiled twice. */
#ifndef EVOCORE_BLAS_H
#define EVOCORE_BLAS_H

enum { BLAS_HASWELL, BLAS_SKYLAKEX, BLAS_SANDYBRIDGE, BLAS_NEHALEM, BLAS_PRESCOTT, BLAS_KERNELS };

/* x . y, both contiguous. y_is_odd: y begins 8 bytes behind a multiple of 16 (only Prescott's kernel looks at that). */
double blas_dot_base(int kernel, long n, const double *x, const double *y, int y_is_odd, int n_threads);
double blas_dot_fma(int kernel, long n, const double *x, const double *y, int y_is_odd, int n_threads);

/* Entry k of numpy.correlate(a, v, "full"), n_a >= n_v. */
double blas_lag_base(int kernel, const double *a, long n_a, const double *v, long n_v, long k, int n_threads);
double blas_lag_fma(int kernel, const double *a, long n_a, const double *v, long n_v, long k, int n_threads);

#endif
