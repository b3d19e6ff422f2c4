/* The builder's calls: each fills the attributes of one operation. */
#include "nn/graph.h"

/* One input, parameters of its own. */
static int on(struct graph *g, enum op_kind op, const char *name, int x, const struct op_attr *attr)
{
    return graph_op(g, op, name, &x, 1, attr, -1);
}

/* One input, no attributes. */
static int plain(struct graph *g, enum op_kind op, int x)
{
    return on(g, op, NULL, x, &(struct op_attr){0});
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
    return on(g, OP_CONV2D, name, x, &attr);
}

int graph_linear(struct graph *g, const char *name, int x, int out_features)
{
    return on(g, OP_LINEAR, name, x, &(struct op_attr){.out_features = out_features, .bias = 1});
}

int graph_linear_no_bias(struct graph *g, const char *name, int x, int out_features)
{
    return on(g, OP_LINEAR, name, x, &(struct op_attr){.out_features = out_features});
}

int graph_linear_shared(struct graph *g, int x, int like)
{
    if (like < 0)
        return -1;
    return graph_op(g, OP_LINEAR, NULL, &x, 1, &g->nodes[like].attr, like);
}

int graph_tied_linear(struct graph *g, int x, int embedding)
{
    if (embedding < 0)
        return -1;
    const struct op_attr attr = {.out_features = g->nodes[embedding].attr.rows};
    return graph_op(g, OP_TIED_LINEAR, NULL, &x, 1, &attr, embedding);
}

int graph_batch_norm(struct graph *g, const char *name, int x, double eps, double momentum)
{
    const struct op_attr attr = {.eps = eps == 0 ? 1e-5 : eps,
                                 .momentum = momentum == 0 ? 0.1 : momentum};
    return on(g, OP_BATCH_NORM, name, x, &attr);
}

int graph_layer_norm(struct graph *g, const char *name, int x, double eps)
{
    return on(g, OP_LAYER_NORM, name, x, &(struct op_attr){.eps = eps == 0 ? 1e-5 : eps});
}

int graph_relu(struct graph *g, int x)
{
    return plain(g, OP_RELU, x);
}

int graph_gelu(struct graph *g, int x)
{
    return plain(g, OP_GELU, x);
}

int graph_hardswish(struct graph *g, int x)
{
    return plain(g, OP_HARDSWISH, x);
}

int graph_hardsigmoid(struct graph *g, int x)
{
    return plain(g, OP_HARDSIGMOID, x);
}

int graph_sigmoid(struct graph *g, int x)
{
    return plain(g, OP_SIGMOID, x);
}

int graph_tanh(struct graph *g, int x)
{
    return plain(g, OP_TANH, x);
}

static struct op_attr window(int kernel, int stride, int pad)
{
    return (struct op_attr){.kernel_h = kernel,
                            .kernel_w = kernel,
                            .stride_h = stride,
                            .stride_w = stride,
                            .pad_h = pad,
                            .pad_w = pad,
                            .dilation_h = 1,
                            .dilation_w = 1};
}

int graph_max_pool2d(struct graph *g, int x, int kernel, int stride, int pad)
{
    const struct op_attr attr = window(kernel, stride, pad);
    return on(g, OP_MAX_POOL2D, NULL, x, &attr);
}

int graph_avg_pool2d(struct graph *g, int x, int kernel, int stride, int pad)
{
    struct op_attr attr = window(kernel, stride, pad);
    attr.count_include_pad = 1;
    return on(g, OP_AVG_POOL2D, NULL, x, &attr);
}

int graph_adaptive_avg_pool2d(struct graph *g, int x, int height, int width)
{
    return on(g, OP_ADAPTIVE_AVG_POOL2D, NULL, x,
              &(struct op_attr){.out_h = height, .out_w = width});
}

int graph_adaptive_max_pool2d(struct graph *g, int x, int height, int width)
{
    return on(g, OP_ADAPTIVE_MAX_POOL2D, NULL, x,
              &(struct op_attr){.out_h = height, .out_w = width});
}

int graph_flatten(struct graph *g, int x)
{
    return plain(g, OP_FLATTEN, x);
}

int graph_dropout(struct graph *g, int x, double p)
{
    return on(g, OP_DROPOUT, NULL, x, &(struct op_attr){.p = (float)p});
}

int graph_add(struct graph *g, int a, int b)
{
    return graph_op(g, OP_ADD, NULL, (const int[]){a, b}, 2, &(struct op_attr){0}, -1);
}

int graph_multiply(struct graph *g, int a, int b)
{
    return graph_op(g, OP_MULTIPLY, NULL, (const int[]){a, b}, 2, &(struct op_attr){0}, -1);
}

int graph_concatenate(struct graph *g, const int *x, int n)
{
    return graph_op(g, OP_CONCATENATE, NULL, x, n, &(struct op_attr){0}, -1);
}

int graph_channel_mean_max(struct graph *g, int x)
{
    return plain(g, OP_CHANNEL_MEAN_MAX, x);
}

int graph_embedding(struct graph *g, const char *name, int tokens, struct embedding_args args)
{
    const struct op_attr attr = {.rows = args.rows,
                                 .out_features = args.features,
                                 .scale = args.scale == 0 ? 1 : args.scale,
                                 .pad_id = args.has_pad ? args.pad_id : -1};
    return on(g, OP_EMBEDDING, name, tokens, &attr);
}

int graph_positions(struct graph *g, const char *name, int x, struct position_args args)
{
    const bool of_tokens = args.kind == POSITION_OF_TOKENS;
    const struct op_attr attr = {
        .rows = args.rows, .position = (int32_t)args.kind, .pad_id = of_tokens ? args.pad_id : -1};
    return graph_op(g, OP_POSITIONS, name, (const int[]){x, args.tokens}, of_tokens ? 2 : 1, &attr,
                    -1);
}

static int attention(struct graph *g, int *x, int n, struct attention_args args)
{
    const struct op_attr attr = {.heads = args.heads,
                                 .causal = args.causal,
                                 .p = (float)args.dropout,
                                 .masked = args.masked,
                                 .pad_id = args.masked ? args.pad_id : -1};
    x[n] = args.tokens;
    return graph_op(g, OP_ATTENTION, NULL, x, n + args.masked, &attr, -1);
}

int graph_attention_packed(struct graph *g, int qkv, struct attention_args args)
{
    return attention(g, (int[2]){qkv}, 1, args);
}

int graph_attention(struct graph *g, int q, int k, int v, struct attention_args args)
{
    return attention(g, (int[4]){q, k, v}, 3, args);
}

int graph_first_token(struct graph *g, int x)
{
    return plain(g, OP_FIRST_TOKEN, x);
}
