/* Two sums down each column of a matrix of n_valid * per_row rows, for all K at once: statistics of
 * batch norm, gradients of biases.
 *
 * A block takes a tile of columns and a range of rows; its sums go to the workspace as doubles, and
 * the last block of a tile to arrive adds them in order of rows.  So bits depend on shapes alone.
 */
#ifndef BACKEND_CUDA_COLUMNS_CUH
#define BACKEND_CUDA_COLUMNS_CUH

#include "backend/cuda/ops/common.cuh"

#define COLUMN_ROWS 32 /* rows a thread sums in floats */

struct columns {
    struct lanes l;
    uint32_t per_row, channels, wide, chunks, rows_a_chunk; /* wide: columns of a tile */
    double *sums; /* a model: chunks x channels x 2 */
    size_t stride;
    uint32_t *counters;
};

static inline uint32_t columns_wide(uint32_t channels)
{
    uint32_t wide = 1;
    while (wide < channels && wide < 32)
        wide *= 2;
    return wide;
}

static inline uint32_t columns_chunks(size_t rows, uint32_t channels)
{
    const size_t at_once = (size_t)BLOCK / columns_wide(channels) * COLUMN_ROWS;
    const size_t n = (rows + at_once - 1) / at_once;
    return (uint32_t)(n < 1 ? 1 : n > 256 ? 256 : n);
}

static inline size_t columns_workspace(size_t rows, uint32_t channels)
{
    return 4 * (size_t)columns_chunks(rows, channels) * channels;
}

/* F: what is summed.  f.begin(k) sets it to a model, f.at(row, ch, &a, &b) adds an element,
 * f.end(ch, sum_a, sum_b) takes a column's sums. */
template <class F> static __global__ void column_sums(struct columns c, F f)
{
    __shared__ double shared[2][BLOCK];
    __shared__ bool is_last;
    const int k = blockIdx.z;
    const struct cuda_model *m = &c.l.model[k];
    if (m->n_valid == 0)
        return;
    const size_t rows = (size_t)m->n_valid * c.per_row;
    const uint32_t tx = threadIdx.x % c.wide, ty = threadIdx.x / c.wide, tall = BLOCK / c.wide;
    const uint32_t ch = blockIdx.x * c.wide + tx;
    double *sums = c.sums + k * c.stride;
    f.begin(c.l, k);
    double a = 0, b = 0;
    const size_t from = (size_t)blockIdx.y * c.rows_a_chunk;
    const size_t to = min(from + c.rows_a_chunk, rows);
    if (ch < c.channels) {
        for (size_t r = from + ty; r < to;) {
            float fa = 0, fb = 0;
#pragma unroll 8
            for (int i = 0; i < COLUMN_ROWS; i++, r += tall)
                if (r < to)
                    f.at(r, ch, &fa, &fb);
            a += (double)fa;
            b += (double)fb;
        }
    }
    shared[0][threadIdx.x] = a;
    shared[1][threadIdx.x] = b;
    __syncthreads();
    if (ty == 0 && ch < c.channels) {
        for (uint32_t i = 1; i < tall; i++) {
            a += shared[0][i * c.wide + tx];
            b += shared[1][i * c.wide + tx];
        }
        if (c.chunks == 1) {
            f.end(ch, a, b);
        } else {
            sums[2 * ((size_t)blockIdx.y * c.channels + ch)] = a;
            sums[2 * ((size_t)blockIdx.y * c.channels + ch) + 1] = b;
            __threadfence();
        }
    }
    if (c.chunks == 1)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicInc(&c.counters[k * CUDA_MAX_COUNTERS + blockIdx.x], c.chunks - 1) ==
                  c.chunks - 1;
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    a = b = 0;
    if (ch < c.channels)
        for (uint32_t i = ty; i < c.chunks; i += tall) {
            a += __ldcg(&sums[2 * ((size_t)i * c.channels + ch)]);
            b += __ldcg(&sums[2 * ((size_t)i * c.channels + ch) + 1]);
        }
    shared[0][threadIdx.x] = a;
    shared[1][threadIdx.x] = b;
    __syncthreads();
    if (ty != 0 || ch >= c.channels)
        return;
    for (uint32_t i = 1; i < tall; i++) {
        a += shared[0][i * c.wide + tx];
        b += shared[1][i * c.wide + tx];
    }
    f.end(ch, a, b);
}

/* Rows a batch row holds: `per_row`.  The call's workspace from `skip` floats on is used. */
template <class F>
static void launch_columns(const struct cuda_call *call, uint32_t per_row, uint32_t channels,
                           size_t skip, F f)
{
    const size_t rows = (size_t)call->batch * per_row;
    struct columns c = {lanes_of(call), per_row, channels};
    c.wide = columns_wide(channels);
    c.chunks = columns_chunks(rows, channels);
    c.rows_a_chunk = (uint32_t)((rows + c.chunks - 1) / c.chunks);
    c.sums = (double *)(call->workspace + skip);
    c.stride = call->workspace_floats / 2;
    c.counters = call->counters;
    const dim3 grid((channels + c.wide - 1) / c.wide, c.chunks, (unsigned)call->n_models);
    column_sums<<<grid, BLOCK, 0, call->stream>>>(c, f);
}

/* The gradient of a bias: sums of dy. */
struct bias_sums {
    const float *dy;
    float *grad;
    size_t channels;
    bool add;
    __device__ void begin(const struct lanes &l, int k)
    {
        dy = part(dy, l.lane, k);
        grad = part(grad, l.lane, k);
    }
    __device__ void at(size_t row, uint32_t ch, float *a, float *) const
    {
        *a += dy[row * channels + ch];
    }
    __device__ void end(uint32_t ch, double a, double) const
    {
        put(&grad[ch], add, (float)a);
    }
};

static inline void launch_bias_gradient(const struct cuda_call *c, uint32_t per_row,
                                        uint32_t channels)
{
    const struct bias_sums f = {c->dy, c->grad[1], channels, adds_grad(c, 1)};
    launch_columns(c, per_row, channels, 0, f);
}

#endif
