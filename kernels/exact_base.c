/* The portable build, and what both builds share: vectors, buffers, sums, overlaps. */
#define ISA(name) name##_base
#include "exact_impl.h"

static int length_in_bits(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

/* Mantissa (not negative) and place of a finite double. */
static inline uint64_t split(double x, int *place, int *is_negative) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52 & 2047);
    *is_negative = (int)(bits >> 63);
    *place = (e ? e : 1) - 1075;
    return (bits & 0xfffffffffffffULL) | (e ? 1ULL << 52 : 0);
}

/* Common exponent and length of the entries; 1 + index of a value that is not finite, or 0. */
static long measure(exact_vector *v, const double *x) {
    int low = 4096, top = -4096;
    uint64_t any_sign = 0;
    for (long i = 0; i < v->n; i++) {
        uint64_t bits;
        memcpy(&bits, x + i, sizeof bits);
        const int e = (int)(bits >> 52 & 2047);
        const uint64_t fraction = bits & 0xfffffffffffffULL;
        if (e == 2047) return i + 1;
        if (e == 0) { /* zero or subnormal */
            if (!fraction) continue;
            int least = -1074 + __builtin_ctzll(fraction), past = -1074 + length_in_bits(fraction);
            low = least < low ? least : low;
            top = past > top ? past : top;
        } else {
            int least = e - 1075 + __builtin_ctzll(fraction | 1ULL << 52);
            low = least < low ? least : low;
            top = e - 1022 > top ? e - 1022 : top;
        }
        any_sign |= bits;
    }
    if (top == -4096) low = top = 0;
    v->has_negative = (int)(any_sign >> 63);
    v->exponent = low;
    v->top = top;
    v->bits = top - low;
    v->dropped = v->bits > EXACT_KEPT_BITS ? v->bits - EXACT_KEPT_BITS : 0;
    return 0;
}

long exact_vector_init(exact_vector *v, const double *x, long n) {
    memset(v, 0, sizeof *v);
    v->n = n;
    long bad = measure(v, x);
    if (bad) return bad;
    /* 16 bytes behind each array: loads of four reach over the end */
    v->block = malloc((sizeof(int64_t) * 2 + sizeof(double) + sizeof(int32_t)) * ((size_t)n + 4));
    if (!v->block) return EXACT_NO_MEMORY;
    v->mantissa = v->block;
    v->fixed = v->mantissa + n + 4;
    v->scaled = (double *)(v->fixed + n + 4);
    v->place = (int32_t *)(v->scaled + n + 4);
    const double first = ldexp(1.0, -(v->top / 2)), second = ldexp(1.0, -(v->top - v->top / 2));
    for (long i = 0; i < n; i++) {
        int place, is_negative;
        int64_t m = (int64_t)split(x[i], &place, &is_negative);
        int up = place - v->exponent;
        if (up < 0) { /* only zeros are below the common exponent, or all is zero */
            m = m && up > -63 ? m >> -up : 0;
            up = 0;
        }
        m = is_negative ? -m : m;
        v->mantissa[i] = m;
        v->place[i] = m ? up : 0;
        up -= v->dropped;
        v->fixed[i] = up >= 0 ? (int64_t)((uint64_t)m << (m ? up : 0)) : m >> (up > -63 ? -up : 63);
        v->scaled[i] = x[i] * first * second;
    }
    v->norm = sqrt(array_dot(v->scaled, v->scaled, n)) * 1.0001 + 1e-300;
    return 0;
}

void exact_vector_free(exact_vector *v) {
    free(v->block);
    v->block = NULL;
}

