#include "nn/op_rules.h"

#include <math.h>

bool op_check_count(struct shape s, struct error *err)
{
    double count = 1;
    for (int i = 0; i < 3; i++)
        count *= s.d[i];
    if (count > INT32_MAX)
        return error_set(err, ERROR_USAGE, "the output (%dx%dx%d) is too large", s.d[0], s.d[1],
                         s.d[2]);
    return true;
}

_Static_assert(sizeof(struct op_attr) == 4 * sizeof(double) + 22 * sizeof(int32_t),
               "attributes are hashed as bytes: no padding");

bool op_check_eps(double eps, struct error *err)
{
    if (!(eps > 0) || !isfinite(eps))
        return error_set(err, ERROR_USAGE, "eps %g must be positive", eps);
    return true;
}

int32_t op_channels(const struct shape *s)
{
    return s->d[s->rank - 1];
}

static OP_INFER(same_shape)
{
    *out = in[0];
    return true;
}

/* in[0] is the sample shape the network is built for. */
static OP_INFER(infer_input)
{
    if (in[0].rank < 1 || in[0].rank > 3)
        return error_set(err, ERROR_USAGE, "a sample has 1 to 3 dimensions, not %d", in[0].rank);
    for (int i = 0; i < 3; i++)
        if (in[0].d[i] < 1 || (i >= in[0].rank && in[0].d[i] != 1))
            return error_set(err, ERROR_USAGE, "dimension %d of the sample is %d", i, in[0].d[i]);
    *out = in[0];
    return op_check_count(*out, err);
}

static OP_INFER(infer_batch_norm)
{
    if (in[0].rank == 2)
        return error_set(err, ERROR_USAGE, "takes an image or a vector, not a sequence");
    if (!op_check_eps(a->eps, err))
        return false;
    if (!(a->momentum > 0 && a->momentum <= 1))
        return error_set(err, ERROR_USAGE, "momentum %g must be above 0 and at most 1",
                         a->momentum);
    *out = in[0];
    return true;
}

static OP_PARAMS(params_batch_norm)
{
    const struct op_param vector = {.rank = 1, .dims = {op_channels(&in[0]), 1, 1, 1}};
    param[0] = param[1] = buffer[0] = buffer[1] = vector;
    param[0].suffix = "weight";
    param[0].init = INIT_ONES;
    param[1].suffix = "bias";
    param[1].init = INIT_ZEROS;
    buffer[0].suffix = "running_mean";
    buffer[0].init = INIT_ZEROS;
    buffer[1].suffix = "running_var";
    buffer[1].init = INIT_ONES;
    *n_params = 2;
    *n_buffers = 2;
}

static OP_INFER(infer_flatten)
{
    *out = shape_vector((int32_t)shape_count(in[0]));
    return true;
}

static OP_INFER(infer_dropout)
{
    if (!(a->p >= 0 && a->p < 1))
        return error_set(err, ERROR_USAGE, "p %g must be at least 0 and below 1", (double)a->p);
    *out = in[0];
    return true;
}

static OP_INFER(infer_cross_entropy)
{
    if (in[0].rank == 3)
        return error_set(err, ERROR_USAGE, "takes a vector of logits, or one a token, not rank 3");
    if (!(a->label_smoothing >= 0 && a->label_smoothing < 1))
        return error_set(err, ERROR_USAGE, "label smoothing %g must be at least 0 and below 1",
                         a->label_smoothing);
    *out = shape_vector(1);
    return true;
}

/* The target of a regression is one number, as the reference's output squeezed on its last
 * dimension. */
static OP_INFER(infer_mse)
{
    if (in[0].rank != 1 || in[0].d[0] != 1)
        return error_set(err, ERROR_USAGE, "takes one output value, not %zu", shape_count(in[0]));
    *out = shape_vector(1);
    return true;
}

/* b has a's shape, or is one value a channel or one a pixel of the image a. */
static OP_INFER(infer_binary)
{
    const struct shape x = in[0], b = in[1];
    const bool a_channel = b.rank == 1 || (b.rank == 3 && b.d[0] == 1 && b.d[1] == 1);
    const bool a_pixel = b.rank == 3 && b.d[0] == x.d[0] && b.d[1] == x.d[1] && b.d[2] == 1;
    *out = x;
    if (shape_equal(x, b) ||
        (x.rank == 3 && ((a_channel && op_channels(&b) == op_channels(&x)) || a_pixel)))
        return true;
    return error_set(err, ERROR_USAGE,
                     "the second input (%dx%dx%d) is neither of the first one's shape (%dx%dx%d) "
                     "nor one value a channel or a pixel of it",
                     b.d[0], b.d[1], b.d[2], x.d[0], x.d[1], x.d[2]);
}

