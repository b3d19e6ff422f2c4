#include "backend/cpu/bucket.h"

#include <stdlib.h>
#include <string.h>

#define LINE_FLOATS  16 /* 64 bytes */
#define SLICE_FLOATS 64 /* slices and lanes start on 256 bytes */

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- programs ---- */

/* The result of steps[at] is looked at by nobody but the relu that follows it (whose backward reads
 * its own result), so it need not be kept. */
static bool only_relu_reads(const struct plan_program *p, int32_t at)
{
    const int32_t buffer = p->steps[at].y, relu_y = p->steps[at + 1].y;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        if (i == at || i == at + 1 || (s->op == OP_RELU && s->y == relu_y))
            continue;
        for (int k = 0; k < s->n_reads; k++)
            if (s->read[k] == buffer)
                return false;
        for (int k = 0; k < OP_MAX_INPUTS; k++)
            if (s->x[k] == buffer)
                return false;
        if (s->y == buffer)
            return false;
    }
    return true;
}

/* In floats from the start of the lane; a batch of rows, all shards' parts. */
static bool apart(const struct plan *plan, const struct plan_program *p, int32_t a, int32_t b)
{
    const struct plan_buffer *x[2] = {&p->buffers[a], &p->buffers[b]};
    size_t size[2];
    for (int i = 0; i < 2; i++)
        size[i] = x[i]->floats * (size_t)(x[i]->kind == BUFFER_ROWS    ? plan->batch
                                          : x[i]->kind == BUFFER_SHARD ? plan->n_shards
                                                                       : 1);
    return x[0]->offset + size[0] <= x[1]->offset || x[1]->offset + size[1] <= x[0]->offset;
}

/* The relu's result is written one step earlier than planned: not over what that step reads. */
static bool may_write_early(const struct plan *plan, const struct plan_program *p,
                            const struct plan_step *s, const struct plan_step *relu)
{
    for (int k = 0; k < OP_MAX_INPUTS; k++)
        if (s->x[k] >= 0 && !apart(plan, p, s->x[k], relu->y))
            return false;
    return s->partial < 0 || apart(plan, p, s->partial, relu->y);
}

static bool is_relu_region(const struct bucket_use *use, const struct plan *plan,
                           const struct plan_program *p, int32_t at, int32_t end,
                           const struct cpu_kernel *kernel)
{
    if (!use->fuse || !kernel->fuses_relu || at + 1 >= end)
        return false;
    const struct plan_step *s = &p->steps[at], *next = s + 1;
    return next->kind == STEP_FORWARD && next->op == OP_RELU && next->x[0] == s->y &&
           (next->y == s->y || (only_relu_reads(p, at) && may_write_early(plan, p, s, next)));
}

static struct exec_grad gradient_place(const struct plan *plan, size_t param)
{
    for (int32_t i = 0; i < plan->n_grads; i++) {
        const struct plan_grad_range *r = &plan->grads[i];
        if (param >= r->first && param < r->first + r->count)
            return (struct exec_grad){r->offset + (param - r->first), r->whole ? 0 : r->stride,
                                      r->whole};
    }
    return (struct exec_grad){plan->shard_grads + param, plan->param_floats, false};
}

static bool compile_stage(const struct bucket_use *use, const struct plan *plan,
                          const struct plan_stage *stage, struct exec_program *e, struct error *err)
{
    const struct plan_program *p = e->plan;
    const int32_t end = stage->first_step + stage->n_steps;
    struct exec_stage *out = &e->stages[e->n_stages++];
    *out = (struct exec_stage){.first = e->n_steps, .unit = stage->unit};
    for (int32_t i = stage->first_step; i < end; i++) {
        const struct plan_step *s = &p->steps[i];
        struct exec_step *x = &e->steps[e->n_steps++];
        *x = (struct exec_step){.step = s, .y = s->y};
        for (int32_t k = 0; k < s->n_params; k++)
            x->grad[k] = gradient_place(plan, s->param[k]);
        if (s->kind == STEP_GRAD_SQUARES || s->kind == STEP_GRAD_SCALE || s->kind == STEP_UPDATE)
            continue;
        x->kernel = cpu_kernel_find(use->isa, s->kind, s->op);
        if (!x->kernel)
            return error_set(err, ERROR_INTERNAL, "the cpu has no kernel for step %d (kind %d, %s)",
                             i, (int)s->kind, op_infos[s->op].name);
        if (is_relu_region(use, plan, p, i, end, x->kernel)) {
            x->relu = true;
            x->y = s[1].y;
            i++;
        }
    }
    out->n = e->n_steps - out->first;
    return true;
}

