/* One, two and three objectives: sweeps over sorted points. Every volume is a sum of products of positive differences,
   so that nothing cancels. Included by hypervolume_impl.h. */
#include "hypervolume_order.h"

/* Compensated sum: the rounding error of every addition is kept (D. E. Knuth, The Art of Computer Programming 2, 4.2.2),
   so that the error does not grow with the number of terms. The variant that compares instead was slower. */
typedef struct {
    double sum, rest;
} hv_sum;

static inline void add_to(hv_sum *s, double x) {
    double t = s->sum + x, part = t - s->sum;
    s->rest += (s->sum - (t - part)) + (x - part);
    s->sum = t;
}

static inline double value_of(const hv_sum *s) { return isfinite(s->sum) ? s->sum + s->rest : s->sum; }

/* ---- a set of ranks with predecessor and successor: a tree of 64-bit words ------------------------------------ */

#define RANKS_MAX_LEVELS 6
typedef struct {
    uint64_t *level[RANKS_MAX_LEVELS];
    int n_levels;
} rank_set;

static long ranks_words(long n) {
    long total = 0;
    do {
        n = (n + 63) / 64;
        total += n;
    } while (n > 1);
    return total;
}

static void ranks_init(rank_set *set, uint64_t *words, long n) {
    memset(words, 0, sizeof(uint64_t) * (size_t)ranks_words(n));
    set->n_levels = 0;
    do {
        n = (n + 63) / 64;
        set->level[set->n_levels++] = words;
        words += n;
    } while (n > 1);
}

static inline void ranks_add(rank_set *set, long i) {
    for (int k = 0; k < set->n_levels; k++, i >>= 6) set->level[k][i >> 6] |= (uint64_t)1 << (i & 63);
}

static inline void ranks_drop(rank_set *set, long i) {
    for (int k = 0; k < set->n_levels; k++, i >>= 6)
        if (set->level[k][i >> 6] &= ~((uint64_t)1 << (i & 63))) return;
}

/* Largest member below i, or -1. */
static inline long ranks_before(const rank_set *set, long i) {
    for (int k = 0; k < set->n_levels; k++, i >>= 6) {
        uint64_t w = set->level[k][i >> 6] & (((uint64_t)1 << (i & 63)) - 1);
        if (!w) continue;
        i = (i & ~63L) | (63 - __builtin_clzll(w));
        while (k-- > 0) i = i << 6 | (63 - __builtin_clzll(set->level[k][i]));
        return i;
    }
    return -1;
}

/* Smallest member above i, or -1. */
static inline long ranks_after(const rank_set *set, long i) {
    for (int k = 0; k < set->n_levels; k++, i >>= 6) {
        uint64_t w = set->level[k][i >> 6] & (~(uint64_t)1 << (i & 63));
        if (!w) continue;
        i = (i & ~63L) | __builtin_ctzll(w);
        while (k-- > 0) i = i << 6 | __builtin_ctzll(set->level[k][i]);
        return i;
    }
    return -1;
}

/* ---- two objectives ---------------------------------------------------------------------------------------------- */

static double volume2(const double *p, long n, const double *r, uint32_t *order, order_scratch s) {
    order_by(p, 2, n, order, s);
    double lowest = r[1];
    hv_sum total = {0, 0};
    for (long i = 0; i < n; i++) {
        const double *q = p + 2 * (long)order[i];
        if (q[1] < lowest) {
            add_to(&total, (r[0] - q[0]) * (lowest - q[1]));
            lowest = q[1];
        }
    }
    return value_of(&total);
}

/* What only p covers, for every p. Between two steps of the staircase lie the points that only the first of them
   dominates: each lowers the ceiling of its region from there on. Where x is equal the lower y must come first. */
