/* plan_hash: names a plan in rows and logs. */
#include "engine/plan_build.h"

#include <string.h>

static void mix(uint64_t *h, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++)
        *h = (*h ^ b[i]) * 0x100000001b3u;
}

static void mix_int(uint64_t *h, int64_t v)
{
    mix(h, &v, sizeof v);
}

static void mix_shape(uint64_t *h, const struct shape *s)
{
    mix_int(h, s->rank);
    for (int i = 0; i < 3; i++)
        mix_int(h, s->d[i]);
}

static void mix_attr(uint64_t *h, const struct op_attr *a)
{
    /* All fields are of 4 bytes, so there are no padding bytes, and a new attribute counts by
     * itself. */
    mix(h, a, sizeof *a);
}

static void mix_step(uint64_t *h, const struct plan_step *s)
{
    mix_int(h, s->kind);
    mix_int(h, s->op);
    mix_int(h, s->ordinal);
    mix_attr(h, &s->attr);
    for (int i = 0; i < OP_MAX_INPUTS; i++)
        mix_shape(h, &s->in[i]);
    mix_shape(h, &s->out);
    for (int i = 0; i < OP_MAX_INPUTS; i++)
        mix_int(h, s->dx[i] >= 0);
    mix_int(h, s->accumulate_dx);
    mix_int(h, s->accumulate_grad);
    for (int i = 0; i < s->n_params; i++) {
        mix_int(h, (int64_t)s->param[i]);
        mix_int(h, (int64_t)s->param_count[i]);
    }
    for (int i = 0; i < s->n_buffers; i++)
        mix_int(h, (int64_t)s->buffer[i]);
}

static bool clips(const struct plan_step *s)
{
    return s->kind == STEP_GRAD_SQUARES || s->kind == STEP_GRAD_SCALE;
}

static void mix_program(uint64_t *h, const struct plan_program *p)
{
    for (int32_t i = 0; i < p->n_steps; i++)
        if (!clips(&p->steps[i]))
            mix_step(h, &p->steps[i]);
    for (int32_t i = 0; i < p->n_stages; i++)
        if (!clips(&p->steps[p->stages[i].first_step]))
            mix_int(h, p->stages[i].n_steps);
}

uint64_t plan_hash(const struct plan *plan)
{
    uint64_t h = 0xcbf29ce484222325u;
    mix_int(&h, plan->batch);
    mix_int(&h, plan->rows_per_shard);
    mix_int(&h, plan->n_shards);
    mix_int(&h, plan->n_chunks);
    mix_int(&h, PLAN_CHUNK);
    mix_int(&h, plan->n_outputs);
    mix_int(&h, plan->optim);
    mix_int(&h, (int64_t)plan->param_floats);
    mix_int(&h, (int64_t)plan->buffer_floats);
    mix(&h, plan->task->name, strlen(plan->task->name));
    mix_shape(&h, &plan->in);
    for (int32_t i = 0; i < plan->n_grads; i++) {
        mix_int(&h, (int64_t)plan->grads[i].count);
        mix_int(&h, plan->grads[i].whole);
    }
    mix_program(&h, &plan->train);
    mix_program(&h, &plan->eval);
    return h;
}
