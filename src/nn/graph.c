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
                        .bound = wanted->bound,
                        .ordinal = ordinal};
    snprintf(p->name, sizeof p->name, "%s.%s", node->name, wanted->suffix);
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

static bool add_params(struct graph *g, struct node *node)
{
    const struct op_info *info = &op_infos[node->op];
    if (!info->params)
        return true;
    struct op_param param[OP_MAX_PARAMS], buffer[OP_MAX_BUFFERS];
    int n_params = 0, n_buffers = 0;
    info->params(&node->attr, node->in, param, &n_params, buffer, &n_buffers);
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

/* Appends a node; `in` is the sample shape for OP_INPUT and the input's output otherwise. */
static int add_node(struct graph *g, enum op_kind op, const char *name, int x, struct shape in,
                    const struct op_attr *attr)
{
    struct node node = {.op = op, .attr = *attr, .ordinal = g->n_nodes};
    for (int i = 0; i < OP_MAX_INPUTS; i++) {
        node.input[i] = -1;
        node.in[i] = shape_vector(1);
    }
    node.input[0] = x;
    node.in[0] = in;
    if (!set_name(g, &node, name))
        return -1;
    struct error err = ERROR_INIT;
    if (!op_infos[op].infer(attr, node.in, &node.out, &err)) {
        error_set(&g->err, err.class_, "%s (%s): %s", node.name, op_infos[op].name, err.text);
        return -1;
    }
    if (!add_params(g, &node))
        return -1;
    g->nodes = grow(g->nodes, g->n_nodes, &g->cap_nodes, sizeof *g->nodes);
    g->nodes[g->n_nodes] = node;
    return g->n_nodes++;
}

/* A node on the output of node x; -1 when building has already failed. */
static int add_on(struct graph *g, enum op_kind op, const char *name, int x,
                  const struct op_attr *attr)
{
    if (failed(g))
        return -1;
    if (x < 0 || x >= g->n_nodes) {
        error_set(&g->err, ERROR_INTERNAL, "%s: node %d does not exist", op_infos[op].name, x);
        return -1;
    }
    return add_node(g, op, name, x, g->nodes[x].out, attr);
}

int graph_input(struct graph *g, struct shape shape)
{
    if (failed(g))
        return -1;
    if (g->n_nodes > 0) {
        error_set(&g->err, ERROR_INTERNAL, "a network has one input and begins with it");
        return -1;
    }
    return add_node(g, OP_INPUT, "input", -1, shape, &(struct op_attr){0});
}

static int or_one(int v)
{
    return v == 0 ? 1 : v;
}

int graph_conv2d(struct graph *g, const char *name, int x, int out_channels, struct conv_args args)
{
    const int stride = or_one(args.stride), dilation = or_one(args.dilation);
    const struct op_attr attr = {.out_features = out_channels,
                                 .kernel_h = args.kernel,
                                 .kernel_w = args.kernel,
                                 .stride_h = stride,
                                 .stride_w = stride,
                                 .pad_h = args.pad,
                                 .pad_w = args.pad,
                                 .dilation_h = dilation,
                                 .dilation_w = dilation,
                                 .groups = or_one(args.groups),
                                 .bias = !args.no_bias};
    return add_on(g, OP_CONV2D, name, x, &attr);
}

int graph_linear(struct graph *g, const char *name, int x, int out_features)
{
    return add_on(g, OP_LINEAR, name, x,
                  &(struct op_attr){.out_features = out_features, .bias = 1});
}

int graph_batch_norm(struct graph *g, const char *name, int x, double eps, double momentum)
{
    const struct op_attr attr = {.eps = eps == 0 ? 1e-5f : (float)eps,
                                 .momentum = momentum == 0 ? 0.1f : (float)momentum};
    return add_on(g, OP_BATCH_NORM, name, x, &attr);
}

int graph_relu(struct graph *g, int x)
{
    return add_on(g, OP_RELU, NULL, x, &(struct op_attr){0});
}

int graph_max_pool2d(struct graph *g, int x, int kernel, int stride, int pad)
{
    const struct op_attr attr = {.kernel_h = kernel,
                                 .kernel_w = kernel,
                                 .stride_h = stride,
                                 .stride_w = stride,
                                 .pad_h = pad,
                                 .pad_w = pad,
                                 .dilation_h = 1,
                                 .dilation_w = 1};
    return add_on(g, OP_MAX_POOL2D, NULL, x, &attr);
}

int graph_flatten(struct graph *g, int x)
{
    return add_on(g, OP_FLATTEN, NULL, x, &(struct op_attr){0});
}

int graph_dropout(struct graph *g, int x, double p)
{
    return add_on(g, OP_DROPOUT, NULL, x, &(struct op_attr){.p = (float)p});
}

/* Every node must lead to the logits: the parameters of one that does not would never learn. */
static bool check_all_used(struct graph *g, int x)
{
    bool *used = xcalloc((size_t)g->n_nodes, sizeof *used);
    used[x] = true;
    for (int i = x; i >= 0; i--)
        for (int j = 0; used[i] && j < op_infos[g->nodes[i].op].n_inputs; j++)
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
    if (!failed(g) && g->nodes[x].out.rank != 1)
        error_set(&g->err, ERROR_USAGE, "the output '%s' must be a vector, not rank %d",
                  g->nodes[x].name, g->nodes[x].out.rank);
    if (failed(g) || !check_all_used(g, x))
        return error_set(err, g->err.class_, "%s", g->err.text);
    g->output = x;
    return true;
}

/* ---- measures ---------------------------------------------------------------------------------
 */

double graph_macs(const struct graph *g)
{
    double sum = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (op_infos[n->op].macs)
            sum += op_infos[n->op].macs(&n->attr, n->in, &n->out);
    }
    return sum;
}

