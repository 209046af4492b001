/* Included by similarity_base.c and similarity_avx2.c, each of which defines ISA(name). */
#include <math.h>
#include "lanes.h"
#include "similarity.h"

static inline int64_t panel_width(const sim_rows *r, int64_t c) {
    int64_t left = r->row_bytes - c * SIM_PANEL;
    return left < SIM_PANEL ? left : SIM_PANEL;
}

static inline const char *panel_row(const sim_rows *r, int64_t c, int64_t i) {
    return r->data + c * SIM_PANEL * r->n_padded + i * panel_width(r, c);
}

/* ---- sums of rows ------------------------------------------------------------------------------------------ */

static inline v4d v4_abs(v4d v) { return (v4d)((v4i)v & 0x7fffffffffffffff); }
static inline v8f v8_abs(v8f v) { return (v8f)((v8i)v & 0x7fffffff); }

int64_t ISA(sim_sums)(sim_rows *r, double limit) {
    int64_t n_panels = (r->row_bytes + SIM_PANEL - 1) / SIM_PANEL;
    for (int64_t i = 0; i < r->n; i++) {
        double sum, largest = 0.0;
        if (r->kind == SIM_F64) {
            v4d s = {0}, t = {0};
            for (int64_t c = 0; c < n_panels; c++) {
                const double *x = (const double *)panel_row(r, c, i);
                for (int64_t k = 0; k < panel_width(r, c) / 8; k += 4) {
                    s += v4_load(x + k);
                    t = v4_max_of(v4_abs(v4_load(x + k)), t);
                }
            }
            sum = v4_sum(s);
            largest = v4_max(t);
        } else {
            v8f s = {0}, t = {0};
            for (int64_t c = 0; c < n_panels; c++) {
                const float *x = (const float *)panel_row(r, c, i);
                for (int64_t k = 0; k < panel_width(r, c) / 4; k += 8) {
                    v8f v = v8_load(x + k);
                    s += v;
                    t = -v8_min(-v8_abs(v), -t);
                }
            }
            sum = v8_sum(s);
            for (int lane = 0; lane < 8; lane++) largest = t[lane] > largest ? t[lane] : largest;
        }
        if (!isfinite(sum) || !(largest <= limit)) return i;
        r->sums[i] = sum;
    }
    return -1;
}

/* ---- one tile: 3 x 3 pairs over one panel ------------------------------------------------------------------ */

typedef union {
    v4d d;
    v8f f;
    v4u u;
} lanes;

#define FOR_NINE(DO) DO(0, 0) DO(0, 1) DO(0, 2) DO(1, 0) DO(1, 1) DO(1, 2) DO(2, 0) DO(2, 1) DO(2, 2)

/* sum |x - y| = sum x + sum y - 2 sum min(x, y): two operations an element instead of three. */
static void tile_f64(const char *pa, const char *pb, int64_t width, int is_first, lanes *acc) {
    int64_t step = width / 8;
    const double *a0 = (const double *)pa, *a1 = a0 + step, *a2 = a1 + step;
    const double *b0 = (const double *)pb, *b1 = b0 + step, *b2 = b1 + step;
#define START(i, j) v4d c##i##j = is_first ? v4_set(0.0) : acc[i * SIM_BLOCK + j].d;
    FOR_NINE(START)
#undef START
    for (int64_t k = 0; k < step; k += 4) {
        v4d x0 = v4_load(a0 + k), x1 = v4_load(a1 + k), x2 = v4_load(a2 + k), y = v4_load(b0 + k);
        c00 += v4_min(x0, y);
        c10 += v4_min(x1, y);
        c20 += v4_min(x2, y);
        y = v4_load(b1 + k);
        c01 += v4_min(x0, y);
        c11 += v4_min(x1, y);
        c21 += v4_min(x2, y);
        y = v4_load(b2 + k);
        c02 += v4_min(x0, y);
        c12 += v4_min(x1, y);
        c22 += v4_min(x2, y);
    }
#define STOP(i, j) acc[i * SIM_BLOCK + j].d = c##i##j;
    FOR_NINE(STOP)
#undef STOP
}

