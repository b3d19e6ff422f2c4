/* Functions of one element: value, and slope from x or from y. */
#include "backend/cuda/ops/common.cuh"

/* min(max(t, 0), 6), which keeps what is not a number. */
static __device__ __forceinline__ float relu6(float t)
{
    return t < 0 ? 0 : t > 6 ? 6 : t;
}

static __device__ __forceinline__ float function(enum op_kind op, float x)
{
    switch (op) {
    case OP_RELU:
        return x < 0 ? 0 : x; /* not a number stays one, so that it is noticed */
    case OP_GELU:
        return 0.5f * x * (1 + erff(x * 0.70710678118654752440f));
    case OP_HARDSWISH:
        return x * relu6(x + 3) / 6;
    case OP_HARDSIGMOID:
        return relu6(x + 3) / 6;
    case OP_SIGMOID: {
        const float e = expf(x < 0 ? x : -x);
        return (x < 0 ? e : 1) / (1 + e);
    }
    default:
        return tanhf(x);
    }
}

/* `at` is y for relu, sigmoid and tanh, x for the others. */
static __device__ __forceinline__ float slope(enum op_kind op, float at)
{
    switch (op) {
    case OP_RELU:
        return at <= 0 ? 0 : 1;
    case OP_GELU:
        return 0.5f * (1 + erff(at * 0.70710678118654752440f)) +
               at * 0.39894228040143267794f * expf(-0.5f * at * at);
    case OP_HARDSWISH:
        return at <= -3 ? 0 : at >= 3 ? 1 : (2 * at + 3) / 6;
    case OP_HARDSIGMOID:
        return at > -3 && at < 3 ? 1.0f / 6.0f : 0;
    case OP_SIGMOID:
        return at * (1 - at);
    default:
        return 1 - at * at;
    }
}

static __global__ void forward(struct lanes l, enum op_kind op, size_t per_row, const float *x,
                               float *y)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)l.model[k].n_valid * per_row;
    x = part(x, l.lane, k);
    y = part(y, l.lane, k);
    FOR_ELEMENTS(i, n)
    y[i] = function(op, x[i]);
}

static __global__ void backward(struct lanes l, enum op_kind op, size_t per_row, const float *at,
                                const float *dy, float *dx, bool add)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)l.model[k].n_valid * per_row;
    at = part(at, l.lane, k);
    dy = part(dy, l.lane, k);
    dx = part(dx, l.lane, k);
    FOR_ELEMENTS(i, n)
    {
        const float s = slope(op, at[i]);
        put(&dx[i], add, op == OP_RELU ? (s == 0 ? 0 : dy[i]) : dy[i] * s);
    }
}

static void launch_forward(const struct cuda_call *c)
{
    const size_t n = count_of(c->step->out);
    forward<<<grid_over(c, n * c->batch), BLOCK, 0, c->stream>>>(lanes_of(c), c->step->op, n,
                                                                 c->x[0], c->y);
}

static void launch_backward(const struct cuda_call *c)
{
    const size_t n = count_of(c->step->out);
    const enum op_kind op = c->step->op;
    const bool of_y = op == OP_RELU || op == OP_SIGMOID || op == OP_TANH;
    if (c->dx[0])
        backward<<<grid_over(c, n * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), op, n, of_y ? c->y : c->x[0], c->dy, c->dx[0], adds_dx(c, 0));
}

#define BOTH(op, name)                                                                             \
    {STEP_FORWARD, op, "cuda " name, launch_forward, NULL},                                        \
    {                                                                                              \
        STEP_BACKWARD, op, "cuda " name, launch_backward, NULL                                     \
    }

const struct cuda_kernel cuda_activation_kernels[] = {BOTH(OP_RELU, "relu"),
                                                      BOTH(OP_GELU, "gelu"),
                                                      BOTH(OP_HARDSWISH, "hardswish"),
                                                      BOTH(OP_HARDSIGMOID, "hardsigmoid"),
                                                      BOTH(OP_SIGMOID, "sigmoid"),
                                                      BOTH(OP_TANH, "tanh"),
                                                      {}};
