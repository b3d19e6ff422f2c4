/* Convolution: which way it goes (conv.h), and the gradient of the bias. */
#include "backend/cpu/isa/conv.h"

#include "backend/cpu/isa/gemm.h"
#include "backend/cpu/isa/kernels.h"

static const struct conv_way *way(const struct plan_step *s, enum conv_pass pass)
{
    static const struct conv_way *const ways[] = {&ISA_FN(conv_depthwise), &ISA_FN(conv_pointwise),
                                                  &ISA_FN(conv_taps), &ISA_FN(conv_padded)};
    int i = 0;
    while (!ways[i]->fits(s, pass))
        i++; /* the last fits everything */
    return ways[i];
}

static void forward(const struct op_call *c)
{
    way(c->step, CONV_FORWARD)->run[CONV_FORWARD](c);
}

static void weight_gradient(const struct op_call *c)
{
    way(c->step, CONV_WEIGHT_GRADIENT)->run[CONV_WEIGHT_GRADIENT](c);
}

static void bias_gradient(const struct op_call *c)
{
    const struct shape out = c->step->out;
    const size_t pixels = (size_t)c->rows * (size_t)(out.d[0] * out.d[1]);
    float *sums = c->add_grad & 2 ? c->scratch : c->grad[1];
    ISA_FN(column_sums)(c->dy, pixels, out.d[2], sums);
    for (int32_t i = 0; sums != c->grad[1] && i < out.d[2]; i++)
        c->grad[1][i] += sums[i];
}

static void backward(const struct op_call *c)
{
    if (c->grad[0])
        weight_gradient(c);
    if (c->grad[1])
        bias_gradient(c);
    if (c->dx)
        way(c->step, CONV_DATA_GRADIENT)->run[CONV_DATA_GRADIENT](c);
}

static size_t scratch(const struct plan_step *s, enum conv_pass pass, int32_t rows)
{
    size_t (*const count)(const struct plan_step *, int32_t) = way(s, pass)->scratch[pass];
    return count ? count(s, rows) : 0;
}

static size_t forward_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    return scratch(s, CONV_FORWARD, rows_per_shard);
}

static size_t params_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    return scratch(s, CONV_WEIGHT_GRADIENT, rows_per_shard);
}

static size_t backward_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    /* The last: sums of a bias that is added to. */
    const size_t need[3] = {params_scratch(s, rows_per_shard),
                            s->dx[0] < 0 ? 0 : scratch(s, CONV_DATA_GRADIENT, rows_per_shard),
                            (size_t)s->out.d[2]};
    size_t most = 0;
    for (int i = 0; i < 3; i++)
        most = need[i] > most ? need[i] : most;
    return most;
}

const struct cpu_kernel ISA_FN(conv_kernels)[] = {
    {STEP_FORWARD, OP_CONV2D, "conv2d", forward, forward_scratch, true},
    {STEP_BACKWARD, OP_CONV2D, "conv2d", backward, backward_scratch, false},
    {STEP_BACKWARD_PARAMS, OP_CONV2D, "conv2d", weight_gradient, params_scratch, false},
    {0},
};