static void tile_f32(const char *pa, const char *pb, int64_t width, int is_first, lanes *acc) {
    int64_t step = width / 4;
    const float *a0 = (const float *)pa, *a1 = a0 + step, *a2 = a1 + step;
    const float *b0 = (const float *)pb, *b1 = b0 + step, *b2 = b1 + step;
    const v8f zero = {0};
#define START(i, j) v8f c##i##j = is_first ? zero : acc[i * SIM_BLOCK + j].f;
    FOR_NINE(START)
#undef START
    for (int64_t k = 0; k < step; k += 8) {
        v8f x0 = v8_load(a0 + k), x1 = v8_load(a1 + k), x2 = v8_load(a2 + k), y = v8_load(b0 + k);
        c00 += v8_min(x0, y);
        c10 += v8_min(x1, y);
        c20 += v8_min(x2, y);
        y = v8_load(b1 + k);
        c01 += v8_min(x0, y);
        c11 += v8_min(x1, y);
        c21 += v8_min(x2, y);
        y = v8_load(b2 + k);
        c02 += v8_min(x0, y);
        c12 += v8_min(x1, y);
        c22 += v8_min(x2, y);
    }
#define STOP(i, j) acc[i * SIM_BLOCK + j].f = c##i##j;
    FOR_NINE(STOP)
#undef STOP
}

static uint64_t bytes_apart(const uint8_t *a, const uint8_t *b, int64_t width) {
    uint64_t total = 0;
    for (int64_t k = 0; k < width; k += 32) {
        uint32_t some = 0;
        for (int64_t t = k; t < k + 32; t++) some += (uint32_t)(a[t] > b[t] ? a[t] - b[t] : b[t] - a[t]);
        total += some;
    }
    return total;
}

static uint64_t bits_apart(const uint8_t *a, const uint8_t *b, int64_t width) {
    uint64_t total = 0, x, y;
    for (int64_t k = 0; k < width; k += 8) {
        memcpy(&x, a + k, 8);
        memcpy(&y, b + k, 8);
        total += (uint64_t)__builtin_popcountll(x ^ y);
    }
    return total;
}

#if defined(__AVX2__)
static inline v4u load_bytes(const char *p) { return (v4u)_mm256_loadu_si256((const __m256i *)p); }
#define SAD(x, y) (v4u) _mm256_sad_epu8((__m256i)(x), (__m256i)(y))

static void tile_u8(const char *pa, const char *pb, int64_t width, int is_first, lanes *acc) {
    const char *a0 = pa, *a1 = a0 + width, *a2 = a1 + width, *b0 = pb, *b1 = b0 + width, *b2 = b1 + width;
    const v4u zero = {0};
#define START(i, j) v4u c##i##j = is_first ? zero : acc[i * SIM_BLOCK + j].u;
    FOR_NINE(START)
#undef START
    for (int64_t k = 0; k < width; k += 32) {
        v4u x0 = load_bytes(a0 + k), x1 = load_bytes(a1 + k), x2 = load_bytes(a2 + k), y = load_bytes(b0 + k);
        c00 += SAD(x0, y);
        c10 += SAD(x1, y);
        c20 += SAD(x2, y);
        y = load_bytes(b1 + k);
        c01 += SAD(x0, y);
        c11 += SAD(x1, y);
        c21 += SAD(x2, y);
        y = load_bytes(b2 + k);
        c02 += SAD(x0, y);
        c12 += SAD(x1, y);
        c22 += SAD(x2, y);
    }
#define STOP(i, j) acc[i * SIM_BLOCK + j].u = c##i##j;
    FOR_NINE(STOP)
#undef STOP
}
#else
static void tile_u8(const char *pa, const char *pb, int64_t width, int is_first, lanes *acc) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uint64_t apart = bytes_apart((const uint8_t *)pa + i * width, (const uint8_t *)pb + j * width, width);
            v4u whole = {apart, 0, 0, 0};
            acc[i * SIM_BLOCK + j].u = is_first ? whole : acc[i * SIM_BLOCK + j].u + whole;
        }
}
#endif

static void tile_bits(const char *pa, const char *pb, int64_t width, int is_first, lanes *acc) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uint64_t apart = bits_apart((const uint8_t *)pa + i * width, (const uint8_t *)pb + j * width, width);
            v4u whole = {apart, 0, 0, 0};
            acc[i * SIM_BLOCK + j].u = is_first ? whole : acc[i * SIM_BLOCK + j].u + whole;
        }
}

