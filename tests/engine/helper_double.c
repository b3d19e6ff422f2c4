#include "helper_double.h"

#define REFERENCE_DOUBLE
#include "../../src/backend/cpu/reference.h"

#include "base/text.h"
#include "helper_engine.h"

static const struct cpu_kernel_f64 *kernel_of(const struct plan_step *s)
{
    for (size_t i = 0; cpu_reference_lists_f64[i]; i++)
        for (const struct cpu_kernel_f64 *k = cpu_reference_lists_f64[i]; k->name; k++)
            if (k->kind == s->kind && k->op == s->op)
                return k;
    fail_msg("no reference kernel for kind %d of %s", (int)s->kind, op_infos[s->op].name);
    return NULL;
}

void double_open(struct double_net *n, const struct plan *plan, const struct source *source)
{
    *n = (struct double_net){.plan = plan, .source = source};
    n->params = xcalloc(plan->param_floats, sizeof *n->params);
    n->momentum = xcalloc(plan->param_floats, sizeof *n->momentum);
    n->grads = xcalloc(plan->param_floats, sizeof *n->grads);
    n->buffers = xcalloc(plan->buffer_floats + 1, sizeof *n->buffers);
    n->lane = xcalloc(plan->lane_floats, sizeof *n->lane);
    size_t most = 1;
    for (int32_t i = 0; i < plan->train.n_steps; i++) {
        const struct plan_step *s = &plan->train.steps[i];
        if (s->kind == STEP_UPDATE)
            continue;
        const struct cpu_kernel_f64 *k = kernel_of(s);
        const size_t room = k->scratch ? k->scratch(s, plan->batch) : 0;
        most = room > most ? room : most;
        if (s->kind == STEP_LOSS)
            n->logits = xcalloc((size_t)plan->batch * shape_count(s->in[0]), sizeof *n->logits);
    }
    n->scratch = xcalloc(most, sizeof *n->scratch);
}

void double_close(struct double_net *n)
{
    free(n->params);
    free(n->momentum);
    free(n->grads);
    free(n->buffers);
    free(n->logits);
    free(n->lane);
    free(n->scratch);
}

/* ---- one unit of one step ---- */

struct double_unit {
    struct double_net *net;
    const struct plan_program *prog;
    int32_t shard, part; /* part -1: a shard's unit */
    int32_t n_valid;
};

static double *buffer_at(const struct double_unit *u, int32_t buffer, int32_t shard)
{
    if (buffer < 0)
        return NULL;
    const struct plan_buffer *b = &u->prog->buffers[buffer];
    const size_t rows = (size_t)u->net->plan->rows_per_shard;
    /* Ids are int32, one after the other: parts of tensors read those of all shards. */
    if (buffer == u->prog->input && u->net->source->type == SOURCE_I32) {
        int32_t *ids = (int32_t *)(void *)(u->net->lane + b->offset);
        return (double *)(void *)(ids + (size_t)shard * rows * b->floats);
    }
    return u->net->lane + b->offset +
           (b->kind == BUFFER_ROWS    ? (size_t)shard * rows * b->floats
            : b->kind == BUFFER_SHARD ? (size_t)shard * b->floats
                                      : 0);
}

static const struct plan_grad_range *range_of(const struct plan *plan, size_t param)
{
    for (int32_t i = 0; i < plan->n_grads; i++)
        if (param - plan->grads[i].first < plan->grads[i].count)
            return &plan->grads[i];
    return NULL;
}

/* Where shard s's gradient of float `param` lies. */
static double *gradient_at(const struct double_net *n, size_t param, int32_t shard)
{
    const struct plan_grad_range *r = range_of(n->plan, param);
    if (!r)
        return n->lane + n->plan->shard_grads + (size_t)shard * n->plan->param_floats + param;
    return n->lane + r->offset + (param - r->first) + (size_t)shard * r->stride;
}

static void set_parameters(struct op_call_f64 *c, const struct double_unit *u,
                           const struct plan_step *s)
{
    const struct double_net *n = u->net;
    for (int32_t i = 0; i < s->n_params; i++) {
        const struct plan_grad_range *r = range_of(n->plan, s->param[i]);
        c->param[i] = n->params + s->param[i];
        if ((r && r->whole) == (u->part >= 0))
            c->grad[i] = gradient_at(n, s->param[i], u->shard);
    }
    for (int32_t i = 0; i < s->n_buffers; i++)
        c->buffer[i] = n->buffers + s->buffer[i];
    c->add_grad = s->accumulate_grad;
}

