#include "backend/cpu/isa/kernels.h"

#include <math.h>

/* exp of x <= 0 (or not a number) to about 1 ulp, in operations that become vector instructions:
 * x = n ln 2 + r, exp(r) by its series, n put into the exponent (Cody and Waite). */
static inline float exp_of(float x)
{
    const float low = -87.0f;
    const float t = x < low ? low : x;
    const float round = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    const float shifted = t * 1.44269504f + round;
    const float n = shifted - round;
    const float r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127u) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < low ? 0.0f : p * power;
}

/* e[i] = x[i] - the row's maximum; returns where the first maximum is. */
static int32_t shift_row(const float *x, int32_t n, float *e)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    const float top = x[best];
    for (int32_t i = 0; i < n; i++)
        e[i] = x[i] - top;
    return best;
}

static void cross_entropy(const struct op_call *c)
{
    const int32_t n = c->step->in[0].d[0];
    const int32_t *label = c->target;
    const size_t count = (size_t)c->rows * (size_t)n;
    struct pass_sums sums = {.n = c->rows};
    float *e = c->scratch;
    for (int32_t r = 0; r < c->rows; r++) {
        const int32_t best = shift_row(c->x + (size_t)r * n, n, e + (size_t)r * n);
        const bool known = label[r] >= 0 && label[r] < n;
        sums.loss_sum -= known ? (double)e[(size_t)r * n + label[r]] : (double)NAN;
        sums.n_correct += best == label[r];
    }
    for (size_t i = 0; i < count; i++)
        e[i] = exp_of(e[i]);
    for (int32_t r = 0; r < c->rows; r++, e += n) {
        float sum = 0;
        for (int32_t i = 0; i < n; i++)
            sum += e[i];
        sums.loss_sum += log((double)sum);
        if (!c->dx)
            continue;
        float *dx = c->dx + (size_t)r * n;
        const float scale = 1.0f / (sum * (float)c->n_valid);
        for (int32_t i = 0; i < n; i++)
            dx[i] = e[i] * scale;
        if (label[r] >= 0 && label[r] < n)
            dx[label[r]] -= 1.0f / (float)c->n_valid;
    }
    memcpy(c->partial + (size_t)c->shard * c->partial_stride, &sums, sizeof sums);
}

static size_t cross_entropy_scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    return (size_t)rows_per_shard * (size_t)step->in[0].d[0];
}

static void mse(const struct op_call *c)
{
    const float *target = c->target;
    struct pass_sums sums = {.n = c->rows};
    for (int32_t r = 0; r < c->rows; r++) {
        const float d = c->x[r] - target[r];
        sums.loss_sum += (double)d * (double)d;
        sums.target_sum += (double)target[r];
        sums.target_sq_sum += (double)target[r] * (double)target[r];
        if (c->dx)
            c->dx[r] = 2.0f * d / (float)c->n_valid;
    }
    memcpy(c->partial + (size_t)c->shard * c->partial_stride, &sums, sizeof sums);
}

const struct cpu_kernel ISA_FN(loss_kernels)[] = {
    {STEP_LOSS, OP_CROSS_ENTROPY, "cross_entropy", cross_entropy, cross_entropy_scratch, false},
    {STEP_LOSS, OP_MSE, "mse", mse, NULL, false},
    {0},
};