/* ---- one block: up to 48 x 48 similarities ----------------------------------------------------------------- */

typedef struct {
    lanes acc[SIM_BLOCK * SIM_BLOCK];
    double value[SIM_BLOCK * SIM_BLOCK]; /* value[i * SIM_BLOCK + j] */
} block;

/* Asks for the lines of the matrix where a tile will go, and its mirror image: they come while the tile is worked out. */
static inline void expect(const double *out, int64_t n, int64_t i, int64_t j, int has_mirror) {
    uintptr_t there = (uintptr_t)out + 8 * (uintptr_t)(i * n + j), mirror = (uintptr_t)out + 8 * (uintptr_t)(j * n + i);
    for (uintptr_t t = 0; t < 3; t++) { /* a line past the end is asked for, never read */
        __builtin_prefetch((const void *)(there + 8 * t * (uintptr_t)n), 1, 2);
        if (has_mirror) __builtin_prefetch((const void *)(mirror + 8 * t * (uintptr_t)n), 1, 2);
    }
}

/* All tiles of a block over panel c. */
#define TILES(KIND)                                                                                                 \
    static void tiles_##KIND(                                                                                       \
        const sim_rows *r, const sim_rows *o, int64_t c, int64_t i0, int64_t ni, int64_t j0, int64_t nj,            \
        const double *out, block *b                                                                                 \
    ) {                                                                                                             \
        const int64_t width = panel_width(r, c);                                                                    \
        const int is_diagonal = r == o && i0 == j0;                                                                 \
        for (int64_t i = 0; i < ni; i += 3) {                                                                       \
            int64_t j = is_diagonal ? i : 0;                                                                        \
            const char *pa = panel_row(r, c, i0 + i), *pb = panel_row(o, c, j0 + j);                                \
            for (; j < nj; j += 3, pb += 3 * width) {                                                               \
                if (c == 0 && out) expect(out, o->n, i0 + i, j0 + j, r == o);                                       \
                tile_##KIND(pa, pb, width, c == 0, b->acc + i * SIM_BLOCK + j);                                     \
            }                                                                                                       \
        }                                                                                                           \
    }
TILES(f64)
TILES(f32)
TILES(u8)
TILES(bits)

/* Sums over the lanes of four neighbours; each is added as (0 + 1) + (2 + 3). */
static inline v4d four_sums(const lanes *at) {
    v4d a = at[0].d, b = at[1].d, c = at[2].d, d = at[3].d;
    v4d ab = V4_PICK(a, b, 0, 4, 2, 6) + V4_PICK(a, b, 1, 5, 3, 7);
    v4d cd = V4_PICK(c, d, 0, 4, 2, 6) + V4_PICK(c, d, 1, 5, 3, 7);
    return V4_PICK(ab, cd, 0, 1, 4, 5) + V4_PICK(ab, cd, 2, 3, 6, 7);
}

static inline v4i four_counts(const lanes *at) {
    v4i a = (v4i)at[0].u, b = (v4i)at[1].u, c = (v4i)at[2].u, d = (v4i)at[3].u;
    v4i ab = V4_PICK(a, b, 0, 4, 2, 6) + V4_PICK(a, b, 1, 5, 3, 7);
    v4i cd = V4_PICK(c, d, 0, 4, 2, 6) + V4_PICK(c, d, 1, 5, 3, 7);
    return V4_PICK(ab, cd, 0, 1, 4, 5) + V4_PICK(ab, cd, 2, 3, 6, 7);
}

