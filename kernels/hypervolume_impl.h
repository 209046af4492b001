/* Included by hypervolume_base.c and hypervolume_avx2.c, each of which defines ISA(name). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "hypervolume.h"
#include "simd.h"
#include "hypervolume_sweeps.h"
#include "hypervolume_boxes.h"
#include "hypervolume_gaps.h"

/* ---- the points that count --------------------------------------------------------------------------------------- */

typedef struct {
    long n, d;
    const double *x, *r; /* n rows of d values, all below r in every objective, minimised */
    uint32_t *source; /* row of the input that each came from; NULL where x is the input */
    int exponent;     /* volumes are to be multiplied by 2^exponent */
    void *memory;
    double local[256];
} prepared;

/* An axis whose widths are far from one is scaled by a power of two, so that no product leaves the range of doubles on
   its way. Exact, unless a coordinate is 2^1000 times smaller than the axis is wide. Returns the sum of the exponents. */
static int bring_into_range(double *x, double *r, long n, long d) {
    int exponent = 0;
    for (long j = 0; j < d; j++) {
        double low = r[j];
        for (long i = 0; i < n; i++) low = x[i * d + j] < low ? x[i * d + j] : low;
        double quarter = 0.25 * r[j] - 0.25 * low;
        int e = quarter > 0x1p-1000 ? ilogb(quarter) + 2 : ilogb(r[j] - low);
        if (abs(e) * d < 900) continue;
        exponent += e;
        r[j] = ldexp(r[j], -e);
        for (long i = 0; i < n; i++) x[i * d + j] = ldexp(x[i * d + j], -e);
    }
    return exponent;
}

/* What the loops over the input find out, with d known to the compiler where it is small. */
typedef struct {
    double check;            /* not zero where a value is not finite */
    double widest, narrowest;
    long n_inside;
} survey;

static inline __attribute__((always_inline)) survey look_at(const double *points, long n, const long d, const double *r) {
    survey s = {0.0, 0.0, INFINITY, 0};
    for (long i = 0; i < n; i++) {
        int inside = 1;
        for (long j = 0; j < d; j++) {
            double v = points[i * d + j], width = r[j] - v;
            s.check += v * 0.0;
            inside &= width > 0.0;
            s.widest = width > s.widest ? width : s.widest;
            s.narrowest = width < s.narrowest ? width : s.narrowest;
        }
        s.n_inside += inside;
    }
    return s;
}

static survey look(const double *points, long n, long d, const double *r) {
    switch (d) {
        case 2: return look_at(points, n, 2, r);
        case 3: return look_at(points, n, 3, r);
        case 4: return look_at(points, n, 4, r);
        default: return look_at(points, n, d, r);
    }
}

static int prepare(prepared *q, const double *points, long n, long d, const double *reference, const double *signs) {
    q->d = d;
    q->n = 0;
    q->exponent = 0;
    q->memory = NULL;
    q->source = NULL;
    if (n >= INT32_MAX / 8) return HV_NO_MEMORY;
    double check = 0.0; /* becomes NaN at the first value that is not finite */
    for (long j = 0; j < d; j++) check += reference[j] * 0.0;
    int usual = d < 16, flip = 0;
    for (long j = 0; j < d && signs; j++) flip |= signs[j] < 0.0;
    if (!flip) {
        survey s = look(points, n, d, reference);
        if (!(check + s.check == 0.0)) return HV_NOT_FINITE;
        usual &= s.widest < 0x1p60 && s.narrowest > 0x1p-60;
        if (s.n_inside == n && usual) { /* nothing to change: no copy */
            q->n = n;
            q->x = points;
            q->r = reference;
            return HV_OK;
        }
    }
    size_t bytes = sizeof(double) * (size_t)((n + 1) * d) + sizeof(uint32_t) * (size_t)n;
    double *x = q->local;
    if (bytes > sizeof q->local) {
        x = q->memory = malloc(bytes);
        if (!x) return HV_NO_MEMORY;
    }
    double *r = x + n * d;
    q->source = (uint32_t *)(r + d);
    for (long j = 0; j < d; j++) r[j] = flip ? signs[j] * reference[j] : reference[j];
    long m = 0;
    double widest = 0.0, narrowest = INFINITY;
    for (long i = 0; i < n; i++) {
        const double *p = points + i * d;
        double *to = x + m * d;
        int inside = 1;
        for (long j = 0; j < d; j++) {
            double v = flip ? signs[j] * p[j] : p[j], width = r[j] - v;
            check += v * 0.0;
            to[j] = v;
            inside &= width > 0.0;
            widest = width > widest ? width : widest;
            narrowest = width < narrowest && width > 0.0 ? width : narrowest;
        }
        q->source[m] = (uint32_t)i;
        m += inside;
    }
    if (!(check == 0.0)) return HV_NOT_FINITE;
    q->n = m;
    q->x = x;
    q->r = r;
    if (m && !(widest < 0x1p60 && narrowest > 0x1p-60 && d < 16)) q->exponent = bring_into_range(x, r, m, d);
    return HV_OK;
}

