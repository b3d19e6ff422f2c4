#include "backend/cpu/unit.h"

#include <math.h>
#include <string.h>

static int32_t used_shards(const struct batch *b)
{
    const int32_t rows = b->bucket->plan->rows_per_shard;
    return (b->n_valid + rows - 1) / rows;
}

int32_t unit_count(const struct batch *batch, const struct exec_stage *stage)
{
    switch (stage->unit) {
    case UNIT_SHARD:
        return used_shards(batch);
    case UNIT_CHUNK:
        return batch->bucket->plan->n_chunks;
    case UNIT_PART:
        return PLAN_PARTS;
    case UNIT_ONE:
        return 1;
    }
    return 0;
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
    c->add_more_dx = s->accumulate_dx >> 1;
    for (int i = 1; i < OP_MAX_INPUTS; i++) {
        c->more_x[i - 1] = buffer_at(b, s->x[i], c->shard);
        c->more_dx[i - 1] = buffer_at(b, s->dx[i], c->shard);
    }
    c->saved = (int32_t *)buffer_at(b, s->saved, c->shard);
    c->partial = buffer_at(b, s->partial, 0);
    c->partial_stride = s->partial < 0 ? 0 : b->program->plan->buffers[s->partial].floats;
    c->whole[0] = buffer_at(b, s->whole[0], c->shard);
    c->whole[1] = buffer_at(b, s->whole[1], c->shard);
}

/* `whole`: the gradients to give are those of the batch, else those of the shard. */
static void set_parameters(struct op_call *c, const struct batch *b, const struct exec_step *x,
                           bool whole)
{
    const struct plan *plan = b->bucket->plan;
    const struct plan_step *s = x->step;
    float *buffers = b->slice + (size_t)(1 + plan->n_slots) * plan->param_floats;
    c->add_grad = s->accumulate_grad;
    for (int i = 0; i < OP_MAX_PARAMS; i++) {
        const struct exec_grad *g = &x->grad[i];
        c->param[i] = i < s->n_params ? b->slice + s->param[i] : NULL;
        c->grad[i] = i < s->n_params && g->whole == whole
                         ? b->lane + g->offset + (size_t)c->shard * g->stride
                         : NULL;
    }
    for (int i = 0; i < OP_MAX_BUFFERS; i++)
        c->buffer[i] = i < s->n_buffers ? buffers + s->buffer[i] : NULL;
}

static void run_steps(const struct batch *b, const struct exec_stage *stage, struct op_call *call)
{
    for (int32_t i = 0; i < stage->n; i++) {
        const struct exec_step *x = &b->program->steps[stage->first + i];
        set_buffers(call, b, x);
        set_parameters(call, b, x, stage->unit == UNIT_PART);
        x->kernel->run(call);
    }
}

static void run_shard(const struct batch *b, const struct exec_stage *stage, int32_t shard,
                      int thread)
{
    struct op_call call = shard_call(b, shard, thread);
    run_steps(b, stage, &call);
}

/* The rows of all shards lie one after the other: the batch is a shard that is as long. */
static void run_part(const struct batch *b, const struct exec_stage *stage, int32_t part,
                     int thread)
{
    struct op_call call = shard_call(b, 0, thread);
    call.rows = b->n_valid;
    call.rows_per_shard = b->bucket->plan->batch;
    call.part = part;
    call.parts = PLAN_PARTS;
    run_steps(b, stage, &call);
}

/* ---- gradients and the update: chunks of the parameter block ---- */

/* A run of parameters whose gradients lie alike: in n copies, stride floats apart. */
struct run {
    size_t first, count;
    const float *grads;
    size_t stride;
    int32_t n;
};

/* The run at `from`, not beyond `to`. */
static struct run run_at(const struct batch *b, size_t from, size_t to)
{
    const struct plan *plan = b->bucket->plan;
    for (int32_t i = 0; i < plan->n_grads; i++) {
        const struct plan_grad_range *r = &plan->grads[i];
        const size_t end = r->first + r->count;
        if (from >= r->first && from < end)
            return (struct run){.first = from,
                                .count = (end < to ? end : to) - from,
                                .grads = b->lane + r->offset + (from - r->first),
                                .stride = r->stride,
                                .n = r->whole ? 1 : used_shards(b)};
    }
    return (struct run){.first = from,
                        .count = to - from,
                        .grads = b->lane + plan->shard_grads + from,
                        .stride = plan->param_floats,
                        .n = used_shards(b)};
}

