/* The volume of a box that a few points leave uncovered, as a sum of positive parts: for many objectives, where the
   boxes of hypervolume_boxes.h would be too many to keep, and for few points. Included by hypervolume_impl.h. */

typedef struct {
    int (*poll)(void);
    long until_poll;
    int failed; /* HV_OK, or why the sum is worthless */
} gap_state;

static inline double box_volume(const double *lo, const double *hi, long d) {
    double v = 1.0;
    for (long j = 0; j < d; j++) v *= hi[j] - lo[j];
    return v;
}

/* [lo, hi) without [q, hi): the slab x_0 < q_0, then of the rest the slab x_1 < q_1, and so on. */
static inline double gap_of_one(const double *lo, const double *hi, const double *q, long d) {
    double above = 1.0, total = 0.0; /* prod_{i<j} (hi_i - q_i) */
    for (long j = 0; j < d; j++) {
        double part = above * (q[j] - lo[j]);
        for (long i = j + 1; i < d; i++) part *= hi[i] - lo[i];
        total += part;
        above *= hi[j] - q[j];
    }
    return total;
}

/* The point that covers most goes first; in each slab in front of it only the points that reach into the slab remain.
   All q satisfy lo <= q < hi. Memory: the points of one path of the recursion. */
static double gap(const double *lo, const double *hi, const double *q, long n, long d, gap_state *g) {
    if (n == 0) return box_volume(lo, hi, d);
    if (n == 1) return gap_of_one(lo, hi, q, d);
    if (g->failed) return 0.0;
    if (g->poll && --g->until_poll < 0) {
        g->until_poll = 1 << 16;
        if (g->poll()) {
            g->failed = HV_INTERRUPTED;
            return 0.0;
        }
    }
    long pivot = 0;
    double most = -1.0;
    for (long k = 0; k < n; k++) {
        double v = box_volume(q + k * d, hi, d);
        if (v > most) {
            most = v;
            pivot = k;
        }
    }
    double local[512], *memory = local;
    if ((n + 2) * d > 512) memory = malloc(sizeof(double) * (size_t)((n + 2) * d));
    if (!memory) {
        g->failed = HV_NO_MEMORY;
        return 0.0;
    }
    double *low = memory, *high = low + d, *rest = high + d, total = 0.0;
    memcpy(low, lo, sizeof(double) * (size_t)d);
    memcpy(high, hi, sizeof(double) * (size_t)d);
    const double *p = q + pivot * d;
    for (long j = 0; j < d; j++) {
        if (p[j] <= lo[j]) continue; /* no slab in front of it */
        long m = 0;
        int covered = 0;
        for (long k = 0; k < n && !covered; k++) {
            const double *c = q + k * d;
            if (c[j] >= p[j]) continue;
            covered = 1;
            for (long i = 0; i < d; i++) {
                double v = c[i] > low[i] ? c[i] : low[i];
                rest[m * d + i] = v;
                covered &= v == low[i];
            }
            m++;
        }
        if (!covered) {
            high[j] = p[j];
            total += gap(low, high, rest, m, d, g);
            high[j] = hi[j];
        }
        low[j] = p[j];
    }
    if (memory != local) free(memory);
    return total;
}

/* What of the box [p, r) the points leave to p alone, reduced to the points that matter: each one moved to the corner
   max(p, q) of what it covers, and only those of these that none of the others covers; the largest come first.
   Returns their number, or -1 where one of them covers all. `into` has room for n rows, `size` for n values. */
static long limit_set(const double *p, const double *r, const double *points, long n, long skip, long d, double *into, double *size) {
    long m = 0;
    for (long k = 0; k < n; k++) {
        if (k == skip) continue;
        const double *q = points + k * d;
        double *c = into + m * d, volume = 1.0;
        int all = 1;
        for (long j = 0; j < d; j++) {
            c[j] = q[j] > p[j] ? q[j] : p[j];
            all &= q[j] <= p[j];
            volume *= r[j] - c[j];
        }
        if (all) return -1;
        size[m++] = volume;
    }
    long kept = 0;
    while (kept < m) { /* take the largest, drop what it covers */
        long best = kept;
        for (long k = kept + 1; k < m; k++)
            if (size[k] > size[best]) best = k;
        for (long j = 0; j < d; j++) {
            double t = into[kept * d + j];
            into[kept * d + j] = into[best * d + j];
            into[best * d + j] = t;
        }
        size[best] = size[kept];
        const double *c = into + kept * d;
        kept++;
        long left = kept;
        for (long k = kept; k < m; k++) {
            const double *q = into + k * d;
            int inside = 1;
            for (long j = 0; j < d; j++) inside &= q[j] >= c[j];
            if (inside) continue;
            if (left != k) {
                memcpy(into + left * d, q, sizeof(double) * (size_t)d);
                size[left] = size[k];
            }
            left++;
        }
        m = left;
    }
    return kept;
}
