/* relu and flatten. */
#include "backend/cpu/isa/kernels.h"

static void relu_forward(const struct op_call *c)
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    const float *x = c->x;
    float *y = c->y;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

static void relu_backward(const struct op_call *c)
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    const float *y = c->y, *dy = c->dy;
    float *dx = c->dx;
    if (c->add_dx)
        for (size_t i = 0; i < n; i++)
            dx[i] += y[i] <= 0 ? 0 : dy[i];
    else
        for (size_t i = 0; i < n; i++)
            dx[i] = y[i] <= 0 ? 0 : dy[i];
}

/* Rows of pixels and channels of an image; one channel for everything else, which then is a copy.
 */
static void image_extent(const struct plan_step *step, size_t *pixels, size_t *channels)
{
    const struct shape s = step->in[0];
    *channels = s.rank == 3 ? (size_t)s.d[2] : 1;
    *pixels = shape_count(s) / *channels;
}

static void flatten_forward(const struct op_call *c)
{
    size_t pixels, channels;
    image_extent(c->step, &pixels, &channels);
    if (pixels == 1 || channels == 1) {
        memcpy(c->y, c->x, (size_t)c->rows * pixels * channels * sizeof(float));
        return;
    }
    for (int32_t r = 0; r < c->rows; r++) {
        const float *x = c->x + (size_t)r * pixels * channels;
        float *y = c->y + (size_t)r * pixels * channels;
        for (size_t ch = 0; ch < channels; ch++)
            for (size_t p = 0; p < pixels; p++)
                y[ch * pixels + p] = x[p * channels + ch];
    }
}

static void flatten_backward(const struct op_call *c)
{
    size_t pixels, channels;
    image_extent(c->step, &pixels, &channels);
    for (int32_t r = 0; r < c->rows; r++) {
        const float *dy = c->dy + (size_t)r * pixels * channels;
        float *dx = c->dx + (size_t)r * pixels * channels;
        for (size_t p = 0; p < pixels; p++)
            for (size_t ch = 0; ch < channels; ch++) {
                const float d = dy[ch * pixels + p];
                dx[p * channels + ch] = c->add_dx ? dx[p * channels + ch] + d : d;
            }
    }
}

const struct cpu_kernel ISA_FN(elementwise_kernels)[] = {
    {STEP_FORWARD, OP_RELU, "relu", relu_forward, NULL, false},
    {STEP_BACKWARD, OP_RELU, "relu", relu_backward, NULL, false},
    {STEP_FORWARD, OP_FLATTEN, "flatten", flatten_forward, NULL, false},
    {STEP_BACKWARD, OP_FLATTEN, "flatten", flatten_backward, NULL, false},
    {0},
};