static order_scratch take_order(unsigned char **at, long n) {
    order_scratch s = {(uint64_t *)*at, (uint64_t *)*at + n};
    *at += sizeof(uint64_t) * 2 * (size_t)n;
    return s;
}

/* ---- volume ------------------------------------------------------------------------------------------------------ */

static int volume_by_plane(const prepared *q, double *value) { /* two or three objectives */
    long n = q->n;
    size_t bytes = sizeof(uint64_t) * 2 * (size_t)n + (q->d == 2 ? sizeof(uint32_t) * (size_t)n : (size_t)sweep3_bytes(n));
    uint64_t local[512];
    unsigned char *memory = bytes <= sizeof local ? (unsigned char *)local : malloc(bytes), *at = memory;
    if (!memory) return HV_NO_MEMORY;
    order_scratch s = take_order(&at, n);
    if (q->d == 2) {
        *value = volume2(q->x, n, q->r, (uint32_t *)at, s);
    } else {
        sweep3 w;
        sweep3_init(&w, at, q->x, n, s);
        *value = volume3(&w, n, q->r);
    }
    if (memory != (unsigned char *)local) free(memory);
    return HV_OK;
}

static uint32_t *order_of_last(const prepared *q) { /* by the last objective; to be freed */
    unsigned char *memory = malloc((sizeof(uint64_t) * 2 + sizeof(uint32_t)) * (size_t)q->n), *at = memory;
    if (!memory) return NULL;
    order_scratch s = take_order(&at, q->n);
    order_by(q->x + q->d - 1, q->d, q->n, (uint32_t *)at, s);
    memmove(memory, at, sizeof(uint32_t) * (size_t)q->n);
    return (uint32_t *)memory;
}

static void lowest(const prepared *q, double *low) {
    for (long j = 0; j < q->d; j++) low[j] = q->r[j];
    for (long i = 0; i < q->n; i++)
        for (long j = 0; j < q->d; j++) low[j] = q->x[i * q->d + j] < low[j] ? q->x[i * q->d + j] : low[j];
}

/* Sweep the last objective upwards; each point's gain among the others, in the d - 1 first objectives, lasts to r. */
static int volume_by_boxes(const prepared *q, hv_call call, double *value) {
    const long n = q->n, d = q->d;
    double low[HV_MAX_ARCHIVE_OBJECTIVES + 1];
    lowest(q, low);
    uint32_t *order = order_of_last(q);
    hv_boxes b;
    int status = hv_boxes_init(&b, (int)d - 1, q->r);
    if (!order) status = HV_NO_MEMORY;
    if (!status) hv_boxes_reset(&b, low);
    hv_sum total = {0, 0};
    for (long k = 0; k < n && !status; k++) {
        const double *p = q->x + (long)order[k] * d;
        tally t = {0};
        status = insert_point(&b, p, &t);
        add_to(&total, value_of(&t.total) * (q->r[d - 1] - p[d - 1]));
        if (!status && (k & 63) == 63 && call.poll && call.poll()) status = HV_INTERRUPTED;
    }
    hv_boxes_free(&b);
    free(order);
    *value = value_of(&total);
    return status;
}

/* The same sweep, with what each point adds to those before it taken as a gap. */
static int volume_by_gaps(const prepared *q, hv_call call, double *value) {
    const long n = q->n, d = q->d, e = d - 1;
    uint32_t *order = order_of_last(q);
    unsigned char *memory = malloc(race_bytes(n, e) + sizeof(double) * (size_t)(2 * n * e + e) + 2 * sizeof(double *) * (size_t)e);
    gap_state g = {call.poll, 0, HV_OK};
    if (!order || !memory) {
        free(order);
        free(memory);
        return HV_NO_MEMORY;
    }
    double *before = (double *)(memory + race_bytes(n, e)), *reduced = before + n * e, *corner = reduced + n * e;
    const double **from = (const double **)(corner + e);
    hv_sum total = {0, 0};
    for (long k = 0; k < n && !g.failed; k++) {
        const double *p = q->x + (long)order[k] * d;
        race a;
        race_init(&a, memory, before, q->r, k, e, e);
        long m = limit_set(&a, p, q->r, -1, e, reduced, from, from + e, corner);
        if (m >= 0) add_to(&total, gap(p, q->r, reduced, m, e, &g) * (q->r[e] - p[e]));
        memcpy(before + k * e, p, sizeof(double) * (size_t)e);
    }
    free(memory);
    free(order);
    *value = value_of(&total);
    return g.failed;
}

