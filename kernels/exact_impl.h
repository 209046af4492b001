/* Included by exact_base.c and exact_avx2.c, each of which defines ISA(name): what uses the FFT. */
#include "exact_sums.h"
#include "fft.h"

/* Sums from products of the values in (w->ar, w->ai) and (w->br, w->bi), see fft_product, in the order of
   numpy.convolve or numpy.correlate "full". */
static void sums_of(exact_work *w, int kind, int mode, long n_a, long n_b) {
    const fft_plan *plan = w->plan;
    if (kind == EXACT_CONVOLUTION) {
        fft_backward(plan, mode, w->ar, w->ai, w->br, w->bi, w->ar, w->ai, w->lags, n_a + n_b - 1);
        return;
    }
    fft_backward(plan, mode, w->ar, w->ai, w->br, w->bi, w->ar, w->ai, w->circular, 2 * plan->m);
    fft_unroll(plan, w->circular, n_a, n_b, w->lags);
}

/* Lags of a and b (b may be a) in the order of numpy.convolve or numpy.correlate "full", each within *radius of the
   true sum of the scaled entries. EXACT_FAULT where the transform fails its own check. */
int ISA(exact_filter)(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double *radius) {
    const fft_plan *plan = w->plan;
    const int is_square = a == b;
    const long n_lags = a->n + b->n - 1;
    fft_forward(plan, fft_padded(plan, a->scaled, a->n, w->lags), a->n, w->ar, w->ai);
    if (!is_square) fft_forward(plan, fft_padded(plan, b->scaled, b->n, w->lags), b->n, w->br, w->bi);
    const int mode = kind == EXACT_CONVOLUTION ? (is_square ? FFT_SQUARE : FFT_MULTIPLY)
                                               : (is_square ? FFT_POWER : FFT_CORRELATE);
    sums_of(w, kind, mode, a->n, b->n);
    w->has_lags = 1;
    *radius = fft_relative_error(plan, 1) * a->norm * b->norm;
    return fft_holds(w->point, a->scaled, a->n, b->scaled, b->n, w->lags, n_lags, kind == EXACT_CORRELATION, *radius)
               ? EXACT_OK : EXACT_FAULT;
}

/* ---- many candidates: exact lags by slices ------------------------------------------------------------------- */

/* fixed[i] = sum_j digit_j 2^(width j), digits of -2^(width-1) .. 2^(width-1) - 1 but for the last; slice 0 is the most
   significant. */
typedef struct {
    int count, width;
    double norm[EXACT_KEPT_BITS];
    double *re, *im; /* values at the m points, a row each */
} slice_set;

static void slice_row(const exact_vector *v, int width, int count, int j, double *out) {
    const int64_t half = (int64_t)1 << (width - 1), mask = ((int64_t)1 << width) - 1;
    const int at = width * (count - 1 - j);
    for (long i = 0; i < v->n; i++) {
        /* Adding half at every lower place carries as the balanced digits below do. */
        int64_t carry = 0;
        for (int b = 0; b < at; b += width) carry |= half << b;
        int64_t t = (v->fixed[i] + carry) >> at;
        out[i] = (double)(j == 0 ? t : ((t + half) & mask) - half);
    }
}

static void add_product(double *sr, double *si, const double *ar, const double *ai, const double *br, const double *bi,
                        double factor, int is_correlation, long count) {
    const v4d f = v4_set(factor), t = v4_set(is_correlation ? -1.0 : 1.0);
    for (long k = 0; k < count; k += 4) {
        v4d xr = v4_load(ar + k), xi = v4_load(ai + k), yr = v4_load(br + k), yi = v4_load(bi + k) * t;
        v4_store(sr + k, v4_load(sr + k) + (xr * yr - xi * yi) * f);
        v4_store(si + k, v4_load(si + k) + (xr * yi + xi * yr) * f);
    }
}

static void slice_norms(const exact_vector *v, int width, int count, double *row, double *norm) {
    for (int j = 0; j < count; j++) {
        slice_row(v, width, count, j, row);
        norm[j] = sqrt(array_dot(row, row, v->n)) * (1.0 + 1e-9) + 1e-9;
    }
}

