#include "backend/cpu/unit.h"

#include <string.h>

static int32_t used_shards(const struct batch *b)
{
    const int32_t rows = b->bucket->plan->rows_per_shard;
    return (b->n_valid + rows - 1) / rows;
}

int32_t unit_count(const struct batch *batch, const struct exec_stage *stage)
{
    return stage->unit == UNIT_SHARD ? used_shards(batch) : batch->bucket->plan->n_chunks;
}

/* A buffer as the shard sees it: its own rows, its own part, or the whole. */
static float *buffer_at(const struct batch *b, int32_t buffer, int32_t shard)
{
    if (buffer < 0)
        return NULL;
    const struct plan_buffer *p = &b->program->plan->buffers[buffer];
    float *base = b->lane + p->offset;
    switch (p->kind) {
    case BUFFER_ROWS:
        return base + (size_t)shard * (size_t)b->bucket->plan->rows_per_shard * p->floats;
    case BUFFER_SHARD:
        return base + (size_t)shard * p->floats;
    case BUFFER_LANE:
        return base;
    }
    return base;
}

/* What is the same for all steps of a shard. */
static struct op_call shard_call(const struct batch *b, int32_t shard, int thread)
{
    const struct plan *plan = b->bucket->plan;
    const int32_t first = shard * plan->rows_per_shard, left = b->n_valid - first;
    return (struct op_call){
        .rows = left < plan->rows_per_shard ? left : plan->rows_per_shard,
        .first_row = first,
        .n_valid = b->n_valid,
        .shard = shard,
        .rows_per_shard = plan->rows_per_shard,
        .training = b->pass->kind == PASS_TRAIN,
        .seed = b->pass->seed,
        .epoch = b->pass->epoch,
        .batch = b->index,
        .ids = b->pass->rows + b->first + first,
        .source = b->pass->source,
        .target = buffer_at(b, b->program->plan->target, shard),
        .scratch = b->bucket->scratch + (size_t)thread * b->bucket->scratch_stride,
    };
}

static void set_buffers(struct op_call *c, const struct batch *b, const struct exec_step *x)
{
    const struct plan_step *s = x->step;
    c->step = s;
    c->relu = x->relu;
    c->x = buffer_at(b, s->x[0], c->shard);
    c->y = buffer_at(b, x->y, c->shard);
    c->dy = buffer_at(b, s->dy, c->shard);
    c->dx = buffer_at(b, s->dx[0], c->shard);
    c->add_dx = s->accumulate_dx & 1;
    c->saved = (int32_t *)buffer_at(b, s->saved, c->shard);
    c->partial = buffer_at(b, s->partial, 0);
    c->partial_stride = s->partial < 0 ? 0 : b->program->plan->buffers[s->partial].floats;
    c->whole[0] = buffer_at(b, s->whole[0], c->shard);
    c->whole[1] = buffer_at(b, s->whole[1], c->shard);
}

static void set_parameters(struct op_call *c, const struct batch *b, const struct plan_step *s)
{
    const struct plan *plan = b->bucket->plan;
    float *grads = b->lane + plan->shard_grads + (size_t)c->shard * plan->param_floats;
    float *buffers = b->slice + (size_t)(1 + plan->n_slots) * plan->param_floats;
    for (int i = 0; i < OP_MAX_PARAMS; i++) {
        c->param[i] = i < s->n_params ? b->slice + s->param[i] : NULL;
        c->grad[i] = i < s->n_params ? grads + s->param[i] : NULL;
    }
    for (int i = 0; i < OP_MAX_BUFFERS; i++)
        c->buffer[i] = i < s->n_buffers ? buffers + s->buffer[i] : NULL;
}

static void run_shard(const struct batch *b, const struct exec_stage *stage, int32_t shard,
                      int thread)
{
    struct op_call call = shard_call(b, shard, thread);
    for (int32_t i = 0; i < stage->n; i++) {
        const struct exec_step *x = &b->program->steps[stage->first + i];
        set_buffers(&call, b, x);
        set_parameters(&call, b, x->step);
        x->kernel->run(&call);
    }
}

static void run_chunk(const struct batch *b, int32_t chunk)
{
    const struct plan *plan = b->bucket->plan;
    const size_t from = (size_t)chunk * PLAN_CHUNK, left = plan->param_floats - from;
    struct update_call u = {
        .rule = b->rule,
        .n_slots = plan->n_slots,
        .param = b->slice + from,
        .grads = b->lane + plan->shard_grads + from,
        .grads_stride = plan->param_floats,
        .n_grads = used_shards(b),
        .count = (int32_t)(left < PLAN_CHUNK ? left : PLAN_CHUNK),
    };
    for (int i = 0; i < plan->n_slots && i < 3; i++)
        u.slot[i] = b->slice + (size_t)(1 + i) * plan->param_floats + from;
    b->bucket->update(&u);
}

void unit_run(const struct batch *batch, const struct exec_stage *stage, int32_t unit, int thread)
{
    if (stage->unit == UNIT_SHARD)
        run_shard(batch, stage, unit, thread);
    else
        run_chunk(batch, unit);
}

void batch_add_sums(const struct batch *batch, struct pass_sums *sums)
{
    const int32_t n = used_shards(batch);
    for (int32_t s = 0; s < n; s++) {
        struct pass_sums part;
        memcpy(&part, buffer_at(batch, batch->program->plan->sums, s), sizeof part);
        sums->n += part.n;
        sums->loss_sum += part.loss_sum;
        sums->n_correct += part.n_correct;
        sums->target_sum += part.target_sum;
        sums->target_sq_sum += part.target_sq_sum;
    }
}
