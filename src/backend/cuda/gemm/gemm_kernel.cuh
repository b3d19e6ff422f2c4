/* The stacked implicit GEMM: one kernel template for three passes and three kinds of arithmetic.
 *
 *   pass         rows m                     columns n    depth k
 *   FORWARD      output pixels (row,r,q)    out channel  (tap, in channel)
 *   DATA_GRAD    input pixels of one class  in channel   (tap, out channel)
 *   WEIGHT_GRAD  (tap, in channel)          out channel  output pixels (row,r,q)
 *
 * A stride s scatters a data gradient: input pixels of equal remainder modulo s (a class) meet the
 * same taps, so each class is a dense product over those taps alone.
 *
 * Operands pass from global memory through registers to shared memory, where they are rounded to the
 * arithmetic's type: words of one fp32 or tf32, or of two neighbouring k in bf16, so that a fragment
 * of mma m16n8k8 (tf32) and m16n8k16 (bf16) has the same words.  While a tile is multiplied, the next
 * one is on its way. */
#ifndef BACKEND_CUDA_GEMM_KERNEL_CUH
#define BACKEND_CUDA_GEMM_KERNEL_CUH

#include "backend/cuda/gemm/gemm_internal.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <type_traits>

#define GEMM_THREADS 256
#define GEMM_BK      16 /* words of a tile's depth */

struct gemm_params {
    struct gemm_shape s;
    struct gemm_args a;
    int splits, classes;    /* classes: stride_h x stride_w of a data gradient, else 1 */
    size_t out_floats;      /* of one model: distance of partial results in the workspace */
};

/* A tap of the kernel as seen by a block: where it reads, which weights it meets. */
struct gemm_tap {
    int16_t dh, dw;
    int32_t index;
};

/* Division by a number that a block keeps, without dividing: the product with its reciprocal is off
 * by one at most. */
struct gemm_divisor {
    int d;
    uint32_t reciprocal;
};
static __device__ __forceinline__ struct gemm_divisor gemm_divisor_of(int d)
{
    return {d, 0xFFFFFFFFu / (uint32_t)d};
}
static __device__ __forceinline__ int gemm_divide(int n, struct gemm_divisor by, int *rest)
{
    int q = (int)__umulhi((uint32_t)n, by.reciprocal), r = n - q * by.d;
    if (r >= by.d) {
        q++;
        r -= by.d;
    }
    *rest = r;
    return q;
}

/* What a block works on. */
struct gemm_block {
    int model, class_h, class_w, group, split;
    int n_valid;
    int rows_h, rows_w; /* pixels of a row of the batch (of the class) */
    int M, N, K;
    struct gemm_divisor by_hw, by_w;
    const float *a, *b;
    float *out;
};

template <int PASS>
static __device__ __forceinline__ struct gemm_block gemm_block_of(const gemm_params &p)
{
    struct gemm_block b;
    int z = (int)blockIdx.z;
    b.split = z % p.splits;
    z /= p.splits;
    b.group = z % p.s.groups;
    z /= p.s.groups;
    const int cls = z % p.classes;
    b.model = z / p.classes;
    b.class_h = cls / p.s.stride_w;
    b.class_w = cls % p.s.stride_w;
    b.n_valid = p.a.n_valid ? min(p.a.n_valid[b.model], p.s.batch) : p.s.batch;
    b.a = p.a.a + b.model * p.a.a_stride;
    b.b = p.a.b + b.model * p.a.b_stride;
    b.out = p.splits > 1 ? (float *)p.a.workspace + (size_t)(b.model * p.splits + b.split) *
                                                        p.out_floats
                         : p.a.out + b.model * p.a.out_stride;
    const int in_g = p.s.in_c / p.s.groups, out_g = p.s.out_c / p.s.groups;
    if (PASS == GEMM_DATA_GRAD) {
        b.rows_h = (p.s.in_h - b.class_h + p.s.stride_h - 1) / p.s.stride_h;
        b.rows_w = (p.s.in_w - b.class_w + p.s.stride_w - 1) / p.s.stride_w;
        b.N = in_g;
        b.a += b.group * out_g;
        b.b += b.group * out_g;
        b.out += b.group * in_g;
    } else {
        b.rows_h = p.s.out_h;
        b.rows_w = p.s.out_w;
        b.N = out_g;
        b.a += b.group * in_g;
        b.b += b.group * out_g;
        b.out += b.group * out_g;
    }
    b.by_hw = gemm_divisor_of(b.rows_h * b.rows_w);
    b.by_w = gemm_divisor_of(b.rows_w);
    return b;
}

