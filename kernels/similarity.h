/* Mean absolute differences between rows; what the functions compute is said in similarity.py. */
#ifndef EVOCORE_SIMILARITY_H
#define EVOCORE_SIMILARITY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIM_F64, SIM_F32, SIM_U8, SIM_BITS };

#define SIM_BLOCK 48    /* rows of a block: its values, and its rows' part in one panel, stay in the cache */
#define SIM_SQUARE 192 /* rows of a square of blocks: what is written stays near */
#define SIM_PANEL 1024  /* bytes of a row that are worked on at once */

/* n rows in panels of SIM_PANEL bytes, zeros behind each row's end and behind the last row:
   byte t of row i in panel c stands at data[c * SIM_PANEL * n_padded + i * width(c) + t]. */
typedef struct {
    int kind;
    int64_t n, n_padded, m, row_bytes;
    char *data; /* in block, at a multiple of 64 */
    void *block;
    double *sums; /* of each row, added in the lane order of the block kernels; floats only */
    double unit;  /* distance that counts as 1: m, or levels * m */
} sim_rows;

/* Who gets what a block of similarities is for. */
typedef struct {
    double *full;      /* (n, n) or (n, n_others) */
    float *full32;     /* the same in single precision */
    double *condensed; /* upper triangle without diagonal, row by row */
    float *condensed32;
    int64_t k;         /* top-k: the k best of each row, best first, lower index first among equal ones */
    double *best;      /* (n, k), filled with -inf */
    int64_t *best_index;
    double *eta;       /* eta[i] = - sum over j of similarity(i, j) where j outdoes i */
    const double *fitness; /* (d, n) columns */
    int d;
    double epsilon;
} sim_sink;

/* 0, or -1: no memory. */
int sim_pack(sim_rows *r, int kind, const char *rows, int64_t n, int64_t m, int64_t row_bytes, double unit);
void sim_release(sim_rows *r);

/* Sums of the rows; the first row with a value that is not finite or beyond `limit`, or -1. */
int64_t sim_sums_base(sim_rows *r, double limit);
int64_t sim_sums_avx2(sim_rows *r, double limit);

/* All pairs of rows of one set, or (other != NULL) of two. 0, or -1: no memory. */
int sim_pairs_base(const sim_rows *r, const sim_rows *other, const sim_sink *sink);
int sim_pairs_avx2(const sim_rows *r, const sim_rows *other, const sim_sink *sink);

/* (n, n_others) similarities of float64 rows, as they are and on the fastest path of this processor: what a caller from
   another language needs. */
enum { SIM_OK = 0, SIM_NO_MEMORY = -1, SIM_TOO_LARGE = -2 };
int sim_matrix(const double *rows, int64_t n, const double *others, int64_t n_others, int64_t m, double *out);

/* k rows, each the farthest from those before it, starting with picks[0]. 0, or -1: no memory. */
int sim_farthest_f64_base(const double *x, int64_t n, int64_t m, int64_t k, int64_t *picks);
int sim_farthest_f64_avx2(const double *x, int64_t n, int64_t m, int64_t k, int64_t *picks);
int sim_farthest_bytes_base(const uint8_t *x, int64_t n, int64_t row_bytes, int is_bits, int64_t k, int64_t *picks);
int sim_farthest_bytes_avx2(const uint8_t *x, int64_t n, int64_t row_bytes, int is_bits, int64_t k, int64_t *picks);

/* The k of n <= 16 points whose least distance is largest, the first such choice in lexicographic order. */
void sim_dispersion(const double *distance, int n, int k, int64_t *picks);

#endif
