/* Included by smoothmax_base.c and smoothmax_avx2.c, each of which defines ISA(name). */
#include <time.h>
#include "fft.h"
#include "smoothmax.h"

/* ---- x -> construction ------------------------------------------------------------------------------------- */

/* Up to 16 values from x on, the rest filled up. */
static inline __attribute__((always_inline)) void load16(const double *x, long count, double filler, v4d out[4]) {
    if (count >= 16) {
        for (int j = 0; j < 4; j++) out[j] = v4_load(x + 4 * j);
        return;
    }
    double part[16];
    for (int j = 0; j < 16; j++) part[j] = j < count ? x[j] : filler;
    for (int j = 0; j < 4; j++) out[j] = v4_load(part + 4 * j);
}

static inline __attribute__((always_inline)) void store16(double *x, long count, const v4d in[4]) {
    if (count >= 16) {
        for (int j = 0; j < 4; j++) v4_store(x + 4 * j, in[j]);
        return;
    }
    double part[16];
    for (int j = 0; j < 4; j++) v4_store(part + 4 * j, in[j]);
    for (int j = 0; j < count; j++) x[j] = part[j];
}

static double sum16(const v4d s[4]) { return v4_sum((s[0] + s[1]) + (s[2] + s[3])); }

/* h = logistic(x + shift); sums[i] is the sum of h^(i+1), i < 3. */
static void logistic(const double *x, double shift, double *h, long n, double sums[3]) {
    const v4d one = v4_set(1.0), limit = v4_set(40.0), move = v4_set(shift);
    v4d s1[4] = {{0}}, s2[4] = {{0}}, s3[4] = {{0}};
    for (long i = 0; i < n; i += 16) {
        v4d t[4];
        load16(x + i, n - i, -INFINITY, t);
        for (int j = 0; j < 4; j++) t[j] = v4_larger(-v4_larger(t[j] + move, -limit), -limit);
        v4_exp4(t);
        for (int j = 0; j < 4; j++) t[j] = one / (one + t[j]);
        store16(h + i, n - i, t);
        if (n - i < 16) load16(h + i, n - i, 0.0, t);
        for (int j = 0; j < 4; j++) {
            v4d square = t[j] * t[j];
            s1[j] += t[j];
            s2[j] += square;
            s3[j] += square * t[j];
        }
    }
    sums[0] = sum16(s1);
    sums[1] = sum16(s2);
    sums[2] = sum16(s3);
}

/* h = logistic(x + shift) with sum n/2, from the shift that *shift holds. Halley's iteration, kept inside a bracket:
   with w = h (1 - h), the sum has the derivatives sum w and sum w (1 - 2h). Says whether there is such a shift: not
   where logits are thousands apart. */
static int overlap_construction(const double *x, double *h, long n, double *shift) {
    double target = 0.5 * (double)n, lo = -1e3, hi = 1e3, at = *shift, sums[3];
    for (int it = 0; it < 60; it++) {
        logistic(x, at, h, n, sums);
        double gap = sums[0] - target, slope = sums[0] - sums[1], bend = sums[0] - 3.0 * sums[1] + 2.0 * sums[2];
        if (fabs(gap) <= 1e-14 * target) break;
        if (gap > 0) hi = at; else lo = at;
        double step = slope > 1e-12 * target ? gap / slope : 0.0, damping = 1.0 - 0.5 * step * bend / (slope + 1e-300);
        double next = step != 0.0 ? at - step / (damping > 0.5 ? damping : 0.5) : 0.5 * (lo + hi);
        if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
        if (next == at) break;
        at = next;
    }
    *shift = at;
    return fabs(sums[0] - target) <= 1e-9 * target;
}

/* ---- weights of the smoothed maximum ----------------------------------------------------------------------- */

