/* Clipping and the optimiser's update, over the whole parameter block of all models. */
#include "backend/cuda/ops/common.cuh"

/* Block (chunk, k): sum of squares of a chunk's gradients. */
static __global__ void grad_squares(struct lanes l, const float *grads, size_t n, float *partial)
{
    const int k = blockIdx.y;
    if (l.model[k].n_valid == 0)
        return;
    const size_t from = (size_t)blockIdx.x * PLAN_CHUNK, to = min(from + PLAN_CHUNK, n);
    grads = part(grads, l.lane, k);
    double sum = 0;
    for (size_t i = from + threadIdx.x; i < to; i += blockDim.x)
        sum += (double)grads[i] * (double)grads[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        ((double *)part(partial, l.lane, k))[blockIdx.x] = sum;
}

static __global__ void grad_scale(struct lanes l, const float *partial, int n_chunks, float *scale)
{
    const int k = blockIdx.x;
    if (l.model[k].n_valid == 0)
        return;
    const double *squares = (const double *)part(partial, l.lane, k);
    double sum = 0;
    for (int i = threadIdx.x; i < n_chunks; i += blockDim.x)
        sum += squares[i];
    sum = block_sum(sum);
    /* A norm that is not a number stays one, so that it is noticed. */
    const double limit = l.model[k].clip_grad_norm, f = limit / (sqrt(sum) + 1e-6);
    if (threadIdx.x == 0)
        *part(scale, l.lane, k) = limit == 0 || f > 1 ? 1.0f : (float)f;
}

static __global__ void update(struct lanes l, float *params, const float *grads, size_t n,
                              int n_slots, const float *scale)
{
    const int k = blockIdx.y;
    if (l.model[k].n_valid == 0)
        return;
    const struct optim_step rule = l.model[k].rule;
    params = part(params, l.slice, k);
    grads = part(grads, l.lane, k);
    scale = part(scale, l.lane, k);
    float *slot[3];
    for (int s = 0; s < 3; s++)
        slot[s] = s < n_slots ? params + (size_t)(1 + s) * n : NULL;
    const float factor = scale ? *scale : 1;
    FOR_ELEMENTS(i, n)
    {
        const float g = scale ? grads[i] * factor : grads[i];
        if (rule.kind == OPTIM_SGD) {
            params[i] = optim_sgd(&rule, params[i], g, slot[0] ? &slot[0][i] : NULL);
            continue;
        }
        float m = slot[0][i], v = slot[1][i], top = slot[2] ? slot[2][i] : 0;
        params[i] = optim_adam(&rule, params[i], g, &m, &v, &top);
        slot[0][i] = m;
        slot[1][i] = v;
        if (slot[2])
            slot[2][i] = top;
    }
}

static void launch_squares(const struct cuda_call *c)
{
    grad_squares<<<dim3((unsigned)c->n_chunks, (unsigned)c->n_models), BLOCK, 0, c->stream>>>(
        lanes_of(c), c->grads, c->param_floats, c->partial);
}

static void launch_scale(const struct cuda_call *c)
{
    grad_scale<<<(unsigned)c->n_models, BLOCK, 0, c->stream>>>(lanes_of(c), c->partial,
                                                               c->n_chunks, c->y);
}

static void launch_update(const struct cuda_call *c)
{
    update<<<grid_over(c, c->param_floats), BLOCK, 0, c->stream>>>(
        lanes_of(c), c->params, c->grads, c->param_floats, c->n_slots, c->x[0]);
}

const struct cuda_kernel cuda_update_kernels[] = {
    {STEP_GRAD_SQUARES, OP_INPUT, "cuda grad_squares", launch_squares, NULL},
    {STEP_GRAD_SCALE, OP_INPUT, "cuda grad_scale", launch_scale, NULL},
    {STEP_UPDATE, OP_INPUT, "cuda update", launch_update, NULL},
    {}};
