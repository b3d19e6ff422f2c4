/* The attention core, a block a query (forward) or a block a head of a row (backward, which
 * computes the probabilities again): scores of one query at a time in shared memory, no L x L
 * matrix anywhere. */
#include "backend/cuda/ops/common.cuh"
#include "base/rng.h"

#define MAX_LENGTH 4096

struct attention {
    struct lanes l;
    int length, width, heads, ld; /* width of a head; floats from place to place of q, k, v */
    bool causal, training;
    int pad_id;
    float p;
    uint32_t ordinal;
    const float *q, *k, *v;
    const int32_t *tokens; /* NULL: no mask */
};

/* One head of one row of one model. */
struct head {
    const float *q, *k, *v;
    const int32_t *tokens;
    size_t first_index, at; /* of dropout; of the head in q, k and v */
    const struct cuda_model *model;
};

static __device__ struct head head_of(const struct attention &a, int k, int row, int h)
{
    struct head out;
    out.at = (size_t)row * a.length * a.ld + (size_t)h * a.width;
    out.q = part(a.q, a.l.lane, k) + out.at;
    out.k = part(a.k, a.l.lane, k) + out.at;
    out.v = part(a.v, a.l.lane, k) + out.at;
    out.tokens = a.tokens ? part(a.tokens, a.l.lane, k) + (size_t)row * a.length : NULL;
    out.first_index = ((size_t)row * a.heads + h) * a.length * a.length;
    out.model = &a.l.model[k];
    return out;
}

static __device__ __forceinline__ bool sees(const struct attention &a, const struct head &h, int i,
                                            int j)
{
    return (!a.causal || j <= i) && (!h.tokens || h.tokens[j] != a.pad_id);
}

/* What dropout multiplies P[i][j] with. */
static __device__ __forceinline__ float factor(const struct attention &a, const struct head &h,
                                               int i, int j)
{
    if (!a.training || a.p == 0)
        return 1;
    const size_t index = h.first_index + (size_t)i * a.length + j;
    const uint32_t word = rng_u32_at(h.model->seed, RNG_DROPOUT, a.ordinal, h.model->epoch,
                                     h.model->batch, (uint32_t)index);
    return rng_unit(word) >= a.p ? 1.0f / (1.0f - a.p) : 0;
}

