/* The portable build, and the choice between both. */
#define ISA(name) name##_base
#include "dominance_impl.h"
#include "cpu.h"

int dom_filter(const double *points, int64_t n, int d, int first, uint8_t *keep) {
    dom_points p;
    int64_t bad;
    uint8_t *flip = calloc((size_t)d, 1);
    int status = DOM_NO_MEMORY;
    if (flip && !dom_pack(&p, points, n, d, flip, &bad)) {
        if (bad >= 0) status = DOM_NOT_FINITE;
        else status = (evocore_has_avx2() ? dom_filter_avx2 : dom_filter_base)(&p, first, keep);
        dom_release(&p);
    }
    free(flip);
    return status;
}
