/* Included by dominance_base.c and dominance_avx2.c, each of which defines ISA(name). */
#include <math.h>
#include "dominance.h"
#include "lanes.h"

#define MAX_BUCKETS 256
#define TAIL 64
#define MAX_FINE 2048
#define MAX_SETS 32 /* coordinates past these are compared for the candidates alone */

static inline int sets_of(const dom_points *p) { return p->d < MAX_SETS ? p->d : MAX_SETS; }

/* ---- scaled coordinates ------------------------------------------------------------------------------------ */

typedef struct {
    double low, factor; /* (x / 2 - low) * factor lies in [0, 1], up to rounding, and never falls where x rises */
} scaling;

static scaling scaling_of(const double *x, int64_t n) {
    v4d lo = v4_set(x[0]), hi = lo;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        v4d v = v4_load(x + i);
        lo = v4_min(v, lo);
        hi = v4_max_of(v, hi);
    }
    double low = -v4_max(-lo), high = v4_max(hi);
    for (; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    double range = 0.5 * high - 0.5 * low, factor = range > 0.0 ? 1.0 / range : 0.0;
    return (scaling){0.5 * low, factor < 1e300 ? factor : 1e300};
}

/* key[i] = mean over k of the scaled coordinates: no point is dominated by one of a larger key. */
static void mean_keys(const dom_points *p, const scaling *s, double *key) {
    double share = 1.0 / p->d;
    for (int k = 0; k < p->d; k++) {
        const double *x = p->columns + (size_t)k * (size_t)p->n, low = s[k].low, factor = s[k].factor;
        if (k == 0)
            for (int64_t i = 0; i < p->n; i++) key[i] = (x[i] * 0.5 - low) * factor;
        else
            for (int64_t i = 0; i < p->n; i++) key[i] += (x[i] * 0.5 - low) * factor;
    }
    for (int64_t i = 0; i < p->n; i++) key[i] *= share;
}

static void one_keys(const dom_points *p, int k, scaling s, double *key) {
    const double *x = p->columns + (size_t)k * (size_t)p->n;
    for (int64_t i = 0; i < p->n; i++) key[i] = (x[i] * 0.5 - s.low) * s.factor;
}

/* Leaves in `order` the points that the one of least key does not dominate: often few, and one pass. */
static int64_t drop_beaten(const dom_points *p, const double *key, uint32_t *order) {
    int64_t n = p->n, best = 0, m = 0, i = 0;
    int d = p->d;
    for (int64_t j = 1; j < n; j++) best = key[j] < key[best] ? j : best;
    const double *pivot = p->rows + best * d;
    for (; i + 4 <= n; i += 4) {
        v4i free = v4_load(p->columns + i) < v4_set(pivot[0]);
        for (int k = 1; k < d; k++) free |= v4_load(p->columns + (size_t)k * (size_t)n + i) < v4_set(pivot[k]);
        v4i over = v4_load(p->columns + i) > v4_set(pivot[0]);
        for (int k = 1; k < d; k++) over |= v4_load(p->columns + (size_t)k * (size_t)n + i) > v4_set(pivot[k]);
        int bits = v4_bits(free | ~over); /* better somewhere, or equal */
        for (int64_t lane = 0; lane < 4; lane++) {
            order[m] = (uint32_t)(i + lane);
            m += bits >> lane & 1;
        }
    }
    for (; i < n; i++) {
        int is_free = dom_equal(p, i, best);
        for (int k = 0; k < d && !is_free; k++) is_free = p->rows[i * d + k] < pivot[k];
        if (is_free) order[m++] = (uint32_t)i;
    }
    return m;
}

/* ---- buckets ----------------------------------------------------------------------------------------------- */

/* More buckets leave fewer candidates and cost more to keep. */
static inline int buckets_of(const dom_points *p) { return p->n < 4000 ? 64 : MAX_BUCKETS; }

