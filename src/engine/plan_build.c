/* The steps of a plan.  Forward in the graph's order, backward in reverse; a value used twice gets
 * its gradient written by one step and added to by the others.
 */
#include "engine/plan_build.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARD_FLOP 1e6
#define SHARD_ROWS 8

/* State while a program is built.  Arrays are indexed by node. */
struct builder {
    const struct graph *g;
    const struct plan *plan;
    struct plan_program *prog;
    bool training;
    bool *live;       /* the logits depend on it */
    bool *needs_grad; /* it, or something before it, has parameters */
    int32_t *root;    /* the node whose output this one's is: itself unless it moves nothing */
    int32_t *uses;    /* steps that read a root's output as their x */
    int32_t *value, *grad, *saved; /* buffers, -1 where there is none (yet) */
    int32_t (*whole)[2];           /* batch norm: combined statistics */
    int32_t cap_steps, cap_buffers;
};

int32_t plan_rows_per_shard(double macs, int32_t batch)
{
    int32_t rows = SHARD_ROWS;
    while (rows < batch && 2.0 * macs * rows < SHARD_FLOP)
        rows *= 2;
    const int32_t least = (batch + PLAN_MAX_SHARDS - 1) / PLAN_MAX_SHARDS;
    if (rows < least)
        rows = (least + SHARD_ROWS - 1) / SHARD_ROWS * SHARD_ROWS;
    return rows < batch ? rows : batch;
}

static int32_t add_buffer(struct builder *b, enum buffer_kind kind, size_t floats)
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

static struct plan_step *add_step(struct builder *b, enum step_kind kind, int32_t node)
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
    memcpy(s->in, n->in, sizeof s->in);
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

static void reads(struct plan_step *s, int32_t buffer)
{
    add_effect(s->read, &s->n_reads, buffer);
}

static void writes(struct plan_step *s, int32_t buffer)
{
    add_effect(s->write, &s->n_writes, buffer);
}

/* What the builder must know of an operation beside op_infos. */
static const struct {
    bool saves_input;  /* backward reads x */
    bool saves_output; /* backward reads y */
    bool elementwise;  /* y may be written over x, dx over dy */
} traits[OP_COUNT] = {
    [OP_CONV2D] = {.saves_input = true},
    [OP_LINEAR] = {.saves_input = true},
    [OP_BATCH_NORM] = {.saves_input = true, .elementwise = true},
    [OP_RELU] = {.saves_output = true, .elementwise = true},
    [OP_DROPOUT] = {.elementwise = true},
};

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

static int32_t n_inputs(const struct node *n)
{
    return n->op == OP_INPUT ? 0 : op_infos[n->op].n_inputs;
}

static void survey(struct builder *b)
{
    const struct graph *g = b->g;
    b->live[g->output] = true;
    for (int32_t i = g->output; i >= 0; i--)
        for (int32_t j = 0; b->live[i] && j < n_inputs(&g->nodes[i]); j++)
            b->live[g->nodes[i].input[j]] = true;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        b->value[i] = b->grad[i] = b->saved[i] = b->whole[i][0] = b->whole[i][1] = -1;
        b->root[i] = i;
        b->needs_grad[i] = n->n_params > 0;
        for (int32_t j = 0; j < n_inputs(n); j++)
            b->needs_grad[i] |= b->needs_grad[n->input[j]];
        if (n->op != OP_INPUT && moves_nothing(n, b->training))
            b->root[i] = b->root[n->input[0]];
        else
            for (int32_t j = 0; b->live[i] && j < n_inputs(n); j++)
                b->uses[b->root[n->input[j]]]++;
    }
    b->uses[b->root[g->output]]++; /* the loss reads it */
}

/* May `node` write its output over its input?  Only an element-wise operation, the only reader of
 * that value, when backward needs the value neither as the producer's output nor as its own input.
 */
static bool in_place(const struct builder *b, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    if (!traits[n->op].elementwise)
        return false;
    const int32_t from = b->root[n->input[0]];
    const enum op_kind producer = b->g->nodes[from].op;
    if (b->uses[from] != 1 || producer == OP_INPUT)
        return false;
    return !b->training || (!traits[producer].saves_output && !traits[n->op].saves_input);
}

static void batch_norm_stats(struct builder *b, int32_t node, int32_t x, int32_t *partial)
{
    const struct shape in = b->g->nodes[node].in[0];
    const size_t channels = (size_t)in.d[in.rank - 1];
    *partial = add_buffer(b, BUFFER_SHARD, 2 * channels);
    for (int i = 0; i < 2; i++)
        b->whole[node][i] = add_buffer(b, BUFFER_SHARD, channels);
    struct plan_step *s = add_step(b, STEP_BN_STATS, node);
    s->x[0] = x;
    s->partial = *partial;
    reads(s, x);
    writes(s, *partial);
}

