/* The search region (what no point dominates, below the reference) as the boxes of its local upper bounds.

   A local upper bound u is a corner of the region: no point lies strictly below it in every objective, and each of its
   coordinates u_j comes from a point z^j, its definer. With l_j = max_{k<j} z^k_j the boxes prod_j (l_j, u_j] are disjoint
   and fill the region (R. Lacour, K. Klamroth, C. M. Fonseca, Comput. Oper. Res. 79 (2017) 347, arXiv 1510.01963). A point z
   replaces every u with z < u by the children (u_1 .. z_j .. u_d) for which z_j >= max_{k!=j} z^k_j (K. Klamroth,
   R. Lacour, D. Vanderpooten, Eur. J. Oper. Res. 245 (2015) 767). Ties: strict in the first test and not in the second is
   what moving every later point up by an infinitesimal gives; strict in both loses volume on grids.

   Layout (ours): boxes live in buckets of 64. A box has one 16-bit key an objective, rising with u_j; a bucket, and
   a group of 64 buckets, is searched by comparing 64 keys an objective at a time. Keys only preselect: the corners are
   compared as doubles. Included by hypervolume_impl.h. */

enum { SLOTS = 64, KEY_MAX = 32000 };

/* ---- vectors: four doubles --------------------------------------------------------------------------------------- */

