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

/* ---- what of the box [p, r) the points leave to p alone ------------------------------------------------------------ */

/* Points by objective, n_padded (a multiple of four) values each; the values behind the last point are those of r. */
typedef struct {
    double *column; /* [objective][n_padded] */
    double *work;   /* the same room again, for the points that are still in the race */
    double *size;   /* n_padded: what each point covers of the box; -1 where it is out */
    long n, n_padded;
} race;

static size_t race_bytes(long n, long d) { return sizeof(double) * (size_t)((n + 3) / 4 * 4 * (2 * d + 1)); }

static void race_init(race *a, void *memory, const double *points, const double *r, long n, long d, long stride) {
    a->n = n;
    a->n_padded = (n + 3) / 4 * 4;
    a->column = memory;
    a->work = a->column + a->n_padded * d;
    a->size = a->work + a->n_padded * d;
    for (long j = 0; j < d; j++) {
        double *c = a->column + j * a->n_padded;
        for (long k = 0; k < n; k++) c[k] = points[k * stride + j];
        for (long k = n; k < a->n_padded; k++) c[k] = r[j];
    }
}

/* Take out what the corner covers: q_j >= corner_j in every axis where the corner is not the box's own. Returns the
   largest size that is left and counts what is left. */
static inline __attribute__((always_inline)) double race_drop(const double *const *axis, const double *corner, const int n_axes,
                                                              double *size, long m, long *n_left) {
    v4d best = v4_set(-1.0), out = v4_set(-1.0);
    v4i left = {0, 0, 0, 0};
    for (long k = 0; k < m; k += 4) {
        v4i covered = v4_load(axis[0] + k) >= v4_set(corner[0]);
        for (int j = 1; j < n_axes; j++) covered &= v4_load(axis[j] + k) >= v4_set(corner[j]);
        v4d s = v4_load(size + k);
        s = (v4d)(((v4i)out & covered) | ((v4i)s & ~covered));
        v4_store(size + k, s);
        best = v4_top(best, s);
        left -= s >= v4_set(0.0);
    }
    *n_left = (left[0] + left[1]) + (left[2] + left[3]);
    return v4_max(best);
}

/* Keep only what is left, in a->work. Without a branch: who is left is as good as random. */
static inline __attribute__((always_inline)) long race_shrink(race *a, const double **from, long m, const long d) {
    long kept = 0;
    double *work = a->work, *size = a->size;
    const long step = a->n_padded;
    for (long k = 0; k < m; k++) {
        double s = size[k];
        for (long j = 0; j < d; j++) work[j * step + kept] = from[j][k];
        size[kept] = s;
        kept += s >= 0.0;
    }
    for (; kept & 3; kept++) size[kept] = -1.0; /* columns behind hold old values, which are out */
    for (long j = 0; j < d; j++) from[j] = work + j * step;
    return kept;
}

/* The others, each moved to the corner max(p, q) of what it covers of the box, reduced to those that no other one covers;
   the largest come first. Point number `skip` does not take part. Returns how many, or -1 where one covers the whole box.
   `into` has room for n rows; `from` for d pointers, `axis` for as many, `corner` for d values. */
static long limit_set(race *a, const double *p, const double *r, long skip, long d, double *into, const double **from,
                      const double **axis, double *corner) {
    long m = a->n_padded, kept = 0, n_left;
    double most = -1.0;
    for (long j = 0; j < d; j++) from[j] = a->column + j * m;
    v4d top = v4_set(-1.0);
    for (long k = 0; k < m; k += 4) {
        v4d volume = v4_set(1.0);
        for (long j = 0; j < d; j++) volume *= v4_set(r[j]) - v4_top(v4_load(from[j] + k), v4_set(p[j]));
        v4_store(a->size + k, volume);
    }
    for (long k = a->n; k < m; k++) a->size[k] = -1.0;
    if (skip >= 0) a->size[skip] = -1.0;
    for (long k = 0; k < m; k += 4) top = v4_top(top, v4_load(a->size + k));
    most = v4_max(top);
    while (most >= 0.0) {
        long best = 0;
        while (!v4_bits(v4_load(a->size + best) == v4_set(most))) best += 4;
        best += __builtin_ctz(v4_bits(v4_load(a->size + best) == v4_set(most)));
        int n_axes = 0;
        double *row = into + kept * d;
        for (long j = 0; j < d; j++) {
            double v = from[j][best];
            row[j] = v > p[j] ? v : p[j];
            if (v <= p[j]) continue;
            axis[n_axes] = from[j];
            corner[n_axes++] = v;
        }
        if (!n_axes) return -1;
        kept++;
        switch (n_axes) {
            case 1: most = race_drop(axis, corner, 1, a->size, m, &n_left); break;
            case 2: most = race_drop(axis, corner, 2, a->size, m, &n_left); break;
            case 3: most = race_drop(axis, corner, 3, a->size, m, &n_left); break;
            default: most = race_drop(axis, corner, n_axes, a->size, m, &n_left);
        }
        if (m > 32 && 3 * n_left < 2 * m) m = d == 4 ? race_shrink(a, from, m, 4) : d == 5 ? race_shrink(a, from, m, 5) : race_shrink(a, from, m, d);
    }
    return kept;
}
