/* Dropout: the mask is a pure function of seed, epoch, batch and the element's index in N,C,H,W
 * order, so it is made again for the way back. */
#include "backend/cuda/ops/common.cuh"
#include "base/rng.h"

static __global__ void dropout(struct lanes l, uint32_t ordinal, float p, uint32_t area,
                               uint32_t channels, bool training, const float *from, float *to,
                               bool add)
{
    const int k = blockIdx.y;
    const struct cuda_model *m = &l.model[k];
    const uint32_t per_row = area * channels;
    const size_t n = (size_t)m->n_valid * per_row;
    const float kept = 1.0f / (1.0f - p);
    from = part(from, l.lane, k);
    to = part(to, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const uint32_t i = (uint32_t)(e % per_row);
        const size_t logical = e - i + (size_t)(i % channels) * area + i / channels;
        float factor = 1;
        if (training)
            factor = rng_unit(rng_u32_at(m->seed, RNG_DROPOUT, ordinal, m->epoch, m->batch,
                                         (uint32_t)logical)) >= p
                         ? kept
                         : 0;
        put(&to[e], add, from[e] * factor);
    }
}

static void launch(const struct cuda_call *c, const float *from, float *to, bool add)
{
    const struct shape s = c->step->out;
    const uint32_t n = (uint32_t)count_of(s), channels = s.rank == 3 ? (uint32_t)s.d[2] : 1;
    if (to)
        dropout<<<grid_over(c, (size_t)n * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), (uint32_t)c->step->ordinal, c->step->attr.p,
            s.rank == 3 ? n / channels : 1, s.rank == 3 ? channels : n, c->training, from, to, add);
}

static void launch_forward(const struct cuda_call *c)
{
    launch(c, c->x[0], c->y, false);
}

static void launch_backward(const struct cuda_call *c)
{
    launch(c, c->dy, c->dx[0], adds_dx(c, 0));
}

const struct cuda_kernel cuda_dropout_kernels[] = {
    {STEP_FORWARD, OP_DROPOUT, "cuda dropout", launch_forward, NULL},
    {STEP_BACKWARD, OP_DROPOUT, "cuda dropout", launch_backward, NULL},
    {}};