#if defined(__AVX__)
#include <immintrin.h>
static inline __attribute__((always_inline)) v4d v4_top(v4d a, v4d b) { return (v4d)_mm256_max_pd((__m256d)a, (__m256d)b); }
static inline __attribute__((always_inline)) unsigned v4_bits(v4i m) { return (unsigned)_mm256_movemask_pd((__m256d)m); }
#elif defined(__SSE2__)
#include <emmintrin.h>
typedef union {
    v4d v;
    __m128d half[2];
} v4_halves;
static inline __attribute__((always_inline)) v4d v4_top(v4d a, v4d b) {
    v4_halves x = {.v = a}, y = {.v = b};
    x.half[0] = _mm_max_pd(x.half[0], y.half[0]);
    x.half[1] = _mm_max_pd(x.half[1], y.half[1]);
    return x.v;
}
static inline __attribute__((always_inline)) unsigned v4_bits(v4i m) {
    v4_halves x = {.v = (v4d)m};
    return (unsigned)_mm_movemask_pd(x.half[0]) | (unsigned)_mm_movemask_pd(x.half[1]) << 2;
}
#else
static inline __attribute__((always_inline)) v4d v4_top(v4d a, v4d b) { return v4_larger(a, b); }
static inline __attribute__((always_inline)) unsigned v4_bits(v4i m) {
    return (unsigned)((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
}
#endif

/* Bit i of the result: keys[j][i] > limit[j] for every objective j. */
static inline __attribute__((always_inline)) uint64_t scan64(const int16_t *keys, const int16_t *limit, const int d) {
#if defined(__AVX2__)
    const __m256i all = _mm256_set1_epi16(-1);
    __m256i m[4] = {all, all, all, all};
    for (int j = 0; j < d; j++) {
        const __m256i t = _mm256_set1_epi16(limit[j]);
        for (int k = 0; k < 4; k++)
            m[k] = _mm256_and_si256(m[k], _mm256_cmpgt_epi16(_mm256_loadu_si256((const __m256i *)(keys + 64 * j + 16 * k)), t));
    }
    __m256i a = _mm256_permute4x64_epi64(_mm256_packs_epi16(m[0], m[1]), 0xD8);
    __m256i b = _mm256_permute4x64_epi64(_mm256_packs_epi16(m[2], m[3]), 0xD8);
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
#elif defined(__SSE2__)
    uint64_t bits = 0;
    for (int k = 0; k < 64; k += 16) {
        __m128i a = _mm_set1_epi16(-1), b = a;
        for (int j = 0; j < d; j++) {
            const __m128i t = _mm_set1_epi16(limit[j]);
            a = _mm_and_si128(a, _mm_cmpgt_epi16(_mm_loadu_si128((const __m128i *)(keys + 64 * j + k)), t));
            b = _mm_and_si128(b, _mm_cmpgt_epi16(_mm_loadu_si128((const __m128i *)(keys + 64 * j + k + 8)), t));
        }
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << k;
    }
    return bits;
#else
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t all = 1;
        for (int j = 0; j < d; j++) all &= keys[64 * j + i] > limit[j];
        bits |= all << i;
    }
    return bits;
#endif
}

/* ---- where things are -------------------------------------------------------------------------------------------- */

typedef struct {
    int16_t *key;      /* [objective][64]; zero where there is no box */
    double *u;         /* [64][w] */
    double *birth;     /* [64] */
    int32_t *definer;  /* [64][w]: rows of the point table */
} block_view;

static inline __attribute__((always_inline)) block_view view_at(unsigned char *at, int w) {
    block_view v;
    v.u = (double *)at;
    v.birth = v.u + SLOTS * w;
    v.definer = (int32_t *)(v.birth + SLOTS);
    v.key = (int16_t *)(v.definer + SLOTS * w);
    return v;
}

static inline __attribute__((always_inline)) block_view bucket_view(const hv_boxes *b, long bucket, int w) {
    return view_at(b->pool + (size_t)b->home[bucket] * b->stride, w);
}

static inline int16_t *bucket_top(const hv_boxes *b, long bucket, int d) {
    return b->top + (bucket >> 6) * 64 * d + (bucket & 63);
}

static inline int16_t key_of(const hv_boxes *b, int j, double x) {
    double t = (x - b->offset[j]) * b->scale[j];
    t = t > 0.0 ? t : 0.0;
    t = t < KEY_MAX ? t : KEY_MAX;
    return (int16_t)(1 + (int)t);
}

static inline __attribute__((always_inline)) void refresh_top(hv_boxes *b, long bucket, const int d, const int w) {
    const int16_t *key = bucket_view(b, bucket, w).key;
    int16_t *top = bucket_top(b, bucket, d);
    for (int j = 0; j < d; j++) {
        int16_t m = 0;
        for (int i = 0; i < SLOTS; i++) m = key[64 * j + i] > m ? key[64 * j + i] : m;
        top[64 * j] = m;
    }
}

static inline __attribute__((always_inline)) void move_box(block_view to, int a, block_view from, int c, const int d, const int w) {
    for (int j = 0; j < w; j += 4) {
        v4_store(to.u + a * w + j, v4_load(from.u + c * w + j));
        memcpy(to.definer + a * w + j, from.definer + c * w + j, 16);
    }
    to.birth[a] = from.birth[c];
    for (int j = 0; j < d; j++) to.key[64 * j + a] = from.key[64 * j + c];
}

static inline __attribute__((always_inline)) void clear_slot(block_view v, int i, const int d) {
    for (int j = 0; j < d; j++) v.key[64 * j + i] = 0;
}

/* Room for so many buckets. Grows by doubling; HV_NO_MEMORY beyond the limit. (In hypervolume_base.c.) */
int hv_boxes_grow(hv_boxes *b, long n_buckets);

static int new_bucket(hv_boxes *b, long *bucket, int d) {
    if (b->n_buckets == b->directory_capacity || (!b->n_unused && b->n_blocks == b->block_capacity))
        if (hv_boxes_grow(b, b->n_buckets + 1)) return HV_NO_MEMORY;
    long at = b->n_buckets++;
    b->home[at] = b->n_unused ? b->unused[--b->n_unused] : (int32_t)b->n_blocks++;
    b->count[at] = 0;
    memset(bucket_view(b, at, b->w).key, 0, sizeof(int16_t) * (size_t)(64 * d));
    *bucket = at;
    return HV_OK;
}

static void drop_bucket(hv_boxes *b, long bucket, int d) {
    long last = --b->n_buckets;
    b->unused[b->n_unused++] = b->home[bucket];
    b->home[bucket] = b->home[last];
    b->count[bucket] = b->count[last];
    int16_t *to = bucket_top(b, bucket, d), *from = bucket_top(b, last, d);
    for (int j = 0; j < d; j++) {
        to[64 * j] = from[64 * j];
        from[64 * j] = 0;
    }
}

/* Where the children of one bucket go: into it until it is full, then into the fitting half of the latest split. */
typedef struct {
    long low, high;
    int axis;
    int16_t cut; /* keys up to here go low */
} target;

static int split_bucket(hv_boxes *b, long bucket, target *t, const int d, const int w) {
    long other;
    if (new_bucket(b, &other, d)) return HV_NO_MEMORY;
    block_view from = bucket_view(b, bucket, w), to = bucket_view(b, other, w);
    int widest = -1, axis = 0;
    for (int j = 0; j < d; j++) {
        int16_t lo = INT16_MAX, hi = 0;
        for (int i = 0; i < SLOTS; i++) {
            int16_t k = from.key[64 * j + i];
            lo = k < lo ? k : lo;
            hi = k > hi ? k : hi;
        }
        if (hi - lo > widest) {
            widest = hi - lo;
            axis = j;
        }
    }
    int sum = 0, moved = 0, kept = 0;
    for (int i = 0; i < SLOTS; i++) sum += from.key[64 * axis + i];
    int16_t cut = (int16_t)(sum / SLOTS); /* the mean: with a range above zero both sides get some */
    for (int i = 0; i < SLOTS; i++) {
        int up = widest > 0 ? from.key[64 * axis + i] > cut : i & 1;
        if (up) {
            move_box(to, moved++, from, i, d, w);
        } else {
            if (kept != i) move_box(from, kept, from, i, d, w);
            kept++;
        }
    }
    for (int i = kept; i < SLOTS; i++) clear_slot(from, i, d);
    b->count[bucket] = kept;
    b->count[other] = moved;
    refresh_top(b, bucket, d, w);
    refresh_top(b, other, d, w);
    *t = (target){bucket, other, axis, cut};
    return HV_OK;
}

static int place_box(hv_boxes *b, target *t, block_view from, int i, const int d, const int w) {
    long bucket = from.key[64 * t->axis + i] > t->cut ? t->high : t->low;
    if (b->count[bucket] == SLOTS) {
        if (split_bucket(b, bucket, t, d, w)) return HV_NO_MEMORY;
        bucket = from.key[64 * t->axis + i] > t->cut ? t->high : t->low;
    }
    block_view to = bucket_view(b, bucket, w);
    move_box(to, b->count[bucket]++, from, i, d, w);
    int16_t *top = bucket_top(b, bucket, d);
    for (int j = 0; j < d; j++) top[64 * j] = from.key[64 * j + i] > top[64 * j] ? from.key[64 * j + i] : top[64 * j];
    return HV_OK;
}

/* ---- one box ----------------------------------------------------------------------------------------------------- */

#define MAX_VECTORS (HV_MAX_ARCHIVE_OBJECTIVES / 4)

/* Lanes of vector k at objectives above / other than j. */
static inline __attribute__((always_inline)) v4i lanes_above(int k, int j) {
    return (v4i){4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3} > (v4i){j, j, j, j};
}
static inline __attribute__((always_inline)) v4i lanes_but(int k, int j) {
    return (v4i){4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3} != (v4i){j, j, j, j};
}
static inline __attribute__((always_inline)) v4d where(v4i m, v4d a) { /* a, or minus infinity where m is not set */
    const v4d low = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    return (v4d)(((v4i)a & m) | ((v4i)low & ~m));
}

/* l, and where `others` is given max over the other definers as well. Both start from `floor`. */
static inline __attribute__((always_inline)) void definers_bounds(const hv_boxes *b, const int32_t *definer, const v4d *floor,
                                                                  v4d *l, v4d *others, const int d, const int w) {
    for (int k = 0; k < w / 4; k++) {
        l[k] = floor[k];
        if (others) others[k] = (v4d){-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    }
    for (int j = 0; j < d; j++) {
        const double *row = b->rows + (long)definer[j] * w;
        for (int k = 0; k < w / 4; k++) {
            v4d x = v4_load(row + 4 * k);
            l[k] = v4_top(l[k], where(lanes_above(k, j), x));
            if (others) others[k] = v4_top(others[k], where(lanes_but(k, j), x));
        }
    }
}

static inline __attribute__((always_inline)) double sides_product(const double *u, const v4d *l, const int d, const int w) {
    double product = 1.0;
    for (int k = 0; k < w / 4; k++) {
        v4d side = v4_load(u + 4 * k) - l[k];
        for (int j = 4 * k; j < d && j < 4 * k + 4; j++) product *= side[j & 3];
    }
    return product;
}

static inline __attribute__((always_inline)) int reaches(const double *u, const v4d *z, const int w) { /* z < u everywhere */
    unsigned all = 15;
    for (int k = 0; k < w / 4; k++) all &= v4_bits(z[k] < v4_load(u + 4 * k));
    return all == 15;
}

static inline __attribute__((always_inline)) void load_point(const double *z, v4d *zv, const int d, const int w) {
    for (int k = 0; k < w / 4; k++)
        for (int j = 0; j < 4; j++) zv[k][j] = 4 * k + j < d ? z[4 * k + j] : -INFINITY;
}

/* ---- queries and insertion --------------------------------------------------------------------------------------- */

/* Buckets that a point with these key limits may reach, into b->hits. */
static inline __attribute__((always_inline)) long find_buckets(const hv_boxes *b, const int16_t *limit, int32_t *hits, const int d) {
    long n_hits = 0;
    for (long g = 0; 64 * g < b->n_buckets; g++)
        for (uint64_t m = scan64(b->top + g * 64 * d, limit, d); m; m &= m - 1)
            hits[n_hits++] = (int32_t)(64 * g + __builtin_ctzll(m));
    return n_hits;
}

static inline __attribute__((always_inline)) double boxes_gain(const hv_boxes *b, const double *z, const int d, const int w) {
    int16_t limit[HV_MAX_ARCHIVE_OBJECTIVES];
    v4d zv[MAX_VECTORS], l[MAX_VECTORS];
    load_point(z, zv, d, w);
    for (int j = 0; j < d; j++) limit[j] = (int16_t)(key_of(b, j, z[j]) - 1);
    hv_sum total = {0, 0};
    for (long g = 0; 64 * g < b->n_buckets; g++)
        for (uint64_t m = scan64(b->top + g * 64 * d, limit, d); m; m &= m - 1) {
            block_view v = bucket_view(b, 64 * g + __builtin_ctzll(m), w);
            double sum = 0.0;
            for (uint64_t bits = scan64(v.key, limit, d); bits; bits &= bits - 1) {
                int i = __builtin_ctzll(bits);
                const double *u = v.u + i * w;
                if (!reaches(u, zv, w)) continue;
                definers_bounds(b, v.definer + i * w, zv, l, NULL, d, w);
                sum += sides_product(u, l, d, w);
            }
            add_to(&total, sum);
        }
    return value_of(&total);
}

/* What an insertion adds up: the volume above z that it takes (lifetimes = 0), or for every box that dies its volume
   above `floor` times the time it lived (lifetimes = 1). */
typedef struct {
    double now;
    const v4d *floor;
    hv_sum total;
    int taken; /* whether any box was reached */
} tally;

/* Close the holes with the last boxes of the bucket; returns how many boxes are left. */
static inline __attribute__((always_inline)) int close_holes(block_view v, uint64_t holes, int count, const int d, const int w) {
    for (; holes; holes &= holes - 1) { /* from the lowest up: the last box moves into it unless it is a hole itself */
        int i = __builtin_ctzll(holes);
        while (count - 1 > i && holes >> (count - 1) & 1) {
            clear_slot(v, --count, d);
            holes &= ~((uint64_t)1 << count);
        }
        if (i < count - 1) move_box(v, i, v, count - 1, d, w);
        clear_slot(v, --count, d);
    }
    return count;
}

/* Up to four objectives: every candidate child is written out, and the next one overwrites it unless it counts. Which of
   them count is as good as random, and branches on it cost more than the writing. */
typedef int32_t v4s __attribute__((vector_size(16)));
typedef struct {
    v4d u;
    v4s definer;
    uint64_t key; /* four keys of 16 bits */
} child;

static inline __attribute__((always_inline)) void put_child(block_view v, int i, const child *c, double now, const int lifetimes, const int d) {
    v4_store(v.u + 4 * i, c->u);
    memcpy(v.definer + 4 * i, &c->definer, 16);
    for (int j = 0; j < d; j++) v.key[64 * j + i] = (int16_t)(c->key >> 16 * j);
    if (lifetimes) v.birth[i] = now;
}

static inline __attribute__((always_inline)) long update_bucket_4(hv_boxes *b, long bucket, v4d z, int32_t row, const int16_t *limit,
                                                                  tally *t, const int lifetimes, const int d) {
    block_view v = bucket_view(b, bucket, 4);
    uint64_t gone = 0, hit = scan64(v.key, limit, d);
    if (!hit) return -1;
    child children[64 * 4 + 1];
    uint64_t key_of_z[4];
    long n = 0, c = 0;
    double sum = 0.0;
    for (int j = 0; j < d; j++) key_of_z[j] = (uint64_t)(uint16_t)(limit[j] + 1) << 16 * j;
    for (; hit; hit &= hit - 1) {
        int i = __builtin_ctzll(hit);
        if (!reaches(v.u + 4 * i, &z, 4)) continue;
        gone |= hit & -hit;
        v4d l, others, u = v4_load(v.u + 4 * i);
        v4s definer;
        memcpy(&definer, v.definer + 4 * i, 16);
        definers_bounds(b, v.definer + 4 * i, lifetimes ? t->floor : &z, &l, &others, d, 4);
        double volume = sides_product(v.u + 4 * i, &l, d, 4);
        sum += lifetimes ? volume * (t->now - v.birth[i]) : volume;
        unsigned is_child = v4_bits(z >= others);
        uint64_t key = 0;
        for (int j = 0; j < d; j++) key |= (uint64_t)(uint16_t)v.key[64 * j + i] << 16 * j;
        for (int j = 0; j < d; j++) {
            v4i but = lanes_but(0, j);
            v4s lane = (v4s){0, 1, 2, 3} == (v4s){j, j, j, j}, rows = {row, row, row, row};
            children[n].u = (v4d)(((v4i)u & but) | ((v4i)z & ~but));
            children[n].definer = (definer & ~lane) | (rows & lane);
            children[n].key = (key & ~((uint64_t)0xffff << 16 * j)) | key_of_z[j];
            n += is_child >> j & 1;
        }
    }
    if (!gone) return -1;
    add_to(&t->total, sum);
    t->taken = 1;
    int count = b->count[bucket];
    for (; gone && c < n; gone &= gone - 1) put_child(v, __builtin_ctzll(gone), children + c++, t->now, lifetimes, d);
    for (; c < n && count < SLOTS; c++) put_child(v, count++, children + c, t->now, lifetimes, d);
    for (long k = 0; c + k < n; k++) /* the spill is a row of blocks of 64 */
        put_child(view_at(b->spill + (size_t)(k / SLOTS) * b->stride, 4), (int)(k % SLOTS), children + c + k, t->now, lifetimes, d);
    b->count[bucket] = close_holes(v, gone, count, d, 4);
    return n - c;
}

/* One bucket: replace the boxes that z reaches by their children. Those that find no room go to the spill; returns how
   many, or -1 where the bucket has not changed. */
static inline __attribute__((always_inline)) long update_bucket(hv_boxes *b, long bucket, const v4d *zv, int32_t row, const int16_t *limit,
                                                                tally *t, const int lifetimes, const int d, const int w) {
    block_view v = bucket_view(b, bucket, w);
    uint64_t holes = 0, hit = scan64(v.key, limit, d);
    int count = b->count[bucket], any = 0;
    long n_spilt = 0;
    if (!hit) return -1;
    v4d l[MAX_VECTORS], others[MAX_VECTORS], u[MAX_VECTORS];
    double sum = 0.0, z[HV_MAX_ARCHIVE_OBJECTIVES];
    for (int k = 0; k < w / 4; k++) v4_store(z + 4 * k, zv[k]);
    for (; hit; hit &= hit - 1) {
        int i = __builtin_ctzll(hit);
        if (!reaches(v.u + i * w, zv, w)) continue;
        any = 1;
        definers_bounds(b, v.definer + i * w, lifetimes ? t->floor : zv, l, others, d, w);
        double volume = sides_product(v.u + i * w, l, d, w);
        sum += lifetimes ? volume * (t->now - v.birth[i]) : volume;
        unsigned children = 0;
        for (int k = 0; k < w / 4; k++) children |= v4_bits(zv[k] >= others[k]) << 4 * k;
        if (d < 32) children &= (1u << d) - 1;
        if (!children) {
            holes |= (uint64_t)1 << i;
            continue;
        }
        int32_t definer[HV_MAX_ARCHIVE_OBJECTIVES];
        for (int k = 0; k < w / 4; k++) u[k] = v4_load(v.u + i * w + 4 * k);
        memcpy(definer, v.definer + i * w, sizeof(int32_t) * (size_t)w);
        int16_t key[HV_MAX_ARCHIVE_OBJECTIVES];
        for (int j = 0; j < d; j++) key[j] = v.key[64 * j + i];
        int at = i; /* the first child takes its parent's place */
        block_view to = v;
        for (;;) {
            int j = __builtin_ctz(children);
            if (at != i || to.key != v.key) {
                for (int k = 0; k < w / 4; k++) v4_store(to.u + at * w + 4 * k, u[k]);
                memcpy(to.definer + at * w, definer, sizeof(int32_t) * (size_t)w);
                for (int a = 0; a < d; a++) to.key[64 * a + at] = key[a];
            }
            to.u[at * w + j] = z[j];
            to.definer[at * w + j] = row;
            to.key[64 * j + at] = (int16_t)(limit[j] + 1);
            if (lifetimes) to.birth[at] = t->now;
            children &= children - 1;
            if (!children) break;
            if (holes) {
                at = __builtin_ctzll(holes);
                holes &= holes - 1;
                to = v;
            } else if (count < SLOTS) {
                at = count++;
                to = v;
            } else { /* the spill is a row of blocks of 64 */
                to = view_at(b->spill + (size_t)(n_spilt / SLOTS) * b->stride, w);
                at = (int)(n_spilt++ % SLOTS);
            }
        }
    }
    add_to(&t->total, sum);
    t->taken |= any;
    b->count[bucket] = close_holes(v, holes, count, d, w);
    return n_spilt;
}

int hv_boxes_grow_rows(hv_boxes *b);

static inline __attribute__((always_inline)) int boxes_insert(hv_boxes *b, const double *z, tally *t, const int lifetimes, const int d, const int w) {
    int16_t limit[HV_MAX_ARCHIVE_OBJECTIVES];
    v4d zv[MAX_VECTORS];
    load_point(z, zv, d, w);
    for (int j = 0; j < d; j++) limit[j] = (int16_t)(key_of(b, j, z[j]) - 1);
    long n_hits = find_buckets(b, limit, b->hits, d), n_empty = 0;
    if (!n_hits) return HV_OK;
    if (b->n_rows == b->row_capacity && hv_boxes_grow_rows(b)) return HV_NO_MEMORY;
    int32_t row = (int32_t)b->n_rows++;
    for (int k = 0; k < w / 4; k++) v4_store(b->rows + (long)row * w + 4 * k, zv[k]);
    for (long h = 0; h < n_hits; h++) {
        long bucket = b->hits[h], before = b->count[bucket];
        long n_spilt = w == 4 ? update_bucket_4(b, bucket, zv[0], row, limit, t, lifetimes, d)
                              : update_bucket(b, bucket, zv, row, limit, t, lifetimes, d, w);
        /* Tops may be too large, which only costs a look in vain: with few buckets they are not worth keeping tight. */
        if (n_spilt < 0 || b->n_buckets > 4) refresh_top(b, bucket, d, w);
        if (n_spilt < 0) continue;
        b->n_boxes += b->count[bucket] - before + n_spilt;
        if (!b->count[bucket]) b->hits[n_empty++] = (int32_t)bucket;
        target to = {bucket, bucket, 0, 0};
        for (long i = 0; i < n_spilt; i++)
            if (place_box(b, &to, view_at(b->spill + (size_t)(i / SLOTS) * b->stride, w), (int)(i % SLOTS), d, w)) return HV_NO_MEMORY;
    }
    while (n_empty-- > 0) drop_bucket(b, b->hits[n_empty], d);
    return HV_OK;
}

/* The loops with their dimension known to the compiler. */
#define EACH_DIMENSION(CASE) \
    CASE(1, 4) CASE(2, 4) CASE(3, 4) CASE(4, 4) CASE(5, 8) CASE(6, 8) CASE(7, 8) CASE(8, 8)

static __attribute__((noinline)) int insert_any(hv_boxes *b, const double *z, tally *t, int lifetimes, int d, int w) {
    return boxes_insert(b, z, t, lifetimes, d, w);
}

static __attribute__((noinline)) double gain_any(const hv_boxes *b, const double *z, int d, int w) { return boxes_gain(b, z, d, w); }

#define INSERT_FUNCTIONS(D, W) \
    static __attribute__((noinline)) int insert_##D(hv_boxes *b, const double *z, tally *t) { return boxes_insert(b, z, t, 0, D, W); } \
    static __attribute__((noinline)) int live_##D(hv_boxes *b, const double *z, tally *t) { return boxes_insert(b, z, t, 1, D, W); } \
    static __attribute__((noinline)) double gain_##D(const hv_boxes *b, const double *z) { return boxes_gain(b, z, D, W); }
EACH_DIMENSION(INSERT_FUNCTIONS)

static int insert_point(hv_boxes *b, const double *z, tally *t) {
    switch (b->d) {
#define INSERT_CASE(D, W) case D: return insert_##D(b, z, t);
        EACH_DIMENSION(INSERT_CASE)
        default: return insert_any(b, z, t, 0, b->d, b->w);
    }
}

static int live_point(hv_boxes *b, const double *z, tally *t) {
    switch (b->d) {
#define LIVE_CASE(D, W) case D: return live_##D(b, z, t);
        EACH_DIMENSION(LIVE_CASE)
        default: return insert_any(b, z, t, 1, b->d, b->w);
    }
}

static double gain_point(const hv_boxes *b, const double *z) {
    switch (b->d) {
#define GAIN_CASE(D, W) case D: return gain_##D(b, z);
        EACH_DIMENSION(GAIN_CASE)
        default: return gain_any(b, z, b->d, b->w);
    }
}

/* Volume times lifetime of the boxes that are left at the end. */
static void live_to_end(const hv_boxes *b, tally *t) {
    const int d = b->d, w = b->w;
    v4d l[MAX_VECTORS];
    for (long k = 0; k < b->n_buckets; k++) {
        block_view v = bucket_view(b, k, w);
        for (int i = 0; i < b->count[k]; i++) {
            definers_bounds(b, v.definer + i * w, t->floor, l, NULL, d, w);
            add_to(&t->total, sides_product(v.u + i * w, l, d, w) * (t->now - v.birth[i]));
        }
    }
}
