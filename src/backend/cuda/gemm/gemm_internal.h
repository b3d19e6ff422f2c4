/* What the planner and the kernels of gemm.h share. */
#ifndef BACKEND_CUDA_GEMM_INTERNAL_H
#define BACKEND_CUDA_GEMM_INTERNAL_H

#include "backend/cuda/gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GEMM_MAX_TAPS 256
#define GEMM_N_TILES  2

struct gemm_tile_info {
    int32_t rows, columns;
};
extern const struct gemm_tile_info gemm_tiles[GEMM_N_TILES];

/* Rows (of the largest class), columns and depth of the product a group of a model needs; floats of
 * a model's output tensor. */
int64_t gemm_rows(enum gemm_pass pass, const struct gemm_shape *s);
int64_t gemm_columns(enum gemm_pass pass, const struct gemm_shape *s);
int64_t gemm_depth(enum gemm_pass pass, const struct gemm_shape *s);
size_t gemm_out_floats(enum gemm_pass pass, const struct gemm_shape *s);
bool gemm_is_valid(const struct gemm_shape *s);

/* One kind of arithmetic each; vec: all bases, strides and channels are multiples of 4 floats. */
typedef int gemm_run_fn(enum gemm_pass pass, const struct gemm_shape *shape,
                        struct gemm_choice choice, const struct gemm_args *args, bool vec,
                        void *stream);
gemm_run_fn gemm_run_f32, gemm_run_tf32, gemm_run_bf16;

/* out = relu?(sum over splits of the workspace, in order, + bias), or accumulated. */
int gemm_reduce(enum gemm_pass pass, const struct gemm_shape *shape, struct gemm_choice choice,
                const struct gemm_args *args, void *stream);

#ifdef __cplusplus
}
#endif
#endif
