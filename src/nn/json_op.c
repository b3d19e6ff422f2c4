#include "nn/json_op.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct op_attr, member)
#define WHOLE(key, at)                                                                             \
    {                                                                                              \
        .name = (key), .type = JSON_ARG_WHOLE, .offset = AT(at), .required = true                  \
    }
#define PAIR(key, member)                                                                          \
    .name = (key), .type = JSON_ARG_PAIR, .offset = AT(member##_h), .offset_w = AT(member##_w)
#define OUT_ARG                                                                                    \
    {                                                                                              \
        .name = "out", .type = JSON_ARG_OUT, .offset = AT(out_features), .required = true          \
    }
#define BIAS_ARG                                                                                   \
    {                                                                                              \
        .name = "bias", .type = JSON_ARG_FLAG, .offset = AT(bias), .fallback = 1                   \
    }
#define EPS_ARG                                                                                    \
    {                                                                                              \
        .name = "eps", .type = JSON_ARG_REAL, .offset = AT(eps), .fallback = 1e-5                  \
    }
#define PAD_ID_ARG                                                                                 \
    {                                                                                              \
        .name = "pad_id", .type = JSON_ARG_WHOLE, .offset = AT(pad_id), .fallback = -1             \
    }
#define P_ARG(key)                                                                                 \
    {                                                                                              \
        .name = (key), .type = JSON_ARG_PROBABILITY, .offset = AT(p)                               \
    }
#define KERNEL_ARG                                                                                 \
    {                                                                                              \
        PAIR("kernel", kernel), .required = true                                                   \
    }
#define POOL_STRIDE_ARG                                                                            \
    {                                                                                              \
        PAIR("stride", stride), .as = "kernel"                                                     \
    }
#define PAD_ARG                                                                                    \
    {                                                                                              \
        PAIR("pad", pad)                                                                           \
    }
#define SIZE_ARG                                                                                   \
    {                                                                                              \
        PAIR("size", out), .required = true                                                        \
    }

const struct json_op json_ops[] = {
    {.op = OP_CONV2D,
     .n_args = 7,
     .args = {OUT_ARG,
              KERNEL_ARG,
              {PAIR("stride", stride), .fallback = 1},
              PAD_ARG,
              {PAIR("dilation", dilation), .fallback = 1},
              {.name = "groups", .type = JSON_ARG_WHOLE, .offset = AT(groups), .fallback = 1},
              BIAS_ARG}},
    {.op = OP_LINEAR, .shares = true, .n_args = 2, .args = {OUT_ARG, BIAS_ARG}},
    {.op = OP_BATCH_NORM,
     .n_args = 2,
     .args =
         {EPS_ARG,
          {.name = "momentum", .type = JSON_ARG_REAL, .offset = AT(momentum), .fallback = 0.1}}},
    {.op = OP_LAYER_NORM, .n_args = 1, .args = {EPS_ARG}},
    {.op = OP_RELU},
    {.op = OP_GELU},
    {.op = OP_HARDSWISH},
    {.op = OP_HARDSIGMOID},
    {.op = OP_SIGMOID},
    {.op = OP_TANH},
    {.op = OP_MAX_POOL2D, .n_args = 3, .args = {KERNEL_ARG, POOL_STRIDE_ARG, PAD_ARG}},
    {.op = OP_AVG_POOL2D,
     .n_args = 4,
     .args = {KERNEL_ARG,
              POOL_STRIDE_ARG,
              PAD_ARG,
              {.name = "count_include_pad",
               .type = JSON_ARG_FLAG,
               .offset = AT(count_include_pad),
               .fallback = 1}}},
    {.op = OP_ADAPTIVE_AVG_POOL2D, .n_args = 1, .args = {SIZE_ARG}},
    {.op = OP_ADAPTIVE_MAX_POOL2D, .n_args = 1, .args = {SIZE_ARG}},
    {.op = OP_FLATTEN},
    {.op = OP_DROPOUT,
     .n_args = 1,
     .args = {{.name = "p", .type = JSON_ARG_PROBABILITY, .offset = AT(p), .required = true}}},
    {.op = OP_ADD},
    {.op = OP_MULTIPLY},
    {.op = OP_CONCATENATE},
    {.op = OP_CHANNEL_MEAN_MAX},
    {.op = OP_EMBEDDING,
     .n_args = 4,
     .args = {WHOLE("rows", rows),
              WHOLE("out", out_features),
              {.name = "scale", .type = JSON_ARG_REAL, .offset = AT(scale), .fallback = 1},
              PAD_ID_ARG}},
    {.op = OP_POSITIONS, .n_args = 2, .args = {WHOLE("rows", rows), PAD_ID_ARG}},
    {.op = OP_ATTENTION,
     .n_args = 4,
     .args = {WHOLE("heads", heads),
              {.name = "causal", .type = JSON_ARG_FLAG, .offset = AT(causal)},
              P_ARG("p"),
              PAD_ID_ARG}},
    {.op = OP_FIRST_TOKEN},
    {.op = OP_TIED_LINEAR, .shares = true},
};
const int json_op_count = sizeof json_ops / sizeof *json_ops;

const struct json_op *json_op_find(const char *name)
{
    for (int i = 0; i < json_op_count; i++)
        if (strcmp(op_infos[json_ops[i].op].name, name) == 0)
            return &json_ops[i];
    return NULL;
}

static void put_whole(struct op_attr *attr, size_t offset, int32_t v)
{
    memcpy((char *)attr + offset, &v, sizeof v);
}

static bool whole(const json_t *value, int32_t *out)
{
    const json_int_t v = json_integer_value(value);
    if (!json_is_integer(value) || v < INT32_MIN || v > INT32_MAX)
        return false;
    *out = (int32_t)v;
    return true;
}

static bool read_pair(const struct json_arg *arg, const json_t *value, struct op_attr *attr,
                      struct error *err)
{
    int32_t h = 0, w = 0;
    const bool list = json_is_array(value);
    if (!whole(list ? json_array_get(value, 0) : value, &h) ||
        !whole(list ? json_array_get(value, 1) : value, &w) ||
        (list && json_array_size(value) != 2))
        return error_set(err, ERROR_USAGE,
                         "'%s' must be a whole number or two in a list, [height, width]",
                         arg->name);
    put_whole(attr, arg->offset, h);
    put_whole(attr, arg->offset_w, w);
    return true;
}

static void put_real(const struct json_arg *arg, double v, struct op_attr *attr)
{
    const float single = (float)v;
    if (arg->type == JSON_ARG_REAL)
        memcpy((char *)attr + arg->offset, &v, sizeof v);
    else
        memcpy((char *)attr + arg->offset, &single, sizeof single);
}

static bool is_real(const struct json_arg *arg)
{
    return arg->type == JSON_ARG_REAL || arg->type == JSON_ARG_PROBABILITY;
}

static bool read_arg(const struct json_arg *arg, const json_t *value, struct op_attr *attr,
                     bool *out_is_outputs, struct error *err)
{
    const char *text = json_string_value(value);
    int32_t v = 0;
    if (arg->type == JSON_ARG_PAIR)
        return read_pair(arg, value, attr, err);
    if (is_real(arg)) {
        const double real = json_number_value(value);
        if (!json_is_number(value) || !isfinite((float)real))
            return error_set(err, ERROR_USAGE, "'%s' must be a number", arg->name);
        put_real(arg, real, attr);
        return true;
    }
    if (arg->type == JSON_ARG_FLAG) {
        if (!json_is_boolean(value))
            return error_set(err, ERROR_USAGE, "'%s' must be true or false", arg->name);
        v = json_is_true(value);
    } else if (arg->type == JSON_ARG_OUT && text && strcmp(text, "outputs") == 0) {
        *out_is_outputs = true;
    } else if (!whole(value, &v)) {
        return error_set(err, ERROR_USAGE, "'%s' must be a whole number%s", arg->name,
                         arg->type == JSON_ARG_OUT ? " or \"outputs\"" : "");
    }
    put_whole(attr, arg->offset, v);
    return true;
}

static void put_fallback(const struct json_op *op, const struct json_arg *arg, struct op_attr *attr)
{
    if (is_real(arg)) {
        put_real(arg, arg->fallback, attr);
        return;
    }
    put_whole(attr, arg->offset, (int32_t)arg->fallback);
    if (arg->type == JSON_ARG_PAIR)
        put_whole(attr, arg->offset_w, (int32_t)arg->fallback);
    for (int i = 0; arg->as && i < op->n_args; i++)
        if (strcmp(op->args[i].name, arg->as) == 0) {
            memcpy((char *)attr + arg->offset, (char *)attr + op->args[i].offset, 4);
            memcpy((char *)attr + arg->offset_w, (char *)attr + op->args[i].offset_w, 4);
        }
}

bool json_op_read(const struct json_op *op, const json_t *layer, struct op_attr *attr,
                  bool *out_is_outputs, const char **bad, struct error *err)
{
    memset(attr, 0, sizeof *attr);
    if (op->op == OP_MAX_POOL2D || op->op == OP_AVG_POOL2D)
        attr->dilation_h = attr->dilation_w = 1;
    *out_is_outputs = false;
    for (int i = 0; i < op->n_args; i++) {
        const struct json_arg *arg = &op->args[i];
        const json_t *value = json_object_get(layer, arg->name);
        *bad = value ? arg->name : NULL;
        if (value && !read_arg(arg, value, attr, out_is_outputs, err))
            return false;
        if (!value && arg->required)
            return error_set(err, ERROR_USAGE, "%s needs '%s'", op_infos[op->op].name, arg->name);
        if (!value)
            put_fallback(op, arg, attr);
    }
    *bad = NULL;
    return true;
}
