#include "nn/models/models.h"

/* Linear 128, relu, linear 64, relu, linear out; an image is flattened first. */
static int build(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    if (x >= 0 && g->nodes[x].out.rank != 1)
        x = graph_flatten(g, x);
    x = graph_linear(g, "fc1", x, (int)values[0]);
    x = graph_relu(g, x);
    x = graph_linear(g, "fc2", x, (int)values[1]);
    x = graph_relu(g, x);
    return graph_linear(g, "fc3", x, n_outputs);
}

const struct model_info model_mlp = {
    .name = "mlp",
    .summary = "two hidden layers of 128 and 64 units",
    .input_rank = 0,
    .args = {{"hidden1", 128, 1, 65536, "units of the first hidden layer"},
             {"hidden2", 64, 1, 65536, "units of the second hidden layer"}},
    .n_args = 2,
    .build = build,
};