static void forward_node(struct builder *b, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    if (b->root[node] != node) {
        b->value[node] = b->value[b->root[node]];
        return;
    }
    const bool norm = n->op == OP_BATCH_NORM;
    int32_t partial = -1;
    if (norm && b->training)
        batch_norm_stats(b, node, b->value[n->input[0]], &partial);
    b->value[node] =
        in_place(b, node) ? b->value[n->input[0]] : add_buffer(b, BUFFER_ROWS, shape_count(n->out));
    if (n->op == OP_MAX_POOL2D && b->training && b->needs_grad[node])
        b->saved[node] = add_buffer(b, BUFFER_ROWS, shape_count(n->out));

    struct plan_step *s = add_step(b, norm ? STEP_BN_APPLY : STEP_FORWARD, node);
    for (int32_t j = 0; j < n_inputs(n); j++) {
        s->x[j] = b->value[n->input[j]];
        reads(s, s->x[j]);
    }
    s->y = b->value[node];
    s->saved = b->saved[node];
    s->partial = partial;
    s->whole[0] = b->whole[node][0];
    s->whole[1] = b->whole[node][1];
    s->reads_all_shards = partial >= 0;
    reads(s, partial);
    writes(s, s->y);
    writes(s, s->saved);
    writes(s, s->whole[0]);
    writes(s, s->whole[1]);
}

static void gather(struct builder *b, int32_t node)
{
    struct plan_program *p = b->prog;
    p->input = add_buffer(b, BUFFER_ROWS, shape_count(b->g->nodes[node].out));
    p->target = add_buffer(b, BUFFER_ROWS, 1);
    b->value[node] = p->input;
    struct plan_step *s = add_step(b, STEP_GATHER, node);
    s->y = p->input;
    writes(s, p->input);
    writes(s, p->target);
}

static void loss(struct builder *b)
{
    struct plan_program *p = b->prog;
    const int32_t out = b->root[b->g->output];
    const struct shape logits = b->g->nodes[b->g->output].out;
    p->logits = b->value[out];
    p->sums = add_buffer(b, BUFFER_SHARD, PLAN_SUMS_FLOATS);
    if (b->training)
        b->grad[out] = add_buffer(b, BUFFER_ROWS, shape_count(logits));
    struct plan_step *s = add_step(b, STEP_LOSS, -1);
    s->op = b->plan->task->loss;
    s->in[0] = s->out = logits;
    s->x[0] = p->logits;
    s->dx[0] = b->grad[out];
    s->partial = p->sums;
    reads(s, p->logits);
    reads(s, p->target);
    writes(s, p->sums);
    writes(s, s->dx[0]);
}

/* Buffers of the gradients a backward step of `node` hands on.  Over dy where the operation is
 * element-wise and the first to write that gradient: dy has no other reader. */
static void place_dx(struct builder *b, struct plan_step *s, int32_t node, bool over_dy)
{
    const struct node *n = &b->g->nodes[node];
    for (int32_t j = 0; j < n_inputs(n); j++) {
        const int32_t from = b->root[n->input[j]];
        if (!b->needs_grad[from])
            continue;
        if (b->grad[from] >= 0) {
            s->accumulate_dx |= 1 << j;
            reads(s, b->grad[from]);
        } else {
            b->grad[from] = over_dy ? s->dy : add_buffer(b, BUFFER_ROWS, shape_count(n->in[j]));
        }
        s->dx[j] = b->grad[from];
        writes(s, s->dx[j]);
    }
}

static void backward_batch_norm(struct builder *b, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    const struct shape in = n->in[0];
    const int32_t partial = add_buffer(b, BUFFER_SHARD, 2 * (size_t)in.d[in.rank - 1]);
    const int n_steps = b->needs_grad[b->root[n->input[0]]] ? 2 : 1;
    for (int i = 0; i < n_steps; i++) {
        struct plan_step *s = add_step(b, i ? STEP_BN_BACK_APPLY : STEP_BN_BACK_REDUCE, node);
        s->x[0] = b->value[n->input[0]];
        s->dy = b->grad[node];
        s->partial = partial;
        s->whole[0] = b->whole[node][0];
        s->whole[1] = b->whole[node][1];
        reads(s, s->dy);
        reads(s, s->x[0]);
        reads(s, s->whole[0]);
        reads(s, s->whole[1]);
        if (i) {
            reads(s, partial);
            s->reads_all_shards = true;
            place_dx(b, s, node, true);
        } else {
            writes(s, partial);
        }
    }
}