/* Taps that the block's pixels meet, in order; returns how many.  One thread. */
template <int PASS>
static __device__ int gemm_taps(const gemm_params &p, const struct gemm_block &b,
                                struct gemm_tap *taps)
{
    int n = 0;
    for (int t = 0; t < p.s.kernel_h * p.s.kernel_w; t++) {
        int dh = t / p.s.kernel_w * p.s.dilation_h - p.s.pad_h;
        int dw = t % p.s.kernel_w * p.s.dilation_w - p.s.pad_w;
        if (PASS == GEMM_DATA_GRAD) {
            dh = b.class_h - dh;
            dw = b.class_w - dw;
            if (dh % p.s.stride_h || dw % p.s.stride_w)
                continue;
            dh /= p.s.stride_h;
            dw /= p.s.stride_w;
        }
        taps[n].dh = (int16_t)dh;
        taps[n].dw = (int16_t)dw;
        taps[n++].index = t;
    }
    return n;
}

template <int VEC> static __device__ __forceinline__ float4 gemm_load(const float *p, int n)
{
    if (VEC == 4)
        return n > 0 ? *(const float4 *)p : make_float4(0, 0, 0, 0);
    return make_float4(n > 0 ? p[0] : 0, n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0);
}

static __device__ __forceinline__ uint32_t gemm_tf32(float v)
{
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}

static __device__ __forceinline__ uint32_t gemm_bf16x2(float lo, float hi)
{
    const __nv_bfloat162 v = __floats2bfloat162_rn(lo, hi);
    return *(const uint32_t *)&v;
}

template <int MATH> static __device__ __forceinline__ uint32_t gemm_word(float v)
{
    return MATH == GEMM_TF32 ? gemm_tf32(v) : __float_as_uint(v);
}

/* Places of a tile of R rows (m or n) in shared memory: k-major [k][R + pad] for fp32 and for
 * operands contiguous along R; [R][k + 4] for tensor cores where the operand is contiguous along k.
 * Pads keep fragments free of bank conflicts. */
