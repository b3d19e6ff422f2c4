/* A request becomes a plan: what a program's steps share, where gradients lie, sizes and checks. */
#include "engine/plan_builder.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shards ---- */

#define SHARD_FLOP       1e6
#define SMALL_SHARD_FLOP 64e6 /* makes even a shard of less than SHARD_ROWS worth handing out */
#define SHARD_ROWS       8
#define WEIGHT_USES      32 /* multiply-adds a shard for each weight it reads */

int32_t plan_rows_per_shard(double macs, double weights, int32_t batch)
{
    int32_t rows = 1;
    while (rows < batch &&
           (macs * rows < WEIGHT_USES * weights ||
            2.0 * macs * rows < (rows < SHARD_ROWS ? SMALL_SHARD_FLOP : SHARD_FLOP)))
        rows *= 2;
    const int32_t least = (batch + PLAN_MAX_SHARDS - 1) / PLAN_MAX_SHARDS;
    if (rows < least)
        rows = least < SHARD_ROWS ? least : (least + SHARD_ROWS - 1) / SHARD_ROWS * SHARD_ROWS;
    return rows < batch ? rows : batch;
}

/* Weights that take part in products: what a shard must read. */
static double multiplied_weights(const struct graph *g)
{
    double sum = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (op_infos[g->nodes[i].op].macs && g->nodes[i].n_params > 0)
            sum += (double)g->params[g->nodes[i].param[0]].count;
    return sum;
}

/* ---- operations ---- */

const struct op_traits plan_traits[OP_COUNT] = {
    [OP_CONV2D] = {.saves_input = true, .by_parts = true},
    [OP_LINEAR] = {.saves_input = true, .by_parts = true},
    [OP_TIED_LINEAR] = {.saves_input = true, .by_parts = true},
    [OP_EMBEDDING] = {.by_parts = true},
    [OP_BATCH_NORM] = {.saves_input = true, .y_over_x = true, .dx_over_dy = true},
    [OP_LAYER_NORM] = {.saves_input = true},
    [OP_RELU] = {.saves_output = true, .y_over_x = true, .dx_over_dy = true},
    [OP_SIGMOID] = {.saves_output = true, .y_over_x = true, .dx_over_dy = true},
    [OP_TANH] = {.saves_output = true, .y_over_x = true, .dx_over_dy = true},
    [OP_GELU] = {.saves_input = true, .y_over_x = true, .dx_over_dy = true},
    [OP_HARDSWISH] = {.saves_input = true, .y_over_x = true, .dx_over_dy = true},
    [OP_HARDSIGMOID] = {.saves_input = true, .y_over_x = true, .dx_over_dy = true},
    [OP_DROPOUT] = {.y_over_x = true, .dx_over_dy = true},
    [OP_ADD] = {.y_over_x = true, .dx_over_dy = true},
    [OP_POSITIONS] = {.y_over_x = true, .dx_over_dy = true},
    [OP_MULTIPLY] = {.saves_inputs = true, .dx_over_dy = true},
    [OP_ATTENTION] = {.saves_inputs = true},
    /* Pooling, flatten, concatenate, channel mean and max, first token: dy, and what forward saved,
     * are enough. */
};

/* ---- steps and buffers ---- */

int32_t builder_buffer(struct builder *b, enum buffer_kind kind, size_t floats)
{
    struct plan_program *p = b->prog;
    if (p->n_buffers == b->cap_buffers) {
        b->cap_buffers = b->cap_buffers ? 2 * b->cap_buffers : 16;
        p->buffers = xrealloc(p->buffers, (size_t)b->cap_buffers * sizeof *p->buffers);
    }
    const size_t size = kind == BUFFER_ROWS ? floats : (floats + 15) / 16 * 16;
    p->buffers[p->n_buffers] = (struct plan_buffer){.kind = kind, .floats = size};
    return p->n_buffers++;
}

