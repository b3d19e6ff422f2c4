/* The first place of a sequence. */
#include "backend/cuda/ops/common.cuh"

static __global__ void first(struct lanes l, size_t n, size_t d, const float *from, float *to,
                             bool back, bool add)
{
    const int k = blockIdx.y;
    const size_t rows = (size_t)l.model[k].n_valid;
    from = part(from, l.lane, k);
    to = part(to, l.lane, k);
    FOR_ELEMENTS(i, rows * (back ? n : d))
    {
        if (back)
            put(&to[i], add, i % n < d ? from[i / n * d + i % n] : 0);
        else
            to[i] = from[i / d * n + i % d];
    }
}

static void launch_forward(const struct cuda_call *c)
{
    const size_t n = count_of(c->step->in[0]), d = count_of(c->step->out);
    first<<<grid_over(c, d * c->batch), BLOCK, 0, c->stream>>>(lanes_of(c), n, d, c->x[0], c->y,
                                                               false, false);
}

static void launch_backward(const struct cuda_call *c)
{
    const size_t n = count_of(c->step->in[0]), d = count_of(c->step->out);
    if (c->dx[0])
        first<<<grid_over(c, n * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), n, d, c->dy, c->dx[0], true, adds_dx(c, 0));
}

const struct cuda_kernel cuda_token_kernels[] = {
    {STEP_FORWARD, OP_FIRST_TOKEN, "cuda first_token", launch_forward, NULL},
    {STEP_BACKWARD, OP_FIRST_TOKEN, "cuda first_token", launch_backward, NULL},
    {}};
