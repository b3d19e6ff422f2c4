/* Small MLPs trained on chip: weights, gradients and optimiser state of a network stay in shared
 * memory for whole epochs; one launch trains all models.  Stands alone: device pointers, plain
 * numbers and a stream in; nothing here allocates, synchronises or keeps state.
 *
 * Network: 1 to 4 linear layers with relu between them (none after the last), then a loss:
 *   ONCHIP_MSE            one output; (y - value)^2
 *   ONCHIP_CROSS_ENTROPY  width[n_layers] classes, int32 labels, label smoothing
 * (formulas: nn/op.h; update rules: nn/optim_rule.h; order of samples: base/rng.h, RNG_ORDER).
 *
 * Many models: a block each.  Few models: a cluster of 2 to 16 blocks each (sm_90 on), which split
 * a batch by rows; a block owns a part of the parameters, adds the blocks' gradients of it in order
 * of rank through distributed shared memory, updates it, and writes it back to all.
 * Sums run in an order that depends on the plan alone: same plan, same inputs, same bits.
 *
 * Math: strict (fp32 multiply-adds), or tf32 (products on tensor cores, inputs rounded to 10 bits
 * of mantissa; sums, loss and optimiser fp32).
 */
#ifndef BACKEND_CUDA_ONCHIP_ONCHIP_H
#define BACKEND_CUDA_ONCHIP_ONCHIP_H

#include "nn/optim_rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONCHIP_MAX_LAYERS 4
#define ONCHIP_NO_BIAS    (-1)

enum onchip_loss { ONCHIP_MSE, ONCHIP_CROSS_ENTROPY };

struct onchip_mlp {
    int32_t n_layers;
    int32_t width[ONCHIP_MAX_LAYERS + 1]; /* inputs, hidden widths, outputs */
    int64_t weight[ONCHIP_MAX_LAYERS];    /* offsets in a model's parameters, floats; [in][out] */
    int64_t bias[ONCHIP_MAX_LAYERS];      /* [out], or ONCHIP_NO_BIAS */
    enum onchip_loss loss;
    float label_smoothing;
    int32_t n_slots; /* optimiser slots a parameter (nn/optim.h: optim_slots), 0 to 3 */
};

/* How a launch is shaped.  Made by onchip_plan_make; part of what results depend on. */
struct onchip_plan {
    int32_t batch;
    int32_t cluster;    /* blocks a model */
    int32_t block_rows; /* rows of a batch a block has at most */
    int32_t chunk_rows; /* rows it works on at a time */
    int32_t smem_bytes; /* a block */
    bool tf32;
};

/* What the chip offers, from cudaDeviceProp. */
struct onchip_chip {
    int32_t n_sm, smem_bytes; /* sharedMemPerBlockOptin */
    int32_t max_cluster;      /* 1 before sm_90; 8, or 16 where non-portable sizes are wanted */
};

/* Chooses the largest useful cluster (n_models x cluster <= n_sm) that fits; false: the network
 * does not fit on chip (or is no such network). */
bool onchip_plan_make(const struct onchip_mlp *net, int32_t batch, int32_t n_models,
                      const struct onchip_chip *chip, bool tf32, struct onchip_plan *out);

/* Models of such a plan that run at the same time on the current device of n_sm multiprocessors:
 * clusters leave some idle.  Where it is below n_models, make a plan with a smaller max_cluster. */
int onchip_resident(const struct onchip_plan *plan, int n_sm);

/* Sums over one epoch of one model (nn/task.h: struct pass_sums). */
struct onchip_sums {
    int64_t n, n_correct;
    double loss_sum, target_sum, target_sq_sum;
};

/* One model's work, in device memory; all pointers are the device's. */
struct onchip_model {
    float *params;                  /* parameter block of the model */
    float *slots;                   /* slot s at + s * slot_stride */
    int64_t slot_stride;            /* floats */
    const uint32_t *rows;           /* sample ids of the pass; NULL: 0 .. n_rows - 1 */
    struct onchip_sums *sums;       /* n_epochs of them */
    const struct optim_step *steps; /* one an update of this launch; NULL: from `optim` */
    int64_t first_update;           /* number (from 1) of the first update */
    uint64_t seed;
    uint32_t first_epoch; /* from 1 */
    int32_t n_rows;       /* 0: nothing to do */
    int32_t n_epochs;
    int32_t permute; /* 1: sample i of an epoch is rows[perm(i)] (data/split.h); 0: rows[i] */
    int32_t train;   /* 0: evaluate, sums only */
    struct optim_args optim;
};

struct onchip_data {
    const void *x;        /* [samples][width[0]], fp32 or bytes */
    bool is_u8;           /* x / divisor */
    float divisor;        /* both types; 1 for none */
    const float *value;   /* ONCHIP_MSE */
    const int32_t *label; /* ONCHIP_CROSS_ENTROPY */
};

/* Trains (or evaluates) models[0 .. n_models) for n_epochs each.  Returns a cudaError_t. */
int onchip_launch(const struct onchip_mlp *net, const struct onchip_plan *plan,
                  enum optim_kind optim, const struct onchip_data *data,
                  const struct onchip_model *models, int32_t n_models, void *stream);

#ifdef __cplusplus
}
#endif
#endif
