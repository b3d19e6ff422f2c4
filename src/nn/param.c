/* Where the elements of a parameter lie, and what they are at the start. */
#include "base/rng.h"
#include "nn/graph.h"

#include <math.h>
#include <string.h>

/* A tensor as four nested loops in PyTorch's order, with the memory step of each. */
struct walk {
    size_t n[4], step[4];
};

static struct walk walk_of(const struct param *p)
{
    const size_t d0 = (size_t)p->dims[0], d1 = (size_t)p->dims[1], d2 = (size_t)p->dims[2],
                 d3 = (size_t)p->dims[3];
    if (p->layout == LAYOUT_LINEAR)
        return (struct walk){{1, 1, d0, d1}, {0, 0, 1, d0}};
    if (p->layout == LAYOUT_CONV)
        return (struct walk){{d0, d1, d2, d3}, {1, d0, d3 * d1 * d0, d1 * d0}};
    return (struct walk){{1, 1, 1, p->count}, {0, 0, 0, 1}};
}

size_t param_memory_index(const struct param *p, size_t logical)
{
    const struct walk w = walk_of(p);
    size_t at = 0;
    for (int i = 3; i >= 0; i--) {
        at += logical % w.n[i] * w.step[i];
        logical /= w.n[i];
    }
    return at;
}

/* Calls use(ctx, logical index, memory index) for each element in PyTorch's order. */
static void for_each(const struct param *p, void (*use)(void *ctx, size_t logical, size_t memory),
                     void *ctx)
{
    const struct walk w = walk_of(p);
    size_t logical = 0;
    for (size_t a = 0; a < w.n[0]; a++)
        for (size_t b = 0; b < w.n[1]; b++)
            for (size_t c = 0; c < w.n[2]; c++) {
                const size_t base = a * w.step[0] + b * w.step[1] + c * w.step[2];
                for (size_t d = 0; d < w.n[3]; d++)
                    use(ctx, logical++, base + d * w.step[3]);
            }
}

struct copy {
    const float *from;
    float *to;
};

static void copy_to_logical(void *ctx, size_t logical, size_t memory)
{
    const struct copy *c = ctx;
    c->to[logical] = c->from[memory];
}

static void copy_from_logical(void *ctx, size_t logical, size_t memory)
{
    const struct copy *c = ctx;
    c->to[memory] = c->from[logical];
}

void param_to_logical(const struct param *p, const float *memory, float *logical)
{
    for_each(p, copy_to_logical, &(struct copy){memory, logical});
}

void param_from_logical(const struct param *p, const float *logical, float *memory)
{
    for_each(p, copy_from_logical, &(struct copy){logical, memory});
}

struct draw {
    uint64_t seed;
    uint32_t ordinal;
    double scale;
    float *to;
    struct rng_block block; /* words of the four elements around the last index drawn */
    double odd;             /* normal: the second value of the pair drawn last */
};

static void next_block(struct draw *d, size_t logical)
{
    if (logical % 4 == 0)
        d->block = rng_block_at(d->seed, RNG_INIT, d->ordinal, 0, 0, (uint32_t)(logical / 4));
}

static void draw_uniform(void *ctx, size_t logical, size_t memory)
{
    struct draw *d = ctx;
    next_block(d, logical);
    /* 2u - 1 is exact in float, so the product is the only rounding. */
    d->to[memory] = (2.0f * rng_unit(d->block.v[logical % 4]) - 1.0f) * (float)d->scale;
}

/* Box, Muller, "A note on the generation of random normal deviates", 1958. */
static void draw_normal(void *ctx, size_t logical, size_t memory)
{
    struct draw *d = ctx;
    next_block(d, logical);
    if (logical % 2 == 0) {
        const uint32_t *w = d->block.v + logical % 4;
        const double two_pi = 6.283185307179586, words = 4294967296.0;
        const double radius = d->scale * sqrt(-2.0 * log((w[0] + 1.0) / words));
        const double angle = two_pi * (w[1] / words);
        d->to[memory] = (float)(radius * cos(angle));
        d->odd = radius * sin(angle);
    } else {
        d->to[memory] = (float)d->odd;
    }
}

static void init_param(const struct param *p, uint64_t seed, float *to)
{
    struct draw d = {.seed = seed, .ordinal = (uint32_t)p->ordinal, .scale = p->scale, .to = to};
    if (p->init == INIT_UNIFORM)
        for_each(p, draw_uniform, &d);
    else if (p->init == INIT_NORMAL)
        for_each(p, draw_normal, &d);
    else
        for (size_t i = 0; i < p->count; i++)
            to[i] = p->init == INIT_ONES ? 1.0f : 0.0f;
    if (p->zero_row >= 0) /* tables are LAYOUT_PLAIN: a row is a row */
        memset(to + (size_t)p->zero_row * (size_t)p->dims[1], 0, (size_t)p->dims[1] * sizeof *to);
}

void graph_init_model(const struct graph *g, uint64_t seed, float *params, float *buffers)
{
    if (g->param_floats > 0)
        memset(params, 0, g->param_floats * sizeof *params);
    for (int32_t i = 0; i < g->n_params; i++)
        init_param(&g->params[i], seed, params + g->params[i].offset);
    if (g->buffer_floats > 0)
        memset(buffers, 0, g->buffer_floats * sizeof *buffers);
    for (int32_t i = 0; i < g->n_buffers; i++)
        init_param(&g->buffers[i], seed, buffers + g->buffers[i].offset);
}
