/* The portable build, and what both builds share. */
#define ISA(name) name##_base
#include "cpu.h"
#include "similarity_impl.h"

int sim_pack(sim_rows *r, int kind, const char *rows, int64_t n, int64_t m, int64_t row_bytes, double unit) {
    memset(r, 0, sizeof *r);
    r->kind = kind;
    r->n = n;
    r->n_padded = n + 3; /* a tile is three rows high, and four sums are read at once */
    r->m = m;
    r->row_bytes = (row_bytes + 31) / 32 * 32;
    r->unit = unit;
    r->block = calloc((size_t)r->n_padded * (size_t)r->row_bytes + 128, 1);
    r->data = (char *)(((uintptr_t)r->block + 63) & ~(uintptr_t)63);
    r->sums = calloc((size_t)r->n_padded, sizeof(double));
    if (!r->block || !r->sums) return -1;
    for (int64_t c = 0; c * SIM_PANEL < row_bytes; c++) {
        int64_t left = row_bytes - c * SIM_PANEL, count = left < SIM_PANEL ? left : SIM_PANEL;
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)panel_row(r, c, i), rows + i * row_bytes + c * SIM_PANEL, (size_t)count);
    }
    return 0;
}

void sim_release(sim_rows *r) {
    free(r->block);
    free(r->sums);
    r->block = NULL;
    r->sums = NULL;
}

typedef struct {
    const double *distance;
    int n, k, chosen[16];
    double best;
    int64_t *picks;
} dispersion;

static void disperse(dispersion *s, int count, int from, double least) {
    if (count == s->k) {
        s->best = least;
        for (int t = 0; t < s->k; t++) s->picks[t] = s->chosen[t];
        return;
    }
    for (int i = from; i <= s->n - (s->k - count); i++) {
        double now = least;
        for (int t = 0; t < count; t++) {
            double apart = s->distance[s->chosen[t] * s->n + i];
            now = apart < now ? apart : now;
        }
        if (now > s->best) {
            s->chosen[count] = i;
            disperse(s, count + 1, i + 1, now);
        }
    }
}

void sim_dispersion(const double *distance, int n, int k, int64_t *picks) {
    dispersion s = {.distance = distance, .n = n, .k = k, .best = -INFINITY, .picks = picks};
    disperse(&s, 0, 0, INFINITY);
}

int sim_matrix(const double *rows, int64_t n, const double *others, int64_t n_others, int64_t m, double *out) {
    const int fast = evocore_has_avx2(), is_self = others == rows && n_others == n;
    const double limit = 1e300 / (double)m;
    sim_sink sink = {.full = out};
    sim_rows a, b = {0};
    int status = SIM_NO_MEMORY, failed = sim_pack(&a, SIM_F64, (const char *)rows, n, m, 8 * m, (double)m);
    if (!failed && !is_self) failed = sim_pack(&b, SIM_F64, (const char *)others, n_others, m, 8 * m, (double)m);
    if (!failed) {
        int64_t bad = (fast ? sim_sums_avx2 : sim_sums_base)(&a, limit);
        if (bad < 0 && !is_self) bad = (fast ? sim_sums_avx2 : sim_sums_base)(&b, limit);
        if (bad >= 0) status = SIM_TOO_LARGE;
        else status = (fast ? sim_pairs_avx2 : sim_pairs_base)(&a, is_self ? NULL : &b, &sink);
    }
    sim_release(&a);
    sim_release(&b);
    return status;
}
