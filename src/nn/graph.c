#include "nn/graph.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM_MAX INT32_MAX

struct graph *graph_new(void)
{
    struct graph *g = xcalloc(1, sizeof *g);
    g->output = -1;
    return g;
}

void graph_free(struct graph *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g->params);
    free(g->buffers);
    free(g);
}

/* ---- building ---------------------------------------------------------------------------------
 */

static bool failed(const struct graph *g)
{
    return g->err.class_ != ERROR_NONE;
}

/* Doubles *items when n has reached *cap. */
static void *grow(void *items, int32_t n, int32_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 16;
    return xrealloc(items, (size_t)*cap * size);
}

static size_t round_up(size_t n)
{
    return (n + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
}

static bool name_taken(const struct graph *g, const char *name)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].name, name) == 0)
            return true;
    return false;
}

/* A given name is checked; without one, the operation's name and its number among those of its
 * kind. */
static bool set_name(struct graph *g, struct node *node, const char *name)
{
    if (name) {
        const int n = snprintf(node->name, sizeof node->name, "%s", name);
        if (n < 1 || (size_t)n >= sizeof node->name)
            return error_set(&g->err, ERROR_USAGE, "a layer's name has 1 to %zu bytes, not '%s'",
                             sizeof node->name - 1, name);
        if (name_taken(g, name))
            return error_set(&g->err, ERROR_USAGE, "two layers are named '%s'", name);
        return true;
    }
    int number = 1;
    for (int32_t i = 0; i < g->n_nodes; i++)
        number += g->nodes[i].op == node->op;
    do {
        snprintf(node->name, sizeof node->name, "%s_%d", op_infos[node->op].name, number++);
    } while (name_taken(g, node->name));
    return true;
}

/* Appends one tensor to a block (parameters or buffers) of *floats floats so far. */
static bool fill_param(struct graph *g, struct param *p, const struct node *node,
                       const struct op_param *wanted, int32_t ordinal, size_t *floats)
{
    double count = 1;
    *p = (struct param){.layout = wanted->layout,
                        .rank = wanted->rank,
                        .dims = {1, 1, 1, 1},
                        .init = wanted->init,
                        .scale = wanted->scale,
                        .zero_row = wanted->has_zero_row ? wanted->zero_row : -1,
                        .ordinal = ordinal};
    const bool joined = node->name[strlen(node->name) - 1] == '_';
    snprintf(p->name, sizeof p->name, "%s%s%s", node->name, joined ? "" : ".", wanted->suffix);
    for (int32_t i = 0; i < wanted->rank; i++) {
        p->dims[i] = wanted->dims[i];
        count *= wanted->dims[i];
    }
    if (count > DIM_MAX)
        return error_set(&g->err, ERROR_USAGE, "%s has %.0f elements: too large", p->name, count);
    p->count = (size_t)count;
    p->offset = *floats;
    *floats += round_up(p->count);
    return true;
}

static bool same_tensor(const struct param *p, const struct op_param *wanted)
{
    if (p->layout != wanted->layout || p->rank != wanted->rank)
        return false;
    for (int32_t i = 0; i < p->rank; i++)
        if (p->dims[i] != wanted->dims[i])
            return false;
    return true;
}

/* The node takes the tensors of `like` as its own. */
static bool share_params(struct graph *g, struct node *node, const struct node *like,
                         const struct op_param *wanted, int n)
{
    bool fits = n == like->n_params;
    for (int i = 0; fits && i < n; i++)
        fits = same_tensor(&g->params[like->param[i]], &wanted[i]);
    if (!fits)
        return error_set(&g->err, ERROR_USAGE, "%s (%s): the parameters of '%s' do not fit it",
                         node->name, op_infos[node->op].name, like->name);
    memcpy(node->param, like->param, sizeof node->param);
    node->n_params = n;
    node->shares_params = true;
    return true;
}