struct plan_step *builder_step(struct builder *b, enum step_kind kind, int32_t node)
{
    struct plan_program *p = b->prog;
    if (p->n_steps == b->cap_steps) {
        b->cap_steps = b->cap_steps ? 2 * b->cap_steps : 16;
        p->steps = xrealloc(p->steps, (size_t)b->cap_steps * sizeof *p->steps);
    }
    struct plan_step *s = &p->steps[p->n_steps++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->node = node;
    s->y = s->dy = s->saved = s->partial = s->whole[0] = s->whole[1] = -1;
    for (int i = 0; i < OP_MAX_INPUTS; i++)
        s->x[i] = s->dx[i] = -1;
    if (node < 0)
        return s;
    const struct node *n = &b->g->nodes[node];
    s->op = n->op;
    s->ordinal = n->ordinal;
    s->attr = n->attr;
    s->out = n->out;
    for (int i = 0; i < n->n_inputs || i < (n->op == OP_INPUT); i++)
        s->in[i] = n->in[i];
    s->n_params = n->n_params;
    for (int i = 0; i < n->n_params; i++) {
        s->param[i] = b->g->params[n->param[i]].offset;
        s->param_count[i] = b->g->params[n->param[i]].count;
    }
    s->n_buffers = n->n_buffers;
    for (int i = 0; i < n->n_buffers; i++)
        s->buffer[i] = b->g->buffers[n->buffer[i]].offset;
    return s;
}

static void add_effect(int32_t *list, int32_t *n, int32_t buffer)
{
    if (buffer < 0)
        return;
    for (int32_t i = 0; i < *n; i++)
        if (list[i] == buffer)
            return;
    list[(*n)++] = buffer;
}

void step_reads(struct plan_step *s, int32_t buffer)
{
    add_effect(s->read, &s->n_reads, buffer);
}

void step_writes(struct plan_step *s, int32_t buffer)
{
    add_effect(s->write, &s->n_writes, buffer);
}

/* ---- a program ---- */

/* The operation gives its input back as it is: its node gets no step and shares the buffer. */
static bool moves_nothing(const struct node *n, bool training)
{
    if (n->op == OP_DROPOUT)
        return !training || n->attr.p == 0.0f;
    if (n->op != OP_FLATTEN)
        return false;
    /* H,W,C to C,H,W is the same order when there is one channel or one pixel. */
    const struct shape s = n->in[0];
    return s.rank < 3 || s.d[2] == 1 || s.d[0] * s.d[1] == 1;
}

static void survey(struct builder *b)
{
    const struct graph *g = b->g;
    b->live[g->output] = true;
    for (int32_t i = g->output; i >= 0; i--)
        for (int32_t j = 0; b->live[i] && j < g->nodes[i].n_inputs; j++)
            b->live[g->nodes[i].input[j]] = true;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        b->value[i] = b->grad[i] = b->saved[i] = b->whole[i][0] = b->whole[i][1] = -1;
        b->root[i] = i;
        b->needs_grad[i] = n->n_params > 0;
        for (int32_t j = 0; j < n->n_inputs; j++)
            b->needs_grad[i] |= b->needs_grad[n->input[j]];
        if (n->op != OP_INPUT && moves_nothing(n, b->training))
            b->root[i] = b->root[n->input[0]];
        else
            for (int32_t j = 0; b->live[i] && j < n->n_inputs; j++)
                b->uses[b->root[n->input[j]]]++;
    }
    b->uses[b->root[g->output]]++; /* the loss reads it */
}

/* By step kind; the others are shards'. */
static const enum unit_kind units[] = {
    [STEP_BACKWARD_PARAMS] = UNIT_PART,
    [STEP_GRAD_SQUARES] = UNIT_CHUNK,
    [STEP_GRAD_SCALE] = UNIT_ONE,
    [STEP_UPDATE] = UNIT_CHUNK,
};

enum unit_kind plan_unit_of(enum step_kind kind)
{
    return units[kind];
}

static void cut_stages(struct plan_program *p)
{
    p->stages = xcalloc((size_t)p->n_steps, sizeof *p->stages);
    for (int32_t i = 0; i < p->n_steps; i++) {
        const enum unit_kind unit = plan_unit_of(p->steps[i].kind);
        if (i == 0 || p->steps[i].reads_all_shards || unit != p->stages[p->n_stages - 1].unit)
            p->stages[p->n_stages++] = (struct plan_stage){.first_step = i, .unit = unit};
        p->stages[p->n_stages - 1].n_steps++;
    }
}

static void build_program(const struct graph *g, const struct plan *plan, bool training,
                          struct plan_program *prog)
{
    const size_t n = (size_t)g->n_nodes;
    struct builder b = {.g = g, .plan = plan, .prog = prog, .training = training};
    b.live = xcalloc(n, sizeof *b.live);
    b.needs_grad = xcalloc(n, sizeof *b.needs_grad);
    b.whole = xcalloc(n, sizeof *b.whole);
    b.begun = xcalloc((size_t)g->n_params, sizeof *b.begun);
    int32_t *const ints = xcalloc(5 * n, sizeof *ints);
    b.root = ints;
    b.uses = ints + n;
    b.value = ints + 2 * n;
    b.grad = ints + 3 * n;
    b.saved = ints + 4 * n;
    survey(&b);
    builder_forward(&b);
    if (training)
        builder_backward(&b);
    cut_stages(prog);
    plan_place_buffers(plan, prog);
    free(ints);
    free(b.begun);
    free(b.whole);
    free(b.needs_grad);
    free(b.live);
}

/* ---- gradients ---- */

/* By parameter: is its gradient one for the whole batch?  Large ones that only operations use which
 * can give it by parts. */
