#include "measure/phase_clock.h"
#include "base/text.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct interval {
    double t0_s, t1_s;
    enum phase phase;
};

struct phase_clock {
    pthread_mutex_t lock;
    struct interval *intervals;
    size_t n, cap;
};

struct phase_clock *phase_clock_new(void)
{
    struct phase_clock *c = xcalloc(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

void phase_clock_free(struct phase_clock *c)
{
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    free(c->intervals);
    free(c);
}

void phase_clock_add(struct phase_clock *c, enum phase p, double t0_s, double t1_s)
{
    /* Not t1 <= t0, so that NaN is dropped too. */
    if (!(t1_s > t0_s) || (int)p < 0 || p >= PHASE_COUNT)
        return;
    pthread_mutex_lock(&c->lock);
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        c->intervals = xrealloc(c->intervals, c->cap * sizeof *c->intervals);
    }
    c->intervals[c->n++] = (struct interval){t0_s, t1_s, p};
    pthread_mutex_unlock(&c->lock);
}

/* A job enters (step 1) or leaves (-1) a phase. */
struct edge {
    int64_t at_ns;
    int phase, step;
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* Whole nanoseconds, since only integers add up exactly; clipped to [0, length]. */
static int64_t offset_ns(double t_s, double t0_s, int64_t length)
{
    const double ns = (t_s - t0_s) * 1e9;
    return ns <= 0 ? 0 : ns >= (double)length ? length : (int64_t)llround(ns);
}

static size_t make_edges(const struct phase_clock *c, double t0_s, int64_t length,
                         struct edge *edges)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const int64_t from = offset_ns(c->intervals[i].t0_s, t0_s, length);
        const int64_t to = offset_ns(c->intervals[i].t1_s, t0_s, length);
        if (from >= to)
            continue;
        edges[n++] = (struct edge){from, (int)c->intervals[i].phase, 1};
        edges[n++] = (struct edge){to, (int)c->intervals[i].phase, -1};
    }
    qsort(edges, n, sizeof *edges, by_time);
    return n;
}

static int current_phase(const int64_t live[PHASE_COUNT])
{
    for (int p = 0; p < PHASE_COUNT; p++)
        if (live[p] > 0)
            return p;
    return PHASE_SETUP;
}

void phase_clock_totals(const struct phase_clock *c, double t0_s, double t1_s,
                        double out[PHASE_COUNT])
{
    int64_t ns[PHASE_COUNT] = {0}, live[PHASE_COUNT] = {0};
    for (int p = 0; p < PHASE_COUNT; p++)
        out[p] = 0;
    if (!(t1_s > t0_s))
        return;
    const int64_t length = (int64_t)llround((t1_s - t0_s) * 1e9);
    pthread_mutex_t *lock = (pthread_mutex_t *)&c->lock;
    pthread_mutex_lock(lock);
    struct edge *edges = xcalloc(2 * c->n + 1, sizeof *edges);
    const size_t n = make_edges(c, t0_s, length, edges);
    pthread_mutex_unlock(lock);
    int64_t now = 0;
    for (size_t i = 0; i < n; i++) {
        ns[current_phase(live)] += edges[i].at_ns - now;
        now = edges[i].at_ns;
        live[edges[i].phase] += edges[i].step;
    }
    ns[PHASE_SETUP] += length - now;
    free(edges);
    for (int p = 0; p < PHASE_COUNT; p++)
        out[p] = (double)ns[p] * 1e-9;
}
