/* Functions of one element. */
#include "backend/cpu/isa/kernels.h"

#include "backend/cpu/isa/math.h"

static inline float hardswish_of(float x)
{
    const float t = x + 3.0f;
    return x * (t < 0 ? 0.0f : t > 6.0f ? 6.0f : t) * (1.0f / 6.0f);
}

static inline float hardswish_slope_of(float x)
{
    const float inside = (2.0f * x + 3.0f) * (1.0f / 6.0f);
    return x <= -3.0f ? 0.0f : x >= 3.0f ? 1.0f : inside;
}

static inline float hardsigmoid_of(float x)
{
    const float t = x + 3.0f;
    return (t < 0 ? 0.0f : t > 6.0f ? 6.0f : t) * (1.0f / 6.0f);
}

static inline float hardsigmoid_slope_of(float x)
{
    return ((x > -3.0f) & (x < 3.0f)) ? 1.0f / 6.0f : 0.0f;
}

static inline float sigmoid_slope_of(float y)
{
    return y * (1.0f - y);
}

static inline float tanh_slope_of(float y)
{
    return 1.0f - y * y;
}

static size_t elements(const struct op_call *c)
{
    return (size_t)c->rows * shape_count(c->step->out);
}

/* Forward from x; backward with the slope at `from`.  In place is what a loop over elements allows.
 */
#define ACTIVATION(name, from, slope)                                                              \
    static void name##_forward(const struct op_call *c)                                            \
    {                                                                                              \
        const size_t n = elements(c);                                                              \
        const float *x = c->x;                                                                     \
        float *y = c->y;                                                                           \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = name##_of(x[i]);                                                                \
    }                                                                                              \
    static void name##_backward(const struct op_call *c)                                           \
    {                                                                                              \
        const size_t n = elements(c);                                                              \
        const float *at = (from), *dy = c->dy;                                                     \
        float *dx = c->dx;                                                                         \
        if (c->add_dx)                                                                             \
            for (size_t i = 0; i < n; i++)                                                         \
                dx[i] += dy[i] * slope(at[i]);                                                     \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                dx[i] = dy[i] * slope(at[i]);                                                      \
    }

ACTIVATION(gelu, c->x, gelu_slope_of)
ACTIVATION(hardswish, c->x, hardswish_slope_of)
ACTIVATION(hardsigmoid, c->x, hardsigmoid_slope_of)
ACTIVATION(sigmoid, c->y, sigmoid_slope_of)
ACTIVATION(tanh, c->y, tanh_slope_of)

#define ROWS(op, name)                                                                             \
    {STEP_FORWARD, op, #name, name##_forward, NULL, false},                                        \
    {                                                                                              \
        STEP_BACKWARD, op, #name, name##_backward, NULL, false                                     \
    }

const struct cpu_kernel ISA_FN(activation_kernels)[] = {
    ROWS(OP_GELU, gelu),       ROWS(OP_HARDSWISH, hardswish), ROWS(OP_HARDSIGMOID, hardsigmoid),
    ROWS(OP_SIGMOID, sigmoid), ROWS(OP_TANH, tanh),           {0},
};
