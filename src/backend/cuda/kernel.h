/* Kernels of the CUDA backend: what a launcher gets, and what kernels know of a model.
 *
 * One launch does a step for all K models of a bucket: K is a dimension of the grid.  A pointer of
 * a call is model 0's; model k's lies k times `lane` (values, gradients) or k times `slice`
 * (parameters, running statistics) floats further.  Rows of a batch beyond a model's n_valid are
 * neither read nor written; a model without rows (n_valid 0) is frozen: its blocks return at once.
 * Plans have one shard: the whole batch.
 *
 * Kernels are deterministic: sums over many threads go through the workspace and are added in an
 * order that depends on shapes alone; nothing is added atomically.
 *
 * Compiles as C17 and CUDA C++.  A kernel is static, its launcher stands next to it.
 */
#ifndef BACKEND_CUDA_KERNEL_H
#define BACKEND_CUDA_KERNEL_H

#include "backend/backend.h"
#include "nn/optim_rule.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A data set's part in the memory of the device, as bytes of its own type. */
struct cuda_source {
    enum source_type type;
    const void *x;
    size_t sample_count;
    struct shape shape;
    float divisor;
    const int32_t *label;
    int32_t label_count;
    const float *value;
    bool crop_flip;
};

/* A model, in device memory: its pass from the host, its step made by cuda_begin_step. */
struct cuda_model {
    /* Of the pass.  n_rows 0: frozen. */
    struct cuda_source source;
    const uint32_t *rows;
    int64_t n_rows;
    uint64_t seed;
    uint32_t epoch;
    double clip_grad_norm;
    const struct optim_step *rules; /* training: one an update of the pass */
    /* Of the step. */
    int64_t steps; /* begun in this pass */
    const uint32_t *ids;
    int32_t n_valid;
    uint32_t batch; /* index of the batch in the pass */
    struct optim_step rule;
    /* Of the pass so far. */
    struct pass_sums sums;
};

/* What the host may look at while a pass runs; in its own memory, mapped. */
struct cuda_progress {
    int64_t rows;
    double loss_sum;
};

struct cuda_call {
    const struct plan_step *step;
    cudaStream_t stream;
    struct cuda_model *model; /* K of them */
    const int32_t *n_valid;   /* the models' once more, side by side */
    int32_t n_models, batch;  /* K; rows of a full batch */
    bool training, tf32;
    size_t lane, slice; /* floats from a model's part to the next model's */
    const float *x[OP_MAX_INPUTS];
    float *y;
    const float *dy;
    float *dx[OP_MAX_INPUTS];
    int32_t *saved;
    float *target;
    float *partial, *whole[2];
    const float *param[OP_MAX_PARAMS];
    float *grad[OP_MAX_PARAMS]; /* NULL: not this step's to give */
    float *buffer[OP_MAX_BUFFERS];
    /* GRAD_SQUARES, GRAD_SCALE, UPDATE: the whole block. */
    float *params, *grads;
    size_t param_floats;
    int32_t n_slots, n_chunks;
    /* The kernel's own for the length of the call: workspace() floats a model, one after the other;
     * counters are zero before and after. */
    float *workspace;
    size_t workspace_floats;
    uint32_t *counters;
};

#define CUDA_MAX_COUNTERS 4096 /* a model */

/* Arrays of kernels end with one without a name. */
struct cuda_kernel {
    enum step_kind kind;
    enum op_kind op;
    const char *name;
    void (*launch)(const struct cuda_call *call);
    /* Floats a model; NULL: none.  A multiple of 2: doubles may lie there. */
    size_t (*workspace)(const struct plan_step *step, int32_t batch);
};

/* One array a file of ops/. */
extern const struct cuda_kernel cuda_gather_kernels[], cuda_activation_kernels[],
    cuda_flatten_kernels[], cuda_dropout_kernels[], cuda_max_pool_kernels[],
    cuda_avg_pool_kernels[], cuda_combine_kernels[], cuda_concatenate_kernels[],
    cuda_mean_max_kernels[], cuda_batch_norm_kernels[], cuda_layer_norm_kernels[],
    cuda_linear_kernels[], cuda_conv_kernels[], cuda_embedding_kernels[], cuda_token_kernels[],
    cuda_attention_kernels[], cuda_loss_kernels[], cuda_update_kernels[];
/* Tuned ones (tuned/): convolutions and linear layers on the stacked GEMM. */
extern const struct cuda_kernel cuda_product_kernels[];

/* The kernel for a step: the tuned set's (unless `plain`), else the reference's; NULL when
 * there is none at all.  Steps of no operation (gradients, update) are asked with OP_INPUT. */
const struct cuda_kernel *cuda_kernel_find(bool plain, enum step_kind kind, enum op_kind op);
bool cuda_variant_at(int i, struct backend_variant *out);
const char *cuda_kernel_at(int i, enum step_kind kind, enum op_kind op);

/* Takes each model to its next batch, and tells the host how far it is.  Once a step, before its
 * kernels. */
void cuda_begin_step(struct cuda_model *models, int32_t *n_valid, int n_models, int batch,
                     struct cuda_progress *progress, cudaStream_t stream);
/* rows[i] = list[permutation(i)]: the order of an epoch, as data/split.h (order_epoch) has it. */
void cuda_shuffle_rows(const uint32_t *list, int64_t n, uint64_t seed, uint32_t epoch,
                       uint32_t *rows, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