static __device__ float block_max(float v)
{
    __shared__ float of_warp[32];
    for (int d = 16; d > 0; d >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xFFFFFFFFu, v, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    float top = of_warp[0];
    for (int i = 1; i < (int)blockDim.x / 32; i++)
        top = fmaxf(top, of_warp[i]);
    return top;
}

/* Probabilities of query i into p[]: 0 where it may not look, all 0 where it sees none. */
static __device__ void probabilities(const struct attention &a, const struct head &h, int i,
                                     float *p)
{
    const float scale = (float)(1 / sqrt((double)a.width));
    const float *q = h.q + (size_t)i * a.ld;
    float top = -INFINITY, sum = 0;
    for (int j = threadIdx.x; j < a.length; j += blockDim.x) {
        float s = 0;
        const bool seen = sees(a, h, i, j);
        for (int e = 0; seen && e < a.width; e++)
            s += q[e] * h.k[(size_t)j * a.ld + e];
        p[j] = seen ? scale * s : -INFINITY;
        top = fmaxf(top, p[j]);
    }
    top = block_max(top);
    for (int j = threadIdx.x; j < a.length; j += blockDim.x) {
        p[j] = sees(a, h, i, j) ? expf(p[j] - top) : 0;
        sum += p[j];
    }
    sum = block_sum(sum);
    for (int j = threadIdx.x; j < a.length; j += blockDim.x)
        p[j] = sum == 0 ? 0 : p[j] / sum;
    __syncthreads();
}

/* Block (query, row x head, k). */
static __global__ void forward(struct attention a, float *y)
{
    extern __shared__ float p[];
    const int i = blockIdx.x, row = blockIdx.y / a.heads, n = blockIdx.y % a.heads;
    const int k = blockIdx.z;
    if (row >= a.l.model[k].n_valid)
        return;
    const struct head h = head_of(a, k, row, n);
    probabilities(a, h, i, p);
    for (int j = threadIdx.x; j < a.length; j += blockDim.x)
        p[j] *= factor(a, h, i, j);
    __syncthreads();
    y = part(y, a.l.lane, k) + ((size_t)row * a.length + i) * a.heads * a.width + n * a.width;
    const int end = a.causal ? i + 1 : a.length;
    for (int e = threadIdx.x; e < a.width; e += blockDim.x) {
        float sum = 0;
        for (int j = 0; j < end; j++)
            sum += p[j] != 0 ? p[j] * h.v[(size_t)j * a.ld + e] : 0;
        y[e] = sum;
    }
}

struct gradients {
    const float *dy;
    float *q, *k, *v; /* NULL where nobody needs it */
    bool add_q, add_k, add_v;
};

/* Adds query i's share to the gradients of its head. */
static __device__ void backward_query(const struct attention &a, const struct head &h,
                                      const struct gradients &g, int i, const float *dy, float *p,
                                      float *ds)
{
    const float scale = (float)(1 / sqrt((double)a.width));
    float sum = 0;
    probabilities(a, h, i, p);
    for (int j = threadIdx.x; j < a.length; j += blockDim.x) {
        const float f = factor(a, h, i, j);
        float dp = 0;
        for (int e = 0; sees(a, h, i, j) && e < a.width; e++)
            dp += dy[e] * h.v[(size_t)j * a.ld + e];
        ds[j] = f * dp;
        sum += p[j] * ds[j];
    }
    sum = block_sum(sum);
    for (int j = threadIdx.x; j < a.length; j += blockDim.x) {
        ds[j] = scale * p[j] * (ds[j] - sum);
        p[j] *= factor(a, h, i, j);
    }
    __syncthreads();
    const int end = a.causal ? i + 1 : a.length;
    for (int e = threadIdx.x; g.q && e < a.width; e += blockDim.x) {
        float dq = 0;
        for (int j = 0; j < end; j++)
            dq += ds[j] * h.k[(size_t)j * a.ld + e];
        put(&g.q[(size_t)i * a.ld + e], g.add_q, dq);
    }
    for (int t = threadIdx.x; t < end * a.width; t += blockDim.x) {
        const int j = t / a.width, e = t % a.width;
        const size_t at = (size_t)j * a.ld + e;
        if (g.k)
            g.k[at] += ds[j] * h.q[(size_t)i * a.ld + e];
        if (g.v)
            g.v[at] += p[j] * dy[e];
    }
    __syncthreads();
}

static __device__ void zero(const struct attention &a, float *to)
{
    for (int t = threadIdx.x; t < a.length * a.width; t += blockDim.x)
        to[(size_t)(t / a.width) * a.ld + t % a.width] = 0;
}

/* Block (row x head, k); each element of k's and v's gradients is always the same thread's. */
static __global__ void backward(struct attention a, struct gradients g)
{
    extern __shared__ float p[];
    const int row = blockIdx.x / a.heads, n = blockIdx.x % a.heads, k = blockIdx.y;
    if (row >= a.l.model[k].n_valid)
        return;
    const struct head h = head_of(a, k, row, n);
    const float *dy = part(g.dy, a.l.lane, k) + (size_t)row * a.length * a.heads * a.width +
                      (size_t)n * a.width;
    g.q = g.q ? part(g.q, a.l.lane, k) + h.at : NULL;
    g.k = g.k ? part(g.k, a.l.lane, k) + h.at : NULL;
    g.v = g.v ? part(g.v, a.l.lane, k) + h.at : NULL;
    if (g.k && !g.add_k)
        zero(a, g.k);
    if (g.v && !g.add_v)
        zero(a, g.v);
    __syncthreads();
    for (int i = 0; i < a.length; i++)
        backward_query(a, h, g, i, dy + (size_t)i * a.heads * a.width, p, p + a.length);
}

static bool is_packed(const struct cuda_call *c)
{
    return inputs_of(c) - (c->step->attr.masked != 0) == 1;
}

static struct attention attention_of(const struct cuda_call *c)
{
    const struct op_attr *at = &c->step->attr;
    const bool packed = is_packed(c);
    const int d = c->step->out.d[1];
    struct attention a = {lanes_of(c)};
    a.length = c->step->in[0].d[0];
    a.heads = at->heads;
    a.width = d / at->heads;
    a.ld = packed ? 3 * d : d;
    a.causal = at->causal;
    a.training = c->training;
    a.pad_id = at->pad_id;
    a.p = at->p;
    a.ordinal = (uint32_t)c->step->ordinal;
    a.q = c->x[0];
    a.k = packed ? c->x[0] + d : c->x[1];
    a.v = packed ? c->x[0] + 2 * d : c->x[2];
    a.tokens = at->masked ? (const int32_t *)c->x[inputs_of(c) - 1] : NULL;
    return a;
}

static void launch_forward(const struct cuda_call *c)
{
    const struct attention a = attention_of(c);
    const dim3 grid((unsigned)a.length, (unsigned)(c->batch * a.heads), (unsigned)c->n_models);
    forward<<<grid, 128, (size_t)a.length * sizeof(float), c->stream>>>(a, c->y);
}

static void launch_backward(const struct cuda_call *c)
{
    const struct attention a = attention_of(c);
    const bool packed = is_packed(c);
    const int d = a.heads * a.width;
    const struct gradients g = {c->dy,
                                c->dx[0],
                                packed ? (c->dx[0] ? c->dx[0] + d : NULL) : c->dx[1],
                                packed ? (c->dx[0] ? c->dx[0] + 2 * d : NULL) : c->dx[2],
                                adds_dx(c, 0),
                                adds_dx(c, packed ? 0 : 1),
                                adds_dx(c, packed ? 0 : 2)};
    const dim3 grid((unsigned)(c->batch * a.heads), (unsigned)c->n_models);
    backward<<<grid, BLOCK, 2 * (size_t)a.length * sizeof(float), c->stream>>>(a, g);
}

const struct cuda_kernel cuda_attention_kernels[] = {
    {STEP_FORWARD, OP_ATTENTION, "cuda attention", launch_forward, NULL},
    {STEP_BACKWARD, OP_ATTENTION, "cuda attention", launch_backward, NULL},
    {}};