/* Similarities of rows i0.. of r with rows j0.. of o; where both are the same rows, only from the diagonal on and mirrored. */
static void fill_block(
    const sim_rows *r, const sim_rows *o, int64_t i0, int64_t ni, int64_t j0, int64_t nj, const sim_sink *s, block *b
) {
    const int is_diagonal = r == o && i0 == j0;
    for (int64_t c = 0; c * SIM_PANEL < r->row_bytes; c++)
        switch (r->kind) {
        case SIM_F64: tiles_f64(r, o, c, i0, ni, j0, nj, s->full, b); break;
        case SIM_F32: tiles_f32(r, o, c, i0, ni, j0, nj, s->full, b); break;
        case SIM_U8: tiles_u8(r, o, c, i0, ni, j0, nj, s->full, b); break;
        default: tiles_bits(r, o, c, i0, ni, j0, nj, s->full, b);
        }
    const v4d unit = v4_set(r->unit), one = v4_set(1.0);
    for (int64_t i = 0; i < ni; i++)
        for (int64_t j = is_diagonal ? i & ~3 : 0; j < nj; j += 4) {
            const lanes *acc = b->acc + i * SIM_BLOCK + j;
            v4d value;
            if (r->kind >= SIM_U8) {
                v4i apart = four_counts(acc);
                v4d count = (v4d)(apart | 0x4330000000000000) - v4_set(4503599627370496.0); /* below 2^52: no rounding */
                value = (unit - count) / unit; /* rounded once */
            } else {
                v4d least;
                if (r->kind == SIM_F64)
                    least = four_sums(acc);
                else
                    least = (v4d){v8_sum(acc[0].f), v8_sum(acc[1].f), v8_sum(acc[2].f), v8_sum(acc[3].f)};
                v4d apart = (v4_set(r->sums[i0 + i]) + v4_load(o->sums + j0 + j)) - (least + least);
                value = one - apart / unit; /* not above 1: sums of lesser values are no larger, rounded or not */
            }
            v4_store(b->value + i * SIM_BLOCK + j, value);
        }
    if (is_diagonal)
        for (int64_t i = 0; i < ni; i++)
            for (int64_t j = 0; j < i; j++) b->value[i * SIM_BLOCK + j] = b->value[j * SIM_BLOCK + i];
}

/* ---- what becomes of a block ------------------------------------------------------------------------------- */

typedef float v4f __attribute__((vector_size(16)));

static inline void store_full(double *to, v4d v) { v4_store(to, v); }

static inline void store_full32(float *to, v4d v) {
    v4f narrow = {(float)v[0], (float)v[1], (float)v[2], (float)v[3]};
    memcpy(to, &narrow, sizeof narrow);
}

/* A block's part of the matrix, its mirror image (by 4 x 4 transposes), and the condensed form of it. */
#define WRITERS(T, OUT)                                                                                             \
    static void write_##OUT(const block *b, T *out, int64_t n, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {    \
        for (int64_t i = 0; i < ni; i++) {                                                                          \
            const double *from = b->value + i * SIM_BLOCK;                                                          \
            T *to = out + (i0 + i) * n + j0;                                                                        \
            int64_t j = 0;                                                                                          \
            for (; j + 4 <= nj; j += 4) store_##OUT(to + j, v4_load(from + j));                                     \
            for (; j < nj; j++) to[j] = (T)from[j];                                                                 \
        }                                                                                                           \
    }                                                                                                               \
    static void mirror_##OUT(const block *b, T *out, int64_t n, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {   \
        int64_t j = 0;                                                                                              \
        for (; j + 4 <= nj; j += 4) {                                                                               \
            T *to = out + (j0 + j) * n + i0;                                                                        \
            int64_t i = 0;                                                                                          \
            for (; i + 4 <= ni; i += 4) {                                                                           \
                const double *from = b->value + i * SIM_BLOCK + j;                                                  \
                v4d r0 = v4_load(from), r1 = v4_load(from + SIM_BLOCK);                                             \
                v4d r2 = v4_load(from + 2 * SIM_BLOCK), r3 = v4_load(from + 3 * SIM_BLOCK);                         \
                v4d a = V4_PICK(r0, r1, 0, 4, 2, 6), c = V4_PICK(r0, r1, 1, 5, 3, 7);                               \
                v4d e = V4_PICK(r2, r3, 0, 4, 2, 6), g = V4_PICK(r2, r3, 1, 5, 3, 7);                               \
                store_##OUT(to + i, V4_PICK(a, e, 0, 1, 4, 5));                                                     \
                store_##OUT(to + n + i, V4_PICK(c, g, 0, 1, 4, 5));                                                 \
                store_##OUT(to + 2 * n + i, V4_PICK(a, e, 2, 3, 6, 7));                                             \
                store_##OUT(to + 3 * n + i, V4_PICK(c, g, 2, 3, 6, 7));                                             \
            }                                                                                                       \
            for (; i < ni; i++)                                                                                     \
                for (int64_t t = 0; t < 4; t++) to[t * n + i] = (T)b->value[i * SIM_BLOCK + j + t];                 \
        }                                                                                                           \
        for (; j < nj; j++)                                                                                         \
            for (int64_t i = 0; i < ni; i++) out[(j0 + j) * n + i0 + i] = (T)b->value[i * SIM_BLOCK + j];           \
    }                                                                                                               \
    static void condense_##OUT(const block *b, T *out, int64_t n, int64_t i0, int64_t ni, int64_t j0, int64_t nj) { \
        for (int64_t i = 0; i < ni; i++) {                                                                          \
            int64_t row = i0 + i, start = row * n - row * (row + 1) / 2 - row - 1;                                  \
            for (int64_t j = 0; j < nj; j++)                                                                        \
                if (j0 + j > row) out[start + j0 + j] = (T)b->value[i * SIM_BLOCK + j];                             \
        }                                                                                                           \
    }
