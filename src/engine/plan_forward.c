/* Forward steps, in the graph's order. */
#include "engine/plan_builder.h"

/* May `node` write its output over its input?  Only an element-wise operation, the only reader of
 * that value, when backward needs the value neither as the producer's output nor as its own input.
 */
static bool in_place(const struct builder *b, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    const struct op_traits *t = &plan_traits[n->op];
    if (!t->y_over_x)
        return false;
    const int32_t from = b->root[n->input[0]];
    const enum op_kind producer = b->g->nodes[from].op;
    if (b->uses[from] != 1 || producer == OP_INPUT)
        return false;
    return !b->training ||
           (!plan_traits[producer].saves_output && !t->saves_input && !t->saves_inputs);
}

static void batch_norm_stats(struct builder *b, int32_t node, int32_t x, int32_t *partial)
{
    const struct shape in = b->g->nodes[node].in[0];
    const size_t channels = (size_t)in.d[in.rank - 1];
    *partial = builder_buffer(b, BUFFER_SHARD, 2 * channels);
    for (int i = 0; i < 2; i++)
        b->whole[node][i] = builder_buffer(b, BUFFER_SHARD, channels);
    struct plan_step *s = builder_step(b, STEP_BN_STATS, node);
    s->x[0] = x;
    s->partial = *partial;
    step_reads(s, x);
    step_writes(s, *partial);
}

/* int32 a row that a forward step keeps for its backward: where each maximum was. */
static size_t saved_count(const struct node *n)
{
    if (n->op == OP_MAX_POOL2D || n->op == OP_ADAPTIVE_MAX_POOL2D)
        return shape_count(n->out);
    return n->op == OP_CHANNEL_MEAN_MAX ? (size_t)n->out.d[0] * (size_t)n->out.d[1] : 0;
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
    b->value[node] = in_place(b, node) ? b->value[n->input[0]]
                                       : builder_buffer(b, BUFFER_ROWS, shape_count(n->out));
    if (saved_count(n) > 0 && b->training && b->needs_grad[node])
        b->saved[node] = builder_buffer(b, BUFFER_ROWS, saved_count(n));

    struct plan_step *s = builder_step(b, norm ? STEP_BN_APPLY : STEP_FORWARD, node);
    for (int32_t j = 0; j < n->n_inputs; j++) {
        s->x[j] = b->value[n->input[j]];
        step_reads(s, s->x[j]);
    }
    s->y = b->value[node];
    s->saved = b->saved[node];
    s->partial = partial;
    s->whole[0] = b->whole[node][0];
    s->whole[1] = b->whole[node][1];
    s->reads_all_shards = partial >= 0;
    step_reads(s, partial);
    step_writes(s, s->y);
    step_writes(s, s->saved);
    step_writes(s, s->whole[0]);
    step_writes(s, s->whole[1]);
}

static void gather(struct builder *b, int32_t node)
{
    struct plan_program *p = b->prog;
    const bool tokens = b->plan->task->target == TARGET_TOKENS;
    const size_t targets = tokens ? (size_t)b->g->nodes[b->g->output].out.d[0] : 1;
    p->input = builder_buffer(b, BUFFER_ROWS, shape_count(b->g->nodes[node].out));
    p->target = builder_buffer(b, BUFFER_ROWS, targets);
    b->value[node] = p->input;
    struct plan_step *s = builder_step(b, STEP_GATHER, node);
    s->y = p->input;
    step_writes(s, p->input);
    step_writes(s, p->target);
}

static void loss(struct builder *b)
{
    struct plan_program *p = b->prog;
    const int32_t out = b->root[b->g->output];
    const struct shape logits = b->g->nodes[b->g->output].out;
    p->logits = b->value[out];
    p->sums = builder_buffer(b, BUFFER_SHARD, PLAN_SUMS_FLOATS);
    if (b->training)
        b->grad[out] = builder_buffer(b, BUFFER_ROWS, shape_count(logits));
    struct plan_step *s = builder_step(b, STEP_LOSS, -1);
    s->op = b->plan->task->loss;
    s->in[0] = s->out = logits;
    s->x[0] = p->logits;
    s->dx[0] = b->grad[out];
    s->partial = p->sums;
    step_reads(s, p->logits);
    step_reads(s, p->target);
    step_writes(s, p->sums);
    step_writes(s, s->dx[0]);
}

void builder_forward(struct builder *b)
{
    for (int32_t i = 0; i <= b->g->output; i++) {
        if (b->live[i] && b->g->nodes[i].op == OP_INPUT)
            gather(b, i);
        else if (b->live[i])
            forward_node(b, i);
    }
    loss(b);
}
