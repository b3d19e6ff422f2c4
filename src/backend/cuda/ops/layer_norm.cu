/* Layer norm over the last dimension: a warp a vector.  The way back keeps each vector's mean and
 * 1/std in the workspace, for the gradients of weight and bias. */
#include "backend/cuda/ops/columns.cuh"

struct layer {
    struct lanes l;
    uint32_t vectors; /* a row */
    int d;
    double eps;
};

static __device__ __forceinline__ void moments_of(const struct layer &a, const float *x, int lane,
                                                  float *mean, float *inv_std)
{
    float sum = 0, squares = 0;
    for (int i = lane; i < a.d; i += 32)
        sum += x[i];
    *mean = warp_sum(sum) / (float)a.d;
    for (int i = lane; i < a.d; i += 32)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inv_std = (float)(1 / sqrt((double)(warp_sum(squares) / (float)a.d) + a.eps));
}

#define FOR_VECTORS(v, n)                                                                          \
    for (size_t v = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < (n);            \
         v += (size_t)gridDim.x * (blockDim.x / 32))

static __global__ void forward(struct layer a, const float *x, float *y, const float *weight,
                               const float *bias)
{
    const int k = blockIdx.y, lane = threadIdx.x % 32;
    x = part(x, a.l.lane, k);
    y = part(y, a.l.lane, k);
    weight = part(weight, a.l.slice, k);
    bias = part(bias, a.l.slice, k);
    FOR_VECTORS(v, (size_t)a.l.model[k].n_valid * a.vectors)
    {
        float mean, inv_std;
        moments_of(a, x + v * a.d, lane, &mean, &inv_std);
        for (int i = lane; i < a.d; i += 32)
            y[v * a.d + i] = (x[v * a.d + i] - mean) * inv_std * weight[i] + bias[i];
    }
}

static __global__ void backward(struct layer a, const float *x, const float *dy, float *dx,
                                const float *weight, bool add, float *kept, size_t kept_stride)
{
    const int k = blockIdx.y, lane = threadIdx.x % 32;
    x = part(x, a.l.lane, k);
    dy = part(dy, a.l.lane, k);
    dx = part(dx, a.l.lane, k);
    weight = part(weight, a.l.slice, k);
    kept += k * kept_stride;
    FOR_VECTORS(v, (size_t)a.l.model[k].n_valid * a.vectors)
    {
        const float *from = x + v * a.d, *g = dy + v * a.d;
        float mean, inv_std, sum = 0, sum_hat = 0;
        moments_of(a, from, lane, &mean, &inv_std);
        for (int i = lane; i < a.d; i += 32) {
            sum += g[i] * weight[i];
            sum_hat += g[i] * weight[i] * ((from[i] - mean) * inv_std);
        }
        sum = warp_sum(sum) / (float)a.d;
        sum_hat = warp_sum(sum_hat) / (float)a.d;
        for (int i = lane; dx && i < a.d; i += 32)
            put(&dx[v * a.d + i], add,
                inv_std * (g[i] * weight[i] - sum - (from[i] - mean) * inv_std * sum_hat));
        if (lane == 0) {
            kept[2 * v] = mean;
            kept[2 * v + 1] = inv_std;
        }
    }
}

struct layer_sums {
    const float *x, *dy, *kept;
    size_t kept_stride;
    float *grad_weight, *grad_bias;
    bool add_weight, add_bias;
    uint32_t d;
    __device__ void begin(const struct lanes &l, int k)
    {
        x = part(x, l.lane, k);
        dy = part(dy, l.lane, k);
        kept += k * kept_stride;
        grad_weight = part(grad_weight, l.lane, k);
        grad_bias = part(grad_bias, l.lane, k);
    }
    __device__ void at(size_t v, uint32_t i, float *a, float *b) const
    {
        const float g = dy[v * d + i];
        *a += g;
        *b += g * ((x[v * d + i] - kept[2 * v]) * kept[2 * v + 1]);
    }
    __device__ void end(uint32_t i, double a, double b) const
    {
        if (grad_bias)
            put(&grad_bias[i], add_bias, (float)a);
        if (grad_weight)
            put(&grad_weight[i], add_weight, (float)b);
    }
};

static struct layer layer_of(const struct cuda_call *c)
{
    const struct shape s = c->step->in[0];
    const int d = last_of(s);
    return {lanes_of(c), (uint32_t)(count_of(s) / d), d, c->step->attr.eps};
}

static size_t kept_floats(const struct plan_step *s, int32_t batch)
{
    return 2 * (count_of(s->in[0]) / last_of(s->in[0])) * (size_t)batch;
}

static void launch_forward(const struct cuda_call *c)
{
    const struct layer a = layer_of(c);
    forward<<<grid_over(c, (size_t)a.vectors * 128 * c->batch), BLOCK, 0, c->stream>>>(
        a, c->x[0], c->y, c->param[0], c->param[1]);
}

static void launch_backward(const struct cuda_call *c)
{
    const struct layer a = layer_of(c);
    const size_t kept = kept_floats(c->step, c->batch);
    const dim3 grid = grid_over(c, (size_t)a.vectors * 128 * c->batch);
    backward<<<grid, BLOCK, 0, c->stream>>>(a, c->x[0], c->dy, c->dx[0], c->param[0], adds_dx(c, 0),
                                            c->workspace, c->workspace_floats);
    const struct layer_sums f = {c->x[0],         c->dy,           c->workspace,
                                 c->workspace_floats, c->grad[0],  c->grad[1],
                                 adds_grad(c, 0), adds_grad(c, 1), (uint32_t)a.d};
    if (c->grad[0] || c->grad[1])
        launch_columns(c, a.vectors, (uint32_t)a.d, kept, f);
}

static size_t workspace(const struct plan_step *s, int32_t batch)
{
    const uint32_t d = (uint32_t)last_of(s->in[0]);
    return kept_floats(s, batch) + columns_workspace(count_of(s->in[0]) / d * (size_t)batch, d);
}

const struct cuda_kernel cuda_layer_norm_kernels[] = {
    {STEP_FORWARD, OP_LAYER_NORM, "cuda layer_norm", launch_forward, NULL},
    {STEP_BACKWARD, OP_LAYER_NORM, "cuda layer_norm", launch_backward, workspace},
    {}};