static bool add_params(struct graph *g, struct node *node, int like)
{
    const struct op_info *info = &op_infos[node->op];
    if (!info->params)
        return true;
    struct op_param param[OP_MAX_PARAMS], buffer[OP_MAX_BUFFERS];
    int n_params = 0, n_buffers = 0;
    info->params(&node->attr, node->in, param, &n_params, buffer, &n_buffers);
    if (like >= 0)
        return share_params(g, node, &g->nodes[like], param, n_params);
    for (int i = 0; i < n_params; i++) {
        g->params = grow(g->params, g->n_params, &g->cap_params, sizeof *g->params);
        node->param[node->n_params++] = g->n_params;
        if (!fill_param(g, &g->params[g->n_params], node, &param[i], g->n_params, &g->param_floats))
            return false;
        g->n_params++;
    }
    for (int i = 0; i < n_buffers; i++) {
        g->buffers = grow(g->buffers, g->n_buffers, &g->cap_buffers, sizeof *g->buffers);
        node->buffer[node->n_buffers++] = g->n_buffers;
        if (!fill_param(g, &g->buffers[g->n_buffers], node, &buffer[i], g->n_buffers,
                        &g->buffer_floats))
            return false;
        g->n_buffers++;
    }
    return true;
}

/* Ids and values lie in the same kind of memory: only this check keeps them apart. */
static bool check_input_type(struct graph *g, const struct node *node, int i)
{
    const struct node *from = &g->nodes[node->input[i]];
    const bool wanted = op_reads_tokens(node->op, &node->attr, node->n_inputs, i);
    const bool given = from->op == OP_INPUT && from->attr.is_tokens;
    if (wanted == given)
        return true;
    return error_set(&g->err, ERROR_USAGE,
                     wanted ? "%s (%s): reads tokens, but '%s' holds values"
                            : "%s (%s): reads values, but '%s' holds tokens: embed them first",
                     node->name, op_infos[node->op].name, from->name);
}

/* Appends the node, its inputs and their shapes set. */
static int append(struct graph *g, struct node *node, const char *name, int like)
{
    if (!set_name(g, node, name))
        return -1;
    for (int i = 0; i < node->n_inputs; i++)
        if (!check_input_type(g, node, i))
            return -1;
    struct error err = ERROR_INIT;
    if (!op_infos[node->op].infer(&node->attr, node->in, node->n_inputs, &node->out, &err)) {
        error_set(&g->err, err.class_, "%s (%s): %s", node->name, op_infos[node->op].name,
                  err.text);
        return -1;
    }
    if (!add_params(g, node, like))
        return -1;
    g->nodes = grow(g->nodes, g->n_nodes, &g->cap_nodes, sizeof *g->nodes);
    g->nodes[g->n_nodes] = *node;
    return g->n_nodes++;
}

static struct node new_node(const struct graph *g, enum op_kind op, const struct op_attr *attr)
{
    struct node node = {.op = op, .attr = *attr, .ordinal = g->n_nodes};
    for (int i = 0; i < OP_MAX_INPUTS; i++) {
        node.input[i] = -1;
        node.in[i] = shape_vector(1);
    }
    return node;
}

static int add_input(struct graph *g, struct shape shape, const struct op_attr *attr)
{
    if (failed(g))
        return -1;
    if (g->n_nodes > 0) {
        error_set(&g->err, ERROR_INTERNAL, "a network has one input and begins with it");
        return -1;
    }
    struct node node = new_node(g, OP_INPUT, attr);
    node.in[0] = shape;
    return append(g, &node, "input", -1);
}

int graph_input(struct graph *g, struct shape shape)
{
    return add_input(g, shape, &(struct op_attr){0});
}

int graph_tokens(struct graph *g, int length)
{
    return add_input(g, shape_vector(length), &(struct op_attr){.is_tokens = 1});
}

static bool node_exists(struct graph *g, enum op_kind op, int x)
{
    if (x >= 0 && x < g->n_nodes)
        return true;
    return error_set(&g->err, ERROR_INTERNAL, "%s: node %d does not exist", op_infos[op].name, x);
}

int graph_op(struct graph *g, enum op_kind op, const char *name, const int *x, int n,
             const struct op_attr *attr, int like)
{
    if (failed(g))
        return -1;
    const int least = op_infos[op].n_inputs, most = op_infos[op].max_inputs;
    if (n < least || n > (most > 0 ? most : least)) {
        error_set(&g->err, ERROR_USAGE, "%s: takes %d to %d inputs, not %d", op_infos[op].name,
                  least, most > 0 ? most : least, n);
        return -1;
    }
    struct node node = new_node(g, op, attr);
    node.n_inputs = n;
    for (int i = 0; i < n; i++) {
        if (!node_exists(g, op, x[i]))
            return -1;
        node.input[i] = x[i];
        node.in[i] = g->nodes[x[i]].out;
    }
    if (like >= g->n_nodes) {
        error_set(&g->err, ERROR_INTERNAL, "%s: node %d does not exist", op_infos[op].name, like);
        return -1;
    }
    return append(g, &node, name, like);
}