static bool compile_program(const struct bucket_use *use, const struct plan *plan,
                            const struct plan_program *p, struct exec_program *e, struct error *err)
{
    e->plan = p;
    e->steps = calloc((size_t)p->n_steps + 1, sizeof *e->steps);
    e->stages = calloc((size_t)p->n_stages + 1, sizeof *e->stages);
    if (!e->steps || !e->stages)
        return error_set(err, ERROR_SYSTEM, "out of memory for a program of %d steps", p->n_steps);
    for (int32_t i = 0; i < p->n_stages; i++)
        if (!compile_stage(use, plan, &p->stages[i], e, err))
            return false;
    return true;
}

/* ---- memory ---- */

/* Steps that take the whole batch at once count as a shard of that many rows. */
static size_t program_scratch(const struct bucket_use *use, const struct plan *plan,
                              const struct plan_program *p)
{
    size_t most = 0;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        const struct cpu_kernel *k = cpu_kernel_find(use->isa, s->kind, s->op);
        const int32_t rows = s->kind == STEP_BACKWARD_PARAMS ? plan->batch : plan->rows_per_shard;
        const size_t n = k && k->scratch ? k->scratch(s, rows) : 0;
        most = n > most ? n : most;
    }
    return most;
}

static size_t max_units(const struct plan *plan)
{
    int32_t n = plan->n_shards > plan->n_chunks ? plan->n_shards : plan->n_chunks;
    n = n > PLAN_PARTS ? n : PLAN_PARTS;
    return round_up((size_t)n, LINE_FLOATS);
}

/* Sizes of b's parts; the whole in bytes. */
static size_t lay_out(struct backend_bucket *b, const struct bucket_use *use,
                      const struct plan *plan, int n_models)
{
    const size_t train = program_scratch(use, plan, &plan->train);
    const size_t eval = program_scratch(use, plan, &plan->eval);
    b->n_models = n_models;
    b->n_lanes = n_models < use->threads ? n_models : use->threads;
    b->slice_stride = round_up(plan->slice_floats, SLICE_FLOATS);
    b->lane_stride = round_up(plan->lane_floats, SLICE_FLOATS);
    b->scratch_stride = round_up(train > eval ? train : eval, SLICE_FLOATS);
    b->claims_stride = max_units(plan);
    const size_t floats =
        (size_t)n_models * b->slice_stride + (size_t)b->n_lanes * b->lane_stride +
        (size_t)use->threads * b->scratch_stride +
        (size_t)b->n_lanes * b->claims_stride * (sizeof(uint64_t) / sizeof(float));
    return round_up(floats, SLICE_FLOATS) * sizeof(float);
}

static size_t program_bytes(const struct plan_program *p)
{
    return ((size_t)p->n_steps + 1) * sizeof(struct exec_step) +
           ((size_t)p->n_stages + 1) * sizeof(struct exec_stage);
}

size_t bucket_size_bytes(const struct bucket_use *use, const struct plan *plan, int n_models)
{
    struct backend_bucket b = {0};
    return lay_out(&b, use, plan, n_models) + sizeof b + (size_t)b.n_lanes * sizeof(struct lane) +
           program_bytes(&plan->train) + program_bytes(&plan->eval);
}

bool bucket_init(struct backend_bucket *b, const struct bucket_use *use, const struct plan *plan,
                 int n_models, struct error *err)
{
    if (n_models < 1)
        return error_set(err, ERROR_INTERNAL, "a bucket of %d models", n_models);
    const size_t bytes = lay_out(b, use, plan, n_models);
    b->plan = plan;
    b->update = use->isa->update;
    b->lane_state = calloc((size_t)b->n_lanes, sizeof *b->lane_state);
    b->memory = aligned_alloc(SLICE_FLOATS * sizeof(float), bytes);
    if (!b->lane_state || !b->memory)
        return error_set(err, ERROR_SYSTEM,
                         "out of memory: %d models of this shape need %.1f MB; fewer models at a "
                         "time or a smaller batch need less",
                         n_models, (double)bytes / 1e6);
    memset(b->memory, 0, bytes); /* padding floats are zero for good */
    for (int i = 0; i < b->n_lanes; i++)
        b->lane_state[i].next_serial = 1;
    b->slices = b->memory;
    b->lanes = b->slices + (size_t)n_models * b->slice_stride;
    b->scratch = b->lanes + (size_t)b->n_lanes * b->lane_stride;
    b->claims = (_Atomic uint64_t *)(b->scratch + (size_t)use->threads * b->scratch_stride);
    return compile_program(use, plan, &plan->train, &b->train, err) &&
           compile_program(use, plan, &plan->eval, &b->eval, err);
}

void bucket_release(struct backend_bucket *b)
{
    free(b->train.steps);
    free(b->train.stages);
    free(b->eval.steps);
    free(b->eval.stages);
    free(b->lane_state);
    free(b->memory);
}

float *bucket_slice(const struct backend_bucket *b, int k)
{
    return b->slices + (size_t)k * b->slice_stride;
}
