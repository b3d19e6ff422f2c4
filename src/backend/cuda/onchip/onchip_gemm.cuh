/* Products within a block, operands in shared memory, by all ONCHIP_THREADS threads.
 *   forward     out[r][n] = act(sum_k in[r][k] w[k][n] + bias[n])
 *   data grad   h[r][i]   = h[r][i] > 0 ? sum_j dz[r][j] w[i][j] : 0       (in place of relu's
 * output) weight grad g[i][j]   (+)= sum_r h[r][i] dz[r][j] Row lengths as onchip_layout.h.  A
 * warp's 32 lanes lie 8 x 4 over a tile; where a dimension is too short for its lanes, the free
 * ones split the sum and add up by shuffles, in fixed order. */
#ifndef BACKEND_CUDA_ONCHIP_GEMM_CUH
#define BACKEND_CUDA_ONCHIP_GEMM_CUH

#include "backend/cuda/onchip/onchip_layout.h"

#include <stdint.h>

#define ONCHIP_WARPS (ONCHIP_THREADS / 32)

/* Shared memory by 32-bit address: one addition a load, where pointers cost a multiply and a shift.
 */
static __device__ __forceinline__ uint32_t shared_at(const float *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ float4 shared4(uint32_t at)
{
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(at));
    return v;
}

/* Number t of a tile among n_m x (columns) to row and column of tiles without dividing: rows are
 * counted in a power of 2, those from n_m on being nobody's. */
static __device__ __forceinline__ int tile_bits(int n_m)
{
    return 32 - __clz(n_m - 1);
}

static __device__ __forceinline__ float4 load4(const float *p)
{
    return *(const float4 *)p;
}

static __device__ __forceinline__ void fma4(float (&acc)[4], float a, float4 b)
{
    acc[0] = fmaf(a, b.x, acc[0]);
    acc[1] = fmaf(a, b.y, acc[1]);
    acc[2] = fmaf(a, b.z, acc[2]);
    acc[3] = fmaf(a, b.w, acc[3]);
}

/* A thread: rows m0 + 8 i (i < TM), 4 neighbouring columns. */
template <int TM>
static __device__ void forward_fma(const float *in, int ldi, const float *w, int ldw, float *out,
                                   int rows, int n_in4, int n_out4, bool relu)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool split = n_out4 <= 4; /* one column group: the 4 lanes of a row split k */
    const int lane_n = split ? 0 : lane >> 3, k_step = split ? 16 : 4;
    const int tiles_m = (rows + 8 * TM - 1) / (8 * TM), tiles_n = (n_out4 + 15) / 16;
    const int bits = tile_bits(tiles_m);
    for (int t = warp; t < tiles_n << bits; t += ONCHIP_WARPS) {
        const int tile_m = t & ((1 << bits) - 1), m0 = tile_m * 8 * TM + (lane & 7);
        if (tile_m >= tiles_m)
            continue;
        int n0 = (t >> bits) * 16 + lane_n * 4;
        const bool active = n0 < n_out4;
        n0 = active ? n0 : 0;
        float acc[TM][4];
        const float4 b0 = load4(w + n_in4 * ldw + n0);
        const float use = split && lane >= 8 ? 0.0f : 1.0f;
#pragma unroll
        for (int i = 0; i < TM; i++) {
            acc[i][0] = b0.x * use;
            acc[i][1] = b0.y * use;
            acc[i][2] = b0.z * use;
            acc[i][3] = b0.w * use;
        }
        const int k_first = split ? (lane >> 3) * 4 : 0;
        uint32_t pa = shared_at(in + m0 * ldi + k_first), pb = shared_at(w + n0 + k_first * ldw);
        const uint32_t row = ldw * 4u, rows8 = ldi * 32u, step = k_step * row;
#pragma unroll 2
        for (int k = k_first; k < n_in4; k += k_step) {
            float4 a[TM];
#pragma unroll
            for (int i = 0; i < TM; i++)
                a[i] = shared4(pa + i * rows8);
            const float4 b0 = shared4(pb), b1 = shared4(pb + row), b2 = shared4(pb + 2 * row);
            const float4 b3 = shared4(pb + 3 * row);
            pa += k_step * 4;
            pb += step;
#pragma unroll
            for (int i = 0; i < TM; i++) {
                fma4(acc[i], a[i].x, b0);
                fma4(acc[i], a[i].y, b1);
                fma4(acc[i], a[i].z, b2);
                fma4(acc[i], a[i].w, b3);
            }
        }
#pragma unroll
        for (int i = 0; i < TM; i++) {
            if (split)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    acc[i][j] += __shfl_xor_sync(0xFFFFFFFFu, acc[i][j], 8);
                    acc[i][j] += __shfl_xor_sync(0xFFFFFFFFu, acc[i][j], 16);
                }
            if (active && m0 + i * 8 < rows && !(split && lane >= 8)) {
                float4 v = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
                if (relu) /* as the CPU's: NaN stays NaN */
                    v = make_float4(v.x < 0 ? 0 : v.x, v.y < 0 ? 0 : v.y, v.z < 0 ? 0 : v.z,
                                    v.w < 0 ? 0 : v.w);
                *(float4 *)(out + (m0 + i * 8) * ldw + n0) = v;
            }
        }
    }
}

