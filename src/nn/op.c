#include "nn/op.h"

#include <math.h>

/* Larger samples or tensors than this are a mistake in a definition, and every index into them
 * fits 32 bits. */
#define COUNT_MAX INT32_MAX

static bool check_count(struct shape s, struct error *err)
{
    double count = 1;
    for (int i = 0; i < 3; i++)
        count *= s.d[i];
    if (count > COUNT_MAX)
        return error_set(err, ERROR_USAGE, "the output (%dx%dx%d) is too large", s.d[0], s.d[1],
                         s.d[2]);
    return true;
}

static int32_t channels(const struct shape *s)
{
    return s->d[s->rank - 1];
}

static bool same_shape(const struct op_attr *attr, const struct shape *in, struct shape *out,
                       struct error *err)
{
    (void)attr, (void)err;
    *out = in[0];
    return true;
}

/* in[0] is the sample shape the network is built for. */
static bool infer_input(const struct op_attr *attr, const struct shape *in, struct shape *out,
                        struct error *err)
{
    (void)attr;
    if (in[0].rank < 1 || in[0].rank > 3)
        return error_set(err, ERROR_USAGE, "a sample has 1 to 3 dimensions, not %d", in[0].rank);
    for (int i = 0; i < 3; i++)
        if (in[0].d[i] < 1 || (i >= in[0].rank && in[0].d[i] != 1))
            return error_set(err, ERROR_USAGE, "dimension %d of the sample is %d", i, in[0].d[i]);
    *out = in[0];
    return check_count(*out, err);
}

/* Extent of a window's output along one axis: floor((in + 2 pad - dilation (kernel - 1) - 1) /
 * stride) + 1. */
static bool window_extent(const char *axis, int32_t in, int32_t kernel, int32_t stride, int32_t pad,
                          int32_t dilation, int32_t *out, struct error *err)
{
    if (kernel < 1 || stride < 1 || dilation < 1 || pad < 0)
        return error_set(err, ERROR_USAGE,
                         "kernel %d, stride %d, dilation %d must be at least 1 and pad %d at least "
                         "0",
                         kernel, stride, dilation, pad);
    const int64_t span = (int64_t)dilation * (kernel - 1) + 1;
    const int64_t room = (int64_t)in + 2 * (int64_t)pad - span;
    if (room < 0)
        return error_set(err, ERROR_USAGE,
                         "a kernel spanning %lld does not fit an input of %s %d with pad %d",
                         (long long)span, axis, in, pad);
    const int64_t extent = room / stride + 1;
    if (extent > COUNT_MAX)
        return error_set(err, ERROR_USAGE, "an output of %s %lld is too large", axis,
                         (long long)extent);
    *out = (int32_t)extent;
    return true;
}

static bool window_shape(const struct op_attr *a, const struct shape *in, int32_t out_channels,
                         struct shape *out, struct error *err)
{
    int32_t h = 0, w = 0;
    if (!window_extent("height", in->d[0], a->kernel_h, a->stride_h, a->pad_h, a->dilation_h, &h,
                       err) ||
        !window_extent("width", in->d[1], a->kernel_w, a->stride_w, a->pad_w, a->dilation_w, &w,
                       err))
        return false;
    *out = shape_image(h, w, out_channels);
    return check_count(*out, err);
}

static bool infer_conv2d(const struct op_attr *a, const struct shape *in, struct shape *out,
                         struct error *err)
{
    if (in[0].rank != 3)
        return error_set(err, ERROR_USAGE, "takes an image (height, width, channels), not rank %d",
                         in[0].rank);
    if (a->out_features < 1 || a->groups < 1)
        return error_set(err, ERROR_USAGE, "%d output channels in %d groups: both must be positive",
                         a->out_features, a->groups);
    if (in[0].d[2] % a->groups != 0 || a->out_features % a->groups != 0)
        return error_set(err, ERROR_USAGE,
                         "%d groups divide neither or only one of %d input and %d output channels",
                         a->groups, in[0].d[2], a->out_features);
    return window_shape(a, &in[0], a->out_features, out, err);
}