static bool *whole_params(const struct graph *g)
{
    bool *whole = xcalloc((size_t)g->n_params, sizeof *whole);
    for (int32_t p = 0; p < g->n_params; p++)
        whole[p] = g->params[p].count >= PLAN_WHOLE_FLOATS;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].n_params; j++)
            if (j > 0 || !plan_traits[g->nodes[i].op].by_parts)
                whole[g->nodes[i].param[j]] = false;
    return whole;
}

/* Ranges of parameters of one kind, merged; no list at all where none is whole. */
static void find_ranges(struct plan *plan, const struct graph *g)
{
    bool *whole = whole_params(g);
    plan->grads = xcalloc((size_t)g->n_params + 1, sizeof *plan->grads);
    bool any = false;
    for (int32_t p = 0; p < g->n_params; p++) {
        const size_t end = p + 1 < g->n_params ? g->params[p + 1].offset : g->param_floats;
        struct plan_grad_range *last = &plan->grads[plan->n_grads];
        if (plan->n_grads == 0 || last[-1].whole != whole[p])
            *last = (struct plan_grad_range){.first = g->params[p].offset, .whole = whole[p]};
        else
            last--;
        plan->n_grads = (int32_t)(last - plan->grads) + 1;
        last->count = end - last->first;
        any |= whole[p];
    }
    free(whole);
    if (any)
        return;
    free(plan->grads);
    plan->grads = NULL;
    plan->n_grads = 0;
}

/* From shard_grads on: for each shard its part of all ranges that are not whole, then the whole
 * ones.  Returns the end. */
static size_t place_ranges(struct plan *plan)
{
    const size_t n_shards = (size_t)plan->n_shards;
    size_t stride = plan->n_grads ? 0 : plan->param_floats, shard = 0;
    for (int32_t i = 0; i < plan->n_grads; i++)
        stride += plan->grads[i].whole ? 0 : plan->grads[i].count;
    size_t end = plan->shard_grads + n_shards * stride;
    for (int32_t i = 0; i < plan->n_grads; i++) {
        struct plan_grad_range *r = &plan->grads[i];
        r->offset = r->whole ? end : plan->shard_grads + shard;
        r->stride = r->whole ? 0 : stride;
        *(r->whole ? &end : &shard) += r->count;
    }
    return end;
}

bool plan_param_is_whole(const struct plan *plan, const struct param *p)
{
    for (int32_t i = 0; i < plan->n_grads; i++)
        if (p->offset - plan->grads[i].first < plan->grads[i].count)
            return plan->grads[i].whole;
    return false;
}

/* ---- the plan ---- */

static bool check_network(const struct graph *g, struct error *err)
{
    int inputs = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        inputs += g->nodes[i].op == OP_INPUT;
    if (inputs != 1)
        return error_set(err, ERROR_USAGE, "a network must have one input, this one has %d",
                         inputs);
    if (g->param_floats == 0)
        return error_set(err, ERROR_USAGE, "the network has no parameters: nothing to train");
    return true;
}

struct plan *plan_build(const struct graph *g, const struct plan_request *r, struct error *err)
{
    if (r->batch < 1) {
        error_set(err, ERROR_USAGE, "batch size %d: it must be at least 1", (int)r->batch);
        return NULL;
    }
    if (!check_network(g, err) || !task_check_network(r->task, g, err))
        return NULL;
    const struct shape out = g->nodes[g->output].out;
    struct plan *plan = xcalloc(1, sizeof *plan);
    plan->batch = r->batch;
    plan->rows_per_shard =
        r->rows_per_shard > 0 ? r->rows_per_shard
                              : plan_rows_per_shard(graph_macs(g), multiplied_weights(g), r->batch);
    plan->n_shards = (r->batch + plan->rows_per_shard - 1) / plan->rows_per_shard;
    plan->n_chunks = (int32_t)((g->param_floats + PLAN_CHUNK - 1) / PLAN_CHUNK);
    plan->n_outputs = out.d[out.rank - 1];
    plan->task = r->task;
    plan->optim = r->optim;
    plan->clips = r->clips;
    plan->n_slots = r->n_slots;
    plan->param_floats = g->param_floats;
    plan->buffer_floats = g->buffer_floats;
    plan->slice_floats = (size_t)(1 + r->n_slots) * g->param_floats + g->buffer_floats;
    find_ranges(plan, g);
    build_program(g, plan, true, &plan->train);
    build_program(g, plan, false, &plan->eval);
    plan->in = plan->train.steps[0].out;
    const size_t a = plan->train.lane_floats, c = plan->eval.lane_floats;
    plan->shard_grads = ((a > c ? a : c) + 15) / 16 * 16;
    plan->lane_floats = place_ranges(plan);
    plan->hash = plan_hash(plan);
    return plan;
}

static void release_program(struct plan_program *p)
{
    free(p->steps);
    free(p->stages);
    free(p->buffers);
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    release_program(&plan->train);
    release_program(&plan->eval);
    free(plan->grads);
    free(plan);
}
