/* The portable build, and what both builds share: the memory of the boxes. */
#define ISA(name) name##_base
#include "cpu.h"
#include "hypervolume_impl.h"

size_t hv_memory_limit = (size_t)2 << 30;

size_t hv_boxes_bytes(const hv_boxes *b) {
    size_t directory = (size_t)b->directory_capacity * (2 * (size_t)b->d + 16);
    return (size_t)b->block_capacity * b->stride + directory + sizeof(double) * (size_t)(b->row_capacity * b->w);
}

static int grown(void **at, size_t bytes) {
    void *p = realloc(*at, bytes);
    if (!p) return HV_NO_MEMORY;
    *at = p;
    return HV_OK;
}

int hv_boxes_grow(hv_boxes *b, long n_buckets) {
    if (n_buckets > b->directory_capacity) {
        long old = b->directory_capacity, capacity = old ? 2 * old : 64;
        size_t n = (size_t)capacity, d = (size_t)b->d;
        if (n * (2 * d + 16) > hv_memory_limit / 4) return HV_NO_MEMORY;
        if (grown((void **)&b->top, n * d * 2) || grown((void **)&b->home, n * 4) || grown((void **)&b->count, n * 4) ||
            grown((void **)&b->hits, n * 4) || grown((void **)&b->unused, n * 4))
            return HV_NO_MEMORY;
        memset(b->top + (size_t)old * d, 0, (n - (size_t)old) * d * 2);
        b->directory_capacity = capacity;
    }
    if (!b->n_unused && b->n_blocks == b->block_capacity) {
        long capacity = b->block_capacity ? 2 * b->block_capacity : 8;
        if ((size_t)capacity * b->stride > hv_memory_limit) {
            capacity = (long)(hv_memory_limit / b->stride);
            if (capacity <= b->block_capacity) return HV_NO_MEMORY;
        }
        if (grown((void **)&b->pool, (size_t)capacity * b->stride)) return HV_NO_MEMORY;
        b->block_capacity = capacity;
    }
    return HV_OK;
}

int hv_boxes_grow_rows(hv_boxes *b) {
    long capacity = b->row_capacity ? 2 * b->row_capacity : 32;
    size_t bytes = sizeof(double) * (size_t)(capacity * b->w);
    if (bytes > hv_memory_limit || grown((void **)&b->rows, bytes)) return HV_NO_MEMORY;
    b->row_capacity = capacity;
    return HV_OK;
}

int hv_boxes_init(hv_boxes *b, int d, const double *reference) {
    memset(b, 0, sizeof *b);
    b->d = d;
    b->w = (d + 3) / 4 * 4;
    size_t w = (size_t)b->w;
    b->stride = SLOTS * (w * 12 + 8 + 2 * (size_t)d);
    b->reference = malloc(sizeof(double) * 3 * w);
    b->spill = malloc(b->stride * (size_t)d);
    if (!b->reference || !b->spill || hv_boxes_grow(b, 1) || hv_boxes_grow_rows(b)) return HV_NO_MEMORY;
    b->offset = b->reference + w;
    b->scale = b->offset + w;
    for (int j = 0; j < b->w; j++) {
        b->reference[j] = j < d ? reference[j] : 0.0;
        b->offset[j] = b->scale[j] = 0.0;
        b->rows[j] = -INFINITY;
    }
    hv_boxes_reset(b, b->reference);
    return HV_OK;
}

void hv_boxes_free(hv_boxes *b) {
    free(b->pool);
    free(b->top);
    free(b->home);
    free(b->count);
    free(b->hits);
    free(b->unused);
    free(b->rows);
    free(b->spill);
    free(b->reference);
    memset(b, 0, sizeof *b);
}

static void set_keys(hv_boxes *b, const double *low) {
    for (int j = 0; j < b->d; j++) {
        double scale = KEY_MAX / (b->reference[j] - low[j]);
        int usable = scale > 0.0 && scale < 1e300;
        b->offset[j] = low[j];
        b->scale[j] = usable ? scale : 0.0; /* zero: one key for all, which is slow and correct */
    }
}

void hv_boxes_reset(hv_boxes *b, const double *low) {
    set_keys(b, low);
    for (long k = 1; k < b->n_buckets; k++)
        for (int j = 0; j < b->d; j++) bucket_top(b, k, b->d)[64 * j] = 0;
    b->n_buckets = b->n_blocks = b->n_boxes = b->n_rows = 1;
    b->n_unused = 0;
    b->home[0] = 0;
    b->count[0] = 1;
    block_view v = bucket_view(b, 0, b->w);
    memset(v.key, 0, sizeof(int16_t) * (size_t)(64 * b->d));
    for (int j = 0; j < b->w; j++) {
        v.u[j] = b->reference[j];
        v.definer[j] = 0;
    }
    v.birth[0] = 0.0;
    for (int j = 0; j < b->d; j++) v.key[64 * j] = bucket_top(b, 0, b->d)[64 * j] = key_of(b, j, b->reference[j]);
}

void hv_boxes_rekey(hv_boxes *b, const double *low) {
    set_keys(b, low);
    for (long k = 0; k < b->n_buckets; k++) {
        block_view v = bucket_view(b, k, b->w);
        for (int i = 0; i < b->count[k]; i++)
            for (int j = 0; j < b->d; j++) v.key[64 * j + i] = key_of(b, j, v.u[i * b->w + j]);
        refresh_top(b, k, b->d, b->w);
    }
}

int hv_volume(const double *points, long n, long d, const double *reference, double *value) {
    const hv_call call = {NULL, NULL, HV_AUTO};
    return (evocore_has_avx2() ? hv_volume_avx2 : hv_volume_base)(points, n, d, reference, call, value);
}

int hv_contributions(const double *points, long n, long d, const double *reference, double *out) {
    const hv_call call = {NULL, NULL, HV_AUTO};
    return (evocore_has_avx2() ? hv_contributions_avx2 : hv_contributions_base)(points, n, d, reference, call, out);
}
