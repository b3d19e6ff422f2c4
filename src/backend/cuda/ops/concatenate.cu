/* Values side by side along the last dimension: one launch an input. */
#include "backend/cuda/ops/common.cuh"

static __global__ void place(struct lanes l, size_t vectors, uint32_t d, uint32_t all,
                             uint32_t first, const float *from, float *to, bool back, bool add)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)l.model[k].n_valid * vectors * d;
    from = part(from, l.lane, k);
    to = part(to, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const size_t at = e / d * all + first + e % d;
        if (back)
            put(&to[e], add, from[at]);
        else
            to[at] = from[e];
    }
}

static void launch(const struct cuda_call *c, bool back)
{
    const uint32_t all = (uint32_t)last_of(c->step->out);
    const size_t vectors = count_of(c->step->out) / all;
    uint32_t first = 0;
    for (int i = 0; i < inputs_of(c); i++) {
        const uint32_t d = (uint32_t)last_of(c->step->in[i]);
        if (!back || c->dx[i])
            place<<<grid_over(c, vectors * d * c->batch), BLOCK, 0, c->stream>>>(
                lanes_of(c), vectors, d, all, first, back ? c->dy : c->x[i], back ? c->dx[i] : c->y,
                back, adds_dx(c, i));
        first += d;
    }
}

static void launch_forward(const struct cuda_call *c)
{
    launch(c, false);
}

static void launch_backward(const struct cuda_call *c)
{
    launch(c, true);
}

const struct cuda_kernel cuda_concatenate_kernels[] = {
    {STEP_FORWARD, OP_CONCATENATE, "cuda concatenate", launch_forward, NULL},
    {STEP_BACKWARD, OP_CONCATENATE, "cuda concatenate", launch_backward, NULL},
    {}};