WRITERS(double, full)
WRITERS(float, full32)

static void keep_best(const block *b, const sim_sink *s, int is_self, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    for (int64_t i = 0; i < ni; i++) {
        double *best = s->best + (i0 + i) * s->k;
        int64_t *index = s->best_index + (i0 + i) * s->k;
        for (int64_t j = 0; j < nj; j++) {
            double value = b->value[i * SIM_BLOCK + j];
            if (!(value > best[s->k - 1]) || (is_self && i0 + i == j0 + j)) continue;
            int64_t at = s->k - 1;
            for (; at > 0 && value > best[at - 1]; at--) {
                best[at] = best[at - 1];
                index[at] = index[at - 1];
            }
            best[at] = value;
            index[at] = j0 + j;
        }
    }
}

/* eta of both rows of every pair of the block. */
static void weigh(const block *b, const sim_sink *s, int64_t n, int64_t i0, int64_t ni, int64_t j0, int64_t nj) {
    const v4d eps = v4_set(s->epsilon);
    const double *f = s->fitness;
    for (int64_t i = 0; i < ni; i++) {
        const int64_t row = i0 + i;
        v4d mine = {0};
        double rest = 0.0;
        int64_t j = i0 == j0 ? i + 1 : 0;
        for (; j + 4 <= nj; j += 4) {
            const int64_t other = j0 + j;
            v4d lead = v4_set(f[row]) - v4_load(f + other);
            v4i level = (lead <= eps) & (lead >= -eps), wins = level, loses = level;
            for (int k = 1; k < s->d; k++) {
                v4d x = v4_set(f[k * n + row]), y = v4_load(f + k * n + other);
                wins &= x > y;
                loses &= x < y;
            }
            wins |= lead > eps;
            loses |= lead < -eps;
            v4d value = v4_load(b->value + i * SIM_BLOCK + j);
            mine += (v4d)((v4i)value & loses);
            v4_store(s->eta + other, v4_load(s->eta + other) - (v4d)((v4i)value & wins));
        }
        for (; j < nj; j++) {
            const int64_t other = j0 + j;
            double lead = f[row] - f[other];
            int level = fabs(lead) <= s->epsilon, wins = level, loses = level;
            for (int k = 1; k < s->d; k++) {
                wins &= f[k * n + row] > f[k * n + other];
                loses &= f[k * n + row] < f[k * n + other];
            }
            double value = b->value[i * SIM_BLOCK + j];
            if (loses || lead < -s->epsilon) rest += value;
            if (wins || lead > s->epsilon) s->eta[other] -= value;
        }
        s->eta[row] -= v4_sum(mine) + rest;
    }
}

