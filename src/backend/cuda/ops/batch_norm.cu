/* Batch norm over the valid rows of the batch.  partial: mean[C], M2[C]; backward: sum dy, sum
 * dy * x_hat.  With a single value a channel the running statistics serve, as constants. */
#include "backend/cuda/ops/columns.cuh"

/* Sums of x less the column's first value: no digits are lost to a mean far from 0. */
struct moments {
    const float *x;
    float *partial;
    uint32_t channels, per_row;
    double n;
    __device__ void begin(const struct lanes &l, int k)
    {
        x = part(x, l.lane, k);
        partial = part(partial, l.lane, k);
        n = (double)l.model[k].n_valid * per_row;
    }
    __device__ void at(size_t row, uint32_t ch, float *a, float *b) const
    {
        const float d = x[row * channels + ch] - x[ch];
        *a += d;
        *b += d * d;
    }
    __device__ void end(uint32_t ch, double a, double b) const
    {
        partial[ch] = (float)((double)x[ch] + a / n);
        partial[channels + ch] = (float)fmax(b - a * a / n, 0.0);
    }
};

static void launch_stats(const struct cuda_call *c)
{
    const struct shape s = c->step->in[0];
    const uint32_t channels = (uint32_t)last_of(s), per_row = (uint32_t)(count_of(s) / channels);
    const struct moments f = {c->x[0], c->partial, channels, per_row, 0};
    launch_columns(c, per_row, channels, 0, f);
}

struct norm {
    struct lanes l;
    uint32_t channels, per_row;
    float eps;
    double momentum;
    bool training, relu;
    const float *x;
    float *y, *partial, *mean, *inv_std, *running_mean, *running_var;
    const float *weight, *bias;
};

/* Mean and 1/std that a channel is normalised with. */
static __device__ __forceinline__ void statistics(const struct norm &a, int k, uint32_t ch,
                                                  double total, float *mean, float *inv_std)
{
    double var;
    if (a.training && total > 1) {
        *mean = part(a.partial, a.l.lane, k)[ch];
        var = (double)part(a.partial, a.l.lane, k)[a.channels + ch] / total;
    } else {
        *mean = part(a.running_mean, a.l.slice, k)[ch];
        var = (double)part(a.running_var, a.l.slice, k)[ch];
    }
    *inv_std = (float)(1.0 / sqrt(var + (double)a.eps));
}

/* What the whole batch says once: the copies for the way back, the running statistics. */
static __device__ void note(const struct norm &a, int k, uint32_t ch, double total, float mean,
                            float inv_std)
{
    part(a.mean, a.l.lane, k)[ch] = mean;
    part(a.inv_std, a.l.lane, k)[ch] = inv_std;
    if (total <= 1)
        return;
    float *running_mean = part(a.running_mean, a.l.slice, k);
    float *running_var = part(a.running_var, a.l.slice, k);
    const double keep = 1.0 - a.momentum;
    const double m2 = (double)part(a.partial, a.l.lane, k)[a.channels + ch];
    running_mean[ch] = (float)(keep * (double)running_mean[ch] + a.momentum * (double)mean);
    running_var[ch] = (float)(keep * (double)running_var[ch] + a.momentum * m2 / (total - 1));
}

/* One thread a channel computes scale and shift of the block's channels into shared memory. */
static __global__ void finish_stats(struct norm a)
{
    const int k = blockIdx.y;
    const double total = (double)a.l.model[k].n_valid * a.per_row;
    const uint32_t ch = blockIdx.x * blockDim.x + threadIdx.x;
    float mean, inv_std;
    if (total == 0 || ch >= a.channels)
        return;
    statistics(a, k, ch, total, &mean, &inv_std);
    note(a, k, ch, total, mean, inv_std);
}

static __global__ void apply(struct norm a)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)a.l.model[k].n_valid * a.per_row * a.channels;
    const float *x = part(a.x, a.l.lane, k), *weight = part(a.weight, a.l.slice, k);
    const float *bias = part(a.bias, a.l.slice, k);
    const float *means = part(a.mean, a.l.lane, k), *stds = part(a.inv_std, a.l.lane, k);
    float *y = part(a.y, a.l.lane, k);
    FOR_ELEMENTS(i, n)
    {
        const uint32_t ch = (uint32_t)(i % a.channels);
        float mean, inv_std;
        if (a.training) {
            mean = means[ch];
            inv_std = stds[ch];
        } else {
            statistics(a, k, ch, 0, &mean, &inv_std);
        }
        const float v = (x[i] - mean) * inv_std * weight[ch] + bias[ch];
        y[i] = a.relu && v < 0 ? 0 : v;
    }
}