static int use_boxes(long n, long d, int method) {
    if (d - 1 > HV_MAX_ARCHIVE_OBJECTIVES) return 0;
    if (method != HV_AUTO) return method == HV_BOXES;
    return d <= 9 || n <= 1;
}

int ISA(hv_volume)(const double *points, long n, long d, const double *reference, hv_call call, double *value) {
    prepared q;
    *value = 0.0;
    int status = prepare(&q, points, n, d, reference, call.signs);
    if (!status && q.n) {
        if (d == 1) {
            double low;
            lowest(&q, &low);
            *value = q.r[0] - low;
        } else if (d <= 3) {
            status = volume_by_plane(&q, value);
        } else if (use_boxes(q.n, d, call.method)) {
            status = volume_by_boxes(&q, call, value);
        } else {
            status = volume_by_gaps(&q, call, value);
        }
        if (q.exponent) *value = ldexp(*value, q.exponent);
    }
    free(q.memory);
    return status;
}

/* ---- contributions ----------------------------------------------------------------------------------------------- */

static void contributions1(const prepared *q, double *out) {
    double low = q->r[0], second = q->r[0];
    long at = 0;
    for (long i = 0; i < q->n; i++) {
        double v = q->x[i];
        out[i] = 0.0;
        if (v < low) {
            second = low;
            low = v;
            at = i;
        } else if (v < second) {
            second = v;
        }
    }
    out[at] = second - low;
}

static int contributions_by_plane(const prepared *q, double *out) {
    long n = q->n;
    size_t bytes = sizeof(uint64_t) * 2 * (size_t)n;
    if (q->d == 2) bytes += sizeof(uint32_t) * (size_t)n;
    else bytes += (size_t)sweep3_bytes(n) + 8 + sizeof(hv_sum) * (size_t)n + sizeof(slab) * (size_t)(4 * n + 4) + sizeof(int32_t) * 2 * (size_t)n;
    unsigned char *memory = malloc(bytes), *at = memory;
    if (!memory) return HV_NO_MEMORY;
    order_scratch s = take_order(&at, n);
    if (q->d == 2) {
        contributions2(q->x, n, q->r, (uint32_t *)at, s, out);
    } else {
        sweep3 w;
        sweep3_init(&w, at, q->x, n, s);
        at += ((size_t)sweep3_bytes(n) + 7) / 8 * 8;
        regions g = {.out = (hv_sum *)at, .y = w.y, .unused = -1, .n_made = 0};
        memset(g.out, 0, sizeof(hv_sum) * (size_t)n);
        g.slabs = (slab *)(g.out + n);
        g.first = (int32_t *)(g.slabs + 4 * n + 4);
        g.last = g.first + n;
        contributions3(&w, n, q->r, &g);
        for (long i = 0; i < n; i++) out[w.by_x[i]] = value_of(g.out + i);
    }
    free(memory);
    return HV_OK;
}

/* The gap of one point by boxes that live: the limit set, in order of the last objective, cuts the box [p, r) in the
   d - 1 first ones; every box counts with the range of the last objective over which it is there. */
static int gap_by_boxes(hv_boxes *b, const double *p, const double *r, const double *reduced, long m, long d, uint32_t *order,
                        order_scratch s, double *value) {
    order_by(reduced + d - 1, d, m, order, s);
    v4d floor[MAX_VECTORS];
    double padded[HV_MAX_ARCHIVE_OBJECTIVES];
    for (int j = 0; j < b->w; j++) padded[j] = j < b->d ? p[j] : 0.0;
    for (int k = 0; k < b->w / 4; k++) floor[k] = v4_load(padded + 4 * k);
    hv_boxes_reset(b, p);
    bucket_view(b, 0, b->w).birth[0] = p[d - 1];
    tally t = {p[d - 1], floor, {0, 0}, 0};
    for (long k = 0; k < m; k++) {
        const double *q = reduced + (long)order[k] * d;
        t.now = q[d - 1];
        if (live_point(b, q, &t)) return HV_NO_MEMORY;
    }
    t.now = r[d - 1];
    live_to_end(b, &t);
    *value = value_of(&t.total);
    return HV_OK;
}

