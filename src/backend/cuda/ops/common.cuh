/* What all kernels share: a model's part of a call, launches over elements. */
#ifndef BACKEND_CUDA_COMMON_CUH
#define BACKEND_CUDA_COMMON_CUH

#include "backend/cuda/kernel.h"

#define BLOCK 256

/* The part of a call that every kernel needs, passed by value. */
struct lanes {
    const struct cuda_model *model;
    size_t lane, slice;
    int32_t n_models, batch;
};

static inline struct lanes lanes_of(const struct cuda_call *c)
{
    return {c->model, c->lane, c->slice, c->n_models, c->batch};
}

/* Model k's part of what model 0's pointer names; NULL stays NULL. */
template <class T> static __device__ __forceinline__ T *part(T *of_model_0, size_t stride, int k)
{
    return of_model_0 ? of_model_0 + (size_t)k * stride : of_model_0;
}

static __device__ __forceinline__ void put(float *to, bool add, float value)
{
    *to = add ? *to + value : value;
}

/* Element-wise kernels: grid (blocks, K); a thread takes elements a grid apart. */
static inline dim3 grid_over(const struct cuda_call *c, size_t elements)
{
    size_t blocks = (elements + 4 * BLOCK - 1) / (4 * BLOCK);
    blocks = blocks < 1 ? 1 : blocks > 8192 ? 8192 : blocks;
    return dim3((unsigned)blocks, (unsigned)c->n_models);
}

#define FOR_ELEMENTS(i, n)                                                                         \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                        \
         i += (size_t)gridDim.x * blockDim.x)

static inline size_t count_of(struct shape s)
{
    return shape_count(s);
}

static inline int32_t last_of(struct shape s)
{
    return s.d[s.rank - 1];
}

/* Vectors a row holds: a sequence has one at each place. */
static inline int32_t vectors_a_row(struct shape s)
{
    return s.rank == 2 ? s.d[0] : 1;
}

static inline int inputs_of(const struct cuda_call *c)
{
    int n = 0;
    while (n < OP_MAX_INPUTS && c->step->in[n].rank > 0)
        n++;
    return n;
}

static inline bool adds_dx(const struct cuda_call *c, int i)
{
    return c->step->accumulate_dx >> i & 1;
}

static inline bool adds_grad(const struct cuda_call *c, int i)
{
    return c->step->accumulate_grad >> i & 1;
}

/* Sum over the lanes of a warp, the same in all of them. */
template <class T> static __device__ __forceinline__ T warp_sum(T v)
{
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_xor_sync(0xFFFFFFFFu, v, d);
    return v;
}

/* Sum over a block of up to 1024 threads (a multiple of 32), the same in all of them. */
template <class T> static __device__ T block_sum(T v)
{
    __shared__ T of_warp[32];
    const int warp = threadIdx.x / 32, n = blockDim.x / 32;
    v = warp_sum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warp[warp] = v;
    __syncthreads();
    T sum = of_warp[0];
    for (int i = 1; i < n; i++)
        sum += of_warp[i];
    return sum;
}

#endif