/* Blocks of rows [i0, i0 + SIM_SQUARE) with rows [j0, j0 + SIM_SQUARE). */
static void square(
    const sim_rows *r, const sim_rows *o, int64_t i_start, int64_t j_start, int is_half, const sim_sink *s, block *b
) {
    const int64_t i_end = r->n < i_start + SIM_SQUARE ? r->n : i_start + SIM_SQUARE;
    const int64_t j_end = o->n < j_start + SIM_SQUARE ? o->n : j_start + SIM_SQUARE;
    for (int64_t i0 = i_start; i0 < i_end; i0 += SIM_BLOCK) {
        int64_t ni = i_end - i0 < SIM_BLOCK ? i_end - i0 : SIM_BLOCK;
        for (int64_t j0 = is_half && i_start == j_start ? i0 : j_start; j0 < j_end; j0 += SIM_BLOCK) {
            int64_t nj = j_end - j0 < SIM_BLOCK ? j_end - j0 : SIM_BLOCK;
            fill_block(r, o, i0, ni, j0, nj, s, b);
            if (s->full) write_full(b, s->full, o->n, i0, ni, j0, nj);
            if (s->full32) write_full32(b, s->full32, o->n, i0, ni, j0, nj);
            if (s->full && is_half && j0 > i0) mirror_full(b, s->full, r->n, i0, ni, j0, nj);
            if (s->full32 && is_half && j0 > i0) mirror_full32(b, s->full32, r->n, i0, ni, j0, nj);
            if (s->condensed) condense_full(b, s->condensed, r->n, i0, ni, j0, nj);
            if (s->condensed32) condense_full32(b, s->condensed32, r->n, i0, ni, j0, nj);
            if (s->best) keep_best(b, s, !is_half && r == o, i0, ni, j0, nj);
            if (s->eta) weigh(b, s, r->n, i0, ni, j0, nj);
        }
    }
}

int ISA(sim_pairs)(const sim_rows *r, const sim_rows *other, const sim_sink *s) {
    void *memory = calloc(1, sizeof(block) + 64);
    if (!memory) return -1;
    block *b = (block *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    const sim_rows *o = other ? other : r;
    const int is_half = !other && !s->best;
    for (int64_t i = 0; i < r->n; i += SIM_SQUARE)
        for (int64_t j = is_half ? i : 0; j < o->n; j += SIM_SQUARE) square(r, o, i, j, is_half, s, b);
    free(memory);
    return 0;
}

/* ---- farthest points --------------------------------------------------------------------------------------- */

static double row_sum(const double *x, int64_t m) {
    v4d s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t k = 0;
    for (; k + 16 <= m; k += 16) {
        s0 += v4_load(x + k);
        s1 += v4_load(x + k + 4);
        s2 += v4_load(x + k + 8);
        s3 += v4_load(x + k + 12);
    }
    for (; k + 4 <= m; k += 4) s0 += v4_load(x + k);
    double sum = v4_sum((s0 + s1) + (s2 + s3));
    for (; k < m; k++) sum += x[k];
    return sum;
}

/* sum of the lesser values; the same order of additions as row_sum. */
static double least_sum(const double *x, const double *y, int64_t m) {
    v4d s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t k = 0;
    for (; k + 16 <= m; k += 16) {
        s0 += v4_min(v4_load(x + k), v4_load(y + k));
        s1 += v4_min(v4_load(x + k + 4), v4_load(y + k + 4));
        s2 += v4_min(v4_load(x + k + 8), v4_load(y + k + 8));
        s3 += v4_min(v4_load(x + k + 12), v4_load(y + k + 12));
    }
    for (; k + 4 <= m; k += 4) s0 += v4_min(v4_load(x + k), v4_load(y + k));
    double sum = v4_sum((s0 + s1) + (s2 + s3));
    for (; k < m; k++) sum += x[k] < y[k] ? x[k] : y[k];
    return sum;
}

#if defined(__AVX2__)
static inline uint64_t row_apart(const uint8_t *a, const uint8_t *b, int64_t width) {
    v4u s0 = {0}, s1 = {0};
    int64_t k = 0;
    for (; k + 64 <= width; k += 64) {
        s0 += SAD(load_bytes((const char *)a + k), load_bytes((const char *)b + k));
        s1 += SAD(load_bytes((const char *)a + k + 32), load_bytes((const char *)b + k + 32));
    }
    if (k < width) s0 += SAD(load_bytes((const char *)a + k), load_bytes((const char *)b + k));
    s0 += s1;
    return (s0[0] + s0[1]) + (s0[2] + s0[3]);
}
#else
#define row_apart bytes_apart
#endif

static int64_t first_largest(const double *x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) best = x[i] > x[best] ? i : best;
    return best;
}

/* Distances to a pick are first bounded from below with rows rounded to bytes, an eighth of the memory traffic; the few that
   could still lower a row's distance are worked out in full, so that the picks are those of the plain loop. */
typedef struct {
    uint8_t *bytes; /* (n, width) */
    double *error;  /* sum over the row of |value - its byte| + the rounding of a distance, in units of `step` */
    int64_t width;
    double step;
} bounds;