static void params_conv2d(const struct op_attr *a, const struct shape *in,
                          struct op_param param[OP_MAX_PARAMS], int *n_params,
                          struct op_param buffer[OP_MAX_BUFFERS], int *n_buffers)
{
    (void)buffer;
    const int32_t group_in = in[0].d[2] / a->groups;
    const double fan_in = (double)group_in * a->kernel_h * a->kernel_w;
    const double bound = 1.0 / sqrt(fan_in);
    param[0] = (struct op_param){.suffix = "weight",
                                 .layout = LAYOUT_CONV,
                                 .rank = 4,
                                 .dims = {a->out_features, group_in, a->kernel_h, a->kernel_w},
                                 .init = INIT_UNIFORM,
                                 .bound = bound};
    param[1] = (struct op_param){.suffix = "bias",
                                 .rank = 1,
                                 .dims = {a->out_features, 1, 1, 1},
                                 .init = INIT_UNIFORM,
                                 .bound = bound};
    *n_params = a->bias ? 2 : 1;
    *n_buffers = 0;
}

static double macs_conv2d(const struct op_attr *a, const struct shape *in, const struct shape *out)
{
    const int32_t group_in = in[0].d[2] / a->groups;
    return (double)out->d[0] * out->d[1] * out->d[2] * a->kernel_h * a->kernel_w * group_in;
}

static bool infer_linear(const struct op_attr *a, const struct shape *in, struct shape *out,
                         struct error *err)
{
    if (in[0].rank != 1)
        return error_set(err, ERROR_USAGE, "takes a vector, not rank %d: flatten first",
                         in[0].rank);
    if (a->out_features < 1)
        return error_set(err, ERROR_USAGE, "%d output features: must be positive", a->out_features);
    *out = shape_vector(a->out_features);
    return true;
}

static void params_linear(const struct op_attr *a, const struct shape *in,
                          struct op_param param[OP_MAX_PARAMS], int *n_params,
                          struct op_param buffer[OP_MAX_BUFFERS], int *n_buffers)
{
    (void)buffer;
    const double bound = 1.0 / sqrt((double)in[0].d[0]);
    param[0] = (struct op_param){.suffix = "weight",
                                 .layout = LAYOUT_LINEAR,
                                 .rank = 2,
                                 .dims = {a->out_features, in[0].d[0], 1, 1},
                                 .init = INIT_UNIFORM,
                                 .bound = bound};
    param[1] = (struct op_param){.suffix = "bias",
                                 .rank = 1,
                                 .dims = {a->out_features, 1, 1, 1},
                                 .init = INIT_UNIFORM,
                                 .bound = bound};
    *n_params = a->bias ? 2 : 1;
    *n_buffers = 0;
}

static double macs_linear(const struct op_attr *a, const struct shape *in, const struct shape *out)
{
    (void)a;
    return (double)in[0].d[0] * out->d[0];
}

static bool infer_batch_norm(const struct op_attr *a, const struct shape *in, struct shape *out,
                             struct error *err)
{
    if (in[0].rank == 2)
        return error_set(err, ERROR_USAGE, "takes an image or a vector, not a sequence");
    if (!(a->eps > 0) || !isfinite(a->eps))
        return error_set(err, ERROR_USAGE, "eps %g must be positive", (double)a->eps);
    if (!(a->momentum > 0 && a->momentum <= 1))
        return error_set(err, ERROR_USAGE, "momentum %g must be above 0 and at most 1",
                         (double)a->momentum);
    *out = in[0];
    return true;
}