/* p_k = exp(beta (c_k - max)) / sum; returns max + log(sum)/beta. Lags that weigh under 1e-18 are set to zero. */
static double softmax(const double *c, double beta, double *p, long n, double *peak) {
    const double top = array_max(c, n);
    const v4d vb = v4_set(beta), vt = v4_set(top), cut = v4_set(-42.0), zero = v4_set(0.0);
    v4d sums[4] = {{0}};
    for (long i = 0; i < n; i += 16) {
        v4d t[4];
        v4i live[4];
        load16(c + i, n - i, -INFINITY, t);
        for (int j = 0; j < 4; j++) t[j] = (t[j] - vt) * vb;
        v4d most = v4_larger(v4_larger(t[0], t[1]), v4_larger(t[2], t[3]));
        if (v4_max(most) > -42.0) {
            for (int j = 0; j < 4; j++) {
                live[j] = t[j] > cut;
                t[j] = v4_larger(t[j], cut);
            }
            v4_exp4(t);
            for (int j = 0; j < 4; j++) {
                t[j] = (v4d)((v4i)t[j] & live[j]);
                sums[j] += t[j];
            }
        } else
            for (int j = 0; j < 4; j++) t[j] = zero;
        store16(p + i, n - i, t);
    }
    const double sum = sum16(sums), inverse = 1.0 / sum;
    const v4d vi = v4_set(inverse);
    long i = 0;
    for (; i + 4 <= n; i += 4) v4_store(p + i, v4_load(p + i) * vi);
    for (; i < n; i++) p[i] *= inverse;
    *peak = top;
    return top + log(sum) / beta;
}

double ISA(sm_log_sum_exp)(const double *c, long n, double beta, double *p) {
    double peak;
    return softmax(c, beta, p, n, &peak);
}

void ISA(sm_exp)(const double *x, long n, double *out) {
    const v4d limit = v4_set(700.0);
    for (long i = 0; i < n; i += 16) {
        v4d t[4], far = {0};
        double given[16];
        load16(x + i, n - i, 0.0, t);
        for (int j = 0; j < 4; j++) v4_store(given + 4 * j, t[j]); /* out may be x */
        for (int j = 0; j < 4; j++) {
            v4d size = v4_larger(t[j], -t[j]);
            far += (v4d)((v4i)(size <= limit) ^ -1); /* NaN, as all bits are set, where it is not */
            t[j] = v4_larger(-v4_larger(-t[j], -limit), -limit);
        }
        v4_exp4(t);
        store16(out + i, n - i, t);
        if (v4_sum(far) == 0.0) continue;
        for (long k = 0; k < 16 && i + k < n; k++)
            if (!(fabs(given[k]) <= 700.0)) out[i + k] = exp(given[k]);
    }
}

/* ---- objectives -------------------------------------------------------------------------------------------- */

/* gf = 2 * correlation of the weights with f: the gradient of sum_k p_k (f*f)_k, from the cached spectrum of f. */
static void autoconvolution_adjoint(sm_state *st, const double *weights) {
    const fft_plan *plan = st->plan;
    fft_forward(plan, weights, st->n_lags, st->qr, st->qi);
    fft_backward(plan, FFT_CORRELATE, st->qr, st->qi, st->fr, st->fi, st->qr, st->qi, st->gf, st->n);
}

static void autoconvolution(sm_state *st) {
    const fft_plan *plan = st->plan;
    fft_forward(plan, st->f, st->n, st->fr, st->fi);
    fft_backward(plan, FFT_SQUARE, st->fr, st->fi, NULL, NULL, st->qr, st->qi, st->c, st->n_lags);
}

/* Chain rule through f -> total * f / sum(f) and, for x squared, f = x^2. df holds dJ/df of the scaled f. */
static void scaled_gradient(const sm_state *st, const double *x, double total, double sum, double *gradient) {
    long n = st->n;
    double mean = 2.0 * array_dot(st->gf, st->f, n) / total, ratio = total / sum;
    if (st->kind == SM_SIGNED)
        for (long i = 0; i < n; i++) gradient[i] = ratio * (2.0 * st->gf[i] - mean);
    else
        for (long i = 0; i < n; i++) gradient[i] = 2.0 * x[i] * ratio * (2.0 * st->gf[i] - mean);
}

