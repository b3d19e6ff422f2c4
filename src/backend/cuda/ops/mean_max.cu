/* Mean and maximum over channels: a warp a pixel.  saved: the channel of the (first) maximum. */
#include "backend/cuda/ops/common.cuh"

/* Is (value, channel) the better maximum?  The first of equals; not a number beats all, and of
 * several the last, as a loop over channels has it. */
static __device__ __forceinline__ bool better(float v, int ch, float than, int than_ch)
{
    if (isnan(v) || isnan(than))
        return isnan(v) && (!isnan(than) || ch > than_ch);
    return v > than || (v == than && ch < than_ch);
}

static __global__ void forward(struct lanes l, uint32_t area, int channels, const float *x,
                               float *y, int32_t *saved)
{
    const int k = blockIdx.y, lane = threadIdx.x % 32;
    const size_t n = (size_t)l.model[k].n_valid * area;
    const size_t warps = (size_t)gridDim.x * (blockDim.x / 32);
    x = part(x, l.lane, k);
    y = part(y, l.lane, k);
    saved = part(saved, l.lane, k);
    for (size_t p = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; p < n; p += warps) {
        float sum = 0, top = -INFINITY;
        int best = channels;
        for (int ch = lane; ch < channels; ch += 32) {
            const float v = x[p * channels + ch];
            sum += v;
            if (best == channels || better(v, ch, top, best)) {
                top = v;
                best = ch;
            }
        }
        sum = warp_sum(sum);
        for (int d = 16; d > 0; d >>= 1) {
            const float v = __shfl_xor_sync(0xFFFFFFFFu, top, d);
            const int ch = __shfl_xor_sync(0xFFFFFFFFu, best, d);
            if (ch < channels && (best == channels || better(v, ch, top, best))) {
                top = v;
                best = ch;
            }
        }
        if (lane != 0)
            continue;
        y[2 * p] = sum / (float)channels;
        y[2 * p + 1] = top;
        if (saved)
            saved[p] = best;
    }
}

static __global__ void backward(struct lanes l, uint32_t area, uint32_t channels, const float *dy,
                                const int32_t *saved, float *dx, bool add)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)l.model[k].n_valid * area * channels;
    dy = part(dy, l.lane, k);
    saved = part(saved, l.lane, k);
    dx = part(dx, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const size_t p = e / channels;
        const float mean = dy[2 * p] / (float)channels;
        put(&dx[e], add, (int32_t)(e % channels) == saved[p] ? mean + dy[2 * p + 1] : mean);
    }
}

static void launch_forward(const struct cuda_call *c)
{
    const struct shape s = c->step->in[0];
    const uint32_t area = (uint32_t)(s.d[0] * s.d[1]);
    forward<<<grid_over(c, (size_t)area * 32 * c->batch), BLOCK, 0, c->stream>>>(
        lanes_of(c), area, s.d[2], c->x[0], c->y, c->saved);
}

static void launch_backward(const struct cuda_call *c)
{
    const struct shape s = c->step->in[0];
    if (c->dx[0])
        backward<<<grid_over(c, count_of(s) * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), (uint32_t)(s.d[0] * s.d[1]), (uint32_t)s.d[2], c->dy, c->saved, c->dx[0],
            adds_dx(c, 0));
}

const struct cuda_kernel cuda_mean_max_kernels[] = {
    {STEP_FORWARD, OP_CHANNEL_MEAN_MAX, "cuda channel_mean_max", launch_forward, NULL},
    {STEP_BACKWARD, OP_CHANNEL_MEAN_MAX, "cuda channel_mean_max", launch_backward, NULL},
    {}};