static void contributions2(const double *p, long n, const double *r, uint32_t *order, order_scratch s, double *out) {
    order_by(p, 2, n, order, s);
    for (long i = 1; i < n; i++) { /* runs of equal x: lower y first */
        uint32_t index = order[i];
        long k = i;
        for (; k > 0 && p[2 * (long)order[k - 1]] == p[2 * (long)index] && p[2 * (long)order[k - 1] + 1] > p[2 * (long)index + 1]; k--)
            order[k] = order[k - 1];
        order[k] = index;
    }
    memset(out, 0, sizeof(double) * (size_t)n);
    double above = r[1]; /* y of the step before this one */
    for (long i = 0; i < n;) {
        const double *q = p + 2 * (long)order[i];
        double ceiling = above, from = q[0];
        hv_sum area = {0, 0};
        long k = i + 1;
        for (; k < n; k++) {
            const double *t = p + 2 * (long)order[k];
            if (t[1] < q[1]) break;
            if (t[1] >= ceiling) continue;
            add_to(&area, (t[0] - from) * (ceiling - q[1]));
            from = t[0];
            ceiling = t[1];
        }
        double end = k < n ? p[2 * (long)order[k]] : r[0];
        add_to(&area, (end - from) * (ceiling - q[1]));
        out[order[i]] = value_of(&area);
        above = q[1];
        i = k;
    }
}

/* ---- three objectives -------------------------------------------------------------------------------------------- */

/* Points in order of x, and the order of their third objective. */
typedef struct {
    double *x, *y, *z;
    uint32_t *by_x, *by_z;
    rank_set stairs;
} sweep3;

static long sweep3_bytes(long n) {
    return (long)sizeof(double) * 3 * n + (long)sizeof(uint32_t) * 2 * (n + 1) + 8 * (ranks_words(n) + 2);
}

static void sweep3_init(sweep3 *w, void *memory, const double *p, long n, order_scratch s) {
    w->x = memory;
    w->y = w->x + n;
    w->z = w->y + n;
    uint64_t *words = (uint64_t *)(w->z + n);
    w->by_x = (uint32_t *)(words + ranks_words(n));
    w->by_z = w->by_x + n;
    ranks_init(&w->stairs, words, n);
    order_by(p, 3, n, w->by_x, s);
    for (long i = 0; i < n; i++) {
        const double *q = p + 3 * (long)w->by_x[i];
        w->x[i] = q[0];
        w->y[i] = q[1];
        w->z[i] = q[2];
    }
    order_by(w->z, 1, n, w->by_z, s);
}

/* Sweep z upwards; the points so far form a staircase in (x, y) whose area grows by a sum of rectangles with each point
   that it does not dominate. Equal x need no care: a step of width zero is a step. */
static double volume3(sweep3 *w, long n, const double *r) {
    hv_sum total = {0, 0};
    const double *x = w->x, *y = w->y;
    for (long k = 0; k < n; k++) {
        long i = w->by_z[k], left = ranks_before(&w->stairs, i);
        double ceiling = left < 0 ? r[1] : y[left], floor = y[i], from = x[i], area = 0.0;
        if (ceiling <= floor) continue;
        long right = ranks_after(&w->stairs, i);
        while (right >= 0 && y[right] >= floor) {
            area += (x[right] - from) * (ceiling - floor);
            from = x[right];
            ceiling = y[right];
            ranks_drop(&w->stairs, right);
            right = ranks_after(&w->stairs, right);
        }
        area += ((right < 0 ? r[0] : x[right]) - from) * (ceiling - floor);
        ranks_add(&w->stairs, i);
        add_to(&total, area * (r[2] - w->z[i]));
    }
    return value_of(&total);
}

/* The region that only one step of the staircase covers, cut into slabs along x with falling ceilings; each lives from
   the z at which it was made to the z at which a later point cuts it. Slabs of all steps share one pool. */
typedef struct {
    double from, to, ceiling, since;
    int32_t left, right; /* neighbours in the region, or -1 */
} slab;

typedef struct {
    slab *slabs;
    int32_t unused;         /* head of the list of slabs given back, linked by `right`; or -1 */
    int32_t n_made;         /* slabs behind these were never used: most of the pool is not even touched */
    int32_t *first, *last;  /* of each step, or -1 */
    hv_sum *out;            /* contributions in order of x */
    const double *y;
} regions;

static inline void slab_pay(regions *g, long i, const slab *s, double z) {
    add_to(g->out + i, (s->to - s->from) * (s->ceiling - g->y[i]) * (z - s->since));
}

static inline int32_t slab_new(regions *g, slab s) {
    int32_t at = g->unused;
    if (at >= 0) g->unused = g->slabs[at].right;
    else at = g->n_made++;
    g->slabs[at] = s;
    return at;
}