static void backward_node(struct builder *b, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    if (n->op == OP_BATCH_NORM) {
        backward_batch_norm(b, node);
        return;
    }
    struct plan_step *s = add_step(b, STEP_BACKWARD, node);
    s->dy = b->grad[node];
    reads(s, s->dy);
    for (int32_t j = 0; traits[n->op].saves_input && j < n_inputs(n); j++) {
        s->x[j] = b->value[n->input[j]];
        reads(s, s->x[j]);
    }
    if (traits[n->op].saves_output) {
        s->y = b->value[node];
        reads(s, s->y);
    }
    s->saved = b->saved[node];
    reads(s, s->saved);
    place_dx(b, s, node, traits[n->op].elementwise);
}

static void backward(struct builder *b)
{
    for (int32_t i = b->g->output; i >= 0; i--)
        if (b->live[i] && b->root[i] == i && b->needs_grad[i])
            backward_node(b, i);
    struct plan_step *s = add_step(b, STEP_UPDATE, -1);
    s->reads_all_shards = true;
}

static void cut_stages(struct plan_program *p)
{
    p->stages = xcalloc((size_t)p->n_steps, sizeof *p->stages);
    for (int32_t i = 0; i < p->n_steps; i++) {
        if (i == 0 || p->steps[i].reads_all_shards)
            p->stages[p->n_stages++] = (struct plan_stage){
                .first_step = i, .unit = p->steps[i].kind == STEP_UPDATE ? UNIT_CHUNK : UNIT_SHARD};
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
    int32_t *const ints = xcalloc(5 * n, sizeof *ints);
    b.root = ints;
    b.uses = ints + n;
    b.value = ints + 2 * n;
    b.grad = ints + 3 * n;
    b.saved = ints + 4 * n;
    survey(&b);
    for (int32_t i = 0; i <= g->output; i++) {
        if (b.live[i] && g->nodes[i].op == OP_INPUT)
            gather(&b, i);
        else if (b.live[i])
            forward_node(&b, i);
    }
    loss(&b);
    if (training)
        backward(&b);
    cut_stages(prog);
    plan_place_buffers(plan, prog);
    free(ints);
    free(b.whole);
    free(b.needs_grad);
    free(b.live);
}

static bool check_request(const struct graph *g, int32_t batch, const struct task_info *task,
                          struct error *err)
{
    const struct shape out = g->nodes[g->output].out;
    int inputs = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        inputs += g->nodes[i].op == OP_INPUT;
    if (batch < 1)
        return error_set(err, ERROR_USAGE, "batch size %d: it must be at least 1", (int)batch);
    if (inputs != 1)
        return error_set(err, ERROR_USAGE, "a network must have one input, this one has %d",
                         inputs);
    if (g->param_floats == 0)
        return error_set(err, ERROR_USAGE, "the network has no parameters: nothing to train");
    if (out.rank != 1)
        return error_set(err, ERROR_USAGE,
                         "the network's output has %d dimensions; task %s needs a vector a sample",
                         (int)out.rank, task->name);
    if (task->target == TARGET_REAL && out.d[0] != 1)
        return error_set(err, ERROR_USAGE, "task %s needs 1 output, the network has %d", task->name,
                         (int)out.d[0]);
    return true;
}

struct plan *plan_build_sharded(const struct graph *g, int32_t batch, int32_t rows_per_shard,
                                const struct task_info *task, enum optim_kind optim,
                                int32_t n_slots, struct error *err)
{
    if (!check_request(g, batch, task, err))
        return NULL;
    struct plan *plan = xcalloc(1, sizeof *plan);
    plan->batch = batch;
    plan->rows_per_shard = rows_per_shard;
    plan->n_shards = (batch + plan->rows_per_shard - 1) / plan->rows_per_shard;
    plan->n_chunks = (int32_t)((g->param_floats + PLAN_CHUNK - 1) / PLAN_CHUNK);
    plan->n_outputs = g->nodes[g->output].out.d[0];
    plan->task = task;
    plan->optim = optim;
    plan->n_slots = n_slots;
    plan->param_floats = g->param_floats;
    plan->buffer_floats = g->buffer_floats;
    plan->slice_floats = (size_t)(1 + n_slots) * g->param_floats + g->buffer_floats;
    build_program(g, plan, true, &plan->train);
    build_program(g, plan, false, &plan->eval);
    plan->in = plan->train.steps[0].out;
    const size_t a = plan->train.lane_floats, c = plan->eval.lane_floats;
    plan->shard_grads = ((a > c ? a : c) + 15) / 16 * 16;
    plan->lane_floats = plan->shard_grads + (size_t)plan->n_shards * g->param_floats;
    plan->hash = plan_hash(plan);
    return plan;
}

struct plan *plan_build(const struct graph *g, int32_t batch, const struct task_info *task,
                        enum optim_kind optim, int32_t n_slots, struct error *err)
{
    return plan_build_sharded(g, batch, plan_rows_per_shard(graph_macs(g), batch), task, optim,
                              n_slots, err);
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
    free(plan);
}
