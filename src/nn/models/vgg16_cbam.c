#include "nn/models/models.h"

/* VGG16 (Simonyan, Zisserman, 2015) under torchvision's names, with a CBAM (Woo, Park, Lee, Kweon,
 * "CBAM: convolutional block attention module", 2018) after each of its five poolings. */

#define REDUCTION 16
#define POOLED    7 /* pixels each way before the classifier */
#define HIDDEN    4096

static const struct {
    int channels, convolutions;
} blocks[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};

/* Weights of the channels: average and maximum over the image through one net of two layers. */
static int channel_attention(struct graph *g, const char *name, int x, int channels)
{
    const int mean = graph_flatten(g, graph_adaptive_avg_pool2d(g, x, 1, 1));
    const int most = graph_flatten(g, graph_adaptive_max_pool2d(g, x, 1, 1));
    const int first =
        graph_linear_no_bias(g, layer_name("%s.mlp.0", name).text, mean, channels / REDUCTION);
    const int second =
        graph_linear_no_bias(g, layer_name("%s.mlp.2", name).text, graph_relu(g, first), channels);
    const int of_most =
        graph_linear_shared(g, graph_relu(g, graph_linear_shared(g, most, first)), second);
    return graph_multiply(g, x, graph_sigmoid(g, graph_add(g, second, of_most)));
}

/* Weights of the pixels, from the mean and the maximum over their channels. */
static int spatial_attention(struct graph *g, const char *name, int x)
{
    const int s = graph_conv2d(g, layer_name("%s.conv", name).text, graph_channel_mean_max(g, x), 1,
                               (struct conv_args){.kernel = 7, .pad = 3, .no_bias = true});
    return graph_multiply(g, x, graph_sigmoid(g, s));
}

static int build(struct graph *g, int x, int n_outputs, const int64_t *values)
{
    const int divisor = (int)values[0];
    int place = 0; /* in torchvision's list: each convolution, relu and pooling counts one */
    for (int i = 0; i < 5; i++) {
        const int channels = blocks[i].channels / divisor;
        for (int j = 0; j < blocks[i].convolutions; j++, place += 2) {
            x = graph_conv2d(g, layer_name("features.%d", place).text, x, channels,
                             (struct conv_args){.kernel = 3, .pad = 1});
            x = graph_relu(g, init_kaiming_fan_out(g, x));
        }
        x = graph_max_pool2d(g, x, 2, 2, 0);
        place++;
        const struct layer_name cbam = layer_name("features.cbam%d", i + 1);
        x = spatial_attention(g, cbam.text, channel_attention(g, cbam.text, x, channels));
    }
    x = graph_flatten(g, graph_adaptive_avg_pool2d(g, x, POOLED, POOLED));
    for (int i = 0; i < 2; i++) {
        x = graph_linear(g, layer_name("classifier.%d", 3 * i).text, x, HIDDEN / divisor);
        x = graph_relu(g, init_normal(g, x, 0.01));
        x = dropout_percent(g, x, values[1]);
    }
    return graph_linear(g, "classifier.6", x, n_outputs);
}

/* ImageNet's, without CBAM and for 1000 classes: both attentions and the last layer stay as drawn.
 */
static const struct weights_published published = {
    .name = "vgg16",
    .path = "weights/vgg16/model.safetensors",
    .fresh = {"features.cbam", "classifier.6."},
    .alias = {{"classifier.0.", "pre_logits.fc1."}, {"classifier.3.", "pre_logits.fc2."}},
};

const struct model_info model_vgg16_cbam = {
    .name = "vgg16_cbam",
    .summary = "torchvision's VGG16 with channel and spatial attention after each pooling",
    .input_rank = 3,
    .args = {{"width_div", 1, 1, 4, "divides all channels and hidden units"},
             {"dropout_pct", 50, 0, 99, "percent of values dropout zeroes; 0: no dropout"}},
    .n_args = 2,
    .published = &published,
    .build = build,
};