static double scale_to_sum(sm_state *st, const double *x, double total) {
    long n = st->n;
    if (st->kind == SM_SIGNED) memcpy(st->f, x, sizeof(double) * (size_t)n);
    else for (long i = 0; i < n; i++) st->f[i] = x[i] * x[i];
    double sum = array_sum(st->f, n), ratio = total / sum;
    for (long i = 0; i < n; i++) st->f[i] *= ratio;
    return sum;
}

/* Largest value of 2n (f*f)/(sum f)^2, smoothed. */
static double evaluate_autoconvolution(sm_state *st, const double *x, double beta, double *gradient, double *peak) {
    double total = sqrt(2.0 * (double)st->n), sum = scale_to_sum(st, x, total);
    if (!(fabs(sum) > 1e-300)) { *peak = INFINITY; return INFINITY; }
    autoconvolution(st);
    double value = softmax(st->c, beta, st->p, st->n_lags, peak);
    autoconvolution_adjoint(st, st->p);
    scaled_gradient(st, x, total, sum, gradient);
    return value;
}

/* -log of |g|_2^2 / (|g|_1 |g|_inf) for the piecewise linear g through the lags g_k of f*f (zero at both ends):
   |g|_2^2 ~ sum (2 g_k^2 + g_k g_{k+1}) / 3, |g|_1 ~ sum g_k. Beta is relative to the maximum at the stage's start. */
static double evaluate_spread(sm_state *st, const double *x, double beta, double *gradient, double *peak) {
    long m = st->n_lags;
    double total = sqrt((double)m), sum = scale_to_sum(st, x, total);
    if (!(sum > 1e-300)) { *peak = INFINITY; return INFINITY; }
    autoconvolution(st);
    double top, absolute = beta / st->level;
    double smooth = softmax(st->c, absolute, st->p, m, &top);
    const double *c = st->c;
    double square = 2.0 * array_dot(c, c, m) + array_dot(c, c + 1, m - 1);
    double mass = (double)m;
    *peak = -square / (3.0 * mass * top);
    double inv_smooth = 1.0 / smooth, inv_square = 1.0 / square;
    double *p = st->p;
    if (m > 1) {
        p[0] = p[0] * inv_smooth - (4.0 * c[0] + c[1]) * inv_square;
        for (long k = 1; k < m - 1; k++) p[k] = p[k] * inv_smooth - (4.0 * c[k] + (c[k - 1] + c[k + 1])) * inv_square;
        p[m - 1] = p[m - 1] * inv_smooth - (4.0 * c[m - 1] + c[m - 2]) * inv_square;
    }
    autoconvolution_adjoint(st, p);
    scaled_gradient(st, x, total, sum, gradient);
    return log(3.0 * mass * smooth / square);
}

/* c[s] and c[-s] from the autocorrelation a and the prefix sums of h: the first and the last n-s values each have their
   own sum, and share a[s]. */
static void overlap_shifts(const double *a, const double *sums, double scale, double *c, long n) {
    const double total = sums[n];
    const v4d vs = v4_set(scale), vt = v4_set(total);
    long s = 0;
    for (; s + 4 <= n; s += 4) {
        v4d v = v4_load(a + s);
        v4_store(c + s, (v4_reverse(v4_load(sums + n - s - 3)) - v) * vs);
        v4_store(c - s - 3, v4_reverse(((vt - v4_load(sums + s)) - v) * vs));
    }
    for (; s < n; s++) {
        c[s] = (sums[n - s] - a[s]) * scale;
        c[-s] = ((total - sums[s]) - a[s]) * scale;
    }
    c[0] = (total - a[0]) * scale;
}

/* q[k] = p[k] + p[-k], and q[0] = p[0]: one half of an even kernel. */
static void even_half(const double *p, double *q, long n) {
    long k = 0;
    for (; k + 4 <= n; k += 4) v4_store(q + k, v4_load(p + k) + v4_reverse(v4_load(p - k - 3)));
    for (; k < n; k++) q[k] = p[k] + p[-k];
    q[0] = p[0];
}

