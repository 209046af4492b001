/* Packing, sorting, and the sweeps in two and three dimensions: nothing here gains from vectors. */
#include <math.h>
#include "dominance.h"

int dom_pack(dom_points *p, const double *points, int64_t n, int d, const uint8_t *flip, int64_t *bad) {
    memset(p, 0, sizeof *p);
    p->n = n;
    p->d = d;
    *bad = -1;
    int flips = 0;
    for (int k = 0; k < d; k++) flips |= flip[k];
    size_t bytes = sizeof(double) * (size_t)(n * d) + 64;
    p->own_columns = malloc(bytes);
    if (!p->own_columns) return -1;
    p->rows = points;
    p->columns = p->own_columns;
    if (flips) {
        p->own_rows = malloc(bytes);
        if (!p->own_rows) return -1;
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < d; k++) p->own_rows[i * d + k] = flip[k] ? -points[i * d + k] : points[i * d + k];
        p->rows = p->own_rows;
    }
    double trace = 0.0; /* x - x is 0 for finite x and NaN for the rest */
    for (int64_t start = 0; start < n; start += 256) { /* rows that stay in the cache while their columns are taken */
        int64_t end = start + 256 < n ? start + 256 : n;
        for (int k = 0; k < d; k++) {
            const double *from = p->rows + k;
            double *to = p->own_columns + (size_t)k * (size_t)n, sum = 0.0;
            for (int64_t i = start; i < end; i++) {
                double x = from[i * d];
                to[i] = x;
                sum += x - x;
            }
            trace += sum;
        }
    }
    if (trace != 0.0)
        for (int64_t i = 0; i < n * d; i++)
            if (!isfinite(points[i])) {
                *bad = i;
                break;
            }
    return 0;
}

void dom_release(dom_points *p) {
    free(p->own_rows);
    free(p->own_columns);
    p->own_rows = p->own_columns = NULL;
}

/* ---- sorting ----------------------------------------------------------------------------------------------- */

static int comes_before(const dom_points *p, int first, uint32_t a, uint32_t b) {
    const double *x = p->rows + (size_t)a * (size_t)p->d, *y = p->rows + (size_t)b * (size_t)p->d;
    for (int k = first; k < p->d; k++)
        if (x[k] != y[k]) return x[k] < y[k];
    for (int k = 0; k < first; k++)
        if (x[k] != y[k]) return x[k] < y[k];
    return a < b;
}