template <int MATH, int R, bool ALONG_K> struct gemm_tile {
    static constexpr bool by_row = ALONG_K && MATH != GEMM_F32;
    static constexpr int ld = by_row ? GEMM_BK + 4 : MATH == GEMM_F32 ? R + 4 : R + 8;
    static constexpr int words = by_row ? R * ld : GEMM_BK * ld;
    static constexpr int kw = MATH == GEMM_BF16 ? 2 : 1; /* k a word */
    static constexpr int n_load = R * GEMM_BK * kw / 4 / GEMM_THREADS;

    static __device__ __forceinline__ int at(int r, int k)
    {
        return by_row ? r * ld + k : k * ld + r;
    }
    /* Thread's load i: ALONG_K: row and first of 4 k; else k and first of 4 rows. */
    static __device__ __forceinline__ int row_of(int i)
    {
        const int t = (int)threadIdx.x;
        return ALONG_K ? (t + i * GEMM_THREADS) / (4 * kw) : t % (R / 4) * 4;
    }
    static __device__ __forceinline__ int k_of(int i)
    {
        const int t = (int)threadIdx.x;
        return ALONG_K ? t % (4 * kw) * 4
                       : (t / (R / 4) + i / kw * (GEMM_THREADS / (R / 4))) * kw + i % kw;
    }
    static __device__ __forceinline__ void store(uint32_t *tile, const float4 (&v)[n_load])
    {
        if constexpr (ALONG_K) {
#pragma unroll
            for (int i = 0; i < n_load; i++) {
                const int r = row_of(i), k = k_of(i) / kw;
                if constexpr (MATH == GEMM_BF16) {
                    *(uint2 *)(tile + at(r, k)) =
                        make_uint2(gemm_bf16x2(v[i].x, v[i].y), gemm_bf16x2(v[i].z, v[i].w));
                } else if constexpr (MATH == GEMM_TF32) {
                    *(uint4 *)(tile + at(r, k)) = make_uint4(gemm_tf32(v[i].x), gemm_tf32(v[i].y),
                                                             gemm_tf32(v[i].z), gemm_tf32(v[i].w));
                } else {
                    tile[at(r, k)] = __float_as_uint(v[i].x);
                    tile[at(r, k + 1)] = __float_as_uint(v[i].y);
                    tile[at(r, k + 2)] = __float_as_uint(v[i].z);
                    tile[at(r, k + 3)] = __float_as_uint(v[i].w);
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < n_load; i += kw) {
                uint4 w;
                if constexpr (MATH == GEMM_BF16)
                    w = make_uint4(
                        gemm_bf16x2(v[i].x, v[i + 1].x), gemm_bf16x2(v[i].y, v[i + 1].y),
                        gemm_bf16x2(v[i].z, v[i + 1].z), gemm_bf16x2(v[i].w, v[i + 1].w));
                else
                    w = make_uint4(gemm_word<MATH>(v[i].x), gemm_word<MATH>(v[i].y),
                                   gemm_word<MATH>(v[i].z), gemm_word<MATH>(v[i].w));
                *(uint4 *)(tile + at(row_of(i), k_of(i) / kw)) = w;
            }
        }
    }
};

/* Pixel m of the block's pixels: row of the batch and place. */
struct gemm_pixel {
    int row, h, w;
};
static __device__ __forceinline__ struct gemm_pixel gemm_pixel_of(const struct gemm_block &b, int m)
{
    struct gemm_pixel x;
    int rest;
    x.row = gemm_divide(m, b.by_hw, &rest);
    x.h = gemm_divide(rest, b.by_w, &x.w);
    return x;
}

/* Element (pixel, tap, channel c) of the gathered operand: x of a forward pass and of a weight
 * gradient, dy of a data gradient.  NULL outside the image. */
template <int PASS>
static __device__ __forceinline__ const float *gemm_gather(const gemm_params &p,
                                                           const struct gemm_block &b,
                                                           struct gemm_pixel px,
                                                           struct gemm_tap tap, int c)
{
    const bool back = PASS == GEMM_DATA_GRAD;
    const int src_h = back ? p.s.out_h : p.s.in_h, src_w = back ? p.s.out_w : p.s.in_w;
    const int h = (back ? px.h : px.h * p.s.stride_h) + tap.dh;
    const int w = (back ? px.w : px.w * p.s.stride_w) + tap.dw;
    if ((unsigned)h >= (unsigned)src_h || (unsigned)w >= (unsigned)src_w)
        return nullptr;
    const int ld = back ? p.s.out_c : p.s.in_c;
    return b.a + ((size_t)(px.row * src_h + h) * src_w + w) * ld + c;
}

/* Fetches tiles one after the other.  Depth of a forward pass or a data gradient is (tap, channel):
 * all of a thread's loads of the gathered operand have the same, kept up to date without dividing.
 * Rows of a weight gradient are (tap, channel): fixed for a thread. */
template <int MATH, int PASS, int BM, int BN, int VEC> struct gemm_loader {
    static constexpr bool a_along_k = PASS != GEMM_WEIGHT_GRAD;
    static constexpr bool b_along_k = PASS == GEMM_DATA_GRAD;
    using tile_a = gemm_tile<MATH, BM, a_along_k>;
    using tile_b = gemm_tile<MATH, BN, b_along_k>;
    static constexpr int depth = GEMM_BK * tile_a::kw;
    float4 ra[tile_a::n_load], rb[tile_b::n_load];
    struct gemm_pixel px[a_along_k ? tile_a::n_load : 1]; /* of the thread's rows */
    int m0, n0, k0, channels;
    int tap, channel; /* of depth k0 + the thread's own, or of its first row */

    __device__ __forceinline__ gemm_loader(const gemm_params &p, const struct gemm_block &b,
                                           int m0_, int n0_, int k0_)
        : m0(m0_), n0(n0_), k0(k0_)
    {
        channels = (PASS == GEMM_DATA_GRAD ? p.s.out_c : p.s.in_c) / p.s.groups;
        const int first = a_along_k ? k0 + tile_a::k_of(0) : m0 + tile_a::row_of(0);
        tap = first / channels;
        channel = first - tap * channels;
        if constexpr (a_along_k) {
#pragma unroll
            for (int i = 0; i < tile_a::n_load; i++) {
                const int m = m0 + tile_a::row_of(i);
                px[i] = gemm_pixel_of(b, m);
                if (m >= b.M)
                    px[i].h = -30000; /* outside any image */
            }
        }
    }

    __device__ __forceinline__ void advance()
    {
        k0 += depth;
        if constexpr (a_along_k) {
            channel += depth;
            while (channel >= channels) {
                channel -= channels;
                tap++;
            }
        }
    }

    /* 4 elements of the gathered operand from (tap, channel) on, of which n exist. */
    __device__ __forceinline__ float4 gather(const gemm_params &p, const struct gemm_block &b,
                                             const struct gemm_tap *taps, struct gemm_pixel at,
                                             int n)
    {
        if constexpr (VEC == 4) {
            const float *q = n > 0 ? gemm_gather<PASS>(p, b, at, taps[tap], channel) : nullptr;
            return q ? *(const float4 *)q : make_float4(0, 0, 0, 0);
        }
        float v[4];
        int t = tap, c = channel;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float *q = j < n ? gemm_gather<PASS>(p, b, at, taps[t], c) : nullptr;
            v[j] = q ? *q : 0.0f;
            if (++c == channels) {
                c = 0;
                t++;
            }
        }
        return make_float4(v[0], v[1], v[2], v[3]);
    }

    __device__ __forceinline__ void load_a(const gemm_params &p, const struct gemm_block &b,
                                           const struct gemm_tap *taps)
    {
#pragma unroll
        for (int i = 0; i < tile_a::n_load; i++) {
            const int k = k0 + tile_a::k_of(i);
            if constexpr (a_along_k)
                ra[i] = gather(p, b, taps, px[i], b.K - k);
            else
                ra[i] = gather(p, b, taps, gemm_pixel_of(b, k),
                               k < b.K ? b.M - m0 - tile_a::row_of(i) : 0);
        }
    }

    /* Weights [tap][n][c] along c. */
    __device__ __forceinline__ float4 weight_row(const gemm_params &p, const struct gemm_block &b,
                                                 const struct gemm_tap *taps, int n, int exist)
    {
        const int in_g = p.s.in_c / p.s.groups;
        int t = tap, c = channel;
        if constexpr (VEC == 4) {
            if (exist <= 0)
                return make_float4(0, 0, 0, 0);
            return *(const float4 *)(b.b + ((size_t)taps[t].index * in_g + n) * p.s.out_c + c);
        } else {
            float v[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                v[j] =
                    j < exist ? b.b[((size_t)taps[t].index * in_g + n) * p.s.out_c + c] : 0.0f;
                if (++c == channels) {
                    c = 0;
                    t++;
                }
            }
            return make_float4(v[0], v[1], v[2], v[3]);
        }
    }

    __device__ __forceinline__ void load_b(const gemm_params &p, const struct gemm_block &b,
                                           const struct gemm_tap *taps)
    {
#pragma unroll
        for (int i = 0; i < tile_b::n_load; i++) {
            const int k = k0 + tile_b::k_of(i), n = n0 + tile_b::row_of(i);
            if constexpr (PASS == GEMM_DATA_GRAD)
                rb[i] = weight_row(p, b, taps, n, n < b.N ? b.K - k : 0);
            else /* rows of w (all taps, in order) or of dy */
                rb[i] = k < b.K ? gemm_load<VEC>(b.b + (size_t)k * p.s.out_c + n, b.N - n)
                                : make_float4(0, 0, 0, 0);
        }
    }
};

