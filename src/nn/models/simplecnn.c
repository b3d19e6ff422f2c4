#include "nn/models/models.h"

static int build(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    const int width = (int)values[0];
    x = graph_conv2d(g, "conv1", x, width, (struct conv_args){.kernel = 3, .pad = 1});
    x = graph_relu(g, x);
    x = graph_max_pool2d(g, x, 2, 2, 0);
    x = graph_conv2d(g, "conv2", x, 2 * width, (struct conv_args){.kernel = 3, .pad = 1});
    x = graph_relu(g, x);
    x = graph_max_pool2d(g, x, 2, 2, 0);
    x = graph_flatten(g, x);
    return graph_linear(g, "fc", x, n_outputs);
}

const struct model_info model_simplecnn = {
    .name = "simplecnn",
    .summary = "two 3x3 convolutions with max pooling, one linear layer",
    .input_rank = 3,
    .args = {{"width", 32, 1, 4096,
              "channels of the first convolution; the second has twice that"}},
    .n_args = 1,
    .build = build,
};
