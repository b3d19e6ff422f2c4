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

/* Elements i .. i + 3, i a multiple of 4. */
static void draw_four(const struct param *p, uint64_t seed, size_t i, float out[4])
{
    const struct rng_block w =
        rng_block_at(seed, RNG_INIT, (uint32_t)p->ordinal, 0, 0, (uint32_t)(i / 4));
    if (p->init == INIT_UNIFORM) {
        /* 2u - 1 is exact in float, so the product is the only rounding. */
        for (int j = 0; j < 4; j++)
            out[j] = (2.0f * rng_unit(w.v[j]) - 1.0f) * (float)p->scale;
        return;
    }
    /* Box, Muller, "A note on the generation of random normal deviates", 1958. */
    const double two_pi = 6.283185307179586, words = 4294967296.0;
    for (int j = 0; j < 4; j += 2) {
        const double radius = p->scale * sqrt(-2.0 * log((w.v[j] + 1.0) / words));
        const double angle = two_pi * (w.v[j + 1] / words);
        out[j] = (float)(radius * cos(angle));
        out[j + 1] = (float)(radius * sin(angle));
    }
}

void param_init_values(const struct param *p, uint64_t seed, size_t first, size_t n, float *out)
{
    float four[4];
    for (size_t i = first; i < first + n; i++) {
        if (p->init == INIT_ZEROS || p->init == INIT_ONES) {
            out[i - first] = p->init == INIT_ONES ? 1.0f : 0.0f;
            continue;
        }
        if (i % 4 == 0 || i == first)
            draw_four(p, seed, i / 4 * 4, four);
        out[i - first] = four[i % 4];
    }
    if (p->zero_row < 0)
        return;
    const size_t width = (size_t)p->dims[1], row = (size_t)p->zero_row * width;
    for (size_t i = row > first ? row : first; i < first + n && i < row + width; i++)
        out[i - first] = 0.0f;
}

#define DRAWN 1024 /* elements drawn at once on the way to another layout */

struct scatter {
    const struct param *p;
    uint64_t seed;
    float *to, drawn[DRAWN];
};

static void put_drawn(void *ctx, size_t logical, size_t memory)
{
    struct scatter *s = ctx;
    if (logical % DRAWN == 0) {
        const size_t left = s->p->count - logical;
        param_init_values(s->p, s->seed, logical, left < DRAWN ? left : DRAWN, s->drawn);
    }
    s->to[memory] = s->drawn[logical % DRAWN];
}

static void init_param(const struct param *p, uint64_t seed, float *to)
{
    if (p->layout == LAYOUT_PLAIN)
        param_init_values(p, seed, 0, p->count, to);
    else
        for_each(p, put_drawn, &(struct scatter){.p = p, .seed = seed, .to = to});
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