/* From dJ/dh_j = scale (window_j - gf_j) to dJ/dx, through h = logistic(x + shift) with a fixed sum. */
static void overlap_gradient(const sm_state *st, const double *sums, double scale, double *gradient) {
    const long n = st->n;
    const double *h = st->f, *gf = st->gf;
    const v4d one = v4_set(1.0), vs = v4_set(scale);
    v4d weights = {0}, weighted = {0};
    double sum_w = 0.0, sum_wg = 0.0;
    long j = 0;
    for (; j + 4 <= n; j += 4) {
        v4d window = v4_reverse(v4_load(sums + 2 * n - j - 4) - v4_load(sums + n - j - 4));
        v4d g = (window - v4_load(gf + j)) * vs, v = v4_load(h + j), w = v * (one - v);
        v4_store(gradient + j, g);
        weights += w;
        weighted += w * g;
    }
    for (; j < n; j++) {
        double g = ((sums[2 * n - 1 - j] - sums[n - 1 - j]) - gf[j]) * scale, w = h[j] * (1.0 - h[j]);
        gradient[j] = g;
        sum_w += w;
        sum_wg += w * g;
    }
    sum_w += v4_sum(weights);
    sum_wg += v4_sum(weighted);
    const double mean = sum_wg / (sum_w > 0 ? sum_w : 1.0);
    for (j = 0; j < n; j++) gradient[j] = h[j] * (1.0 - h[j]) * (gradient[j] - mean);
}

/* Largest value of (2/n) sum_i h_i (1 - h_{i+k}) over all shifts k, smoothed. c holds shifts -(n-1) .. n-1. */
static double evaluate_overlap(sm_state *st, const double *x, double beta, double *gradient, double *peak) {
    const fft_plan *plan = st->plan;
    const long n = st->n;
    double *h = st->f, *c = st->c + n - 1, *p = st->p + n - 1, scale = 2.0 / (double)n;
    if (!overlap_construction(x, h, n, &st->shift)) {
        h[0] = NAN; /* there is no construction, and nothing for sm_holds to check */
        *peak = INFINITY;
        return INFINITY;
    }
    fft_forward(plan, h, n, st->fr, st->fi);
    /* autocorrelation, shifts 0 .. n-1 */
    fft_backward(plan, FFT_POWER, st->fr, st->fi, NULL, NULL, st->qr, st->qi, st->gf, n);
    double *sums = st->sums; /* one value ahead of prefix sums stands a zero */
    array_prefix(h, sums + 1, n);
    overlap_shifts(st->gf, sums, scale, c, n);
    double value = softmax(st->c, beta, st->p, st->n_lags, peak);
    /* dJ/dh_j = scale (sum of p over the shifts that keep j inside - sum_k p_k (h_{j+k} + h_{j-k})). The second sum is
       the convolution of h with the even kernel q_k = p_k + p_{-k}; the values of such a kernel are twice the real
       parts of those of its one half. */
    even_half(p, st->q, n);
    fft_forward(plan, st->q, n, st->qr, st->qi);
    fft_backward(plan, FFT_EVEN, st->fr, st->fi, st->qr, st->qi, st->qr, st->qi, st->gf, n);
    /* Shifts k with 0 <= j + k < n: a window of p that slides down as j grows. */
    array_prefix(st->p, sums + 1, st->n_lags);
    overlap_gradient(st, sums, scale, gradient);
    return value;
}

/* Within a stage the shift of the overlap starts from that of the last point; everywhere else from zero, so that a
   value does not depend on what was computed before it. */
static double evaluate(sm_state *st, const double *x, double beta, double *gradient, double *peak) {
    st->n_evaluations++;
    if (st->kind == SM_OVERLAP) return evaluate_overlap(st, x, beta, gradient, peak);
    if (st->kind == SM_SPREAD) return evaluate_spread(st, x, beta, gradient, peak);
    return evaluate_autoconvolution(st, x, beta, gradient, peak);
}

