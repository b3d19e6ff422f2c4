/* Shape rules of what works on images: convolution and pooling. */
#include "nn/op_rules.h"

#include <math.h>

static bool needs_image(const struct shape *in, struct error *err)
{
    if (in->rank == 3)
        return true;
    return error_set(err, ERROR_USAGE, "takes an image (height, width, channels), not rank %d",
                     in->rank);
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
    if (extent > INT32_MAX)
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
    return op_check_count(*out, err);
}

OP_INFER(op_infer_conv2d)
{
    if (!needs_image(&in[0], err))
        return false;
    if (a->out_features < 1 || a->groups < 1)
        return error_set(err, ERROR_USAGE, "%d output channels in %d groups: both must be positive",
                         a->out_features, a->groups);
    if (in[0].d[2] % a->groups != 0 || a->out_features % a->groups != 0)
        return error_set(err, ERROR_USAGE,
                         "%d groups divide neither or only one of %d input and %d output channels",
                         a->groups, in[0].d[2], a->out_features);
    return window_shape(a, &in[0], a->out_features, out, err);
}

OP_PARAMS(op_params_conv2d)
{
    const int32_t group_in = in[0].d[2] / a->groups;
    const double fan_in = (double)group_in * a->kernel_h * a->kernel_w;
    const double bound = 1.0 / sqrt(fan_in);
    param[0] = (struct op_param){.suffix = "weight",
                                 .layout = LAYOUT_CONV,
                                 .rank = 4,
                                 .dims = {a->out_features, group_in, a->kernel_h, a->kernel_w},
                                 .init = INIT_UNIFORM,
                                 .scale = bound};
    param[1] = (struct op_param){.suffix = "bias",
                                 .rank = 1,
                                 .dims = {a->out_features, 1, 1, 1},
                                 .init = INIT_UNIFORM,
                                 .scale = bound};
    *n_params = a->bias ? 2 : 1;
    *n_buffers = 0;
}

OP_MACS(op_macs_conv2d)
{
    const int32_t group_in = in[0].d[2] / a->groups;
    return (double)out->d[0] * out->d[1] * out->d[2] * a->kernel_h * a->kernel_w * group_in;
}

static bool pool_shape(const struct op_attr *a, const struct shape *in, struct shape *out,
                       struct error *err)
{
    if (!needs_image(in, err))
        return false;
    if (a->dilation_h != 1 || a->dilation_w != 1)
        return error_set(err, ERROR_USAGE, "dilation must be 1");
    /* PyTorch's rule: every window then holds at least one real value. */
    if (2 * (int64_t)a->pad_h > a->kernel_h || 2 * (int64_t)a->pad_w > a->kernel_w)
        return error_set(err, ERROR_USAGE, "pad %dx%d is more than half of the kernel %dx%d",
                         a->pad_h, a->pad_w, a->kernel_h, a->kernel_w);
    return window_shape(a, in, in->d[2], out, err);
}

OP_INFER(op_infer_max_pool2d)
{
    return pool_shape(a, &in[0], out, err);
}

OP_INFER(op_infer_avg_pool2d)
{
    return pool_shape(a, &in[0], out, err);
}

OP_INFER(op_infer_adaptive_pool2d)
{
    if (!needs_image(&in[0], err))
        return false;
    if (a->out_h < 1 || a->out_w < 1)
        return error_set(err, ERROR_USAGE, "an output of %dx%d: both must be positive", a->out_h,
                         a->out_w);
    *out = shape_image(a->out_h, a->out_w, in[0].d[2]);
    return op_check_count(*out, err);
}

OP_INFER(op_infer_channel_mean_max)
{
    if (!needs_image(&in[0], err))
        return false;
    *out = shape_image(in[0].d[0], in[0].d[1], 2);
    return true;
}