static void params_batch_norm(const struct op_attr *a, const struct shape *in,
                              struct op_param param[OP_MAX_PARAMS], int *n_params,
                              struct op_param buffer[OP_MAX_BUFFERS], int *n_buffers)
{
    (void)a;
    const struct op_param vector = {.rank = 1, .dims = {channels(&in[0]), 1, 1, 1}};
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

static bool infer_max_pool2d(const struct op_attr *a, const struct shape *in, struct shape *out,
                             struct error *err)
{
    if (in[0].rank != 3)
        return error_set(err, ERROR_USAGE, "takes an image (height, width, channels), not rank %d",
                         in[0].rank);
    if (a->dilation_h != 1 || a->dilation_w != 1)
        return error_set(err, ERROR_USAGE, "dilation must be 1");
    /* PyTorch's rule: every window then holds at least one real value. */
    if (2 * (int64_t)a->pad_h > a->kernel_h || 2 * (int64_t)a->pad_w > a->kernel_w)
        return error_set(err, ERROR_USAGE, "pad %dx%d is more than half of the kernel %dx%d",
                         a->pad_h, a->pad_w, a->kernel_h, a->kernel_w);
    return window_shape(a, &in[0], in[0].d[2], out, err);
}

static bool infer_flatten(const struct op_attr *a, const struct shape *in, struct shape *out,
                          struct error *err)
{
    (void)a, (void)err;
    *out = shape_vector((int32_t)shape_count(in[0]));
    return true;
}

static bool infer_dropout(const struct op_attr *a, const struct shape *in, struct shape *out,
                          struct error *err)
{
    if (!(a->p >= 0 && a->p < 1))
        return error_set(err, ERROR_USAGE, "p %g must be at least 0 and below 1", (double)a->p);
    *out = in[0];
    return true;
}

static bool infer_cross_entropy(const struct op_attr *a, const struct shape *in, struct shape *out,
                                struct error *err)
{
    (void)a;
    if (in[0].rank != 1)
        return error_set(err, ERROR_USAGE, "takes a vector of logits, not rank %d", in[0].rank);
    *out = shape_vector(1);
    return true;
}

/* The target of a regression is one number, as the reference's output squeezed on its last
 * dimension. */
static bool infer_mse(const struct op_attr *a, const struct shape *in, struct shape *out,
                      struct error *err)
{
    (void)a;
    if (in[0].rank != 1 || in[0].d[0] != 1)
        return error_set(err, ERROR_USAGE, "takes one output value, not %zu", shape_count(in[0]));
    *out = shape_vector(1);
    return true;
}

const struct op_info op_infos[OP_COUNT] = {
    [OP_INPUT] = {.name = "input", .n_inputs = 0, .infer = infer_input},
    [OP_CONV2D] = {.name = "conv2d",
                   .n_inputs = 1,
                   .infer = infer_conv2d,
                   .params = params_conv2d,
                   .macs = macs_conv2d},
    [OP_LINEAR] = {.name = "linear",
                   .n_inputs = 1,
                   .infer = infer_linear,
                   .params = params_linear,
                   .macs = macs_linear},
    [OP_BATCH_NORM] = {.name = "batch_norm",
                       .n_inputs = 1,
                       .infer = infer_batch_norm,
                       .params = params_batch_norm},
    [OP_RELU] = {.name = "relu", .n_inputs = 1, .infer = same_shape},
    [OP_MAX_POOL2D] = {.name = "max_pool2d", .n_inputs = 1, .infer = infer_max_pool2d},
    [OP_FLATTEN] = {.name = "flatten", .n_inputs = 1, .infer = infer_flatten},
    [OP_DROPOUT] = {.name = "dropout", .n_inputs = 1, .infer = infer_dropout},
    [OP_CROSS_ENTROPY] = {.name = "cross_entropy",
                          .n_inputs = 1,
                          .infer = infer_cross_entropy,
                          .is_loss = 1},
    [OP_MSE] = {.name = "mse", .n_inputs = 1, .infer = infer_mse, .is_loss = 1},
};
