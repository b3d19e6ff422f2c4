#include "nn/models/models.h"

/* Howard and others, "Searching for MobileNetV3", 2019, as torchvision builds the small one. */

#define NORM_EPS      0.001
#define NORM_MOMENTUM 0.01

/* Inverted residuals: kernel of the depthwise convolution, channels inside and out. */
static const struct block {
    int kernel, expanded, out;
    bool squeeze, hardswish;
    int stride;
} blocks[] = {
    {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
    {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
    {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
    {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1},
};
#define N_BLOCKS ((int)(sizeof blocks / sizeof *blocks))

/* The multiple of 8 nearest to v, at least 8 and at least nine tenths of v. */
static int multiple_of_8(double v)
{
    int n = (int)(v + 4) / 8 * 8;
    if (n < 8)
        n = 8;
    return n < 0.9 * v ? n + 8 : n;
}

static int scaled(int channels, int64_t width_pct)
{
    return multiple_of_8((double)channels * (double)width_pct / 100);
}

/* "name.0" a convolution without bias that keeps the image's size at stride 1, "name.1" its norm.
 */
static int conv_norm(struct graph *g, struct layer_name name, int x, int channels,
                     struct conv_args args)
{
    args.pad = (args.kernel - 1) / 2;
    args.no_bias = true;
    x = graph_conv2d(g, layer_name("%.80s.0", name.text).text, x, channels, args);
    x = init_kaiming_fan_out(g, x);
    return graph_batch_norm(g, layer_name("%.80s.1", name.text).text, x, NORM_EPS, NORM_MOMENTUM);
}

/* Hu, Shen, Sun, "Squeeze-and-excitation networks", 2018. */
static int squeeze_excite(struct graph *g, struct layer_name name, int x, int channels)
{
    const struct conv_args one = {.kernel = 1};
    const int quarter = channels / 4;
    int s = graph_adaptive_avg_pool2d(g, x, 1, 1);
    s = graph_conv2d(g, layer_name("%.80s.fc1", name.text).text, s, multiple_of_8(quarter), one);
    s = graph_relu(g, init_kaiming_fan_out(g, s));
    s = graph_conv2d(g, layer_name("%.80s.fc2", name.text).text, s, channels, one);
    s = graph_hardsigmoid(g, init_kaiming_fan_out(g, s));
    return graph_multiply(g, x, s);
}

static int inverted_residual(struct graph *g, int place, int x, const struct block *b,
                             int64_t width_pct)
{
    const int in = x < 0 ? 0 : g->nodes[x].out.d[2];
    const int inside = scaled(b->expanded, width_pct), out = scaled(b->out, width_pct);
    int (*const activation)(struct graph * g, int x) = b->hardswish ? graph_hardswish : graph_relu;
    int part = 0, y = x;
    if (inside != in) {
        y = conv_norm(g, layer_name("features.%d.block.%d", place, part++), y, inside,
                      (struct conv_args){.kernel = 1});
        y = activation(g, y);
    }
    y = conv_norm(g, layer_name("features.%d.block.%d", place, part++), y, inside,
                  (struct conv_args){.kernel = b->kernel, .stride = b->stride, .groups = inside});
    y = activation(g, y);
    if (b->squeeze)
        y = squeeze_excite(g, layer_name("features.%d.block.%d", place, part++), y, inside);
    y = conv_norm(g, layer_name("features.%d.block.%d", place, part), y, out,
                  (struct conv_args){.kernel = 1});
    return b->stride == 1 && in == out ? graph_add(g, y, x) : y;
}

static int build(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    const int64_t width_pct = values[0];
    x = conv_norm(g, layer_name("features.0"), x, scaled(16, width_pct),
                  (struct conv_args){.kernel = 3, .stride = 2});
    x = graph_hardswish(g, x);
    for (int i = 0; i < N_BLOCKS; i++)
        x = inverted_residual(g, i + 1, x, &blocks[i], width_pct);
    x = conv_norm(g, layer_name("features.%d", N_BLOCKS + 1), x, 6 * scaled(96, width_pct),
                  (struct conv_args){.kernel = 1});
    x = graph_hardswish(g, x);
    x = graph_flatten(g, graph_adaptive_avg_pool2d(g, x, 1, 1));
    x = init_normal(g, graph_linear(g, "classifier.0", x, scaled(1024, width_pct)), 0.01);
    x = graph_hardswish(g, x);
    x = dropout_percent(g, x, values[1]);
    return graph_linear(g, "classifier.3", x, n_outputs);
}

const struct model_info model_mobilenet_v3_small = {
    .name = "mobilenet_v3_small",
    .summary = "torchvision's MobileNetV3 small: depthwise convolutions, squeeze-excite, hardswish",
    .input_rank = 3,
    .args = {{"width_pct", 100, 10, 1000, "channels in percent, rounded to multiples of 8"},
             {"dropout_pct", 20, 0, 99, "percent of values dropout zeroes; 0: no dropout"}},
    .n_args = 2,
    .build = build,
};
