#include "helper_plan.h"

struct maker {
    struct hand_plan *h;
    struct plan_program *p;
    bool training;
    int32_t x; /* buffer of the value so far */
    struct shape shape;
};

static int32_t buffer(struct maker *m, enum buffer_kind kind, size_t floats)
{
    const struct plan *plan = &m->h->plan;
    struct plan_program *p = m->p;
    const size_t copies = kind == BUFFER_ROWS    ? (size_t)plan->batch
                          : kind == BUFFER_SHARD ? (size_t)plan->n_shards
                                                 : 1;
    p->buffers[p->n_buffers] =
        (struct plan_buffer){.kind = kind, .floats = floats, .offset = p->lane_floats};
    p->lane_floats += (floats * copies + 15) / 16 * 16;
    return p->n_buffers++;
}

static struct plan_step *step(struct maker *m, enum step_kind kind, enum op_kind op)
{
    struct plan_step *s = &m->p->steps[m->p->n_steps++];
    *s = (struct plan_step){.kind = kind,
                            .op = op,
                            .ordinal = m->p->n_steps,
                            .in = {m->shape},
                            .out = m->shape,
                            .y = -1,
                            .dy = -1,
                            .saved = -1,
                            .partial = -1,
                            .whole = {-1, -1}};
    for (int i = 0; i < OP_MAX_INPUTS; i++)
        s->x[i] = s->dx[i] = -1;
    return s;
}

static void stage(struct maker *m, int32_t first_step, enum unit_kind unit)
{
    m->p->stages[m->p->n_stages++] =
        (struct plan_stage){first_step, m->p->n_steps - first_step, unit};
}

static void parameters(struct plan_step *s, size_t *at, size_t n0, size_t n1)
{
    const size_t n[2] = {n0, n1};
    s->n_params = 2;
    for (int i = 0; i < 2; i++) {
        s->param[i] = *at;
        s->param_count[i] = n[i];
        *at += (n[i] + 15) / 16 * 16;
    }
}

static int32_t linear(struct maker *m, int32_t n_out, size_t *at)
{
    struct plan_step *s = step(m, STEP_FORWARD, OP_LINEAR);
    s->attr = (struct op_attr){.out_features = n_out, .bias = 1};
    s->out = m->shape = shape_vector(n_out);
    s->x[0] = m->x;
    s->y = m->x = buffer(m, BUFFER_ROWS, (size_t)n_out);
    parameters(s, at, (size_t)(s->in[0].d[0] * n_out), (size_t)n_out);
    return m->p->n_steps - 1;
}

static int32_t elementwise(struct maker *m, enum op_kind op, float p)
{
    struct plan_step *s = step(m, STEP_FORWARD, op);
    s->attr.p = p;
    s->x[0] = m->x;
    s->y = m->x = buffer(m, BUFFER_ROWS, shape_count(m->shape));
    return m->p->n_steps - 1;
}

static int32_t batch_norm(struct maker *m, size_t *at)
{
    const size_t channels = (size_t)m->shape.d[0];
    const struct op_attr attr = {.eps = 1e-5f, .momentum = 0.1f};
    int32_t partial = -1;
    if (m->training) {
        struct plan_step *stats = step(m, STEP_BN_STATS, OP_BATCH_NORM);
        stats->attr = attr;
        stats->x[0] = m->x;
        stats->partial = partial = buffer(m, BUFFER_SHARD, 2 * ((channels + 15) / 16 * 16));
        stage(m, 0, UNIT_SHARD);
    }
    struct plan_step *s = step(m, STEP_BN_APPLY, OP_BATCH_NORM);
    s->attr = attr;
    s->x[0] = m->x;
    s->partial = partial;
    s->y = m->x = buffer(m, BUFFER_ROWS, channels);
    for (int i = 0; m->training && i < 2; i++)
        s->whole[i] = buffer(m, BUFFER_SHARD, (channels + 15) / 16 * 16);
    parameters(s, at, channels, channels);
    s->n_buffers = 2;
    s->buffer[1] = (channels + 15) / 16 * 16;
    s->reads_all_shards = m->training;
    return m->p->n_steps - 1;
}

/* The backward step of forward step `at`: from gradient dy, returns the gradient before it. */
static int32_t backward(struct maker *m, int32_t at, enum step_kind kind, int32_t dy, bool need_dx)
{
    const struct plan_step f = m->p->steps[at];
    struct plan_step *s = step(m, kind, f.op);
    const int32_t ordinal = f.ordinal;
    *s = f;
    s->kind = kind;
    s->ordinal = ordinal;
    s->dy = dy;
    s->dx[0] = need_dx ? buffer(m, BUFFER_ROWS, shape_count(f.in[0])) : -1;
    return s->dx[0];
}