size_t graph_activations(const struct graph *g)
{
    size_t sum = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        sum += shape_count(g->nodes[i].out);
    return sum;
}

size_t graph_parameter_count(const struct graph *g)
{
    size_t sum = 0;
    for (int32_t i = 0; i < g->n_params; i++)
        sum += g->params[i].count;
    return sum;
}

/* ---- hash -------------------------------------------------------------------------------------
 */

/* Numbers go in byte by byte, lowest first: the hash does not depend on the machine. */
static uint64_t mix_u32(uint64_t h, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        h ^= (v >> (8 * i)) & 0xFFu;
        h *= 0x100000001B3u;
    }
    return h;
}

static uint64_t mix_float(uint64_t h, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return mix_u32(h, bits);
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = mix_u32(h, (uint32_t)(unsigned char)*s);
    return mix_u32(h, 0);
}

static uint64_t mix_shape(uint64_t h, struct shape s)
{
    h = mix_u32(h, (uint32_t)s.rank);
    for (int i = 0; i < 3; i++)
        h = mix_u32(h, (uint32_t)s.d[i]);
    return h;
}

static uint64_t mix_attr(uint64_t h, const struct op_attr *a)
{
    const int32_t whole[] = {a->out_features, a->kernel_h, a->kernel_w, a->stride_h,
                             a->stride_w,     a->pad_h,    a->pad_w,    a->dilation_h,
                             a->dilation_w,   a->groups,   a->bias};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        h = mix_u32(h, (uint32_t)whole[i]);
    h = mix_float(h, a->p);
    h = mix_float(h, a->eps);
    return mix_float(h, a->momentum);
}

/* Operations enter by name, not number: adding one to the enumeration changes no hash. */
uint64_t graph_hash(const struct graph *g)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        h = mix_text(h, op_infos[n->op].name);
        h = mix_attr(h, &n->attr);
        for (int32_t j = 0; j < op_infos[n->op].n_inputs; j++) {
            h = mix_u32(h, (uint32_t)n->input[j]);
            h = mix_shape(h, n->in[j]);
        }
        h = mix_shape(h, n->out);
    }
    return mix_u32(h, (uint32_t)g->output);
}
