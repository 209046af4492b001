/* Buffers that are kept between calls, from any thread: one is taken out for a call and put back after it. Nobody waits
   for anybody: while another thread is at the list (or was, when this process was forked) one does without it. */
#ifndef EVOCORE_POOL_H
#define EVOCORE_POOL_H

#include <pthread.h>
#include <stddef.h>

/* First member of what is kept; equal keys are interchangeable. */
typedef struct pooled {
    struct pooled *next;
    long key;
} pooled;

typedef struct {
    pthread_mutex_t lock;
    pooled *first;
    long count, most;
} pool;

/* At most `most` are kept. */
#define POOL_OF(most) {PTHREAD_MUTEX_INITIALIZER, NULL, 0, most}

/* The one put back last under this key, or NULL. */
static inline pooled *pool_take(pool *p, long key) {
    if (pthread_mutex_trylock(&p->lock)) return NULL;
    pooled **at = &p->first;
    while (*at && (*at)->key != key) at = &(*at)->next;
    pooled *found = *at;
    if (found) {
        *at = found->next;
        p->count--;
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* Returns what has to be freed, as it was not kept, or as the one that was put back longest ago; or NULL. */
static inline pooled *pool_put(pool *p, pooled *one) {
    pooled *surplus = NULL;
    if (pthread_mutex_trylock(&p->lock)) return one;
    one->next = p->first;
    p->first = one;
    if (++p->count > p->most) {
        pooled **at = &p->first;
        while ((*at)->next) at = &(*at)->next;
        surplus = *at;
        *at = NULL;
        p->count--;
    }
    pthread_mutex_unlock(&p->lock);
    return surplus;
}

#endif