double ISA(sm_evaluate)(sm_state *st, const double *x, double beta, double *gradient, double *peak) {
    st->shift = 0.0;
    return evaluate(st, x, beta, gradient, peak);
}

/* Whether the lags of the point that was evaluated last belong to its construction: see fft_holds. */
int ISA(sm_holds)(sm_state *st) {
    const fft_plan *plan = st->plan;
    const long n = st->n;
    if (!isfinite(array_sum(st->f, n))) return 1;
    const double norm = array_dot(st->f, st->f, n), error = fft_relative_error(plan, 1);
    if (st->kind != SM_OVERLAP)
        return fft_holds(st->point, st->f, n, st->f, n, st->c, st->n_lags, 0, error * norm);
    /* the correlation of 1 - h and h; head and tail sums are off by less than n u each */
    for (long i = 0; i < n; i++) st->q[i] = 1.0 - st->f[i];
    for (long k = 0; k < st->n_lags; k++) st->sums[k + 1] = st->c[k] * (0.5 * (double)n);
    return fft_holds(st->point, st->q, n, st->f, n, st->sums + 1, st->n_lags, 1,
                     error * norm + 1e-15 * (double)n * (double)n);
}

/* ---- Hessian products ---------------------------------------------------------------------------------------- */

/* Along a direction v of x, with ' for the derivative: construction f', lags c', weights p' = beta p (c' - <p, c'>),
   and from these the derivative of every factor of the gradient. Four transforms, as F and P are kept. */
typedef struct {
    double *df, *lag, *dp, *dq, *dg, *g; /* f', c', p', one half of an even kernel, G', G = dJ/df */
    double *vr, *vi, *tr, *ti, *pr, *pi; /* values of f' and p', their products, values of p (or of its kernel) */
} hessian_work;

/* p' in place of c' */
static void weights_along(const sm_state *st, double beta, double *lag) {
    const long m = st->n_lags;
    const double mean = array_dot(st->p, lag, m);
    for (long k = 0; k < m; k++) lag[k] = beta * st->p[k] * (lag[k] - mean);
}

static void add_values(double *ar, double *ai, const double *br, const double *bi, long m) {
    for (long k = 0; k < m; k++) {
        ar[k] += br[k];
        ai[k] += bi[k];
    }
}

/* G = 2 (p corr f): G' = 2 (p corr f' + p' corr f), c' = 2 f * f'. */
static void autoconvolution_along(sm_state *st, hessian_work *w, double beta) {
    const fft_plan *plan = st->plan;
    fft_forward(plan, w->df, st->n, w->vr, w->vi);
    fft_backward(plan, FFT_MULTIPLY, w->vr, w->vi, st->fr, st->fi, w->tr, w->ti, w->lag, st->n_lags);
    for (long k = 0; k < st->n_lags; k++) w->dp[k] = 2.0 * w->lag[k];
    weights_along(st, beta, w->dp);
    fft_combine(plan, FFT_CORRELATE, w->pr, w->pi, w->vr, w->vi, w->vr, w->vi);
    fft_forward(plan, w->dp, st->n_lags, w->tr, w->ti);
    fft_combine(plan, FFT_CORRELATE, w->tr, w->ti, st->fr, st->fi, w->tr, w->ti);
    add_values(w->tr, w->ti, w->vr, w->vi, plan->m);
    fft_backward(plan, FFT_SAME, w->tr, w->ti, NULL, NULL, w->tr, w->ti, w->dg, st->n);
    for (long j = 0; j < st->n; j++) w->dg[j] *= 2.0;
}

/* c_s = scale (sum of f over the pairs - f corr f), G = scale (window of p - q * f). The even part of f corr f' is
   what f corr f changes by: its values are the real parts of F conj(F'). */
