#include "nn/models/models.h"

/* He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016, as torchvision builds
 * it: a stage's first block halves the image (in resnet50 at its 3x3 convolution, "v1.5"). */

#define STAGES 4

static int conv_norm(struct graph *g, const char *conv, const char *norm, int x, int channels,
                     struct conv_args args)
{
    args.no_bias = true;
    x = init_kaiming_fan_out(g, graph_conv2d(g, conv, x, channels, args));
    return graph_batch_norm(g, norm, x, 0, 0);
}

static int channels_of(const struct graph *g, int x)
{
    return x < 0 ? 0 : g->nodes[x].out.d[2];
}

/* What the block adds to its result: its input, brought to that shape where it differs. */
static int shortcut(struct graph *g, const char *block, int x, int channels, int stride)
{
    if (stride == 1 && channels_of(g, x) == channels)
        return x;
    return conv_norm(g, layer_name("%s.downsample.0", block).text,
                     layer_name("%s.downsample.1", block).text, x, channels,
                     (struct conv_args){.kernel = 1, .stride = stride});
}

static int basic_block(struct graph *g, const char *name, int x, int width, int stride)
{
    int y = conv_norm(g, layer_name("%s.conv1", name).text, layer_name("%s.bn1", name).text, x,
                      width, (struct conv_args){.kernel = 3, .stride = stride, .pad = 1});
    y = graph_relu(g, y);
    y = conv_norm(g, layer_name("%s.conv2", name).text, layer_name("%s.bn2", name).text, y, width,
                  (struct conv_args){.kernel = 3, .pad = 1});
    return graph_relu(g, graph_add(g, y, shortcut(g, name, x, width, stride)));
}

static int bottleneck(struct graph *g, const char *name, int x, int width, int stride)
{
    int y = conv_norm(g, layer_name("%s.conv1", name).text, layer_name("%s.bn1", name).text, x,
                      width, (struct conv_args){.kernel = 1});
    y = graph_relu(g, y);
    y = conv_norm(g, layer_name("%s.conv2", name).text, layer_name("%s.bn2", name).text, y, width,
                  (struct conv_args){.kernel = 3, .stride = stride, .pad = 1});
    y = graph_relu(g, y);
    y = conv_norm(g, layer_name("%s.conv3", name).text, layer_name("%s.bn3", name).text, y,
                  4 * width, (struct conv_args){.kernel = 1});
    return graph_relu(g, graph_add(g, y, shortcut(g, name, x, 4 * width, stride)));
}

/* values: width, then blocks of each stage. */
static int resnet(struct graph *g, int x, int n_outputs, const int64_t *values,
                  int (*block)(struct graph *g, const char *name, int x, int width, int stride))
{
    int width = (int)values[0];
    x = conv_norm(g, "conv1", "bn1", x, width,
                  (struct conv_args){.kernel = 7, .stride = 2, .pad = 3});
    x = graph_relu(g, x);
    x = graph_max_pool2d(g, x, 3, 2, 1);
    for (int stage = 1; stage <= STAGES; stage++, width *= 2)
        for (int i = 0; i < values[stage]; i++)
            x = block(g, layer_name("layer%d.%d", stage, i).text, x, width,
                      stage > 1 && i == 0 ? 2 : 1);
    x = graph_flatten(g, graph_adaptive_avg_pool2d(g, x, 1, 1));
    return graph_linear(g, "fc", x, n_outputs);
}

static int build18(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    return resnet(g, x, n_outputs, values, basic_block);
}

static int build50(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    return resnet(g, x, n_outputs, values, bottleneck);
}

#define WIDTH_ARG                                                                                  \
    {                                                                                              \
        "width", 64, 1, 4096, "channels of the stem and of the first stage"                        \
    }
#define BLOCKS_ARG(stage, n)                                                                       \
    {                                                                                              \
        "blocks" stage, n, 1, 256, "blocks of stage " stage                                        \
    }

const struct model_info model_resnet18 = {
    .name = "resnet18",
    .summary = "torchvision's ResNet-18: four stages of two residual blocks of two convolutions",
    .input_rank = 3,
    .args = {WIDTH_ARG, BLOCKS_ARG("1", 2), BLOCKS_ARG("2", 2), BLOCKS_ARG("3", 2),
             BLOCKS_ARG("4", 2)},
    .n_args = 5,
    .build = build18,
};

const struct model_info model_resnet50 = {
    .name = "resnet50",
    .summary =
        "torchvision's ResNet-50: stages of 3, 4, 6, 3 residual blocks of three convolutions",
    .input_rank = 3,
    .args = {WIDTH_ARG, BLOCKS_ARG("1", 3), BLOCKS_ARG("2", 4), BLOCKS_ARG("3", 6),
             BLOCKS_ARG("4", 3)},
    .n_args = 5,
    .build = build50,
};