/* Transform the slices of `width` bits; norms come from slice_norms. */
static int slice_set_init(slice_set *s, exact_work *w, const exact_vector *v) {
    const fft_plan *plan = w->plan;
    const long row = plan->m;
    s->re = cache_aligned(2 * row * s->count);
    if (!s->re) return EXACT_NO_MEMORY;
    s->im = s->re + row * s->count;
    for (int j = 0; j < s->count; j++) {
        slice_row(v, s->width, s->count, j, w->lags);
        memset(w->lags + v->n, 0, sizeof(double) * (size_t)(2 * row - v->n));
        fft_forward(plan, w->lags, v->n, s->re + row * j, s->im + row * j);
    }
    return EXACT_OK;
}

/* Bound on |sum of level `level`| by Cauchy-Schwarz. */
static double level_norm(const slice_set *a, const slice_set *b, int level) {
    double sum = 0.0;
    for (int i = 0; i < a->count; i++)
        if (level - i >= 0 && level - i < b->count) sum += a->norm[i] * b->norm[level - i];
    return sum;
}

/* Lags of one level into w->lags, rounded to integers; EXACT_FAULT where one is too far from an integer. */
static int slice_level(exact_work *w, const slice_set *a, const slice_set *b, int kind, int level, long n_a, long n_b) {
    const fft_plan *plan = w->plan;
    const long row = plan->m, n_lags = n_a + n_b - 1;
    memset(w->ar, 0, sizeof(double) * (size_t)row);
    memset(w->ai, 0, sizeof(double) * (size_t)row);
    for (int i = 0; i < a->count; i++) {
        int j = level - i;
        if (j < 0 || j >= b->count) continue;
        if (a == b && kind == EXACT_CONVOLUTION && i > j) break; /* the other half of a symmetric sum */
        double factor = a == b && kind == EXACT_CONVOLUTION && i < j ? 2.0 : 1.0;
        add_product(w->ar, w->ai, a->re + row * i, a->im + row * i, b->re + row * j, b->im + row * j, factor,
                    kind == EXACT_CORRELATION, row);
    }
    sums_of(w, kind, FFT_SAME, n_a, n_b);
    const v4d magic = v4_set(6755399441055744.0); /* 1.5 * 2^52: adding it rounds to an integer */
    v4d worst = v4_set(0.0);
    long k = 0;
    for (; k + 4 <= n_lags; k += 4) {
        v4d c = v4_load(w->lags + k), r = (c + magic) - magic, off = c - r;
        worst = v4_larger(v4_larger(off, -off), worst);
        v4_store(w->lags + k, r);
    }
    double far = v4_max(worst);
    for (; k < n_lags; k++) {
        double r = (w->lags[k] + 6755399441055744.0) - 6755399441055744.0, off = fabs(w->lags[k] - r);
        far = off > far ? off : far;
        w->lags[k] = r;
    }
    return far < 0.49 ? EXACT_OK : EXACT_FAULT;
}

/* The widest slices whose sums round to integers for certain, by the norms of these very slices. */
static void slice_choose(exact_work *w, const exact_vector *a, const exact_vector *b, slice_set *sa, slice_set *sb) {
    for (int width = 16;; width--) {
        const int count = (EXACT_KEPT_BITS + width) / width;
        const double error = fft_relative_error(w->plan, count);
        sa->width = sb->width = width;
        sa->count = sb->count = count;
        /* digits are usually spread evenly: norm^2 is about n 4^width / 12 */
        if (width > 2 && error * count * sqrt((double)a->n * (double)b->n) * ldexp(1.0, 2 * width) > 12.0) continue;
        slice_norms(a, width, count, w->lags, sa->norm);
        if (a != b) slice_norms(b, width, count, w->lags, sb->norm);
        double worst = 0.0;
        for (int level = 0; level <= 2 * (count - 1); level++) {
            double bound = level_norm(sa, sb, level);
            worst = bound > worst ? bound : worst;
        }
        if (width == 2 || worst * error < 0.45) return;
    }
}