/* bucket[i] in 0..buckets_of(p) - 1, about equally full; never larger for a point that dominates another than for that one. By
   an equal-width histogram, or by sorting where one of its buckets would hold more than an eighth of the points. */
static void fill_buckets(
    const dom_points *p, int k, scaling s, double *key, uint32_t *order, uint64_t *work, uint8_t *bucket
) {
    int64_t n = p->n;
    const uint64_t n_buckets = (uint64_t)buckets_of(p);
    const int n_fine = n < 4000 ? 512 : MAX_FINE;
    uint32_t counts[MAX_FINE] = {0};
    one_keys(p, k, s, key);
    uint32_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = key[i] * n_fine;
        counts[t < n_fine - 1 ? (int)t : n_fine - 1]++;
    }
    uint8_t of_fine[MAX_FINE];
    const double share = ((double)n_buckets - 0.5) / (double)n;
    uint64_t sum = 0;
    for (int f = 0; f < n_fine; f++) {
        of_fine[f] = (uint8_t)((double)sum * share);
        sum += counts[f];
        largest = counts[f] > largest ? counts[f] : largest;
    }
    if ((int64_t)largest * 8 <= n || n < 64) {
        for (int64_t i = 0; i < n; i++) {
            double t = key[i] * n_fine;
            bucket[i] = of_fine[t < n_fine - 1 ? (int)t : n_fine - 1];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    dom_sort(p, order, key, n, k, work);
    /* among equal values the other coordinates decide: who dominates still comes first */
    for (int64_t at = 0; at < n; at++) bucket[order[at]] = (uint8_t)((double)at * share);
}

typedef struct {
    scaling *scale;
    double *key;
    uint32_t *order;
    uint64_t *work;
    uint8_t *buckets; /* NULL until a window outgrows its tail */
} scratch;

static void scratch_free(scratch *s) {
    free(s->scale);
    free(s->key);
    free(s->order);
    free(s->work);
    free(s->buckets);
}

static int scratch_init(scratch *s, const dom_points *p) {
    size_t n = (size_t)p->n, d = (size_t)p->d;
    memset(s, 0, sizeof *s);
    s->scale = malloc(sizeof(scaling) * d);
    s->key = malloc(sizeof(double) * n);
    s->order = malloc(sizeof(uint32_t) * (n + 4));
    s->work = malloc(sizeof(uint64_t) * 2 * n);
    if (!s->scale || !s->key || !s->order || !s->work) return -1;
    for (int k = 0; k < p->d; k++) s->scale[k] = scaling_of(p->columns + (size_t)k * n, p->n);
    return 0;
}

static int scratch_buckets(scratch *s, const dom_points *p) {
    s->buckets = malloc((size_t)p->n * (size_t)sets_of(p));
    uint32_t *order = malloc(sizeof(uint32_t) * (size_t)p->n);
    int failed = !s->buckets || !order;
    for (int k = 0; k < sets_of(p) && !failed; k++)
        fill_buckets(p, k, s->scale[k], s->key, order, s->work, s->buckets + (size_t)k * (size_t)p->n);
    free(order);
    return failed ? -1 : 0;
}

/* ---- window: the points that stayed, and "does one of them dominate this" ----------------------------------- */

/* The newest up to 64 points stand as columns and are compared one by one. Older ones are bits: for each coordinate k and
   bucket b, the set of those with bucket_k <= b; the and over k of the sets of a point's own buckets leaves few candidates.
   64 points at a time move from the columns into the bits. */
typedef struct {
    int64_t n_indexed; /* points in the bits; a multiple of 64 */
    int64_t n_tail, tail_capacity;
    double *tail;      /* tail[k * tail_capacity + slot] */
    uint32_t *ids;     /* of all points, oldest first */
    int64_t id_capacity;
    uint64_t **chunks; /* chunk c: bits[(k * n_buckets + b) * width_c + word] */
    int64_t n_chunks;
    int64_t last_used; /* words used in the last chunk */
} window;

/* Widths in words: 4, 4, 8, 16, 32, 64, 64, ...: small fronts stay small. */
static inline int64_t chunk_width(int64_t c) { return c == 0 ? 4 : c < 5 ? (int64_t)4 << (c - 1) : 64; }

static void window_free(window *w) {
    for (int64_t c = 0; c < w->n_chunks; c++) free(w->chunks[c]);
    free(w->chunks);
    free(w->tail);
    free(w->ids);
    memset(w, 0, sizeof *w);
}

static int window_index(const dom_points *p, const uint8_t *buckets, window *w) {
    const int n_buckets = buckets_of(p);
    if (w->n_chunks == 0 || w->last_used == chunk_width(w->n_chunks - 1)) {
        uint64_t **more = realloc(w->chunks, sizeof(uint64_t *) * (size_t)(w->n_chunks + 1));
        if (!more) return -1;
        w->chunks = more;
        size_t words = (size_t)sets_of(p) * (size_t)n_buckets * (size_t)chunk_width(w->n_chunks);
        if (!(more[w->n_chunks] = calloc(words, sizeof(uint64_t)))) return -1;
        w->n_chunks++;
        w->last_used = 0;
    }
    int64_t width = chunk_width(w->n_chunks - 1);
    uint64_t *bits = w->chunks[w->n_chunks - 1] + w->last_used, set[MAX_BUCKETS];
    for (int k = 0; k < sets_of(p); k++) {
        const uint8_t *bucket = buckets + (size_t)k * (size_t)p->n;
        memset(set, 0, sizeof set);
        for (int j = 0; j < TAIL; j++) set[bucket[w->ids[w->n_indexed + j]]] |= (uint64_t)1 << j;
        uint64_t all = 0;
        for (int b = 0; b < n_buckets; b++, bits += width) *bits = all |= set[b];
    }
    w->last_used++;
    w->n_indexed += TAIL;
    w->n_tail = 0;
    return 0;
}

static int window_add(const dom_points *p, scratch *s, window *w, uint32_t i) {
    int64_t count = w->n_indexed + w->n_tail;
    if (w->n_tail == TAIL) {
        if (!s->buckets && scratch_buckets(s, p)) return -1;
        if (window_index(p, s->buckets, w)) return -1;
    } else if (w->n_tail == w->tail_capacity) {
        int64_t capacity = w->tail_capacity ? 4 * w->tail_capacity : 4;
        double *tail = malloc(sizeof(double) * (size_t)(capacity * p->d));
        if (!tail) return -1;
        for (int k = 0; k < p->d; k++) {
            if (w->n_tail)
                memcpy(tail + k * capacity, w->tail + k * w->tail_capacity, sizeof(double) * (size_t)w->n_tail);
            for (int64_t s = w->n_tail; s < capacity; s++) tail[k * capacity + s] = INFINITY;
        }
        free(w->tail);
        w->tail = tail;
        w->tail_capacity = capacity;
    }
    if (count == w->id_capacity) {
        int64_t capacity = w->id_capacity ? 2 * w->id_capacity : 4;
        uint32_t *ids = realloc(w->ids, sizeof(uint32_t) * (size_t)capacity);
        if (!ids) return -1;
        w->ids = ids;
        w->id_capacity = capacity;
    }
    w->ids[count] = i;
    for (int k = 0; k < p->d; k++) {
        double *column = w->tail + k * w->tail_capacity;
        if ((w->n_tail & 3) == 0) v4_store(column + w->n_tail, v4_set(INFINITY)); /* no stale lanes beside the new one */
        column[w->n_tail] = p->rows[(size_t)i * (size_t)p->d + k];
    }
    w->n_tail++;
    return 0;
}

static inline int covers(const double *a, const double *b, int d) {
    for (int k = 0; k < d; k++)
        if (a[k] > b[k]) return 0;
    return 1;
}

/* Is there a point in the window that is nowhere larger than point i? (Equal ones are not asked about.) */
static int window_covers(const dom_points *p, const uint8_t *buckets, const window *w, uint32_t i) {
    const int d = p->d, n_sets = sets_of(p);
    const size_t n_buckets = (size_t)buckets_of(p);
    const double *row = p->rows + (size_t)i * (size_t)d;
    const uint32_t *ids = w->ids;
    for (int64_t c = 0; c < w->n_chunks; c++) {
        int64_t width = chunk_width(c), used = c + 1 < w->n_chunks ? width : w->last_used;
        const uint64_t *set[MAX_SETS];
        for (int k = 0; k < n_sets; k++)
            set[k] = w->chunks[c] + ((size_t)k * n_buckets + buckets[(size_t)k * (size_t)p->n + i]) * (size_t)width;
        for (int64_t at = 0; at < used; at += 4) {
            v4u some = v4u_load(set[0] + at) & v4u_load(set[1] + at) & v4u_load(set[2] + at);
            for (int k = 3; k < n_sets; k++) some &= v4u_load(set[k] + at);
            if (!v4_any(some)) continue;
            for (int word = 0; word < 4; word++)
                for (uint64_t left = some[word]; left; left &= left - 1) {
                    uint32_t j = ids[64 * (at + word) + __builtin_ctzll(left)];
                    if (covers(p->rows + (size_t)j * (size_t)d, row, d)) return 1;
                }
        }
        ids += 64 * width;
    }
    const double *tail = w->tail;
    const int64_t stride = w->tail_capacity;
    const v4d x0 = v4_set(row[0]), x1 = v4_set(row[1]), x2 = v4_set(row[2]);
    for (int64_t s = 0; s < w->n_tail; s += 4) {
        v4i m = (v4_load(tail + s) <= x0) & (v4_load(tail + stride + s) <= x1) & (v4_load(tail + 2 * stride + s) <= x2);
        for (int k = 3; k < d; k++) {
            if (!v4_bits(m)) break;
            m &= v4_load(tail + k * stride + s) <= v4_set(row[k]);
        }
        if (v4_bits(m)) return 1;
    }
    return 0;
}

/* ---- filter and ranks -------------------------------------------------------------------------------------- */

static int filter_many(const dom_points *p, scratch *s, int64_t m, int first, uint8_t *keep) {
    window w = {0};
    int failed = 0;
    dom_sort(p, s->order, s->key, m, 0, s->work);
    for (int64_t at = 0; at < m && !failed; at++) {
        uint32_t i = s->order[at];
        if (at > 0 && dom_equal(p, i, s->order[at - 1])) {
            keep[i] = !first && keep[s->order[at - 1]];
        } else if (!window_covers(p, s->buckets, &w, i)) {
            keep[i] = 1;
            failed = window_add(p, s, &w, i);
        }
    }
    window_free(&w);
    return failed;
}

int ISA(dom_filter)(const dom_points *p, int first, uint8_t *keep) {
    memset(keep, 0, (size_t)p->n);
    scratch s = {0};
    int failed = scratch_init(&s, p);
    if (!failed && p->d == 1) {
        double least = INFINITY;
        for (int64_t i = 0; i < p->n; i++) least = p->rows[i] < least ? p->rows[i] : least;
        for (int64_t i = 0, seen = 0; i < p->n; i++) {
            keep[i] = p->rows[i] == least && !(first && seen);
            seen |= keep[i];
        }
    } else if (!failed) {
        mean_keys(p, s.scale, s.key);
        int64_t m = drop_beaten(p, s.key, s.order);
        if (p->d == 2) {
            one_keys(p, 0, s.scale[0], s.key);
            dom_sort(p, s.order, s.key, m, 0, s.work);
            dom_sweep2(p, s.order, m, first, keep);
        } else if (p->d == 3) {
            one_keys(p, 2, s.scale[2], s.key);
            dom_sort(p, s.order, s.key, m, 2, s.work);
            one_keys(p, 0, s.scale[0], s.key);
            failed = dom_sweep3(p, s.order, s.key, m, first, s.work, keep);
        } else {
            failed = filter_many(p, &s, m, first, keep);
        }
    }
    scratch_free(&s);
    return failed;
}

/* In the order of the keys: the first front in which nothing covers the point, by bisection; what covers it in one front is
   itself covered in every earlier one. */
static int ranks_many(const dom_points *p, scratch *s, int64_t *rank) {
    window *fronts = NULL;
    int64_t n_fronts = 0, capacity = 0;
    int failed = 0;
    for (int64_t at = 0; at < p->n && !failed; at++) {
        uint32_t i = s->order[at];
        if (at > 0 && dom_equal(p, i, s->order[at - 1])) {
            rank[i] = rank[s->order[at - 1]];
            continue;
        }
        int64_t lo = 0, hi = n_fronts;
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2;
            if (window_covers(p, s->buckets, fronts + mid, i)) lo = mid + 1; else hi = mid;
        }
        if (lo == capacity) {
            int64_t larger = capacity ? 2 * capacity : 16;
            window *more = realloc(fronts, sizeof(window) * (size_t)larger);
            if ((failed = !more)) break;
            fronts = more;
            memset(fronts + capacity, 0, sizeof(window) * (size_t)(larger - capacity));
            capacity = larger;
        }
        if (lo == n_fronts) n_fronts++;
        rank[i] = lo;
        failed = window_add(p, s, fronts + lo, i);
    }
    for (int64_t f = 0; f < n_fronts; f++) window_free(fronts + f);
    free(fronts);
    return failed ? -1 : 0;
}