static void launch_apply(const struct cuda_call *c)
{
    const struct shape s = c->step->in[0];
    struct norm a = {lanes_of(c)};
    a.channels = (uint32_t)last_of(s);
    a.per_row = (uint32_t)(count_of(s) / a.channels);
    a.eps = (float)c->step->attr.eps;
    a.momentum = c->step->attr.momentum;
    a.training = c->training;
    a.relu = false;
    a.x = c->x[0];
    a.y = c->y;
    a.partial = c->partial;
    a.mean = c->whole[0];
    a.inv_std = c->whole[1];
    a.running_mean = c->buffer[0];
    a.running_var = c->buffer[1];
    a.weight = c->param[0];
    a.bias = c->param[1];
    if (c->training)
        finish_stats<<<dim3((a.channels + 127) / 128, (unsigned)c->n_models), 128, 0, c->stream>>>(
            a);
    apply<<<grid_over(c, count_of(s) * c->batch), BLOCK, 0, c->stream>>>(a);
}

/* ---- back ---- */

struct back_sums {
    const float *x, *dy, *mean, *inv_std;
    float *partial, *grad_weight, *grad_bias;
    uint32_t channels;
    __device__ void begin(const struct lanes &l, int k)
    {
        x = part(x, l.lane, k);
        dy = part(dy, l.lane, k);
        mean = part(mean, l.lane, k);
        inv_std = part(inv_std, l.lane, k);
        partial = part(partial, l.lane, k);
        grad_weight = part(grad_weight, l.lane, k);
        grad_bias = part(grad_bias, l.lane, k);
    }
    __device__ void at(size_t row, uint32_t ch, float *a, float *b) const
    {
        const float d = dy[row * channels + ch];
        *a += d;
        *b += d * ((x[row * channels + ch] - mean[ch]) * inv_std[ch]);
    }
    __device__ void end(uint32_t ch, double a, double b) const
    {
        partial[ch] = grad_bias[ch] = (float)a;
        partial[channels + ch] = grad_weight[ch] = (float)b;
    }
};

static void launch_back_reduce(const struct cuda_call *c)
{
    const struct shape s = c->step->in[0];
    const uint32_t channels = (uint32_t)last_of(s);
    const struct back_sums f = {c->x[0],    c->dy,      c->whole[0], c->whole[1],
                                c->partial, c->grad[0], c->grad[1],  channels};
    launch_columns(c, (uint32_t)(count_of(s) / channels), channels, 0, f);
}

static __global__ void back_apply(struct norm a, const float *dy, float *dx, bool add)
{
    const int k = blockIdx.y;
    const size_t rows = (size_t)a.l.model[k].n_valid * a.per_row, n = rows * a.channels;
    const float *x = part(a.x, a.l.lane, k), *weight = part(a.weight, a.l.slice, k);
    const float *mean = part(a.mean, a.l.lane, k), *inv_std = part(a.inv_std, a.l.lane, k);
    const float *sums = part(a.partial, a.l.lane, k);
    dy = part(dy, a.l.lane, k);
    dx = part(dx, a.l.lane, k);
    /* Running statistics, where they were used, are constants. */
    const float share = rows > 1 ? 1.0f / (float)rows : 0;
    FOR_ELEMENTS(i, n)
    {
        const uint32_t ch = (uint32_t)(i % a.channels);
        const float x_hat = (x[i] - mean[ch]) * inv_std[ch];
        put(&dx[i], add,
            weight[ch] * inv_std[ch] *
                (dy[i] - sums[ch] * share - x_hat * (sums[a.channels + ch] * share)));
    }
}

static void launch_back_apply(const struct cuda_call *c)
{
    const struct shape s = c->step->in[0];
    struct norm a = {lanes_of(c)};
    a.channels = (uint32_t)last_of(s);
    a.per_row = (uint32_t)(count_of(s) / a.channels);
    a.x = c->x[0];
    a.partial = c->partial;
    a.mean = c->whole[0];
    a.inv_std = c->whole[1];
    a.weight = c->param[0];
    back_apply<<<grid_over(c, count_of(s) * c->batch), BLOCK, 0, c->stream>>>(a, c->dy, c->dx[0],
                                                                              adds_dx(c, 0));
}

static size_t workspace(const struct plan_step *s, int32_t batch)
{
    const uint32_t channels = (uint32_t)last_of(s->in[0]);
    return columns_workspace(count_of(s->in[0]) / channels * (size_t)batch, channels);
}

const struct cuda_kernel cuda_batch_norm_kernels[] = {
    {STEP_BN_STATS, OP_BATCH_NORM, "cuda batch_norm stats", launch_stats, workspace},
    {STEP_BN_APPLY, OP_BATCH_NORM, "cuda batch_norm", launch_apply, NULL},
    {STEP_BN_BACK_REDUCE, OP_BATCH_NORM, "cuda batch_norm reduce", launch_back_reduce, workspace},
    {STEP_BN_BACK_APPLY, OP_BATCH_NORM, "cuda batch_norm back", launch_back_apply, NULL},
    {}};