static __device__ __forceinline__ void gemm_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                                uint32_t b1, std::integral_constant<int, GEMM_TF32>)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ void gemm_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                                uint32_t b1, std::integral_constant<int, GEMM_BF16>)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* A block's accumulators.  Tensor cores: 8 warps lie 4 x 2.  fp32: threads lie 16 x 16. */
template <int MATH, int BM, int BN, class TA, class TB> struct gemm_core {
    static constexpr int mf = BM / 64, nf = BN / 16; /* 16 x 8 fragments a warp */
    float acc[mf][nf][4];

    __device__ __forceinline__ void multiply(const uint32_t *a, const uint32_t *b)
    {
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
        const int m0 = warp % 4 * (BM / 4) + g, n0 = warp / 4 * (BN / 2) + g;
#pragma unroll
        for (int k = 0; k < GEMM_BK; k += 8) {
            uint32_t fa[mf][4], fb[nf][2];
#pragma unroll
            for (int i = 0; i < mf; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    fa[i][j] = a[TA::at(m0 + i * 16 + (j & 1) * 8, k + q + (j >> 1) * 4)];
#pragma unroll
            for (int i = 0; i < nf; i++) {
                fb[i][0] = b[TB::at(n0 + i * 8, k + q)];
                fb[i][1] = b[TB::at(n0 + i * 8, k + q + 4)];
            }
#pragma unroll
            for (int i = 0; i < mf; i++)
#pragma unroll
                for (int j = 0; j < nf; j++)
                    gemm_mma(acc[i][j], fa[i], fb[j][0], fb[j][1],
                             std::integral_constant<int, MATH>());
        }
    }
    template <class F> __device__ __forceinline__ void each(F f)
    {
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        const int m0 = warp % 4 * (BM / 4) + (lane >> 2), n0 = warp / 4 * (BN / 2) + (lane & 3) * 2;
#pragma unroll
        for (int i = 0; i < mf; i++)
#pragma unroll
            for (int j = 0; j < nf; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    f(m0 + i * 16 + (e >> 1) * 8, n0 + j * 8 + (e & 1), acc[i][j][e]);
    }
};

template <int BM, int BN, class TA, class TB> struct gemm_core<GEMM_F32, BM, BN, TA, TB> {
    static constexpr int mf = BM / 64, nf = BN / 64; /* groups of 4 rows, 4 columns a thread */
    float acc[mf * 4][nf * 4][1];

    __device__ __forceinline__ void multiply(const uint32_t *a, const uint32_t *b)
    {
        const int m0 = threadIdx.x / 16 * 4, n0 = threadIdx.x % 16 * 4;
#pragma unroll
        for (int k = 0; k < GEMM_BK; k++) {
            float fa[mf * 4], fb[nf * 4];
#pragma unroll
            for (int i = 0; i < mf; i++)
                *(float4 *)(fa + 4 * i) = *(const float4 *)(a + TA::at(m0 + i * 64, k));
#pragma unroll
            for (int i = 0; i < nf; i++)
                *(float4 *)(fb + 4 * i) = *(const float4 *)(b + TB::at(n0 + i * 64, k));
#pragma unroll
            for (int i = 0; i < mf * 4; i++)
#pragma unroll
                for (int j = 0; j < nf * 4; j++)
                    acc[i][j][0] = fmaf(fa[i], fb[j], acc[i][j][0]);
        }
    }
    template <class F> __device__ __forceinline__ void each(F f)
    {
        const int m0 = threadIdx.x / 16 * 4, n0 = threadIdx.x % 16 * 4;
#pragma unroll
        for (int i = 0; i < mf * 4; i++)
#pragma unroll
            for (int j = 0; j < nf * 4; j++)
                f(m0 + i / 4 * 64 + i % 4, n0 + j / 4 * 64 + j % 4, acc[i][j][0]);
    }
};

/* Offset of row m of the result in the output; -1 where there is none. */
template <int PASS>
static __device__ __forceinline__ int gemm_out_row(const gemm_params &p, const struct gemm_block &b,
                                                   const struct gemm_tap *taps, int m)
{
    if (m >= b.M)
        return -1;
    if (PASS == GEMM_WEIGHT_GRAD)
        return m * p.s.out_c;
    const struct gemm_pixel x = gemm_pixel_of(b, m);
    if (PASS == GEMM_FORWARD)
        return ((x.row * p.s.out_h + x.h) * p.s.out_w + x.w) * p.s.out_c;
    return ((x.row * p.s.in_h + x.h * p.s.stride_h + b.class_h) * p.s.in_w + x.w * p.s.stride_w +
            b.class_w) *
           p.s.in_c;
}

template <int MATH, int PASS, int BM, int BN, int VEC>
__global__ void __launch_bounds__(GEMM_THREADS) gemm_kernel(const __grid_constant__ gemm_params p)
{
    using loader = gemm_loader<MATH, PASS, BM, BN, VEC>;
    using TA = typename loader::tile_a;
    using TB = typename loader::tile_b;
    constexpr int depth = GEMM_BK * TA::kw;
    __shared__ __align__(16) uint32_t sa[2][TA::words], sb[2][TB::words];
    __shared__ struct gemm_tap taps[GEMM_MAX_TAPS];
    __shared__ int n_taps, out_row[BM];

    struct gemm_block b = gemm_block_of<PASS>(p);
    const int m0 = (int)blockIdx.x * BM, n0 = (int)blockIdx.y * BN;
    const int pixels = b.n_valid * b.rows_h * b.rows_w, in_g = p.s.in_c / p.s.groups;
    b.M = PASS == GEMM_WEIGHT_GRAD ? p.s.kernel_h * p.s.kernel_w * in_g : pixels;
    if (b.n_valid <= 0 || m0 >= b.M || n0 >= b.N)
        return;
    if (threadIdx.x == 0)
        n_taps = gemm_taps<PASS>(p, b, taps);
    __syncthreads();
    const int channels = (PASS == GEMM_DATA_GRAD ? p.s.out_c : p.s.in_c) / p.s.groups;
    b.K = PASS == GEMM_WEIGHT_GRAD ? pixels : n_taps * channels;
    /* Ranges of a split sum come from the shape alone. */
    const int whole = PASS == GEMM_WEIGHT_GRAD ? p.s.batch * b.rows_h * b.rows_w : b.K;
    const int n_tiles = (whole + depth - 1) / depth;
    const int first = (int)((int64_t)n_tiles * b.split / p.splits);
    const int last = min((int)((int64_t)n_tiles * (b.split + 1) / p.splits),
                         (b.K + depth - 1) / depth);
    for (int m = threadIdx.x; m < BM; m += GEMM_THREADS)
        out_row[m] = gemm_out_row<PASS>(p, b, taps, m0 + m);

    loader load(p, b, m0, n0, first * depth);
    gemm_core<MATH, BM, BN, TA, TB> core = {};
    if (first < last) {
        load.load_a(p, b, taps);
        load.load_b(p, b, taps);
        TA::store(sa[0], load.ra);
        TB::store(sb[0], load.rb);
    }
    __syncthreads();
    for (int i = first; i < last; i++) {
        const int now = (i - first) & 1;
        if (i + 1 < last) {
            load.advance();
            load.load_a(p, b, taps);
            load.load_b(p, b, taps);
        }
        core.multiply(sa[now], sb[now]);
        if (i + 1 < last) {
            TA::store(sa[now ^ 1], load.ra);
            TB::store(sb[now ^ 1], load.rb);
        }
        __syncthreads();
    }
    const bool direct = p.splits == 1;
    const float *bias = direct && PASS == GEMM_FORWARD && p.a.bias
                            ? p.a.bias + b.model * p.a.bias_stride + b.group * b.N
                            : nullptr;
    core.each([&](int m, int n, float v) {
        if (out_row[m] < 0 || n0 + n >= b.N)
            return;
        float *q = b.out + out_row[m] + n0 + n;
        if (bias)
            v += bias[n0 + n];
        if (direct && PASS == GEMM_FORWARD && p.a.relu)
            v = v < 0.0f ? 0.0f : v;
        if (direct && PASS != GEMM_FORWARD && p.a.accumulate)
            v += *q;
        *q = v;
    });
}

/* One arithmetic's launchers: tile 0 is 128 x 64, tile 1 is 64 x 64; without vectors always 64 x 64.
 */
template <int MATH, int PASS>
static void gemm_launch_pass(const gemm_params &p, int tile, bool vec, dim3 grid, cudaStream_t s)
{
    if (!vec)
        gemm_kernel<MATH, PASS, 64, 64, 1><<<grid, GEMM_THREADS, 0, s>>>(p);
    else if (tile == 0)
        gemm_kernel<MATH, PASS, 128, 64, 4><<<grid, GEMM_THREADS, 0, s>>>(p);
    else
        gemm_kernel<MATH, PASS, 64, 64, 4><<<grid, GEMM_THREADS, 0, s>>>(p);
}

template <int MATH>
static int gemm_run_math(enum gemm_pass pass, const struct gemm_shape *shape,
                         struct gemm_choice choice, const struct gemm_args *args, bool vec,
                         void *stream)
{
    gemm_params p = {*shape, *args, choice.splits, 1, gemm_out_floats(pass, shape)};
    if (pass == GEMM_DATA_GRAD)
        p.classes = shape->stride_h * shape->stride_w;
    const int bm = vec ? gemm_tiles[choice.tile].rows : 64;
    const int64_t rows = gemm_rows(pass, shape), cols = gemm_columns(pass, shape);
    const dim3 grid((unsigned)((rows + bm - 1) / bm), (unsigned)((cols + 63) / 64),
                    (unsigned)(shape->n_models * p.classes * shape->groups * p.splits));
    cudaStream_t s = (cudaStream_t)stream;
    if (pass == GEMM_FORWARD)
        gemm_launch_pass<MATH, GEMM_FORWARD>(p, choice.tile, vec, grid, s);
    else if (pass == GEMM_DATA_GRAD)
        gemm_launch_pass<MATH, GEMM_DATA_GRAD>(p, choice.tile, vec, grid, s);
    else
        gemm_launch_pass<MATH, GEMM_WEIGHT_GRAD>(p, choice.tile, vec, grid, s);
    return cudaGetLastError();
}

#endif