static void overlap_along(sm_state *st, hessian_work *w, double beta) {
    const fft_plan *plan = st->plan;
    const long n = st->n, m = plan->m;
    const double scale = 2.0 / (double)n;
    fft_forward(plan, w->df, n, w->vr, w->vi);
    for (long k = 0; k < m; k++) {
        w->tr[k] = 2.0 * (st->fr[k] * w->vr[k] + st->fi[k] * w->vi[k]);
        w->ti[k] = 0.0;
    }
    fft_backward(plan, FFT_SAME, w->tr, w->ti, NULL, NULL, w->tr, w->ti, w->lag, n);
    array_prefix(w->df, st->sums + 1, n);
    overlap_shifts(w->lag, st->sums, scale, w->dp + n - 1, n);
    weights_along(st, beta, w->dp);
    even_half(w->dp + n - 1, w->dq, n);
    fft_forward(plan, w->dq, n, w->tr, w->ti);
    fft_combine(plan, FFT_EVEN, st->fr, st->fi, w->tr, w->ti, w->tr, w->ti);
    fft_combine(plan, FFT_EVEN, w->vr, w->vi, w->pr, w->pi, w->vr, w->vi);
    add_values(w->tr, w->ti, w->vr, w->vi, m);
    fft_backward(plan, FFT_SAME, w->tr, w->ti, NULL, NULL, w->tr, w->ti, w->dg, n);
    array_prefix(w->dp, st->sums + 1, st->n_lags);
    for (long j = 0; j < n; j++)
        w->dg[j] = ((st->sums[2 * n - 1 - j] - st->sums[n - 1 - j]) - w->dg[j]) * scale;
}

/* f = total x / sum x, or total x^2 / sum x^2: gradient = ratio (G - mean) times 1 or 2x; mean = <G, f> / total. */
static void scaled_along(sm_state *st, hessian_work *w, const double *x, double beta, double total, double sum,
                         const double *v, double *out) {
    const long n = st->n;
    const int is_square = st->kind != SM_SIGNED;
    const double ratio = total / sum, change = (is_square ? 2.0 * array_dot(x, v, n) : array_sum(v, n)) / sum;
    for (long j = 0; j < n; j++) w->df[j] = ratio * (is_square ? 2.0 * x[j] * v[j] : v[j]) - st->f[j] * change;
    autoconvolution_along(st, w, beta);
    const double mean = array_dot(w->g, st->f, n) / total;
    const double dmean = (array_dot(w->dg, st->f, n) + array_dot(w->g, w->df, n)) / total;
    for (long j = 0; j < n; j++) {
        double inner = ratio * (w->g[j] - mean), dinner = ratio * (w->dg[j] - dmean) - change * inner;
        out[j] = is_square ? 2.0 * (v[j] * inner + x[j] * dinner) : dinner;
    }
}

/* h = logistic(x + shift) with a fixed sum: gradient = w (G - mean), w = h (1 - h), mean = <w, G> / sum w. */
static void logistic_along(sm_state *st, hessian_work *w, double beta, const double *v, double *out) {
    const long n = st->n;
    const double *h = st->f;
    double sum = 0.0, sum_v = 0.0, sum_g = 0.0, dsum = 0.0, dsum_g = 0.0;
    for (long j = 0; j < n; j++) {
        double weight = h[j] * (1.0 - h[j]);
        sum += weight;
        sum_v += weight * v[j];
        sum_g += weight * w->g[j];
    }
    if (!(sum > 0)) sum = 1.0;
    for (long j = 0; j < n; j++) w->df[j] = h[j] * (1.0 - h[j]) * (v[j] - sum_v / sum);
    overlap_along(st, w, beta);
    for (long j = 0; j < n; j++) {
        double dweight = w->df[j] * (1.0 - 2.0 * h[j]);
        dsum += dweight;
        dsum_g += dweight * w->g[j] + h[j] * (1.0 - h[j]) * w->dg[j];
    }
    const double mean = sum_g / sum, dmean = (dsum_g - mean * dsum) / sum;
    for (long j = 0; j < n; j++)
        out[j] = w->df[j] * (1.0 - 2.0 * h[j]) * (w->g[j] - mean) + h[j] * (1.0 - h[j]) * (w->dg[j] - dmean);
}

