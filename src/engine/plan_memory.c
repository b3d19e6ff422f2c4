/* Where the buffers of a program lie: buffers that never live at the same time share memory.
 *
 * Shards of a stage run without waiting for each other, so "at the same time" is a matter of
 * stages: shard 0 may be at a stage's last step while shard 1 is at its first.  Within a stage
 * memory passes from one buffer to another only when both have the same floats a row and the same
 * offset: then a shard's rows of the one are exactly its rows of the other, and a shard's own steps
 * are in order.
 */
#include "engine/plan_build.h"

#include "base/text.h"

#include <stdlib.h>

size_t plan_buffer_size(const struct plan *plan, const struct plan_buffer *buffer)
{
    size_t n = buffer->floats;
    if (buffer->kind == BUFFER_ROWS)
        n *= (size_t)plan->batch;
    else if (buffer->kind == BUFFER_SHARD)
        n *= (size_t)plan->n_shards;
    return (n + 15) / 16 * 16;
}

int32_t plan_stage_of(const struct plan_program *prog, int32_t step)
{
    int32_t s = 0;
    while (s + 1 < prog->n_stages && prog->stages[s + 1].first_step <= step)
        s++;
    return s;
}

static void touch(struct plan_buffer *b, int32_t step)
{
    if (b->first_step < 0)
        b->first_step = step;
    b->last_step = step;
}

static void find_live_ranges(struct plan_program *prog)
{
    for (int32_t i = 0; i < prog->n_buffers; i++)
        prog->buffers[i].first_step = prog->buffers[i].last_step = -1;
    for (int32_t i = 0; i < prog->n_steps; i++) {
        const struct plan_step *s = &prog->steps[i];
        for (int32_t j = 0; j < s->n_reads; j++)
            touch(&prog->buffers[s->read[j]], i);
        for (int32_t j = 0; j < s->n_writes; j++)
            touch(&prog->buffers[s->write[j]], i);
    }
    /* Read after the last step: the sums by whoever ran the batch, an evaluation's logits by
     * whoever wants predictions. */
    prog->buffers[prog->sums].last_step = prog->n_steps - 1;
    if (prog->steps[prog->n_steps - 1].kind == STEP_LOSS)
        prog->buffers[prog->logits].last_step = prog->n_steps - 1;
}

enum sharing { SHARE_NEVER, SHARE_EXACTLY, SHARE_FREELY };

static enum sharing may_share(const struct plan_program *prog, const struct plan_buffer *a,
                              const struct plan_buffer *b)
{
    if (a->first_step > b->first_step) {
        const struct plan_buffer *const t = a;
        a = b;
        b = t;
    }
    if (b->first_step <= a->last_step)
        return SHARE_NEVER;
    if (plan_stage_of(prog, a->last_step) < plan_stage_of(prog, b->first_step))
        return SHARE_FREELY;
    const bool same_rows =
        a->kind == BUFFER_ROWS && b->kind == BUFFER_ROWS && a->floats == b->floats;
    return same_rows ? SHARE_EXACTLY : SHARE_NEVER;
}

struct placing {
    const struct plan *plan;
    struct plan_program *prog;
    int32_t *order; /* buffers, largest first */
    int32_t n_placed;
};

static bool fits(const struct placing *p, const struct plan_buffer *b, size_t offset)
{
    const size_t size = plan_buffer_size(p->plan, b);
    for (int32_t i = 0; i < p->n_placed; i++) {
        const struct plan_buffer *o = &p->prog->buffers[p->order[i]];
        if (offset >= o->offset + plan_buffer_size(p->plan, o) || o->offset >= offset + size)
            continue;
        const enum sharing sharing = may_share(p->prog, b, o);
        if (sharing == SHARE_NEVER || (sharing == SHARE_EXACTLY && offset != o->offset))
            return false;
    }
    return true;
}

/* The lowest offset that fits: 0, or where a placed buffer begins or ends. */
static size_t lowest_fit(const struct placing *p, const struct plan_buffer *b)
{
    size_t best = SIZE_MAX;
    if (fits(p, b, 0))
        return 0;
    for (int32_t i = 0; i < p->n_placed; i++) {
        const struct plan_buffer *o = &p->prog->buffers[p->order[i]];
        const size_t ends[2] = {o->offset, o->offset + plan_buffer_size(p->plan, o)};
        for (int e = 0; e < 2; e++)
            if (ends[e] < best && fits(p, b, ends[e]))
                best = ends[e];
    }
    return best; /* found: behind all others is always free */
}

void plan_place_buffers(const struct plan *plan, struct plan_program *prog)
{
    find_live_ranges(prog);
    struct placing p = {.plan = plan, .prog = prog};
    p.order = xcalloc((size_t)prog->n_buffers, sizeof *p.order);
    for (int32_t i = 0; i < prog->n_buffers; i++) {
        const size_t size = plan_buffer_size(plan, &prog->buffers[i]);
        int32_t at = i;
        for (; at > 0 && plan_buffer_size(plan, &prog->buffers[p.order[at - 1]]) < size; at--)
            p.order[at] = p.order[at - 1];
        p.order[at] = i;
    }
    prog->lane_floats = 0;
    for (; p.n_placed < prog->n_buffers; p.n_placed++) {
        struct plan_buffer *b = &prog->buffers[p.order[p.n_placed]];
        b->offset = lowest_fit(&p, b);
        const size_t end = b->offset + plan_buffer_size(plan, b);
        if (end > prog->lane_floats)
            prog->lane_floats = end;
    }
    free(p.order);
}
