/* K-stacked convolutions and products of matrices: one launch for all K models of a bucket, as
 * implicit GEMM (no im2col copy).  Stands alone: device pointers, plain numbers and a stream in,
 * launches out; nothing here allocates, synchronises or keeps state.
 *
 * Memory, all fp32, model k of a tensor at base + k * its stride (floats):
 *   x, dx   [batch][in_h][in_w][in_c]
 *   y, dy   [batch][out_h][out_w][out_c]
 *   w, dw   [kernel_h][kernel_w][in_c / groups][out_c]      (nn/op.h: LAYOUT_CONV, LAYOUT_LINEAR)
 *   b, db   [out_c]
 * Pointers at least 4-byte aligned; 16-byte vectors are used where base, stride and channels are
 * multiples of 4 floats, and single words elsewhere.
 *
 *   GEMM_FORWARD      y = relu?(conv(x, w) + b)                       b may be NULL
 *   GEMM_DATA_GRAD    dx = (accumulate ? dx : 0) + conv_transposed(dy, w)
 *   GEMM_WEIGHT_GRAD  dw = (accumulate ? dw : 0) + sum over rows of x^T dy
 * The bias's gradient is gemm_bias_grad.
 *
 * A linear layer [in][out] is a 1x1 convolution of 1x1 images; over L rows a sample, of images of
 * L x 1 (in_h = out_h = L).  gemm_linear() says so.  A tied linear layer (weight [out][in]) is the
 * same with roles exchanged: forward = DATA_GRAD of gemm_linear(in_c = out, out_c = in) with dy :=
 * x and dx := y; its data gradient is that shape's FORWARD of x := dy; its weight gradient that
 * shape's WEIGHT_GRAD with x := dy, dy := x.
 *
 * Partial batches: n_valid[k] (device memory, read by the kernels; NULL: all of batch) is the
 * number of leading rows of model k that count.  Rows from n_valid[k] on are neither read nor
 * written. With n_valid[k] = 0 nothing of model k is touched, its gradients included.
 *
 * Same choice, same inputs: same bits.  Sums run in an order that depends on the shape and the
 * choice alone (not on K, n_valid of others, or the chip): splits are added in order through the
 * workspace, and there are no atomics.
 */
#ifndef BACKEND_CUDA_GEMM_GEMM_H
#define BACKEND_CUDA_GEMM_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gemm_pass { GEMM_FORWARD, GEMM_DATA_GRAD, GEMM_WEIGHT_GRAD };

/* How products are made; sums are fp32 always. */
enum gemm_math {
    GEMM_F32,  /* strict: fp32 multiply-adds */
    GEMM_TF32, /* tensor cores; inputs rounded to 10 bits of mantissa, to nearest */
    GEMM_BF16, /* tensor cores; inputs rounded to bfloat16, to nearest even */
};

struct gemm_shape {
    int32_t n_models, batch;
    int32_t in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int32_t groups; /* in_c and out_c are multiples; groups = in_c = out_c: depthwise */
};

/* Linear layer over `rows` vectors a sample. */
struct gemm_shape gemm_linear(int32_t n_models, int32_t batch, int32_t rows, int32_t in,
                              int32_t out);

/* One way to run a pass: a tile shape and how many ranges its sum is cut into. */
struct gemm_choice {
    int16_t tile;   /* index, meaning gemm_tile_name; depthwise kernels: 0 */
    int16_t splits; /* 1: written directly */
};

/* Ways to run this pass, best guess first, for a chip of n_sm multiprocessors; returns how many (1
 * to max).  Never 0 for a valid shape. */
#define GEMM_MAX_CHOICES 12
int gemm_choices(enum gemm_pass pass, enum gemm_math math, const struct gemm_shape *shape, int n_sm,
                 struct gemm_choice *out, int max);
/* "128x64x16": rows x columns x depth of a block's tile. */
const char *gemm_tile_name(enum gemm_math math, struct gemm_choice choice);

/* Bytes of workspace a launch needs (0 with one split); the same memory may serve all launches of
 * one stream. */
size_t gemm_workspace_bytes(enum gemm_pass pass, const struct gemm_shape *shape,
                            struct gemm_choice choice);

struct gemm_args {
    const float *a;                        /* FORWARD, WEIGHT_GRAD: x;  DATA_GRAD: dy */
    const float *b;                        /* FORWARD, DATA_GRAD: w;    WEIGHT_GRAD: dy */
    float *out;                            /* y, dx or dw */
    size_t a_stride, b_stride, out_stride; /* floats between models */
    const float *bias;                     /* FORWARD, or NULL */
    size_t bias_stride;
    const int32_t *n_valid; /* device, n_models of them; NULL: batch */
    bool accumulate;        /* the gradients */
    bool relu;              /* FORWARD */
    void *workspace;        /* gemm_workspace_bytes, 16-byte aligned */
};

/* Puts the launches on `stream` (a cudaStream_t).  Returns a cudaError_t: 0, or what a launch said
 * (invalid value: the shape or the choice makes no sense). */
int gemm_launch(enum gemm_pass pass, enum gemm_math math, const struct gemm_shape *shape,
                struct gemm_choice choice, const struct gemm_args *args, void *stream);

/* db[c] = (accumulate ? db[c] : 0) + sum over valid rows and pixels of dy[.][c], in fp32 with a
 * fixed tree; strict in every math mode. */
size_t gemm_bias_grad_workspace_bytes(const struct gemm_shape *shape);
int gemm_bias_grad(const struct gemm_shape *shape, const float *dy, size_t dy_stride, float *db,
                   size_t db_stride, const int32_t *n_valid, bool accumulate, void *workspace,
                   void *stream);

#ifdef __cplusplus
}
#endif
#endif