static int bounds_init(bounds *b, const double *x, int64_t n, int64_t m) {
    memset(b, 0, sizeof *b);
    double low = x[0], high = x[0];
    v4d lo = v4_set(low), hi = v4_set(high);
    int64_t total = n * m, t = 0;
    for (; t + 4 <= total; t += 4) {
        lo = v4_min(v4_load(x + t), lo);
        hi = v4_max_of(v4_load(x + t), hi);
    }
    low = -v4_max(-lo);
    high = v4_max(hi);
    for (; t < total; t++) {
        low = x[t] < low ? x[t] : low;
        high = x[t] > high ? x[t] : high;
    }
    b->step = (high - low) / 255.0;
    if (!(b->step > 1e-290)) return 0; /* all equal, or nearly: no bounds */
    b->width = (m + 31) / 32 * 32;
    b->bytes = calloc((size_t)(n * b->width), 1);
    b->error = malloc(sizeof(double) * (size_t)n);
    if (!b->bytes || !b->error) return -1;
    double inverse = 1.0 / b->step, largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    /* a computed distance is within (m + 8) 2^-51 of the sum of magnitudes; so are the errors added here */
    double slack = ((double)m + 8.0) * 4.5e-16 * 4.0 * (double)m * largest * inverse + 1e-9;
    for (int64_t i = 0; i < n; i++) {
        const double *row = x + i * m;
        uint8_t *to = b->bytes + i * b->width;
        double off = 0.0;
        for (int64_t k = 0; k < m; k++) {
            double scaled = (row[k] - low) * inverse, q = (double)(int)(scaled + 0.5);
            q = q < 255.0 ? q : 255.0;
            to[k] = (uint8_t)q;
            off += fabs(scaled - q);
        }
        b->error[i] = off + slack;
    }
    return 0;
}

int ISA(sim_farthest_f64)(const double *x, int64_t n, int64_t m, int64_t k, int64_t *picks) {
    double *nearest = malloc(sizeof(double) * (size_t)n), *sums = malloc(sizeof(double) * (size_t)n);
    bounds b = {0};
    int failed = !nearest || !sums || (k > 3 && n > 64 && m > 0 && bounds_init(&b, x, n, m));
    for (int64_t i = 0; i < n && !failed; i++) {
        nearest[i] = INFINITY;
        sums[i] = row_sum(x + i * m, m);
    }
    for (int64_t at = 0; at + 1 < k && !failed; at++) {
        const int64_t pick = picks[at];
        const double *row = x + pick * m;
        nearest[pick] = -1.0;
        for (int64_t i = 0; i < n; i++) {
            if (b.bytes && at > 0) {
                double apart = (double)row_apart(b.bytes + pick * b.width, b.bytes + i * b.width, b.width);
                if ((apart - b.error[i] - b.error[pick]) * b.step >= nearest[i]) continue;
            }
            double apart = (sums[i] + sums[pick]) - 2.0 * least_sum(x + i * m, row, m);
            nearest[i] = apart < nearest[i] ? apart : nearest[i];
        }
        picks[at + 1] = first_largest(nearest, n);
    }
    free(b.bytes);
    free(b.error);
    free(nearest);
    free(sums);
    return failed ? -1 : 0;
}

int ISA(sim_farthest_bytes)(const uint8_t *x, int64_t n, int64_t row_bytes, int is_bits, int64_t k, int64_t *picks) {
    double *nearest = malloc(sizeof(double) * (size_t)n);
    if (!nearest) return -1;
    for (int64_t i = 0; i < n; i++) nearest[i] = INFINITY;
    for (int64_t at = 0; at + 1 < k; at++) {
        const uint8_t *row = x + picks[at] * row_bytes;
        nearest[picks[at]] = -1.0;
        int64_t best = 0;
        double most = -2.0;
        for (int64_t i = 0; i < n; i++) {
            const uint8_t *other = x + i * row_bytes;
            double apart = (double)(is_bits ? bits_apart(row, other, row_bytes) : row_apart(row, other, row_bytes));
            nearest[i] = apart < nearest[i] ? apart : nearest[i];
            best = nearest[i] > most ? i : best;
            most = nearest[i] > most ? nearest[i] : most;
        }
        picks[at + 1] = best;
    }
    free(nearest);
    return 0;
}
