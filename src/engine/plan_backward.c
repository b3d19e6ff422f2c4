/* Backward steps, in reverse of the graph's order.  A value used twice gets its gradient written by
 * one step and added to by the others, a parameter used twice likewise: always in that order.
 *
 * The gradients of large tensors (plan.h) are computed a stage later than the rest, because every
 * part needs all shards.  They wait for the next stage there is anyway (a batch norm's), unless the
 * values they keep alive meanwhile would take more than an eighth of all activations.
 */
#include "engine/plan_builder.h"

#include "base/text.h"

#include <stdlib.h>

#define WAITING_SHARE 8

/* Nodes whose BACKWARD_PARAMS is still to come. */
struct waiting {
    int32_t *nodes;
    int32_t n;
    size_t floats, most; /* a row, of the gradients they read; and how many may wait */
};

static bool backward_reads(const struct node *n, int32_t input)
{
    const struct op_traits *t = &plan_traits[n->op];
    return t->saves_inputs || (t->saves_input && input == 0) ||
           op_reads_tokens(n->op, &n->attr, n->n_inputs, input);
}

static bool whole_weight(const struct builder *b, const struct node *n)
{
    return n->n_params > 0 && plan_param_is_whole(b->plan, &b->g->params[n->param[0]]);
}

/* Over dy where the operation allows it and is the first to write that gradient (dy has no other
 * reader), but not where it is two inputs' gradient. */
static bool may_write_over_dy(const struct builder *b, const struct node *n)
{
    if (!plan_traits[n->op].dx_over_dy)
        return false;
    for (int32_t j = 1; j < n->n_inputs; j++)
        if (b->root[n->input[j]] == b->root[n->input[0]])
            return false;
    return true;
}

/* An input that stands twice: this very step writes its gradient first. */
static bool begun_by(const struct plan_step *s, int32_t grad)
{
    for (int j = 0; j < OP_MAX_INPUTS; j++)
        if (s->dx[j] == grad && !(s->accumulate_dx >> j & 1))
            return true;
    return false;
}

/* Buffers of the gradients a backward step of `node` hands on. */
static void place_dx(struct builder *b, struct plan_step *s, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    const bool over_dy = may_write_over_dy(b, n);
    for (int32_t j = 0; j < n->n_inputs; j++) {
        const int32_t from = b->root[n->input[j]];
        if (!b->needs_grad[from])
            continue;
        if (b->grad[from] >= 0) {
            s->accumulate_dx |= 1 << j;
            if (!begun_by(s, b->grad[from]))
                step_reads(s, b->grad[from]);
        } else if (j == 0 && over_dy) {
            b->grad[from] = s->dy;
        } else {
            b->grad[from] = builder_buffer(b, BUFFER_ROWS, shape_count(n->in[j]));
        }
        s->dx[j] = b->grad[from];
        step_writes(s, s->dx[j]);
    }
}

/* The step gives the gradients of those of its node's parameters that are (not) whole. */
static void give_gradients(struct builder *b, struct plan_step *s, bool whole)
{
    const struct node *n = &b->g->nodes[s->node];
    for (int32_t i = 0; i < n->n_params; i++) {
        const int32_t p = n->param[i];
        if (plan_param_is_whole(b->plan, &b->g->params[p]) != whole)
            continue;
        if (b->begun[p])
            s->accumulate_grad |= 1 << i;
        b->begun[p] = true;
    }
}

static void read_values(const struct builder *b, struct plan_step *s)
{
    const struct node *n = &b->g->nodes[s->node];
    s->dy = b->grad[s->node];
    step_reads(s, s->dy);
    for (int32_t j = 0; j < n->n_inputs; j++) {
        if (!backward_reads(n, j))
            continue;
        s->x[j] = b->value[n->input[j]];
        step_reads(s, s->x[j]);
    }
}