/* Narrow w->candidate, `left` lags, by exact sums of the leading digits: after level L a lag is known up to the levels
   behind it. Stops as soon as computing the rest one by one costs less than another level. */
static int slice_narrow(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, int sign, long *left) {
    const fft_plan *plan = w->plan;
    const long n = a->n > b->n ? a->n : b->n;
    const double slack = 1.0 + 1e-6;
    slice_set sa, sb_, *sb = a == b ? &sa : &sb_;
    slice_choose(w, a, b, &sa, sb);
    const int width = sa.width;
    w->has_lags = 0;
    int status = slice_set_init(&sa, w, a);
    if (!status && a != b) {
        status = slice_set_init(&sb_, w, b);
        if (status) free(sa.re);
    }
    if (status) return status;
    exact_wide *value = calloc((size_t)*left, sizeof *value);
    if (!value) status = EXACT_NO_MEMORY;
    const int last = sa.count + sb->count - 2;
    /* Entries are fixed + r with 0 <= r < 1 where low bits were dropped. */
    double dropped = 0.0;
    if (a->dropped || b->dropped) dropped = exact_fixed_sum_abs(a) + exact_fixed_sum_abs(b) + 2.0 * (double)n;
    const int whole_bits = a->bits - a->dropped + b->bits - b->dropped + 64 - __builtin_clzl((unsigned long)n);
    const double lag_cost = exact_lag_cost(a, b), level_cost = exact_transform_cost(plan->m);
    for (int level = 0; !status && level <= last; level++) {
        if (level_norm(&sa, sb, level) * fft_relative_error(plan, sa.count) >= 0.49) { status = EXACT_FAULT; break; }
        status = slice_level(w, &sa, sb, kind, level, a->n, b->n);
        if (status) break;
        double behind = ldexp(dropped, -width * (last - level));
        for (int later = level + 1; later <= last; later++)
            behind += ldexp(level_norm(&sa, sb, later), width * (level - later));
        exact_wide best = 0, reach = (exact_wide)(2.0 * behind * slack + 2.0);
        if (level == last && dropped == 0.0) reach = 0;
        for (long c = 0; c < *left; c++) {
            exact_wide v = value[c] * ((exact_wide)1 << width) + (int64_t)(sign * w->lags[w->candidate[c]]);
            value[c] = v;
            best = c == 0 || v > best ? v : best;
        }
        long kept = 0;
        for (long c = 0; c < *left; c++)
            if (value[c] >= best - reach) {
                w->candidate[kept] = w->candidate[c];
                value[kept++] = value[c];
            }
        *left = kept;
        if (level == last && dropped == 0.0) *left = 1; /* all bits are known: the rest are equal */
        if ((double)*left * lag_cost < level_cost) break;
        if (whole_bits - width * (last - level - 1) > 125) break; /* the next level would not fit into `value` */
    }
    free(value);
    free(sa.re);
    if (a != b) free(sb_.re);
    return status;
}

int ISA(exact_extreme)(exact_work *w, const exact_vector *a, const exact_vector *b, int kind, double radius, int sign,
                       double max_products, exact_number *out, long *n_candidates) {
    const long n_lags = a->n + b->n - 1;
    long count = exact_candidates(w->lags, n_lags, radius, sign, w->candidate,
                                  kind == EXACT_CORRELATION && a == b ? a->n - 1 : 0);
    *n_candidates = count;
    if ((double)count * exact_lag_cost(a, b) > 10.0 * exact_transform_cost(w->m)) {
        int status = slice_narrow(w, a, b, kind, sign, &count);
        if (status) return status;
    }
    if ((double)count * (double)(a->n < b->n ? a->n : b->n) > max_products) return EXACT_TOO_MANY;
    exact_number trial;
    for (long c = 0; c < count; c++) {
        exact_number *to = c == 0 ? out : &trial;
        exact_lag(a, b, kind, w->candidate[c], to);
        if (c && sign * exact_compare(&trial, out) > 0) *out = trial;
    }
    return EXACT_OK;
}