/* A thread: rows m0 + 8 i, columns n0 + 4 j: neighbouring lanes meet neighbouring rows of w. */
template <int TM>
static __device__ void data_grad_fma(const float *dz, const float *w, int ldz, float *h, int ldh,
                                     int rows, int n_out4, int n_in4)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int tiles_m = (rows + 8 * TM - 1) / (8 * TM), tiles_n = (n_in4 + 15) / 16;
    const int bits = tile_bits(tiles_m);
    for (int t = warp; t < tiles_n << bits; t += ONCHIP_WARPS) {
        const int tile_m = t & ((1 << bits) - 1), m0 = tile_m * 8 * TM + (lane & 7);
        if (tile_m >= tiles_m)
            continue;
        const int n0 = (t >> bits) * 16 + (lane >> 3);
        float acc[TM][4];
#pragma unroll
        for (int i = 0; i < TM; i++)
            acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = 0.0f;
        uint32_t pa = shared_at(dz + m0 * ldz), pb = shared_at(w + n0 * ldz);
        const uint32_t row = ldz * 4u;
#pragma unroll 2
        for (int k = 0; k < n_out4; k += 4) {
            float4 a[TM], b[4];
#pragma unroll
            for (int i = 0; i < TM; i++)
                a[i] = shared4(pa + i * 8 * row);
#pragma unroll
            for (int j = 0; j < 4; j++)
                b[j] = shared4(pb + j * 4 * row);
            pa += 16;
            pb += 16;
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] = fmaf(a[i].w, b[j].w,
                                     fmaf(a[i].z, b[j].z,
                                          fmaf(a[i].y, b[j].y, fmaf(a[i].x, b[j].x, acc[i][j]))));
        }
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (m0 + i * 8 < rows && n0 + j * 4 < n_in4) {
                    float *p = h + (m0 + i * 8) * ldh + n0 + j * 4;
                    *p = *p > 0.0f ? acc[i][j] : 0.0f;
                }
    }
}

/* A thread: 4 TM4 rows of g (groups of 4, 32 apart), 4 neighbouring columns; all rows of the chunk,
 * or every n_split-th. */
template <int TM4>
static __device__ void weight_grad_fma(const float *h, int ldh, const float *dz, int ldz, float *g,
                                       int rows, int n_in4, int n_out4, bool add)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int bits_m = min(3, tile_bits(n_in4 / 4)), bits_n = min(2, tile_bits(n_out4 / 4));
    const int lanes_m = 1 << bits_m, lanes_n = 1 << bits_n, n_split = 32 >> (bits_m + bits_n);
    const int lm = lane & (lanes_m - 1), ln = lane >> bits_m & (lanes_n - 1);
    const int ls = lane >> (bits_m + bits_n);
    const int wide = lanes_m * 4; /* distance of a thread's groups */
    const int tiles_m = (n_in4 + wide * TM4 - 1) / TM4 >> (bits_m + 2);
    const int tiles_n = (n_out4 + lanes_n * 4 - 1) >> (bits_n + 2);
    const int bits = tile_bits(tiles_m);
    for (int t = warp; t < tiles_n << bits; t += ONCHIP_WARPS) {
        const int tile_m = t & ((1 << bits) - 1), m0 = tile_m * wide * TM4 + lm * 4;
        if (tile_m >= tiles_m)
            continue;
        const int n0 = ((t >> bits) * lanes_n + ln) * 4;
        const bool active = n0 < n_out4;
        float acc[TM4 * 4][4];
#pragma unroll
        for (int i = 0; i < TM4 * 4; i++)
            acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = 0.0f;
        uint32_t pb = shared_at(dz + (active ? n0 : 0) + ls * ldz), pa[TM4];
        const uint32_t step_z = n_split * ldz * 4u, step_h = n_split * ldh * 4u;
#pragma unroll
        for (int i = 0; i < TM4; i++)
            pa[i] = shared_at(h + (m0 + i * wide < n_in4 ? m0 + i * wide : 0) + ls * ldh);
#pragma unroll 4
        for (int r = ls; r < rows; r += n_split) {
            const float4 b = shared4(pb);
            pb += step_z;
#pragma unroll
            for (int i = 0; i < TM4; i++) {
                const float4 a = shared4(pa[i]);
                pa[i] += step_h;
                fma4(acc[4 * i], a.x, b);
                fma4(acc[4 * i + 1], a.y, b);
                fma4(acc[4 * i + 2], a.z, b);
                fma4(acc[4 * i + 3], a.w, b);
            }
        }
#pragma unroll
        for (int i = 0; i < TM4 * 4; i++) {
            for (int o = lanes_m * lanes_n; o < 32; o *= 2)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] += __shfl_xor_sync(0xFFFFFFFFu, acc[i][j], o);
            const int m = m0 + i / 4 * wide + i % 4;
            if (active && ls == 0 && m < n_in4) {
                float4 *p = (float4 *)(g + m * ldz + n0);
                float4 v = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
                if (add) {
                    const float4 old = *p;
                    v = make_float4(old.x + v.x, old.y + v.y, old.z + v.z, old.w + v.w);
                }
                *p = v;
            }
        }
    }
}