void graph_init(struct graph *g, int node, int i, enum init_kind kind, double scale)
{
    if (failed(g) || node < 0)
        return;
    struct param *p = &g->params[g->nodes[node].param[i]];
    p->init = kind;
    p->scale = scale;
}

static void lay_out(struct graph *g)
{
    g->param_floats = 0;
    for (int32_t i = 0; i < g->n_params; i++) {
        g->params[i].ordinal = i;
        g->params[i].offset = g->param_floats;
        g->param_floats += round_up(g->params[i].count);
    }
}

void graph_params_last(struct graph *g, int node)
{
    if (failed(g) || node < 0)
        return;
    const int32_t n = g->nodes[node].n_params, first = g->nodes[node].param[0];
    const int32_t behind = g->n_params - first - n;
    struct param moved[OP_MAX_PARAMS];
    memcpy(moved, g->params + first, (size_t)n * sizeof *moved);
    memmove(g->params + first, g->params + first + n, (size_t)behind * sizeof *moved);
    memcpy(g->params + first + behind, moved, (size_t)n * sizeof *moved);
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].n_params; j++) {
            int32_t *p = &g->nodes[i].param[j];
            if (*p >= first)
                *p += *p < first + n ? behind : -n;
        }
    lay_out(g);
}

/* Every node must lead to the logits: the parameters of one that does not would never learn. */
static bool check_all_used(struct graph *g, int x)
{
    bool *used = xcalloc((size_t)g->n_nodes, sizeof *used);
    used[x] = true;
    for (int i = x; i >= 0; i--)
        for (int j = 0; used[i] && j < g->nodes[i].n_inputs; j++)
            used[g->nodes[i].input[j]] = true;
    int unused = 0;
    while (unused < g->n_nodes && used[unused])
        unused++;
    free(used);
    if (unused < g->n_nodes)
        return error_set(&g->err, ERROR_INTERNAL, "layer '%s' does not lead to the output '%s'",
                         g->nodes[unused].name, g->nodes[x].name);
    return true;
}

bool graph_finish(struct graph *g, int x, struct error *err)
{
    if (!failed(g) && (x < 0 || x >= g->n_nodes))
        error_set(&g->err, ERROR_INTERNAL, "the output, node %d, does not exist", x);
    if (!failed(g) && (g->nodes[x].out.rank == 3 || g->nodes[x].attr.is_tokens))
        error_set(&g->err, ERROR_USAGE,
                  "the output '%s' must be a vector, or a vector a token, not %s", g->nodes[x].name,
                  g->nodes[x].out.rank == 3 ? "an image" : "the tokens");
    if (failed(g) || !check_all_used(g, x))
        return error_set(err, g->err.class_, "%s", g->err.text);
    g->output = x;
    return true;
}

bool graph_check_outputs(const struct graph *g, int n, struct error *err)
{
    const struct shape out = g->nodes[g->output].out;
    if (out.d[out.rank - 1] == n)
        return true;
    return error_set(err, ERROR_USAGE, "%d outputs are needed, the last layer '%s' has %d", n,
                     g->nodes[g->output].name, out.d[out.rank - 1]);
}

bool graph_reads_tokens(const struct graph *g)
{
    return g->nodes[0].attr.is_tokens;
}

bool graph_check_input(const struct graph *g, int32_t vocabulary, struct error *err)
{
    const bool tokens = graph_reads_tokens(g);
    if (tokens != (vocabulary > 0))
        return error_set(err, ERROR_USAGE, "the network reads %s, the samples are %s",
                         tokens ? "token ids" : "numbers", tokens ? "numbers" : "token ids");
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (n->op == OP_EMBEDDING && n->attr.rows < vocabulary)
            return error_set(err, ERROR_USAGE,
                             "layer '%s' has %d rows, too few for token ids up to %d", n->name,
                             (int)n->attr.rows, (int)vocabulary - 1);
    }
    return true;
}