int exact_work_init(exact_work *w, long n_lags) {
    memset(w, 0, sizeof *w);
    fft_plan *plan = calloc(1, sizeof *plan);
    fft_point *point = calloc(1, sizeof *point);
    w->plan = plan;
    w->point = point;
    if (!plan || !point || fft_init(plan, fft_binary_half(n_lags))) return EXACT_NO_MEMORY;
    fft_point_init(point);
    const long m = w->m = plan->m;
    w->block = cache_aligned(4 * m + 4 * m + 8 * CACHE_STAGGER);
    w->candidate = malloc(sizeof(long) * 2 * (size_t)m);
    if (!w->block || !w->candidate) return EXACT_NO_MEMORY;
    double *at = w->block;
    w->ar = take_staggered(&at, m);
    w->ai = take_staggered(&at, m);
    w->br = take_staggered(&at, m);
    w->bi = take_staggered(&at, m);
    w->lags = take_staggered(&at, 2 * m);
    w->circular = take_staggered(&at, 2 * m);
    return EXACT_OK;
}

void exact_work_free(exact_work *w) {
    if (w->plan) fft_free(w->plan);
    free(w->plan);
    free(w->point);
    free(w->block);
    free(w->candidate);
    memset(w, 0, sizeof *w);
}

void exact_total(const exact_vector *v, exact_number *out) { exact_partial(v, 0, v->n, out); }

/* With c_s within radius, prefix sums of `fixed` in integers and ratio = n / (2 total), every value is known to
   `error`: the ratio and each operation to a few u, and n units of the last kept place where low bits were dropped. */
long exact_overlap_candidates(exact_work *w, const exact_vector *h, double radius, double extra) {
    const long n = h->n;
    const double u = 1.1102230246251565e-16, unit = ldexp(1.0, h->dropped - h->bits);
    exact_wide total = 0, first = 0;
    for (long i = 0; i < n; i++) total += h->fixed[i];
    const double mass = (double)total * unit, ratio = (double)n / (2.0 * mass);
    double *value = w->lags + n - 1, best = -INFINITY;
    first = total;
    exact_wide last = total; /* sums of the first and of the last n - s entries */
    for (long s = 0; s < n; s++) {
        value[s] = (double)(first > last ? first : last) * unit - ratio * value[s];
        best = value[s] > best ? value[s] : best;
        first -= h->fixed[n - 1 - s];
        last -= h->fixed[s];
    }
    w->has_lags = 0;
    const double lost = h->dropped ? (double)n * unit : 0.0, pairs = ratio * h->norm * h->norm;
    const double error = (ratio * radius + 16.0 * u * (mass + pairs) + lost * (1.0 + pairs / mass)
                          + ldexp(extra, -h->top)) * 1.001;
    long count = 0;
    for (long s = 0; s < n; s++)
        if (value[s] >= best - 2.0 * error) w->candidate[count++] = s;
    return count;
}

void exact_overlap_parts(const exact_vector *h, long s, exact_number *head, exact_number *product) {
    exact_number tail;
    exact_partial(h, 0, h->n - s, head);
    exact_partial(h, s, h->n, &tail);
    if (exact_compare(&tail, head) > 0) *head = tail;
    exact_lag(h, h, EXACT_CORRELATION, h->n - 1 + s, product);
}

void exact_clipped_parts(const exact_vector *v, const uint8_t *kept, long s, exact_number parts[4], long counts[3]) {
    const long n = v->n;
    exact_partial(v, 0, n - s, parts);
    exact_partial(v, s, n, parts + 1);
    exact_clear(parts + 2, exact_digits_for(v->bits));
    counts[0] = counts[1] = counts[2] = 0;
    for (long i = 0; i < n - s; i++) {
        counts[0] += kept[i];
        counts[1] += kept[i + s];
        if (!(kept[i] & kept[i + s])) continue;
        counts[2]++;
        exact_add(parts + 2, (exact_uwide)v->mantissa[i], 0, v->place[i]);
        exact_add(parts + 2, (exact_uwide)v->mantissa[i + s], 0, v->place[i + s]);
    }
    exact_settle(parts + 2);
    exact_lag(v, v, EXACT_CORRELATION, n - 1 + s, parts + 3);
}