int ISA(dom_ranks)(const dom_points *p, int64_t *rank) {
    scratch s = {0};
    int failed = scratch_init(&s, p);
    if (!failed) {
        for (int64_t i = 0; i < p->n; i++) s.order[i] = (uint32_t)i;
        if (p->d < 3) {
            one_keys(p, 0, s.scale[0], s.key);
            dom_sort(p, s.order, s.key, p->n, 0, s.work);
        }
        if (p->d == 1) {
            for (int64_t at = 0; at < p->n; at++) {
                uint32_t i = s.order[at];
                rank[i] = at == 0 ? 0 : rank[s.order[at - 1]] + (p->rows[i] != p->rows[s.order[at - 1]]);
            }
        } else if (p->d == 2) {
            failed = dom_ranks2(p, s.order, rank);
        } else {
            mean_keys(p, s.scale, s.key);
            dom_sort(p, s.order, s.key, p->n, 0, s.work);
            failed = ranks_many(p, &s, rank);
        }
    }
    scratch_free(&s);
    return failed;
}

/* ---- epsilon dominance ------------------------------------------------------------------------------------- */

/* Four rows of p against columns of q: each value of q is loaded once for the four. */
void ISA(dom_excess)(const double *p, int64_t n, const double *q_columns, int64_t m, int d, double *out) {
    const int64_t tile = 512;
    for (int64_t start = 0; start < m; start += tile) {
        int64_t end = start + tile < m ? start + tile : m;
        for (int64_t i = 0; i < n; i += 4) {
            int64_t r1 = i + 1 < n ? 1 : 0, r2 = i + 2 < n ? 2 : r1, r3 = i + 3 < n ? 3 : r2; /* missing rows repeat the last */
            const double *a0 = p + i * d, *a1 = a0 + r1 * d, *a2 = a0 + r2 * d, *a3 = a0 + r3 * d;
            double *o0 = out + i * m, *o1 = o0 + r1 * m, *o2 = o0 + r2 * m, *o3 = o0 + r3 * m;
            int64_t j = start;
            for (; j + 4 <= end; j += 4) {
                v4d q = v4_load(q_columns + j);
                v4d e0 = v4_set(a0[0]) - q, e1 = v4_set(a1[0]) - q, e2 = v4_set(a2[0]) - q, e3 = v4_set(a3[0]) - q;
                for (int k = 1; k < d; k++) {
                    q = v4_load(q_columns + (size_t)k * (size_t)m + j);
                    e0 = v4_max_of(v4_set(a0[k]) - q, e0);
                    e1 = v4_max_of(v4_set(a1[k]) - q, e1);
                    e2 = v4_max_of(v4_set(a2[k]) - q, e2);
                    e3 = v4_max_of(v4_set(a3[k]) - q, e3);
                }
                v4_store(o0 + j, e0);
                v4_store(o1 + j, e1);
                v4_store(o2 + j, e2);
                v4_store(o3 + j, e3);
            }
            for (; j < end; j++)
                for (int64_t r = i; r < i + 4 && r < n; r++) {
                    double most = p[r * d] - q_columns[j];
                    for (int k = 1; k < d; k++) {
                        double e = p[r * d + k] - q_columns[(size_t)k * (size_t)m + j];
                        most = e > most ? e : most;
                    }
                    out[r * m + j] = most;
                }
        }
    }
}