static void add_copies(const struct run *r, float *g)
{
    for (size_t i = 0; i < r->count; i++)
        g[i] = r->grads[i];
    for (int32_t s = 1; s < r->n; s++)
        for (size_t i = 0; i < r->count; i++)
            g[i] += r->grads[(size_t)s * r->stride + i];
}

static void update_run(const struct batch *b, const struct run *r, const float *factor)
{
    const struct plan *plan = b->bucket->plan;
    float clipped[PLAN_CHUNK];
    struct update_call u = {
        .rule = b->rule,
        .n_slots = plan->n_slots,
        .param = b->slice + r->first,
        .grads = r->grads,
        .grads_stride = r->stride,
        .n_grads = r->n,
        .count = (int32_t)r->count,
    };
    if (factor) {
        add_copies(r, clipped);
        for (size_t i = 0; i < r->count; i++)
            clipped[i] *= *factor;
        u.grads = clipped;
        u.n_grads = 1;
    }
    for (int i = 0; i < plan->n_slots && i < 3; i++)
        u.slot[i] = b->slice + (size_t)(1 + i) * plan->param_floats + r->first;
    b->bucket->update(&u);
}

static double squares_of(const struct run *r)
{
    float g[PLAN_CHUNK];
    double sum = 0;
    add_copies(r, g);
    for (size_t i = 0; i < r->count; i++)
        sum += (double)g[i] * (double)g[i];
    return sum;
}

static void run_chunk(const struct batch *b, const struct plan_step *s, int32_t chunk)
{
    const struct plan *plan = b->bucket->plan;
    const size_t from = (size_t)chunk * PLAN_CHUNK, left = plan->param_floats - from;
    const size_t to = from + (left < PLAN_CHUNK ? left : PLAN_CHUNK);
    double squares = 0;
    struct run r;
    for (size_t at = from; at < to; at += r.count) {
        r = run_at(b, at, to);
        if (s->kind == STEP_GRAD_SQUARES)
            squares += squares_of(&r);
        else
            update_run(b, &r, buffer_at(b, s->x[0], 0));
    }
    if (s->kind == STEP_GRAD_SQUARES)
        memcpy((double *)(void *)buffer_at(b, s->partial, 0) + chunk, &squares, sizeof squares);
}

/* torch.nn.utils.clip_grad_norm_; a norm that is not a number stays one, so that it is noticed. */
static void run_grad_scale(const struct batch *b, const struct plan_step *s)
{
    const double *squares = (const double *)(const void *)buffer_at(b, s->partial, 0);
    const double limit = b->pass->clip_grad_norm;
    double sum = 0;
    for (int32_t i = 0; i < b->bucket->plan->n_chunks; i++)
        sum += squares[i];
    const double factor = limit / (sqrt(sum) + 1e-6);
    *buffer_at(b, s->y, 0) = limit == 0 || factor > 1 ? 1.0f : (float)factor;
}

void unit_run(const struct batch *batch, const struct exec_stage *stage, int32_t unit, int thread)
{
    switch (stage->unit) {
    case UNIT_SHARD:
        run_shard(batch, stage, unit, thread);
        break;
    case UNIT_PART:
        run_part(batch, stage, unit, thread);
        break;
    case UNIT_CHUNK:
        for (int32_t i = 0; i < stage->n; i++)
            run_chunk(batch, batch->program->steps[stage->first + i].step, unit);
        break;
    case UNIT_ONE:
        for (int32_t i = 0; i < stage->n; i++)
            run_grad_scale(batch, batch->program->steps[stage->first + i].step);
        break;
    }
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
        sums->n_tokens += part.n_tokens;
        sums->target_sum += part.target_sum;
        sums->target_sq_sum += part.target_sq_sum;
    }
}
