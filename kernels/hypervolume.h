/* Exact hypervolume, exclusive contributions, and the boxes that an archive keeps. Everything here minimises: a point p
   dominates the box [p, r) of the reference point r. The implementation is hypervolume_impl.h, compiled twice. */
#ifndef EVOCORE_HYPERVOLUME_H
#define EVOCORE_HYPERVOLUME_H

#include <stddef.h>
#include <stdint.h>

/* Vectors of four doubles are passed only between functions that are inlined. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

enum { HV_OK, HV_NO_MEMORY, HV_NOT_FINITE, HV_INTERRUPTED };

/* Boxes may not take more than so many bytes, 2 GiB at first: an allocation that the machine grants and cannot back ends
   in a killed process instead of an error. */
extern size_t hv_memory_limit;

/* How a call is to be done. `signs` has d entries of +1 (minimise) and -1 (maximise), or is NULL: all minimise. `poll`
   may be NULL; a long computation calls it now and then and gives up with HV_INTERRUPTED when it returns non-zero.
   `method` is HV_AUTO but for tests and benchmarks. */
enum { HV_AUTO, HV_BOXES, HV_GAPS };
typedef struct {
    const double *signs;
    int (*poll)(void);
    int method;
} hv_call;

/* points: n rows of d values; *value receives the volume; out receives n contributions. */
int hv_volume_base(const double *points, long n, long d, const double *reference, hv_call call, double *value);
int hv_volume_avx2(const double *points, long n, long d, const double *reference, hv_call call, double *value);
int hv_contributions_base(const double *points, long n, long d, const double *reference, hv_call call, double *out);
int hv_contributions_avx2(const double *points, long n, long d, const double *reference, hv_call call, double *out);

/* The same, minimised, on the fastest path of this processor: what a caller from another language needs. */
int hv_volume(const double *points, long n, long d, const double *reference, double *value);
int hv_contributions(const double *points, long n, long d, const double *reference, double *out);

/* The part of space below r that no point dominates, as disjoint boxes (see hypervolume_boxes.h). */
typedef struct {
    int d, w;            /* objectives; the same, rounded up to a multiple of four */
    long n_boxes;
    long n_buckets, directory_capacity;
    long n_blocks, block_capacity; /* blocks handed out, blocks allocated */
    size_t stride;       /* bytes of a block */
    unsigned char *pool; /* blocks: the keys, corners, definers and births of up to 64 boxes */
    int16_t *top;        /* largest keys of each bucket, in groups of 64 buckets: [group][objective][64] */
    int32_t *home;       /* block of each bucket */
    int32_t *count;      /* boxes in each bucket */
    int32_t *hits;       /* buckets that the point at hand reaches */
    int32_t *unused;     /* blocks given back */
    long n_unused;
    double *rows;        /* points that define boxes, w values each; row 0 is minus infinity */
    long n_rows, row_capacity;
    unsigned char *spill; /* children that did not fit into their bucket: u, definers, keys, birth */
    double *reference, *offset, *scale; /* w values each */
    int16_t *limits;
} hv_boxes;

#define HV_MAX_ARCHIVE_OBJECTIVES 32

int hv_boxes_init(hv_boxes *b, int d, const double *reference);
void hv_boxes_free(hv_boxes *b);
/* Back to the one box below the reference, with keys that resolve [low, reference). */
void hv_boxes_reset(hv_boxes *b, const double *low);
void hv_boxes_rekey(hv_boxes *b, const double *low);
size_t hv_boxes_bytes(const hv_boxes *b);

/* Volume that z would add, of each of n points (d values each). */
void hv_boxes_gain_base(const hv_boxes *b, const double *z, long n, double *gains);
void hv_boxes_gain_avx2(const hv_boxes *b, const double *z, long n, double *gains);
/* Take z in; *gain receives the volume that it added, *taken whether anything has changed: no point of the set is as good
   in every objective, and z lies below the reference. After HV_NO_MEMORY the boxes must be reset. */
int hv_boxes_insert_base(hv_boxes *b, const double *z, double *gain, int *taken);
int hv_boxes_insert_avx2(hv_boxes *b, const double *z, double *gain, int *taken);

/* Remove those of n points that z is as good as in every objective, keeping the order of the rest; returns how many are
   left. columns: d columns, `step` apart, a multiple of four that is n at least. */
long hv_drop_covered_base(double *columns, long step, long n, long d, const double *z);
long hv_drop_covered_avx2(double *columns, long step, long n, long d, const double *z);

#endif