/* For one q: least excess over all p, given up as soon as it cannot raise `worst`. A block of p that sufficed for the last q is
   tried first. */
double ISA(dom_indicator)(const double *p_columns, int64_t n, const double *q, int64_t m, int d) {
    double worst = -INFINITY;
    int64_t hint = 0;
    for (int64_t j = 0; j < m; j++) {
        const double *b = q + j * d;
        double least = INFINITY;
        int64_t n_blocks = (n + 7) / 8;
        for (int64_t t = 0; t < n_blocks; t++) {
            int64_t block = t == 0 ? hint : t <= hint ? t - 1 : t, i = 8 * block;
            double here;
            if (i + 8 <= n) {
                v4d e0 = v4_load(p_columns + i) - v4_set(b[0]), e1 = v4_load(p_columns + i + 4) - v4_set(b[0]);
                for (int k = 1; k < d; k++) {
                    const double *column = p_columns + (size_t)k * (size_t)n + i;
                    e0 = v4_max_of(v4_load(column) - v4_set(b[k]), e0);
                    e1 = v4_max_of(v4_load(column + 4) - v4_set(b[k]), e1);
                }
                here = -v4_max(-v4_min(e0, e1));
            } else {
                here = INFINITY;
                for (; i < n; i++) {
                    double most = p_columns[i] - b[0];
                    for (int k = 1; k < d; k++) {
                        double e = p_columns[(size_t)k * (size_t)n + i] - b[k];
                        most = e > most ? e : most;
                    }
                    here = most < here ? most : here;
                }
            }
            least = here < least ? here : least;
            if (least <= worst) {
                hint = block;
                break;
            }
        }
        worst = least > worst ? least : worst;
    }
    return worst;
}