static void run_waiting(struct builder *b, struct waiting *w)
{
    for (int32_t i = 0; i < w->n; i++) {
        struct plan_step *s = builder_step(b, STEP_BACKWARD_PARAMS, w->nodes[i]);
        read_values(b, s);
        give_gradients(b, s, true);
    }
    w->n = 0;
    w->floats = 0;
}

static void batch_norm(struct builder *b, struct waiting *w, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    const struct shape in = n->in[0];
    const int32_t partial = builder_buffer(b, BUFFER_SHARD, 2 * (size_t)in.d[in.rank - 1]);
    const int n_steps = b->needs_grad[b->root[n->input[0]]] ? 2 : 1;
    for (int i = 0; i < n_steps; i++) {
        if (i)
            run_waiting(b, w);
        struct plan_step *s = builder_step(b, i ? STEP_BN_BACK_APPLY : STEP_BN_BACK_REDUCE, node);
        s->x[0] = b->value[n->input[0]];
        s->dy = b->grad[node];
        s->partial = partial;
        s->whole[0] = b->whole[node][0];
        s->whole[1] = b->whole[node][1];
        step_reads(s, s->dy);
        step_reads(s, s->x[0]);
        step_reads(s, s->whole[0]);
        step_reads(s, s->whole[1]);
        if (i) {
            step_reads(s, partial);
            s->reads_all_shards = true;
            place_dx(b, s, node);
        } else {
            step_writes(s, partial);
            give_gradients(b, s, false);
        }
    }
}

/* Has a backward step of its own anything to do? */
static bool has_work(const struct builder *b, const struct node *n)
{
    for (int32_t j = 0; j < n->n_inputs; j++)
        if (b->needs_grad[b->root[n->input[j]]])
            return true;
    return n->n_params > (whole_weight(b, n) ? 1 : 0);
}

static void backward_node(struct builder *b, struct waiting *w, int32_t node)
{
    const struct node *n = &b->g->nodes[node];
    if (n->op == OP_BATCH_NORM) {
        batch_norm(b, w, node);
        return;
    }
    if (has_work(b, n)) {
        struct plan_step *s = builder_step(b, STEP_BACKWARD, node);
        read_values(b, s);
        if (plan_traits[n->op].saves_output) {
            s->y = b->value[node];
            step_reads(s, s->y);
        }
        s->saved = b->saved[node];
        step_reads(s, s->saved);
        place_dx(b, s, node);
        give_gradients(b, s, false);
    }
    if (!whole_weight(b, n))
        return;
    w->nodes[w->n++] = node;
    w->floats += shape_count(n->out);
    if (w->floats > w->most)
        run_waiting(b, w);
}

/* Global norm of all gradients, and the factor that brings it down to the limit: its buffer. */
static int32_t clip(struct builder *b)
{
    const int32_t squares = builder_buffer(b, BUFFER_LANE, 2 * (size_t)b->plan->n_chunks);
    const int32_t scale = builder_buffer(b, BUFFER_LANE, 1);
    struct plan_step *s = builder_step(b, STEP_GRAD_SQUARES, -1);
    s->partial = squares;
    s->reads_all_shards = true;
    step_writes(s, squares);
    s = builder_step(b, STEP_GRAD_SCALE, -1);
    s->partial = squares;
    s->y = scale;
    s->reads_all_shards = true;
    step_reads(s, squares);
    step_writes(s, scale);
    return scale;
}

void builder_backward(struct builder *b)
{
    struct waiting w = {.most = graph_activations(b->g) / WAITING_SHARE};
    w.nodes = xcalloc((size_t)b->g->n_nodes, sizeof *w.nodes);
    for (int32_t i = b->g->output; i >= 0; i--)
        if (b->live[i] && b->root[i] == i && b->needs_grad[i])
            backward_node(b, &w, i);
    run_waiting(b, &w);
    free(w.nodes);
    const int32_t scale = b->plan->clips ? clip(b) : -1;
    struct plan_step *s = builder_step(b, STEP_UPDATE, -1);
    s->reads_all_shards = true;
    s->x[0] = scale;
    step_reads(s, scale);
}