static inline void slab_unlink(regions *g, long i, int32_t at) {
    slab *s = g->slabs + at;
    if (s->left >= 0) g->slabs[s->left].right = s->right; else g->first[i] = s->right;
    if (s->right >= 0) g->slabs[s->right].left = s->left; else g->last[i] = s->left;
    s->right = g->unused;
    g->unused = at;
}

static inline void slab_append(regions *g, long i, double from, double to, double ceiling, double z) {
    int32_t last = g->last[i], at = slab_new(g, (slab){from, to, ceiling, z, last, -1});
    if (last >= 0) g->slabs[last].right = at; else g->first[i] = at;
    g->last[i] = at;
}

static inline void cut_right(regions *g, long i, double x, double z) { /* drop all with x or more */
    int32_t at;
    while ((at = g->last[i]) >= 0 && g->slabs[at].to > x) {
        slab *s = g->slabs + at;
        slab_pay(g, i, s, z);
        if (s->from >= x) {
            slab_unlink(g, i, at);
            continue;
        }
        s->to = x;
        s->since = z;
        return;
    }
}

static inline void cut_top(regions *g, long i, double y, double z) { /* drop all with y or more */
    int32_t at;
    double from = 0.0, to = 0.0;
    int any = 0;
    while ((at = g->first[i]) >= 0 && g->slabs[at].ceiling > y) {
        slab *s = g->slabs + at;
        slab_pay(g, i, s, z);
        if (!any) from = s->from;
        to = s->to;
        any = 1;
        slab_unlink(g, i, at);
    }
    if (!any || y <= g->y[i]) return;
    int32_t first = g->first[i], made = slab_new(g, (slab){from, to, y, z, -1, first});
    if (first >= 0) g->slabs[first].left = made; else g->last[i] = made;
    g->first[i] = made;
}

/* Drop the quadrant at (x, y), which begins inside the region: only where the input holds dominated points. */
static void cut_corner(regions *g, long i, double x, double y, double z) {
    for (int32_t at = g->first[i]; at >= 0;) {
        slab *s = g->slabs + at;
        int32_t next = s->right;
        if (s->to > x && s->ceiling > y) {
            slab_pay(g, i, s, z);
            s->since = z;
            if (s->from < x) { /* split: the left part stays */
                int32_t made = slab_new(g, (slab){x, s->to, y, z, at, next});
                s = g->slabs + at;
                s->to = x;
                s->right = made;
                if (next >= 0) g->slabs[next].left = made; else g->last[i] = made;
                at = made;
                s = g->slabs + at;
            } else {
                s->ceiling = y;
            }
            if (s->ceiling <= g->y[i]) slab_unlink(g, i, at);
        }
        at = next;
    }
}

/* After M. T. M. Emmerich and C. M. Fonseca (EMO 2011, LNCS 6576, 121): one sweep for all. Departs from it: regions are
   lists in a pool, the staircase is a rank set, and dominated points cut the region of the one step that covers them. */
static void contributions3(sweep3 *w, long n, const double *r, regions *g) {
    const double *x = w->x, *y = w->y;
    for (long k = 0; k < n; k++) {
        long i = w->by_z[k], left = ranks_before(&w->stairs, i);
        double z = w->z[i], ceiling = left < 0 ? r[1] : y[left], floor = y[i], from = x[i];
        g->first[i] = g->last[i] = -1;
        if (ceiling <= floor) { /* dominated by the step on its left, and by that one alone? */
            long before = ranks_before(&w->stairs, left);
            if (before < 0 || y[before] > floor) cut_corner(g, left, x[i], floor, z);
            continue;
        }
        long right = ranks_after(&w->stairs, i);
        while (right >= 0 && y[right] >= floor) {
            if (x[right] > from) slab_append(g, i, from, x[right], ceiling, z);
            from = x[right];
            ceiling = y[right];
            cut_right(g, right, x[right], z); /* covered twice from here on */
            ranks_drop(&w->stairs, right);
            right = ranks_after(&w->stairs, right);
        }
        double end = right < 0 ? r[0] : x[right];
        if (end > from && ceiling > floor) slab_append(g, i, from, end, ceiling, z);
        if (left >= 0) cut_right(g, left, x[i], z);
        if (right >= 0) cut_top(g, right, floor, z);
        ranks_add(&w->stairs, i);
    }
    for (long i = 0; i < n; i++)
        for (int32_t at = g->first[i]; at >= 0; at = g->slabs[at].right) slab_pay(g, i, g->slabs + at, r[2]);
}
