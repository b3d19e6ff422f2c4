/* A product of two matrices, for all K at once, in plain fp32: C[m][n] = sum over r of A[m][r]
 * B[r][n].  What A, B and C are -- a matrix, an image's taps -- is said by a type P:
 *     p.begin(lanes, k, slice)  sets it to model k (and to a group of channels, or a split of r)
 *     p.m, p.n, p.r0, p.r1      sizes; r runs from r0 to r1
 *     p.a(m, r), p.b(r, n)      elements; called within the sizes, for r below r1
 *     p.c(m, n, sum)            takes a result
 * A block of 256 threads makes 64 x 64 results, 4 x 4 a thread.  The order of every sum is that of
 * r, so bits do not depend on K.
 */
#ifndef BACKEND_CUDA_TILE_CUH
#define BACKEND_CUDA_TILE_CUH

#include "backend/cuda/ops/common.cuh"

#define TILE   64
#define TILE_R 16

/* What a thread carries from memory into the tiles of one step along r: the addresses are those of
 * the nearest elements inside, so that all loads can be under way at once; outside counts as 0. */
template <class P, bool a_by_r, bool b_by_r>
static __device__ __forceinline__ void fetch(const P &p, int m0, int n0, int r0, float av[4],
                                             float bv[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int e = i * 256 + threadIdx.x;
        const int ar = r0 + (a_by_r ? e % TILE_R : e / TILE);
        const int am = m0 + (a_by_r ? e / TILE_R : e % TILE);
        const int br = r0 + (b_by_r ? e % TILE_R : e / TILE);
        const int bn = n0 + (b_by_r ? e / TILE_R : e % TILE);
        const float a = p.a(min(am, p.m - 1), min(ar, p.r1 - 1));
        const float b = p.b(min(br, p.r1 - 1), min(bn, p.n - 1));
        av[i] = am < p.m && ar < p.r1 ? a : 0;
        bv[i] = bn < p.n && br < p.r1 ? b : 0;
    }
}

/* a_by_r: neighbouring threads read A along r (where it lies so in memory), else along m. */
template <class P, bool a_by_r, bool b_by_r> static __global__ void product(struct lanes l, P p)
{
    __shared__ float as[TILE_R][TILE + 4], bs[TILE_R][TILE + 4];
    const int per_model = gridDim.z / l.n_models, k = blockIdx.z / per_model;
    if (l.model[k].n_valid == 0)
        return;
    p.begin(l, k, blockIdx.z % per_model);
    const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE, t = threadIdx.x;
    if (m0 >= p.m || n0 >= p.n)
        return;
    const int ty = t / 16 * 4, tx = t % 16 * 4;
    float sum[4][4] = {}, av[4], bv[4];
    if (p.r0 < p.r1)
        fetch<P, a_by_r, b_by_r>(p, m0, n0, p.r0, av, bv);
    for (int r0 = p.r0; r0 < p.r1; r0 += TILE_R) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int e = i * 256 + t;
            as[a_by_r ? e % TILE_R : e / TILE][a_by_r ? e / TILE_R : e % TILE] = av[i];
            bs[b_by_r ? e % TILE_R : e / TILE][b_by_r ? e / TILE_R : e % TILE] = bv[i];
        }
        __syncthreads();
        if (r0 + TILE_R < p.r1)
            fetch<P, a_by_r, b_by_r>(p, m0, n0, r0 + TILE_R, av, bv);
        /* A step's sums apart: fewer digits are lost in long sums. */
        float step[4][4] = {};
#pragma unroll
        for (int r = 0; r < TILE_R; r++) {
            const float4 a = *(const float4 *)&as[r][ty], b = *(const float4 *)&bs[r][tx];
            const float am[4] = {a.x, a.y, a.z, a.w}, bn[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    step[i][j] += am[i] * bn[j];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] += step[i][j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (m0 + ty + i < p.m && n0 + tx + j < p.n)
                p.c(m0 + ty + i, n0 + tx + j, sum[i][j]);
}

/* Largest m and n; `slices` a model. */
template <bool a_by_r, bool b_by_r, class P>
static void launch_product(const struct cuda_call *c, size_t m, size_t n, int slices, P p)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE),
                    (unsigned)(c->n_models * slices));
    product<P, a_by_r, b_by_r><<<grid, 256, 0, c->stream>>>(lanes_of(c), p);
}

/* Splits of a long sum, so that a product with few results still fills the device: from shapes
 * alone.  1: none. */
static inline int product_splits(size_t m, size_t n, size_t r)
{
    const size_t tiles = ((m + TILE - 1) / TILE) * ((n + TILE - 1) / TILE);
    size_t splits = 256 / tiles;
    const size_t most = r / 128;
    splits = splits > most ? most : splits;
    return (int)(splits < 1 ? 1 : splits);
}

/* Adds the splits of a product in order: grid (blocks, K). */
static __global__ void add_splits(struct lanes l, const float *splits, size_t stride, int n_splits,
                                  size_t n, float *to, bool add)
{
    const int k = blockIdx.y;
    if (l.model[k].n_valid == 0)
        return;
    splits += k * stride;
    to = part(to, l.lane, k);
    FOR_ELEMENTS(i, n)
    {
        float sum = splits[i];
        for (int s = 1; s < n_splits; s++)
            sum += splits[s * n + i];
        put(&to[i], add, sum);
    }
}

#endif
