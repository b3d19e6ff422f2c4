/* Images to vectors in C,H,W order, and back. */
#include "backend/cuda/ops/common.cuh"

/* Position in memory (H,W,C) of element i counted in C,H,W order. */
static __device__ __forceinline__ size_t memory_index(uint32_t area, uint32_t channels, uint32_t i)
{
    return (size_t)(i % area) * channels + i / area;
}

static __global__ void flatten(struct lanes l, uint32_t area, uint32_t channels, const float *from,
                               float *to, bool back, bool add)
{
    const int k = blockIdx.y;
    const uint32_t per_row = area * channels;
    const size_t n = (size_t)l.model[k].n_valid * per_row;
    from = part(from, l.lane, k);
    to = part(to, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const size_t at = e - e % per_row + memory_index(area, channels, (uint32_t)(e % per_row));
        if (back)
            put(&to[at], add, from[e]);
        else
            to[e] = from[at];
    }
}

static void launch(const struct cuda_call *c, const float *from, float *to, bool back)
{
    const struct shape s = c->step->in[0];
    const uint32_t n = (uint32_t)count_of(s);
    const uint32_t channels = s.rank == 3 ? (uint32_t)s.d[2] : 1;
    if (to)
        flatten<<<grid_over(c, (size_t)n * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), n / channels, channels, from, to, back, adds_dx(c, 0));
}

static void launch_forward(const struct cuda_call *c)
{
    launch(c, c->x[0], c->y, false);
}

static void launch_backward(const struct cuda_call *c)
{
    launch(c, c->dy, c->dx[0], true);
}

const struct cuda_kernel cuda_flatten_kernels[] = {
    {STEP_FORWARD, OP_FLATTEN, "cuda flatten", launch_forward, NULL},
    {STEP_BACKWARD, OP_FLATTEN, "cuda flatten", launch_backward, NULL},
    {}};