/* G = dJ/df of the point that was evaluated last, and the values of its weights. */
static void hessian_begin(sm_state *st, hessian_work *w) {
    const fft_plan *plan = st->plan;
    const long n = st->n;
    if (st->kind == SM_OVERLAP) { /* gf holds q * f, q the half of the kernel */
        array_prefix(st->p, st->sums + 1, st->n_lags);
        for (long j = 0; j < n; j++)
            w->g[j] = ((st->sums[2 * n - 1 - j] - st->sums[n - 1 - j]) - st->gf[j]) * (2.0 / (double)n);
        fft_forward(plan, st->q, n, w->pr, w->pi);
        return;
    }
    for (long j = 0; j < n; j++) w->g[j] = 2.0 * st->gf[j];
    fft_forward(plan, st->p, st->n_lags, w->pr, w->pi);
}

int ISA(sm_hessian)(sm_state *st, const double *x, double beta, const double *v, long count, double *out) {
    const long n = st->n, m = ((const fft_plan *)st->plan)->m;
    double *block = cache_aligned(14 * m + 13 * CACHE_STAGGER), *at = block, peak;
    if (!block) return -1;
    hessian_work w;
    w.df = take_staggered(&at, m);
    w.lag = take_staggered(&at, 2 * m);
    w.dp = take_staggered(&at, 2 * m);
    w.dq = take_staggered(&at, m);
    w.dg = take_staggered(&at, m);
    w.g = take_staggered(&at, m);
    w.vr = take_staggered(&at, m);
    w.vi = take_staggered(&at, m);
    w.tr = take_staggered(&at, m);
    w.ti = take_staggered(&at, m);
    w.pr = take_staggered(&at, m);
    w.pi = take_staggered(&at, m);
    double value = ISA(sm_evaluate)(st, x, beta, out, &peak);
    hessian_begin(st, &w);
    const double total = sqrt(2.0 * (double)n);
    double sum = 0.0;
    if (st->kind == SM_SIGNED) sum = array_sum(x, n);
    else if (st->kind == SM_AUTOCONVOLUTION) sum = array_dot(x, x, n);
    for (long i = 0; i < count; i++)
        if (!isfinite(value)) memset(out + i * n, 0, sizeof(double) * (size_t)n);
        else if (st->kind == SM_OVERLAP) logistic_along(st, &w, beta, v + i * n, out + i * n);
        else scaled_along(st, &w, x, beta, total, sum, v + i * n, out + i * n);
    free(block);
    return 0;
}

/* ---- L-BFGS ------------------------------------------------------------------------------------------------ */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* dir = -H grad by the two-loop recursion (Nocedal, Math. Comp. 35 (1980) 773); pairs live in a ring. */
static void lbfgs_direction(sm_state *st, long n_pairs, long newest) {
    long n = st->n;
    for (long i = 0; i < n; i++) st->dir[i] = -st->grad[i];
    for (long k = 0; k < n_pairs; k++) {
        long j = (newest - k + st->memory) % st->memory;
        st->alpha[j] = st->rho[j] * array_dot(st->s + j * n, st->dir, n);
        array_axpy(st->dir, -st->alpha[j], st->y + j * n, n);
    }
    if (n_pairs) {
        const double *y = st->y + newest * n;
        double scale = 1.0 / (st->rho[newest] * array_dot(y, y, n));
        for (long i = 0; i < n; i++) st->dir[i] *= scale;
    }
    for (long k = n_pairs - 1; k >= 0; k--) {
        long j = (newest - k + st->memory) % st->memory;
        double b = st->rho[j] * array_dot(st->y + j * n, st->dir, n);
        array_axpy(st->dir, st->alpha[j] - b, st->s + j * n, n);
    }
}

#define LONGEST_LOGIT_STEP 10.0

static void keep_best(sm_state *st, const double *x, double peak) {
    if (peak < st->best) {
        st->best = peak;
        memcpy(st->best_x, x, sizeof(double) * (size_t)st->n);
    }
}

