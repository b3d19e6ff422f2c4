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

struct placing {
    struct plan_program *prog;
    int32_t *stage_of; /* by step */
    int32_t *order;    /* buffers, largest first */
    int32_t *placed;   /* those that have an offset, in order of it: so blockers need no sort */
    int32_t n_placed;  /* the first of order[] */
    size_t *size;      /* by buffer: plan_buffer_size */
    struct blocker *blocks; /* room for one a buffer */
};

/* A placed buffer in the way of the one being placed. */
struct blocker {
    size_t begin, end;
    bool exactly; /* not in the way at exactly its offset */
};

static enum sharing may_share(const struct placing *p, const struct plan_buffer *a,
                              const struct plan_buffer *b)
{
    if (a->first_step > b->first_step) {
        const struct plan_buffer *const t = a;
        a = b;
        b = t;
    }
    if (b->first_step <= a->last_step)
        return SHARE_NEVER;
    if (p->stage_of[a->last_step] < p->stage_of[b->first_step])
        return SHARE_FREELY;
    const bool same_rows =
        a->kind == BUFFER_ROWS && b->kind == BUFFER_ROWS && a->floats == b->floats;
    return same_rows ? SHARE_EXACTLY : SHARE_NEVER;
}

/* All blockers of b, in order of where they begin. */
static int32_t find_blockers(const struct placing *p, const struct plan_buffer *b)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_placed; i++) {
        const struct plan_buffer *o = &p->prog->buffers[p->placed[i]];
        const enum sharing sharing = may_share(p, b, o);
        if (sharing == SHARE_FREELY)
            continue;
        p->blocks[n++] = (struct blocker){.begin = o->offset,
                                          .end = o->offset + p->size[p->placed[i]],
                                          .exactly = sharing == SHARE_EXACTLY};
    }
    return n;
}

static void add_placed(struct placing *p, int32_t buffer)
{
    const struct plan_buffer *const buffers = p->prog->buffers;
    int32_t at = p->n_placed++;
    for (; at > 0 && buffers[p->placed[at - 1]].offset > buffers[buffer].offset; at--)
        p->placed[at] = p->placed[at - 1];
    p->placed[at] = buffer;
}

static bool fits(const struct placing *p, int32_t n, size_t offset, size_t size)
{
    for (int32_t i = 0; i < n && p->blocks[i].begin < offset + size; i++)
        if (offset < p->blocks[i].end && !(p->blocks[i].exactly && p->blocks[i].begin == offset))
            return false;
    return true;
}

/* The lowest offset that fits: in the first gap that is wide enough, or at exactly the place of a
 * blocker below it. */
static size_t lowest_fit(const struct placing *p, int32_t n, size_t size)
{
    size_t gap = 0;
    for (int32_t i = 0; i < n && p->blocks[i].begin < gap + size; i++)
        if (p->blocks[i].end > gap)
            gap = p->blocks[i].end;
    for (int32_t i = 0; i < n && p->blocks[i].begin < gap; i++)
        if (p->blocks[i].exactly && fits(p, n, p->blocks[i].begin, size))
            return p->blocks[i].begin;
    return gap;
}

static void sort_by_size(struct placing *p)
{
    for (int32_t i = 0; i < p->prog->n_buffers; i++) {
        int32_t at = i;
        for (; at > 0 && p->size[p->order[at - 1]] < p->size[i]; at--)
            p->order[at] = p->order[at - 1];
        p->order[at] = i;
    }
}

void plan_place_buffers(const struct plan *plan, struct plan_program *prog)
{
    find_live_ranges(prog);
    struct placing p = {.prog = prog};
    p.order = xcalloc((size_t)prog->n_buffers, sizeof *p.order);
    p.placed = xcalloc((size_t)prog->n_buffers, sizeof *p.placed);
    p.size = xcalloc((size_t)prog->n_buffers, sizeof *p.size);
    p.blocks = xcalloc((size_t)prog->n_buffers, sizeof *p.blocks);
    p.stage_of = xcalloc((size_t)prog->n_steps, sizeof *p.stage_of);
    for (int32_t i = 0; i < prog->n_stages; i++)
        for (int32_t j = 0; j < prog->stages[i].n_steps; j++)
            p.stage_of[prog->stages[i].first_step + j] = i;
    for (int32_t i = 0; i < prog->n_buffers; i++)
        p.size[i] = plan_buffer_size(plan, &prog->buffers[i]);
    sort_by_size(&p);
    prog->lane_floats = 0;
    for (int32_t i = 0; i < prog->n_buffers; i++) {
        struct plan_buffer *b = &prog->buffers[p.order[i]];
        const size_t size = p.size[p.order[i]];
        b->offset = lowest_fit(&p, find_blockers(&p, b), size);
        if (b->offset + size > prog->lane_floats)
            prog->lane_floats = b->offset + size;
        add_placed(&p, p.order[i]);
    }
    free(p.stage_of);
    free(p.size);
    free(p.placed);
    free(p.blocks);
    free(p.order);
}