/* A run of equal keys, by coordinates: insertion for short runs, merging for long ones. */
static void sort_run(const dom_points *p, int first, uint32_t *run, int64_t m, uint32_t *spare) {
    const int64_t step = 12;
    for (int64_t start = 0; start < m; start += step) {
        int64_t end = start + step < m ? start + step : m;
        for (int64_t i = start + 1; i < end; i++) {
            uint32_t one = run[i];
            int64_t j = i;
            for (; j > start && comes_before(p, first, one, run[j - 1]); j--) run[j] = run[j - 1];
            run[j] = one;
        }
    }
    uint32_t *from = run, *to = spare;
    for (int64_t width = step; width < m; width *= 2) {
        for (int64_t start = 0; start < m; start += 2 * width) {
            int64_t mid = start + width < m ? start + width : m, end = mid + width < m ? mid + width : m;
            int64_t a = start, b = mid, at = start;
            while (a < mid && b < end) to[at++] = comes_before(p, first, from[b], from[a]) ? from[b++] : from[a++];
            while (a < mid) to[at++] = from[a++];
            while (b < end) to[at++] = from[b++];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != run) memcpy(run, from, sizeof(uint32_t) * (size_t)m);
}

void dom_sort(const dom_points *p, uint32_t *order, const double *key, int64_t m, int first, uint64_t *work) {
    if (m < 2) return;
    uint64_t *from = work, *to = work + m;
    int width = 11, n_passes = 3;
    if (m <= 48) {
        n_passes = 0;
    } else if (m < 1500) {
        width = 8;
        n_passes = 2;
    } else if (m < 60000) {
        n_passes = 2;
    }
    uint32_t counts[2048];
    double scale = n_passes ? ldexp(1.0, width * n_passes < 32 ? width * n_passes : 32) : 0.0, top = scale - 1.0;
    for (int64_t i = 0; i < m; i++) {
        double k = key[order[i]] * scale;
        k = k < top ? k : top;
        from[i] = ((uint64_t)(uint32_t)(k > 0.0 ? k : 0.0) << 32) | order[i];
    }
    if (n_passes) {
        for (int pass = 0; pass < n_passes; pass++) {
            int shift = 32 + width * pass;
            uint64_t mask = ((uint64_t)1 << width) - 1;
            memset(counts, 0, sizeof counts);
            for (int64_t i = 0; i < m; i++) counts[(from[i] >> shift) & mask]++;
            uint32_t sum = 0;
            for (uint64_t b = 0; b <= mask; b++) {
                uint32_t c = counts[b];
                counts[b] = sum;
                sum += c;
            }
            for (int64_t i = 0; i < m; i++) to[counts[(from[i] >> shift) & mask]++] = from[i];
            uint64_t *swap = from;
            from = to;
            to = swap;
        }
    }
    for (int64_t i = 0; i < m; i++) order[i] = (uint32_t)from[i];
    uint32_t *spare = (uint32_t *)to;
    for (int64_t start = 0; start < m;) {
        int64_t end = start + 1;
        while (end < m && from[end] >> 32 == from[start] >> 32) end++;
        if (end - start > 1) sort_run(p, first, order + start, end - start, spare);
        start = end;
    }
}

/* ---- two and three dimensions ------------------------------------------------------------------------------ */

/* In the order (x, y): a point stays iff its y is below every earlier one's, or it equals the last that stayed. */
void dom_sweep2(const dom_points *p, const uint32_t *order, int64_t m, int first, uint8_t *keep) {
    const double *rows = p->rows;
    double x = 0.0, y = INFINITY;
    for (int64_t at = 0; at < m; at++) {
        const double *row = rows + 2 * (size_t)order[at];
        if (row[1] < y) {
            x = row[0];
            y = row[1];
            keep[order[at]] = 1;
        } else if (row[1] == y && row[0] == x) {
            keep[order[at]] = !first;
        }
    }
}

/* In the order (z, x, y): least y among the earlier points whose x is not larger, from a Fenwick tree over the ranks of x.
   Chosen over a sorted staircase, whose insertions move O(n) values on fronts like (x, 1 - x, z). */
int dom_sweep3(
    const dom_points *p, const uint32_t *order, const double *key0, int64_t m, int first, uint64_t *work, uint8_t *keep
) {
    double *tree = malloc(sizeof(double) * (size_t)(m + 1));
    uint32_t *by_x = malloc(sizeof(uint32_t) * (size_t)m), *rank = malloc(sizeof(uint32_t) * (size_t)p->n);
    if (!tree || !by_x || !rank) {
        free(tree);
        free(by_x);
        free(rank);
        return -1;
    }
    for (int64_t i = 0; i <= m; i++) tree[i] = INFINITY;
    memcpy(by_x, order, sizeof(uint32_t) * (size_t)m);
    dom_sort(p, by_x, key0, m, 0, work);
    uint32_t level = 0;
    for (int64_t at = 0; at < m; at++) {
        if (at == 0 || p->columns[by_x[at]] != p->columns[by_x[at - 1]]) level++;
        rank[by_x[at]] = level;
    }
    for (int64_t at = 0; at < m; at++) {
        uint32_t i = order[at];
        if (at > 0 && dom_equal(p, i, order[at - 1])) {
            keep[i] = !first && keep[order[at - 1]];
            continue;
        }
        double y = p->rows[3 * (size_t)i + 1], least = INFINITY;
        for (uint32_t r = rank[i]; r; r &= r - 1) least = tree[r] < least ? tree[r] : least;
        if (least <= y) continue;
        keep[i] = 1;
        for (uint32_t r = rank[i]; r <= level && y < tree[r]; r += r & -r) tree[r] = y;
    }
    free(tree);
    free(by_x);
    free(rank);
    return 0;
}

/* In the order (x, y): the first front whose least y is larger; these values rise from front to front. */
int dom_ranks2(const dom_points *p, const uint32_t *order, int64_t *rank) {
    double *least = malloc(sizeof(double) * (size_t)(p->n + 1));
    if (!least) return -1;
    int64_t n_fronts = 0;
    for (int64_t at = 0; at < p->n; at++) {
        uint32_t i = order[at];
        if (at > 0 && dom_equal(p, i, order[at - 1])) {
            rank[i] = rank[order[at - 1]];
            continue;
        }
        double y = p->rows[2 * (size_t)i + 1];
        int64_t lo = 0, hi = n_fronts;
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2;
            if (least[mid] <= y) lo = mid + 1; else hi = mid;
        }
        least[lo] = y;
        if (lo == n_fronts) n_fronts++;
        rank[i] = lo;
    }
    free(least);
    return 0;
}