/* Gradient along changes that keep the first and the last `mirrored` values mirror images of each other. */
static void mirror_gradient(double *gradient, long n, long mirrored) {
    for (long i = 0; i < mirrored; i++) gradient[i] = gradient[n - 1 - i] = 0.5 * (gradient[i] + gradient[n - 1 - i]);
}

long ISA(sm_stage)(sm_state *st, double *x, double beta, long n_iterations, long mirrored, double deadline) {
    long n = st->n, n_pairs = 0, newest = -1, done = 0, idle = 0;
    double peak, trial_peak;
    for (long i = 0; i < mirrored; i++) x[n - 1 - i] = x[i];
    if (st->kind == SM_SPREAD) { /* the level that beta refers to */
        double total = sqrt((double)st->n_lags);
        if (!(scale_to_sum(st, x, total) > 1e-300)) return 0;
        autoconvolution(st);
        st->level = array_max(st->c, st->n_lags);
    }
    double value = ISA(sm_evaluate)(st, x, beta, st->grad, &peak);
    if (!isfinite(value)) return 0;
    mirror_gradient(st->grad, n, mirrored);
    keep_best(st, x, peak);
    for (; done < n_iterations; done++) {
        if (now() > deadline) break;
        lbfgs_direction(st, n_pairs, newest);
        double slope = array_dot(st->grad, st->dir, n);
        if (!(slope < 0)) { /* not a descent direction: forget the pairs */
            n_pairs = 0;
            newest = -1;
            for (long i = 0; i < n; i++) st->dir[i] = -st->grad[i];
            slope = -array_dot(st->grad, st->grad, n);
            if (!(slope < 0)) break;
        }
        double step = 1.0;
        if (n_pairs == 0) { /* a first step that moves x by about a hundredth of its size */
            double gg = sqrt(array_dot(st->dir, st->dir, n)), xx = sqrt(array_dot(x, x, n));
            step = 0.01 * (xx > 1e-8 ? xx : 1.0) / gg;
        }
        if (st->kind == SM_OVERLAP) { /* a logit that runs away does not come back: its value has no slope */
            double longest = step * fmax(array_max(st->dir, n), -array_min(st->dir, n));
            if (longest > LONGEST_LOGIT_STEP) step *= LONGEST_LOGIT_STEP / longest;
        }
        double trial = INFINITY;
        int tries = 0;
        for (; tries < 25; tries++) {
            for (long i = 0; i < n; i++) st->xt[i] = x[i] + step * st->dir[i];
            trial = evaluate(st, st->xt, beta, st->gt, &trial_peak);
            if (isfinite(trial) && trial <= value + 1e-4 * step * slope) break;
            double quadratic = isfinite(trial) ? -0.5 * slope * step * step / (trial - value - slope * step) : 0.0;
            step = quadratic > 0.1 * step && quadratic < 0.6 * step ? quadratic : 0.35 * step;
        }
        if (tries == 25) {
            if (n_pairs == 0) break;
            n_pairs = 0;
            newest = -1;
            continue;
        }
        mirror_gradient(st->gt, n, mirrored);
        long slot = (newest + 1) % st->memory;
        double *s = st->s + slot * n, *y = st->y + slot * n;
        for (long i = 0; i < n; i++) {
            s[i] = st->xt[i] - x[i];
            y[i] = st->gt[i] - st->grad[i];
        }
        double sy = array_dot(s, y, n), yy = array_dot(y, y, n);
        if (sy > 1e-12 * yy * 1e-4 && sy > 0) {
            st->rho[slot] = 1.0 / sy;
            newest = slot;
            if (n_pairs < st->memory) n_pairs++;
        }
        idle = value - trial <= 1e-13 * fabs(value) ? idle + 1 : 0;
        memcpy(x, st->xt, sizeof(double) * (size_t)n);
        memcpy(st->grad, st->gt, sizeof(double) * (size_t)n);
        value = trial;
        keep_best(st, x, trial_peak);
        if (idle >= 4) break;
    }
    return done;
}
