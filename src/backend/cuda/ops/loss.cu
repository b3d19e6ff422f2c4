/* Losses: the gradient of the batch's mean, and what the pass adds up.  A prediction is a warp's;
 * its loss goes to the workspace, and the last block of a model adds all up in order. */
#include "backend/cuda/ops/common.cuh"

struct loss {
    struct lanes l;
    struct cuda_model *model;
    int n, per_row; /* logits of a prediction; predictions of a row */
    bool tokens;
    double smooth;
    const float *x;
    const float *target;
    float *dx;
    double *parts; /* a prediction: loss, and 1 where it is correct */
    size_t stride;
    uint32_t *counters;
};

/* A warp: the first maximum, its index and the sum over all of x - top. */
static __device__ void survey(const float *x, int n, int lane, float *top, int *best)
{
    *top = -INFINITY;
    *best = 0;
    for (int i = lane; i < n; i += 32)
        if (x[i] > *top) {
            *top = x[i];
            *best = i;
        }
    for (int d = 16; d > 0; d >>= 1) {
        const float v = __shfl_xor_sync(0xFFFFFFFFu, *top, d);
        const int at = __shfl_xor_sync(0xFFFFFFFFu, *best, d);
        if (v > *top || (v == *top && at < *best)) {
            *top = v;
            *best = at;
        }
    }
    if (*top == -INFINITY) /* nothing but that and what is no number: the sums show it */
        *top = x[*best];
}

/* Gradient and share of prediction v. */
static __device__ void predict(const struct loss &a, const float *x, float *dx, int32_t label,
                               double count, int lane, double *part_of)
{
    const int n = a.n;
    float top;
    int best;
    survey(x, n, lane, &top, &best);
    float sum = 0, all = 0;
    for (int i = lane; i < n; i += 32) {
        sum += expf(x[i] - top);
        all += x[i] - top;
    }
    sum = warp_sum(sum);
    all = a.smooth > 0 ? warp_sum(all) : 0;
    const bool known = label >= 0 && label < n;
    for (int i = lane; dx && i < n; i += 32) {
        const float p = expf(x[i] - top) / sum;
        const float target = (float)((1 - a.smooth) * (i == label) + a.smooth / n);
        dx[i] = (p - target) / (float)count;
    }
    if (lane != 0)
        return;
    const double own = known ? (double)(x[label] - top) : (double)NAN;
    part_of[0] = log((double)sum) - (1 - a.smooth) * own - a.smooth * (double)all / n;
    part_of[1] = best == label;
}

/* True in all threads of the last block of model k to get here. */
static __device__ bool last_block(const struct loss &a, int k)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(&a.counters[k * CUDA_MAX_COUNTERS], gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    __threadfence();
    return last;
}

static __global__ void cross_entropy(struct loss a)
{
    const int k = blockIdx.y, lane = threadIdx.x % 32, n_valid = a.l.model[k].n_valid;
    const size_t n = (size_t)n_valid * a.per_row, warps = (size_t)gridDim.x * (blockDim.x / 32);
    if (n_valid == 0)
        return;
    const float *x = part(a.x, a.l.lane, k);
    const int32_t *target = (const int32_t *)part(a.target, a.l.lane, k);
    float *dx = part(a.dx, a.l.lane, k);
    double *parts = a.parts + k * a.stride;
    for (size_t v = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < n; v += warps)
        predict(a, x + v * a.n, dx ? dx + v * a.n : NULL, target[v], (double)n, lane,
                parts + 2 * v);
    if (!last_block(a, k))
        return;
    double loss = 0, correct = 0;
    for (size_t v = threadIdx.x; v < n; v += blockDim.x) {
        loss += __ldcg(&parts[2 * v]);
        correct += __ldcg(&parts[2 * v + 1]);
    }
    loss = block_sum(loss);
    correct = block_sum(correct);
    if (threadIdx.x != 0)
        return;
    struct pass_sums *sums = &a.model[k].sums;
    sums->n += n_valid;
    sums->loss_sum += loss;
    sums->n_correct += (int64_t)correct;
    sums->n_tokens += a.tokens ? (int64_t)n : 0;
}

/* One block a model. */
static __global__ void mse(struct loss a)
{
    const int k = blockIdx.y, n = a.l.model[k].n_valid;
    if (n == 0)
        return;
    const float *x = part(a.x, a.l.lane, k), *target = part(a.target, a.l.lane, k);
    float *dx = part(a.dx, a.l.lane, k);
    double loss = 0, sum = 0, squares = 0;
    for (int r = threadIdx.x; r < n; r += blockDim.x) {
        const float d = x[r] - target[r];
        loss += (double)d * (double)d;
        sum += (double)target[r];
        squares += (double)target[r] * (double)target[r];
        if (dx)
            dx[r] = 2 * d / (float)n;
    }
    loss = block_sum(loss);
    sum = block_sum(sum);
    squares = block_sum(squares);
    if (threadIdx.x != 0)
        return;
    struct pass_sums *sums = &a.model[k].sums;
    sums->n += n;
    sums->loss_sum += loss;
    sums->target_sum += sum;
    sums->target_sq_sum += squares;
}

static struct loss loss_of(const struct cuda_call *c)
{
    const struct shape in = c->step->in[0];
    struct loss a = {lanes_of(c), c->model, last_of(in), vectors_a_row(in), in.rank == 2,
                     c->step->attr.label_smoothing, c->x[0], c->target, c->dx[0]};
    a.parts = (double *)c->workspace;
    a.stride = c->workspace_floats / 2;
    a.counters = c->counters;
    return a;
}

static void launch_cross_entropy(const struct cuda_call *c)
{
    const struct loss a = loss_of(c);
    const size_t warps = (size_t)c->batch * a.per_row, blocks = (warps + 7) / 8;
    cross_entropy<<<dim3((unsigned)(blocks > 2048 ? 2048 : blocks), (unsigned)c->n_models), 256, 0,
                    c->stream>>>(a);
}

static void launch_mse(const struct cuda_call *c)
{
    mse<<<dim3(1, (unsigned)c->n_models), 256, 0, c->stream>>>(loss_of(c));
}

static size_t workspace(const struct plan_step *s, int32_t batch)
{
    return 4 * (size_t)batch * vectors_a_row(s->in[0]);
}

const struct cuda_kernel cuda_loss_kernels[] = {
    {STEP_LOSS, OP_CROSS_ENTROPY, "cuda cross_entropy", launch_cross_entropy, workspace},
    {STEP_LOSS, OP_MSE, "cuda mse", launch_mse, NULL},
    {}};
