/* Layer norm, a vector at a time.  Sums of parameter gradients run over blocks of vectors, and
 * blocks are added, so that rounding errors stay small. */
#include "backend/cpu/isa/columns.h"
#include "backend/cpu/isa/kernels.h"

#include <math.h>

#define BLOCK 64

static int32_t width_of(const struct op_call *c)
{
    return c->step->in[0].d[c->step->in[0].rank - 1];
}

static size_t vectors_of(const struct op_call *c)
{
    return (size_t)c->rows * shape_count(c->step->in[0]) / (size_t)width_of(c);
}

static void moments(const struct op_call *c, const float *x, int32_t d, vf *mean, vf *inv_std)
{
    vf sum = v_zero(), squares = v_zero();
    const int32_t whole = d / VW * VW;
    const struct columns rest = columns_from(whole, d);
    for (int32_t i = 0; i < whole; i += VW)
        sum = v_add(sum, v_load(x + i));
    if (whole < d)
        sum = v_add(sum, columns_load(x + whole, rest));
    const float m = v_sum(sum) / (float)d;
    *mean = v_set(m);
    for (int32_t i = 0; i < whole; i += VW) {
        const vf a = v_sub(v_load(x + i), *mean);
        squares = v_fma(a, a, squares);
    }
    float square = v_sum(squares);
    for (int32_t i = whole; i < d; i++)
        square += (x[i] - m) * (x[i] - m);
    *inv_std = v_set((float)(1 / sqrt((double)square / d + (double)c->step->attr.eps)));
}

static void forward(const struct op_call *c)
{
    const int32_t d = width_of(c);
    const size_t n = vectors_of(c);
    const float *x = c->x;
    float *y = c->y;
    for (size_t v = 0; v < n; v++, x += d, y += d) {
        vf mean, inv_std;
        moments(c, x, d, &mean, &inv_std);
        for (int32_t i = 0; i < d; i += VW) {
            const struct columns k = columns_from(i, d);
            const vf hat = v_mul(v_sub(columns_load(x + i, k), mean), inv_std);
            columns_store(
                y + i,
                v_fma(hat, columns_load(c->param[0] + i, k), columns_load(c->param[1] + i, k)), k);
        }
    }
}

/* One vector: dx, and what it adds to the sums of the block. */
static void backward_vector(const struct op_call *c, const float *x, const float *dy, float *dx,
                            float *weight, float *bias)
{
    const int32_t d = width_of(c);
    vf mean, inv_std, sum = v_zero(), sum_hat = v_zero();
    moments(c, x, d, &mean, &inv_std);
    for (int32_t i = 0; i < d; i += VW) {
        const struct columns k = columns_from(i, d);
        const vf dyi = columns_load(dy + i, k), g = v_mul(dyi, columns_load(c->param[0] + i, k));
        const vf hat = v_mul(v_sub(columns_load(x + i, k), mean), inv_std);
        sum = v_add(sum, g);
        sum_hat = v_fma(g, hat, sum_hat);
        columns_store(weight + i, v_fma(dyi, hat, columns_load(weight + i, k)), k);
        columns_store(bias + i, v_add(dyi, columns_load(bias + i, k)), k);
    }
    if (!dx)
        return;
    const vf mean_g = v_set(v_sum(sum) / (float)d), mean_hat = v_set(v_sum(sum_hat) / (float)d);
    for (int32_t i = 0; i < d; i += VW) {
        const struct columns k = columns_from(i, d);
        const vf g = v_mul(columns_load(dy + i, k), columns_load(c->param[0] + i, k));
        const vf hat = v_mul(v_sub(columns_load(x + i, k), mean), inv_std);
        vf out = v_mul(inv_std, v_sub(v_sub(g, mean_g), v_mul(hat, mean_hat)));
        if (c->add_dx)
            out = v_add(columns_load(dx + i, k), out);
        columns_store(dx + i, out, k);
    }
}

static void add_block(float *grad, const float *block, int32_t d, bool add)
{
    for (int32_t i = 0; grad && i < d; i++)
        grad[i] = (add ? grad[i] : 0) + block[i];
}

static void backward(const struct op_call *c)
{
    const size_t d = (size_t)width_of(c), n = vectors_of(c);
    float *weight = c->scratch, *bias = weight + d;
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t to = n - from < BLOCK ? n : from + BLOCK;
        memset(weight, 0, 2 * d * sizeof *weight);
        for (size_t v = from; v < to; v++)
            backward_vector(c, c->x + v * d, c->dy + v * d, c->dx ? c->dx + v * d : NULL, weight,
                            bias);
        add_block(c->grad[0], weight, (int32_t)d, from > 0 || c->add_grad & 1);
        add_block(c->grad[1], bias, (int32_t)d, from > 0 || c->add_grad & 2);
    }
}

static size_t backward_scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return 2 * (size_t)step->in[0].d[step->in[0].rank - 1];
}

const struct cpu_kernel ISA_FN(layer_norm_kernels)[] = {
    {STEP_FORWARD, OP_LAYER_NORM, "layer_norm", forward, NULL, false},
    {STEP_BACKWARD, OP_LAYER_NORM, "layer_norm", backward, backward_scratch, false},
    {0},
};