static void make(struct maker *m, size_t *param_floats)
{
    struct plan_program *p = m->p;
    size_t at = 0;
    m->shape = shape_vector(PLAN_INPUTS);
    struct plan_step *gather = step(m, STEP_GATHER, OP_INPUT);
    p->input = gather->y = m->x = buffer(m, BUFFER_ROWS, PLAN_INPUTS);
    p->target = buffer(m, BUFFER_ROWS, 1);
    const int32_t a = linear(m, 24, &at);
    const int32_t norm = batch_norm(m, &at);
    const int32_t second = m->training ? norm : 0;
    const int32_t relu1 = elementwise(m, OP_RELU, 0);
    const int32_t drop = m->training ? elementwise(m, OP_DROPOUT, 0.25f) : -1;
    const int32_t b = linear(m, 16, &at);
    const int32_t relu2 = elementwise(m, OP_RELU, 0);
    const int32_t c = linear(m, PLAN_CLASSES, &at);
    *param_floats = at;
    p->logits = m->x;
    struct plan_step *loss = step(m, STEP_LOSS, OP_CROSS_ENTROPY);
    loss->x[0] = m->x;
    loss->out = shape_vector(1);
    loss->partial = p->sums = buffer(m, BUFFER_SHARD, PLAN_SUMS_FLOATS);
    if (!m->training) {
        stage(m, 0, UNIT_SHARD);
        return;
    }
    int32_t d = loss->dx[0] = buffer(m, BUFFER_ROWS, PLAN_CLASSES);
    d = backward(m, c, STEP_BACKWARD, d, true);
    d = backward(m, relu2, STEP_BACKWARD, d, true);
    d = backward(m, b, STEP_BACKWARD, d, true);
    d = backward(m, drop, STEP_BACKWARD, d, true);
    d = backward(m, relu1, STEP_BACKWARD, d, true);
    const int32_t before = d, sums = buffer(m, BUFFER_SHARD, 64);
    backward(m, norm, STEP_BN_BACK_REDUCE, before, false);
    p->steps[p->n_steps - 1].partial = sums;
    stage(m, second, UNIT_SHARD);
    const int32_t third = p->n_steps;
    d = backward(m, norm, STEP_BN_BACK_APPLY, before, true);
    p->steps[p->n_steps - 1].partial = sums;
    backward(m, a, STEP_BACKWARD, d, false);
    stage(m, third, UNIT_SHARD);
    step(m, STEP_UPDATE, OP_INPUT)->node = -1;
    stage(m, p->n_steps - 1, UNIT_CHUNK);
}

void hand_plan_init(struct hand_plan *h, int32_t batch, int32_t rows_per_shard)
{
    memset(h, 0, sizeof *h);
    struct plan *plan = &h->plan;
    plan->batch = batch;
    plan->rows_per_shard = rows_per_shard;
    plan->n_shards = (batch + rows_per_shard - 1) / rows_per_shard;
    plan->in = shape_vector(PLAN_INPUTS);
    plan->n_outputs = PLAN_CLASSES;
    plan->task = task_find("classification");
    plan->optim = OPTIM_ADAM;
    plan->n_slots = 2;
    plan->train = (struct plan_program){
        .steps = h->train_steps, .stages = h->train_stages, .buffers = h->train_buffers};
    plan->eval = (struct plan_program){
        .steps = h->eval_steps, .stages = h->eval_stages, .buffers = h->eval_buffers};
    struct maker train = {.h = h, .p = &plan->train, .training = true};
    struct maker eval = {.h = h, .p = &plan->eval};
    make(&train, &plan->param_floats);
    make(&eval, &plan->param_floats);
    plan->buffer_floats = 64;
    plan->slice_floats = (1 + 2) * plan->param_floats + plan->buffer_floats;
    plan->n_chunks = (int32_t)((plan->param_floats + PLAN_CHUNK - 1) / PLAN_CHUNK);
    plan->shard_grads = plan->train.lane_floats > plan->eval.lane_floats ? plan->train.lane_floats
                                                                         : plan->eval.lane_floats;
    plan->lane_floats = plan->shard_grads + (size_t)plan->n_shards * plan->param_floats;
}