/* g[j] (+)= sum_r dz[r][j]: 8 lanes a column. */
static __device__ void bias_grad(const float *dz, int ldz, float *g, int rows, int n_out4, bool add)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int j = warp * 4 + (lane >> 3); j - (lane >> 3) < n_out4; j += ONCHIP_WARPS * 4) {
        float sum = 0.0f;
        for (int r = lane & 7; r < rows; r += 8)
            sum += dz[r * ldz + j];
        for (int o = 1; o < 8; o *= 2)
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, o);
        if ((lane & 7) == 0)
            g[j] = add ? g[j] + sum : sum;
    }
}

/* ---- tensor cores: mma m16n8k8, tf32 ---- */

static __device__ __forceinline__ uint32_t tf32_of(float v)
{
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}

static __device__ __forceinline__ void mma_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                                uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 16 x 8 NF of sum_k a(m, k) b(k, n); element (m, k) of a at a[m * am + k * ak], b alike.  n_k is a
 * multiple of 4. */
template <int NF>
static __device__ __forceinline__ void tile_tf32(float (&acc)[NF][4], const float *a, int am,
                                                 int ak, const float *b, int bk, int bn, int n_k)
{
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
    const float *pa = a + g * am + q * ak, *pb = b + q * bk + g * bn;
#pragma unroll 2
    for (int k = 0; k < n_k; k += 8) {
        const bool full = k + 8 <= n_k;
        uint32_t fa[4];
        fa[0] = tf32_of(pa[k * ak]);
        fa[1] = tf32_of(pa[k * ak + 8 * am]);
        fa[2] = full ? tf32_of(pa[(k + 4) * ak]) : 0;
        fa[3] = full ? tf32_of(pa[(k + 4) * ak + 8 * am]) : 0;
#pragma unroll
        for (int j = 0; j < NF; j++) {
            const uint32_t b0 = tf32_of(pb[k * bk + j * 8 * bn]);
            const uint32_t b1 = full ? tf32_of(pb[(k + 4) * bk + j * 8 * bn]) : 0;
            mma_tf32(acc[j], fa, b0, b1);
        }
    }
}

enum tile_end { END_FORWARD, END_FORWARD_RELU, END_MASK, END_STORE, END_ADD };

/* All tiles of an M x N product; out[m * ldo + n]. */
template <int NF>
static __device__ void product_tf32(const float *a, int am, int ak, const float *b, int bk, int bn,
                                    const float *bias, float *out, int ldo, int n_m, int n_n,
                                    int n_k, enum tile_end end)
{
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3, warp = threadIdx.x >> 5;
    const int tiles_m = (n_m + 15) / 16, tiles_n = (n_n + 8 * NF - 1) / (8 * NF);
    const int bits = tile_bits(tiles_m);
    for (int t = warp; t < tiles_n << bits; t += ONCHIP_WARPS) {
        const int tile_m = t & ((1 << bits) - 1), m0 = tile_m * 16, n0 = (t >> bits) * 8 * NF;
        if (tile_m >= tiles_m)
            continue;
        float acc[NF][4];
#pragma unroll
        for (int j = 0; j < NF; j++)
            acc[j][0] = acc[j][1] = acc[j][2] = acc[j][3] = 0.0f;
        tile_tf32<NF>(acc, a + m0 * am, am, ak, b + n0 * bn, bk, bn, n_k);
#pragma unroll
        for (int j = 0; j < NF; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int m = m0 + g + (i >> 1) * 8, n = n0 + j * 8 + q * 2 + (i & 1);
                if (m >= n_m || n >= n_n)
                    continue;
                float *p = out + m * ldo + n;
                float v = acc[j][i];
                if (end <= END_FORWARD_RELU)
                    v += bias[n];
                if (end == END_FORWARD_RELU)
                    v = v < 0.0f ? 0.0f : v;
                if (end == END_MASK)
                    v = *p > 0.0f ? v : 0.0f;
                if (end == END_ADD)
                    v = *p + v;
                *p = v;
            }
    }
}

#endif