/* ---- the search's relation --------------------------------------------------------------------------------- */

void ISA(dom_outdoes)(const double *f, int64_t n, const double *g_columns, int64_t m, int d, double epsilon, uint8_t *out) {
    const v4d eps = v4_set(epsilon);
    for (int64_t i = 0; i < n; i++) {
        const double *a = f + i * d;
        uint8_t *row = out + i * m;
        int64_t j = 0;
        for (; j + 4 <= m; j += 4) {
            v4d lead = v4_set(a[0]) - v4_load(g_columns + j);
            v4i ahead = lead > eps, cheaper = (lead <= eps) & (lead >= -eps);
            for (int k = 1; k < d; k++) cheaper &= v4_set(a[k]) > v4_load(g_columns + (size_t)k * (size_t)m + j);
            int bits = v4_bits(ahead | cheaper);
            for (int lane = 0; lane < 4; lane++) row[j + lane] = (uint8_t)(bits >> lane & 1);
        }
        for (; j < m; j++) {
            double lead = a[0] - g_columns[j];
            int cheaper = fabs(lead) <= epsilon;
            for (int k = 1; k < d; k++) cheaper &= a[k] > g_columns[(size_t)k * (size_t)m + j];
            row[j] = (uint8_t)(lead > epsilon || cheaper);
        }
    }
}
