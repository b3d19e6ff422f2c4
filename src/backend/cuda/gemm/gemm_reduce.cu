/* Sums in fixed order: partial results of split products, and gradients of biases. */
#include "backend/cuda/gemm/gemm_internal.h"

#include <cuda_runtime.h>

#define THREADS 256

struct reduce_params {
    struct gemm_args a;
    size_t floats, floats_per_row; /* of a model's output; of a row (0: not by rows) */
    int splits, channels;
    bool forward;
};

static __global__ void __launch_bounds__(THREADS) reduce_kernel(const struct reduce_params p)
{
    const int k = (int)blockIdx.y;
    const int n_valid = p.a.n_valid ? p.a.n_valid[k] : 1;
    size_t n = p.floats;
    if (n_valid <= 0)
        return;
    if (p.a.n_valid && p.floats_per_row)
        n = min(n, n_valid * p.floats_per_row);
    const float *part = (const float *)p.a.workspace + (size_t)k * p.splits * p.floats;
    float *out = p.a.out + k * p.a.out_stride;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (size_t)gridDim.x * THREADS) {
        float v = 0.0f;
        for (int s = 0; s < p.splits; s++)
            v += part[s * p.floats + i];
        if (p.forward && p.a.bias)
            v += p.a.bias[k * p.a.bias_stride + i % p.channels];
        if (p.forward && p.a.relu)
            v = v < 0.0f ? 0.0f : v;
        if (!p.forward && p.a.accumulate)
            v += out[i];
        out[i] = v;
    }
}

extern "C" int gemm_reduce(enum gemm_pass pass, const struct gemm_shape *shape,
                           struct gemm_choice choice, const struct gemm_args *args, void *stream)
{
    struct reduce_params p = {*args, gemm_out_floats(pass, shape), 0, choice.splits, shape->out_c,
                              pass == GEMM_FORWARD};
    if (pass != GEMM_WEIGHT_GRAD)
        p.floats_per_row = p.floats / (size_t)shape->batch;
    size_t blocks = (p.floats + THREADS - 1) / THREADS;
    blocks = blocks > 1024 ? 1024 : blocks;
    reduce_kernel<<<dim3((unsigned)blocks, (unsigned)shape->n_models), THREADS, 0,
                    (cudaStream_t)stream>>>(p);
    return cudaGetLastError();
}

/* ---- gradient of a bias ---- */

#define BIAS_ROWS  8 /* threads of a block along pixels; 32 along channels */
#define BIAS_PARTS 64

struct bias_params {
    const float *dy;
    float *db, *part;
    size_t dy_stride, db_stride;
    const int32_t *n_valid;
    int batch, pixels, channels, parts; /* pixels of a row of the batch */
    bool accumulate;
};

static __global__ void bias_part_kernel(const struct bias_params p)
{
    __shared__ float sums[BIAS_ROWS][32];
    const int k = (int)blockIdx.z, c = (int)blockIdx.x * 32 + (int)threadIdx.x;
    const int valid = p.n_valid ? min(p.n_valid[k], p.batch) : p.batch;
    if (valid <= 0)
        return;
    const int64_t whole = (int64_t)p.batch * p.pixels, end = (int64_t)valid * p.pixels;
    const int64_t first = whole * blockIdx.y / p.parts;
    const int64_t last = min(whole * (blockIdx.y + 1) / p.parts, end);
    const float *dy = p.dy + k * p.dy_stride + c;
    float sum = 0.0f;
    if (c < p.channels)
        for (int64_t i = first + threadIdx.y; i < last; i += BIAS_ROWS)
            sum += dy[i * p.channels];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || c >= p.channels)
        return;
    for (int i = 1; i < BIAS_ROWS; i++)
        sum += sums[i][threadIdx.x];
    p.part[((size_t)k * p.parts + blockIdx.y) * p.channels + c] = sum;
}

static __global__ void bias_sum_kernel(const struct bias_params p)
{
    const int k = (int)blockIdx.y, c = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (c >= p.channels || (p.n_valid && p.n_valid[k] <= 0))
        return;
    float sum = 0.0f;
    for (int i = 0; i < p.parts; i++)
        sum += p.part[((size_t)k * p.parts + i) * p.channels + c];
    float *db = p.db + k * p.db_stride + c;
    *db = p.accumulate ? *db + sum : sum;
}

static int bias_parts(const struct gemm_shape *s)
{
    const int64_t n = ((int64_t)s->batch * s->out_h * s->out_w + 63) / 64;
    return n > BIAS_PARTS ? BIAS_PARTS : (int)n;
}

extern "C" size_t gemm_bias_grad_workspace_bytes(const struct gemm_shape *s)
{
    return (size_t)s->n_models * (size_t)bias_parts(s) * (size_t)s->out_c * sizeof(float);
}

extern "C" int gemm_bias_grad(const struct gemm_shape *s, const float *dy, size_t dy_stride,
                              float *db, size_t db_stride, const int32_t *n_valid, bool accumulate,
                              void *workspace, void *stream)
{
    const struct bias_params p = {dy,        db,       (float *)workspace, dy_stride,
                                  db_stride, n_valid,  s->batch,           s->out_h * s->out_w,
                                  s->out_c,  bias_parts(s), accumulate};
    const dim3 grid((unsigned)((p.channels + 31) / 32), (unsigned)p.parts, (unsigned)s->n_models);
    bias_part_kernel<<<grid, dim3(32, BIAS_ROWS), 0, (cudaStream_t)stream>>>(p);
    const dim3 sum_grid((unsigned)((p.channels + 127) / 128), (unsigned)s->n_models);
    bias_sum_kernel<<<sum_grid, 128, 0, (cudaStream_t)stream>>>(p);
    return cudaGetLastError();
}