static OP_INFER(infer_concatenate)
{
    *out = in[0];
    const int last = in[0].rank - 1;
    int64_t sum = 0;
    for (int i = 0; i < n_in; i++) {
        struct shape s = in[i];
        if (s.rank == in[0].rank)
            s.d[last] = in[0].d[last];
        if (!shape_equal(s, in[0]))
            return error_set(err, ERROR_USAGE,
                             "input %d (%dx%dx%d) differs from the first (%dx%dx%d) in more than "
                             "the last dimension",
                             i + 1, in[i].d[0], in[i].d[1], in[i].d[2], in[0].d[0], in[0].d[1],
                             in[0].d[2]);
        sum += in[i].d[last];
    }
    if (sum > INT32_MAX)
        return error_set(err, ERROR_USAGE, "the output is too large");
    out->d[last] = (int32_t)sum;
    return op_check_count(*out, err);
}

bool op_reads_tokens(enum op_kind op, const struct op_attr *attr, int n_in, int i)
{
    if (op == OP_EMBEDDING)
        return i == 0;
    if (op == OP_POSITIONS)
        return i == 1;
    return op == OP_ATTENTION && attr->masked && i == n_in - 1;
}

/* An operation that nothing but its shape distinguishes. */
#define SHAPE_ONLY(op_name, rule)                                                                  \
    {                                                                                              \
        .name = (op_name), .n_inputs = 1, .infer = (rule)                                          \
    }

const struct op_info op_infos[OP_COUNT] = {
    [OP_INPUT] = {.name = "input", .n_inputs = 0, .infer = infer_input},
    [OP_CONV2D] = {.name = "conv2d",
                   .n_inputs = 1,
                   .infer = op_infer_conv2d,
                   .params = op_params_conv2d,
                   .macs = op_macs_conv2d},
    [OP_LINEAR] = {.name = "linear",
                   .n_inputs = 1,
                   .infer = op_infer_linear,
                   .params = op_params_linear,
                   .macs = op_macs_linear},
    [OP_BATCH_NORM] = {.name = "batch_norm",
                       .n_inputs = 1,
                       .infer = infer_batch_norm,
                       .params = params_batch_norm},
    [OP_RELU] = {.name = "relu", .n_inputs = 1, .infer = same_shape},
    [OP_MAX_POOL2D] = {.name = "max_pool2d", .n_inputs = 1, .infer = op_infer_max_pool2d},
    [OP_FLATTEN] = {.name = "flatten", .n_inputs = 1, .infer = infer_flatten},
    [OP_DROPOUT] = {.name = "dropout", .n_inputs = 1, .infer = infer_dropout},
    [OP_CROSS_ENTROPY] = {.name = "cross_entropy",
                          .n_inputs = 1,
                          .infer = infer_cross_entropy,
                          .is_loss = 1},
    [OP_MSE] = {.name = "mse", .n_inputs = 1, .infer = infer_mse, .is_loss = 1},
    [OP_GELU] = SHAPE_ONLY("gelu", same_shape),
    [OP_HARDSWISH] = SHAPE_ONLY("hardswish", same_shape),
    [OP_HARDSIGMOID] = SHAPE_ONLY("hardsigmoid", same_shape),
    [OP_SIGMOID] = SHAPE_ONLY("sigmoid", same_shape),
    [OP_TANH] = SHAPE_ONLY("tanh", same_shape),
    [OP_LAYER_NORM] = {.name = "layer_norm",
                       .n_inputs = 1,
                       .infer = op_infer_layer_norm,
                       .params = op_params_layer_norm},
    [OP_AVG_POOL2D] = SHAPE_ONLY("avg_pool2d", op_infer_avg_pool2d),
    [OP_ADAPTIVE_AVG_POOL2D] = SHAPE_ONLY("adaptive_avg_pool2d", op_infer_adaptive_pool2d),
    [OP_ADAPTIVE_MAX_POOL2D] = SHAPE_ONLY("adaptive_max_pool2d", op_infer_adaptive_pool2d),
    [OP_ADD] = {.name = "add", .n_inputs = 2, .infer = infer_binary},
    [OP_MULTIPLY] = {.name = "multiply", .n_inputs = 2, .infer = infer_binary},
    [OP_CONCATENATE] = {.name = "concatenate",
                        .n_inputs = 2,
                        .max_inputs = OP_MAX_INPUTS,
                        .infer = infer_concatenate},
    [OP_CHANNEL_MEAN_MAX] = SHAPE_ONLY("channel_mean_max", op_infer_channel_mean_max),
    [OP_EMBEDDING] = {.name = "embedding",
                      .n_inputs = 1,
                      .infer = op_infer_embedding,
                      .params = op_params_embedding},
    [OP_POSITIONS] = {.name = "positions",
                      .n_inputs = 1,
                      .max_inputs = 2,
                      .infer = op_infer_positions,
                      .params = op_params_positions},
    [OP_ATTENTION] = {.name = "attention",
                      .n_inputs = 1,
                      .max_inputs = 4,
                      .infer = op_infer_attention,
                      .macs = op_macs_attention},
    [OP_FIRST_TOKEN] = SHAPE_ONLY("first_token", op_infer_first_token),
    [OP_TIED_LINEAR] = {.name = "tied_linear",
                        .n_inputs = 1,
                        .infer = op_infer_tied_linear,
                        .params = op_params_tied_linear,
                        .macs = op_macs_linear},
};
