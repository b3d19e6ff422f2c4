#include "nn/models/models.h"

/* LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition", 1998,
 * with relu and max pooling. */
static int build(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    (void)values;
    x = graph_conv2d(g, "conv1", x, 6, (struct conv_args){.kernel = 5});
    x = graph_relu(g, x);
    x = graph_max_pool2d(g, x, 2, 2, 0);
    x = graph_conv2d(g, "conv2", x, 16, (struct conv_args){.kernel = 5});
    x = graph_relu(g, x);
    x = graph_max_pool2d(g, x, 2, 2, 0);
    x = graph_flatten(g, x);
    x = graph_linear(g, "fc1", x, 120);
    x = graph_relu(g, x);
    x = graph_linear(g, "fc2", x, 84);
    x = graph_relu(g, x);
    return graph_linear(g, "fc3", x, n_outputs);
}

const struct model_info model_lenet = {
    .name = "lenet",
    .summary = "LeNet-5 with relu and max pooling",
    .input_rank = 3,
    .build = build,
};
