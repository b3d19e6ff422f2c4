/* Rules of what works on vectors and sequences: linear layers, layer norm, embeddings, attention.
 */
#include "nn/op_rules.h"

#include <math.h>

static struct shape sequence(int32_t length, int32_t features)
{
    return (struct shape){2, {length, features, 1}};
}

static bool needs_sequence(const struct shape *in, struct error *err)
{
    if (in->rank == 2)
        return true;
    return error_set(err, ERROR_USAGE, "takes a sequence (length, features), not rank %d",
                     in->rank);
}

/* The output of something that turns the last dimension into `features`. */
static bool last_becomes(const struct shape *in, int32_t features, struct shape *out,
                         struct error *err)
{
    if (in->rank == 3)
        return error_set(err, ERROR_USAGE,
                         "takes a vector or a sequence, not rank 3: flatten first");
    if (features < 1)
        return error_set(err, ERROR_USAGE, "%d output features: must be positive", features);
    *out = *in;
    out->d[in->rank - 1] = features;
    return op_check_count(*out, err);
}

OP_INFER(op_infer_linear)
{
    return last_becomes(&in[0], a->out_features, out, err);
}

OP_PARAMS(op_params_linear)
{
    const int32_t in_features = op_channels(&in[0]);
    const double bound = 1.0 / sqrt((double)in_features);
    param[0] = (struct op_param){.suffix = "weight",
                                 .layout = LAYOUT_LINEAR,
                                 .rank = 2,
                                 .dims = {a->out_features, in_features, 1, 1},
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

OP_MACS(op_macs_linear)
{
    const double rows = in[0].rank == 2 ? in[0].d[0] : 1;
    return rows * op_channels(&in[0]) * op_channels(out);
}

OP_INFER(op_infer_tied_linear)
{
    return last_becomes(&in[0], a->out_features, out, err);
}

/* The embedding's table; a tied node never has one of its own (graph_tied_linear). */
OP_PARAMS(op_params_tied_linear)
{
    param[0] = (struct op_param){.suffix = "weight",
                                 .rank = 2,
                                 .dims = {a->out_features, op_channels(&in[0]), 1, 1},
                                 .init = INIT_NORMAL,
                                 .scale = 1};
    *n_params = 1;
    *n_buffers = 0;
}

OP_INFER(op_infer_layer_norm)
{
    if (in[0].rank == 3)
        return error_set(err, ERROR_USAGE, "takes a vector or a sequence, not an image");
    *out = in[0];
    return op_check_eps(a->eps, err);
}

OP_PARAMS(op_params_layer_norm)
{
    const struct op_param vector = {.rank = 1, .dims = {op_channels(&in[0]), 1, 1, 1}};
    param[0] = param[1] = vector;
    param[0].suffix = "weight";
    param[0].init = INIT_ONES;
    param[1].suffix = "bias";
    param[1].init = INIT_ZEROS;
    *n_params = 2;
    *n_buffers = 0;
}

static bool check_table(const struct op_attr *a, struct error *err)
{
    if (a->rows < 1)
        return error_set(err, ERROR_USAGE, "a table of %d rows: at least 1 is needed", a->rows);
    if (a->pad_id < -1 || a->pad_id >= a->rows)
        return error_set(err, ERROR_USAGE, "padding id %d lies outside the table of %d rows",
                         a->pad_id, a->rows);
    return true;
}

static void table(int32_t rows, int32_t features, int32_t zero_row, struct op_param *p)
{
    *p = (struct op_param){.suffix = "weight",
                           .rank = 2,
                           .dims = {rows, features, 1, 1},
                           .init = INIT_NORMAL,
                           .scale = 1,
                           .has_zero_row = zero_row >= 0,
                           .zero_row = zero_row};
}

OP_INFER(op_infer_embedding)
{
    if (in[0].rank != 1)
        return error_set(err, ERROR_USAGE, "takes tokens, not rank %d", in[0].rank);
    if (a->out_features < 1)
        return error_set(err, ERROR_USAGE, "%d features: must be positive", a->out_features);
    if (!isfinite(a->scale) || a->scale == 0)
        return error_set(err, ERROR_USAGE, "scale %g must be finite and not 0", a->scale);
    *out = sequence(in[0].d[0], a->out_features);
    return check_table(a, err) && op_check_count(*out, err);
}

OP_PARAMS(op_params_embedding)
{
    table(a->rows, a->out_features, a->pad_id, &param[0]);
    *n_params = 1;
    *n_buffers = 0;
}

OP_INFER(op_infer_positions)
{
    const bool of_tokens = a->position == POSITION_OF_TOKENS;
    if (!needs_sequence(&in[0], err) || !check_table(a, err))
        return false;
    const int64_t length = in[0].d[0];
    if (n_in != (of_tokens ? 2 : 1) || (of_tokens && in[1].d[0] != length))
        return error_set(err, ERROR_USAGE, "positions that follow the tokens need those of x");
    if (of_tokens && a->pad_id < 0)
        return error_set(err, ERROR_USAGE, "positions that follow the tokens need a padding id");
    /* The last row used, if nothing is padded. */
    const int64_t last = of_tokens                       ? a->pad_id + length
                         : a->position == POSITION_INDEX ? length - 1
                                                         : 0;
    if (last >= a->rows)
        return error_set(err, ERROR_USAGE, "a sequence of %lld needs %lld positions, there are %d",
                         (long long)length, (long long)last + 1, a->rows);
    *out = in[0];
    return true;
}

OP_PARAMS(op_params_positions)
{
    table(a->rows, op_channels(&in[0]), a->position == POSITION_OF_TOKENS ? a->pad_id : -1,
          &param[0]);
    *n_params = 1;
    *n_buffers = 0;
}

OP_INFER(op_infer_attention)
{
    const int values = n_in - (a->masked != 0); /* 1: packed, 3: apart */
    if (values != 1 && values != 3)
        return error_set(err, ERROR_USAGE,
                         "takes queries, keys and values side by side in one input or as three");
    for (int i = 0; i < values; i++)
        if (!needs_sequence(&in[i], err))
            return false;
    if (values == 3 && (!shape_equal(in[0], in[1]) || !shape_equal(in[0], in[2])))
        return error_set(err, ERROR_USAGE, "queries, keys and values must have one shape");
    if (a->masked && (a->pad_id < 0 || in[n_in - 1].d[0] != in[0].d[0]))
        return error_set(err, ERROR_USAGE, "a mask needs a padding id and the tokens of its input");
    const int32_t d = in[0].d[1] / (values == 1 ? 3 : 1);
    if (values == 1 && in[0].d[1] % 3 != 0)
        return error_set(err, ERROR_USAGE, "%d features are not queries, keys and values",
                         in[0].d[1]);
    if (a->heads < 1 || d % a->heads != 0)
        return error_set(err, ERROR_USAGE, "%d heads do not divide %d features", a->heads, d);
    if (!(a->p >= 0 && a->p < 1))
        return error_set(err, ERROR_USAGE, "p %g must be at least 0 and below 1", (double)a->p);
    *out = sequence(in[0].d[0], d);
    /* The scores of one sample are counted with 32 bits too. */
    return op_check_count((struct shape){3, {a->heads, in[0].d[0], in[0].d[0]}}, err);
}

OP_MACS(op_macs_attention)
{
    return 2.0 * in[0].d[0] * in[0].d[0] * out->d[1];
}

OP_INFER(op_infer_first_token)
{
    *out = shape_vector(in[0].d[1]);
    return needs_sequence(&in[0], err);
}