static void run_step(const struct double_unit *u, const struct plan_step *s, const uint32_t *ids)
{
    const struct plan *plan = u->net->plan;
    const int32_t first = u->shard * plan->rows_per_shard;
    const int32_t left = u->n_valid - first;
    struct op_call_f64 c = {
        .step = s,
        .rows = u->part >= 0 || left < plan->rows_per_shard ? left : plan->rows_per_shard,
        .first_row = first,
        .n_valid = u->n_valid,
        .shard = u->shard,
        .rows_per_shard = u->part >= 0 ? plan->batch : plan->rows_per_shard,
        .training = u->prog == &plan->train,
        .seed = 1,
        .epoch = 1,
        .ids = ids + first,
        .source = u->net->source,
        .x = buffer_at(u, s->x[0], u->shard),
        .y = buffer_at(u, s->y, u->shard),
        .dy = buffer_at(u, s->dy, u->shard),
        .dx = buffer_at(u, s->dx[0], u->shard),
        .add_dx = s->accumulate_dx & 1,
        .add_more_dx = s->accumulate_dx >> 1,
        .saved = (int32_t *)(void *)buffer_at(u, s->saved, u->shard),
        .target = buffer_at(u, u->prog->target, u->shard),
        .partial = buffer_at(u, s->partial, 0),
        .partial_stride = s->partial < 0 ? 0 : u->prog->buffers[s->partial].floats,
        .whole = {buffer_at(u, s->whole[0], u->shard), buffer_at(u, s->whole[1], u->shard)},
        .part = u->part < 0 ? 0 : u->part,
        .parts = u->part < 0 ? 0 : PLAN_PARTS,
        .scratch = u->net->scratch,
    };
    for (int i = 1; i < OP_MAX_INPUTS; i++) {
        c.more_x[i - 1] = buffer_at(u, s->x[i], u->shard);
        c.more_dx[i - 1] = buffer_at(u, s->dx[i], u->shard);
    }
    set_parameters(&c, u, s);
    if (s->kind == STEP_LOSS) {
        const size_t width = shape_count(s->in[0]);
        memcpy(u->net->logits + (size_t)first * width, c.x,
               (size_t)c.rows * width * sizeof(double));
    }
    kernel_of(s)->run(&c);
}

static void run_stage(const struct double_unit *from, const struct plan_stage *stage,
                      int32_t n_units, const uint32_t *ids)
{
    for (int32_t i = 0; i < n_units; i++) {
        struct double_unit u = *from;
        *(stage->unit == UNIT_PART ? &u.part : &u.shard) = i;
        for (int32_t j = 0; j < stage->n_steps; j++)
            run_step(&u, &u.prog->steps[stage->first_step + j], ids);
    }
}

static void update(struct double_net *n, int32_t n_shards, double lr, bool first)
{
    for (size_t i = 0; i < n->plan->param_floats; i++) {
        const struct plan_grad_range *r = range_of(n->plan, i);
        double g = *gradient_at(n, i, 0);
        for (int32_t s = 1; s < n_shards && !(r && r->whole); s++)
            g += *gradient_at(n, i, s);
        n->grads[i] = g;
        n->momentum[i] = first ? g : 0.9 * n->momentum[i] + g;
        n->params[i] -= lr * n->momentum[i];
    }
}

struct pass_sums double_batch(struct double_net *n, bool training, int32_t n_rows, double lr,
                              bool first)
{
    const struct plan *plan = n->plan;
    const struct plan_program *prog = training ? &plan->train : &plan->eval;
    const int32_t used = (n_rows + plan->rows_per_shard - 1) / plan->rows_per_shard;
    uint32_t *ids = xcalloc((size_t)n_rows, sizeof *ids);
    for (int32_t i = 0; i < n_rows; i++)
        ids[i] = (uint32_t)i;
    const struct double_unit from = {.net = n, .prog = prog, .part = -1, .n_valid = n_rows};
    for (int32_t i = 0; i < prog->n_stages; i++)
        if (prog->stages[i].unit == UNIT_CHUNK)
            update(n, used, lr, first);
        else
            run_stage(&from, &prog->stages[i],
                      prog->stages[i].unit == UNIT_PART ? PLAN_PARTS : used, ids);
    struct pass_sums all = {0};
    for (int32_t s = 0; s < used; s++) {
        struct pass_sums part;
        memcpy(&part, buffer_at(&from, prog->sums, s), sizeof part);
        all.n += part.n;
        all.n_tokens += part.n_tokens;
        all.loss_sum += part.loss_sum;
        all.n_correct += part.n_correct;
    }
    free(ids);
    return all;
}