static int contributions_by_limits(const prepared *q, hv_call call, double *out) {
    const long n = q->n, d = q->d;
    const int boxes = use_boxes(n, d, call.method);
    size_t bytes = race_bytes(n, d) + sizeof(double) * (size_t)(n * d + d) + 2 * sizeof(double *) * (size_t)d +
                   (sizeof(uint64_t) * 2 + sizeof(uint32_t)) * (size_t)n;
    unsigned char *memory = malloc(bytes), *at = memory;
    hv_boxes b = {0};
    gap_state g = {call.poll, 0, HV_OK};
    if (!memory || (boxes && hv_boxes_init(&b, (int)d - 1, q->r))) {
        hv_boxes_free(&b);
        free(memory);
        return HV_NO_MEMORY;
    }
    race a;
    race_init(&a, at, q->x, q->r, n, d, d);
    at += race_bytes(n, d);
    order_scratch s = take_order(&at, n);
    double *reduced = (double *)at, *corner = reduced + n * d;
    const double **from = (const double **)(corner + d);
    uint32_t *order = (uint32_t *)(from + 2 * d);
    for (long i = 0; i < n && !g.failed; i++) {
        const double *p = q->x + i * d;
        long m = limit_set(&a, p, q->r, i, d, reduced, from, from + d, corner);
        out[i] = 0.0;
        if (m > 2 && boxes) g.failed = gap_by_boxes(&b, p, q->r, reduced, m, d, order, s, out + i);
        else if (m >= 0) out[i] = gap(p, q->r, reduced, m, d, &g);
        if (!g.failed && (i & 63) == 63 && call.poll && call.poll()) g.failed = HV_INTERRUPTED;
    }
    hv_boxes_free(&b);
    free(memory);
    return g.failed;
}

int ISA(hv_contributions)(const double *points, long n, long d, const double *reference, hv_call call, double *out) {
    prepared q;
    for (long i = 0; i < n; i++) out[i] = 0.0;
    int status = prepare(&q, points, n, d, reference, call.signs);
    if (!status && q.n) {
        double *inside = q.n == n ? out : malloc(sizeof(double) * (size_t)q.n);
        if (!inside) status = HV_NO_MEMORY;
        else if (d == 1) contributions1(&q, inside);
        else if (d <= 3) status = contributions_by_plane(&q, inside);
        else status = contributions_by_limits(&q, call, inside);
        if (q.exponent)
            for (long i = 0; i < q.n && !status; i++) inside[i] = ldexp(inside[i], q.exponent);
        if (inside && inside != out) {
            for (long i = 0; i < q.n && !status; i++) out[q.source[i]] = inside[i];
            free(inside);
        }
    }
    free(q.memory);
    return status;
}

/* ---- the archive's boxes ----------------------------------------------------------------------------------------- */

void ISA(hv_boxes_gain)(const hv_boxes *b, const double *z, long n, double *gains) {
    for (long i = 0; i < n; i++) gains[i] = gain_point(b, z + i * b->d);
}

/* Keys resolve [offset, reference). A point below starts them anew with room to spare, so that this stays rare. */
static void make_room(hv_boxes *b, const double *z) {
    double low[HV_MAX_ARCHIVE_OBJECTIVES];
    int any = 0;
    for (int j = 0; j < b->d; j++) {
        low[j] = b->offset[j];
        if (z[j] >= low[j]) continue;
        low[j] = z[j] - 0.25 * (b->reference[j] - z[j]);
        any = 1;
    }
    if (any) hv_boxes_rekey(b, low);
}

int ISA(hv_boxes_insert)(hv_boxes *b, const double *z, double *gain, int *taken) {
    tally t = {0};
    make_room(b, z);
    int status = insert_point(b, z, &t);
    *gain = value_of(&t.total);
    *taken = t.taken;
    return status;
}

static inline __attribute__((always_inline)) uint64_t covered64(const double *columns, long step, long m, long d, const double *z) {
    uint64_t bits = m == 64 ? ~(uint64_t)0 : ((uint64_t)1 << m) - 1;
    for (long k = 0; k < m; k += 4) {
        v4i all = {-1, -1, -1, -1};
        for (long j = 0; j < d; j++) all &= v4_load(columns + j * step + k) >= v4_set(z[j]);
        bits &= ~((uint64_t)(15 ^ v4_bits(all)) << k);
    }
    return bits;
}

long ISA(hv_drop_covered)(double *columns, long step, long n, long d, const double *z) {
    long kept = 0;
    for (long at = 0; at < n; at += 64) { /* mostly none of 64 points is covered */
        long m = n - at < 64 ? n - at : 64;
        uint64_t covered = covered64(columns + at, step, m, d, z);
        if (!covered && kept == at) {
            kept += m;
            continue;
        }
        for (long k = 0; k < m; k++) {
            for (long j = 0; j < d; j++) columns[j * step + kept] = columns[j * step + at + k];
            kept += !(covered >> k & 1);
        }
    }
    return kept;
}
