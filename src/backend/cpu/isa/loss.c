#include "backend/cpu/isa/kernels.h"

#include "backend/cpu/isa/math.h"

#define BLOCK 4096 /* logits taken at a time: many short rows side by side, or one long one */

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

/* What a loss is made of: see nn/op.h. */
struct loss {
    int32_t n;    /* classes */
    float smooth; /* label smoothing */
    double count; /* predictions of the batch, which the mean runs over */
};

/* The gradient of one prediction from its shifted exponentials, whose sum is `sum`. */
static void give_gradient(const struct loss *l, const float *e, float sum, int32_t label, float *dx)
{
    const float scale = (float)(1 / ((double)sum * l->count));
    const float even = (float)((double)l->smooth / l->n / l->count);
    if (even == 0)
        for (int32_t i = 0; i < l->n; i++)
            dx[i] = e[i] * scale;
    else
        for (int32_t i = 0; i < l->n; i++)
            dx[i] = e[i] * scale - even;
    if (label >= 0 && label < l->n)
        dx[label] -= (float)((1 - (double)l->smooth) / l->count);
}

static float sum_of(const float *e, int32_t n)
{
    float sum = 0, part[16] = {0};
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++)
            part[k] += e[i + k];
    for (int k = 0; k < 16; k++)
        sum += part[k];
    for (; i < n; i++)
        sum += e[i];
    return sum;
}

/* `rows` predictions with a scratch of rows x n. */
static void predict(const struct loss *l, const float *x, const int32_t *label, int32_t rows,
                    float *dx, float *e, struct pass_sums *sums)
{
    const int32_t n = l->n;
    const size_t count = (size_t)rows * (size_t)n;
    for (int32_t r = 0; r < rows; r++) {
        float *shifted = e + (size_t)r * n;
        const int32_t best = shift_row(x + (size_t)r * n, n, shifted);
        const bool known = label[r] >= 0 && label[r] < n;
        const double own = known ? (double)shifted[label[r]] : (double)NAN;
        sums->loss_sum -= (1 - (double)l->smooth) * own;
        if (l->smooth > 0)
            sums->loss_sum -= (double)(l->smooth * sum_of(shifted, n) / (float)n);
        sums->n_correct += best == label[r];
    }
    for (size_t i = 0; i < count; i++)
        e[i] = exp_of(e[i]);
    for (int32_t r = 0; r < rows; r++, e += n) {
        const float sum = sum_of(e, n);
        sums->loss_sum += log((double)sum);
        if (dx)
            give_gradient(l, e, sum, label[r], dx + (size_t)r * n);
    }
}

static int32_t rows_at_a_time(const struct plan_step *step)
{
    const int32_t n = step->in[0].d[step->in[0].rank - 1];
    return n < BLOCK ? BLOCK / n : 1;
}

static void cross_entropy(const struct op_call *c)
{
    const struct shape in = c->step->in[0];
    const int32_t places = in.rank == 2 ? in.d[0] : 1, total = c->rows * places;
    const int32_t block = rows_at_a_time(c->step);
    const struct loss l = {in.d[in.rank - 1], c->step->attr.label_smoothing,
                           (double)c->n_valid * places};
    const int32_t *label = c->target;
    struct pass_sums sums = {.n = c->rows, .n_tokens = in.rank == 2 ? total : 0};
    for (int32_t v = 0; v < total; v += block) {
        const size_t at = (size_t)v * (size_t)l.n;
        predict(&l, c->x + at, label + v, total - v < block ? total - v : block,
                c->dx ? c->dx + at : NULL, c->scratch, &sums);
    }
    memcpy(c->partial + (size_t)c->shard * c->partial_stride, &sums, sizeof sums);
}

static size_t cross_entropy_scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return (size_t)rows_at_a_time(step) * (size_t)step->in[0].d[step->in[0].rank - 1];
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
