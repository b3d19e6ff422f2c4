#include "nn/models/models.h"

static int build(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    const int width = (int)values[0];
    x = graph_conv2d(g, "conv1", x, width, (struct conv_args){.kernel = 3, .pad = 1});
    x = graph_batch_norm(g, "bn1", x, 0, 0);
    x = graph_relu(g, x);
    x = graph_conv2d(g, "conv2", x, 2 * width, (struct conv_args){.kernel = 3, .pad = 1});
    x = graph_batch_norm(g, "bn2", x, 0, 0);
    x = graph_relu(g, x);
    x = graph_max_pool2d(g, x, 2, 2, 0);
    if (values[1] > 0)
        x = graph_dropout(g, x, (double)values[1] / 100);
    x = graph_flatten(g, x);
    x = graph_linear(g, "fc1", x, 64);
    x = graph_relu(g, x);
    return graph_linear(g, "fc2", x, n_outputs);
}

const struct model_info model_digits_cnn = {
    .name = "digits_cnn",
    .summary = "two 3x3 convolutions with batch norm, dropout, two linear layers",
    .input_rank = 3,
    .args = {{"width", 16, 1, 4096, "channels of the first convolution; the second has twice that"},
             {"dropout_pct", 25, 0, 99, "percent of values dropout zeroes; 0: no dropout"}},
    .n_args = 2,
    .build = build,
};
