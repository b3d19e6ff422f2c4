/* A plan: what the engine makes of a graph x batch size and a backend executes.  Plain data.
 *
 * Memory.  Every model of a bucket owns one slice, K-outermost in one arena:
 *     [params P][optimiser slots n_slots x P][buffers R]          (floats, 64-byte aligned parts)
 * What is needed only while a model is being stepped lives in a lane (as many lanes as models in
 * flight; on a GPU all K, on the CPU one a team of threads):
 *     [batch inputs, activations, their gradients: per row][shard gradients n_shards x P]
 *     [per-shard and per-model small buffers]
 *
 * Shards.  A batch is cut into n_shards ranges of rows_per_shard rows that depend on shapes only,
 * never on threads or K.  One shard of one model is the unit of work; shard s holds rows
 * [s * rows_per_shard, min((s + 1) * rows_per_shard, n_valid)), possibly none.  Partial sums are
 * added in shard order.  So results are bit-equal at any K, thread count and executor.
 *
 * Steps and stages.  Each step names the buffers it reads and writes.  Steps whose reads of other
 * shards' results force a wait start a new stage: within a stage a unit runs through without
 * waiting for others; stages of one model run in order; models are independent of each other.
 *
 * whole[] is a BUFFER_SHARD: every shard keeps its own copy of the combined mean and inv_std, since
 * BN_BACK_REDUCE may follow BN_APPLY within a stage and shards would otherwise have to wait for the
 * one that writes it.
 * In place: y may be x[0] for relu, dropout and (evaluation) BN_APPLY; dx[0] may be dy for relu,
 * dropout and BN_BACK_APPLY.  A flatten that moves nothing, a dropout of p = 0 and every dropout of
 * an evaluation program have no step.
 */
#ifndef BACKEND_PLAN_H
#define BACKEND_PLAN_H

#include "nn/op.h"
#include "nn/optim.h"
#include "nn/task.h"

#include <stdint.h>

enum buffer_kind {
    BUFFER_ROWS,  /* floats_per_row x batch rows: shard s touches its rows only */
    BUFFER_SHARD, /* floats x n_shards: shard s writes its own part; others may read it (a stage
                     later) */
    BUFFER_LANE,  /* floats once per lane */
};

struct plan_buffer {
    enum buffer_kind kind;
    size_t floats; /* per row, per shard or per lane, rounded up to 16 where not rows */
    size_t offset; /* floats from the start of the lane; assigned by liveness */
    int32_t first_step, last_step; /* live range within the program */
};

enum step_kind {
    STEP_GATHER,          /* index list -> batch input (normalise, augment) and targets */
    STEP_FORWARD,         /* y from x */
    STEP_BN_STATS,        /* per-shard count, mean, M2 of each channel */
    STEP_BN_APPLY,        /* combine all shards' statistics, normalise; shard 0 updates running */
    STEP_LOSS,            /* per-shard pass_sums; with training, gradient of the mean loss */
    STEP_BACKWARD,        /* dx from dy; shard's part of parameter gradients */
    STEP_BN_BACK_REDUCE,  /* per-shard sums of dy and dy * x_hat; shard's dgamma, dbeta */
    STEP_BN_BACK_APPLY,   /* combine all shards' sums, dx */
    STEP_BACKWARD_PARAMS, /* a part of the whole batch's gradient of a large tensor */
    STEP_GRAD_SQUARES,    /* per chunk of parameters: sum of squares of its gradients */
    STEP_GRAD_SCALE,      /* the factor that clips all gradients */
    STEP_UPDATE,          /* per chunk of parameters: add shard gradients in order, optimiser */
};

/* What each kind uses of struct plan_step (a buffer not named is -1 and not looked at):
 *   GATHER          writes y (the program's input; with attr.is_tokens int32 ids, one a float-sized
 *                   slot) and the program's target: float-sized slots, one a row, an int32 class
 *                   (TARGET_CLASS) or a float (TARGET_REAL); TARGET_TOKENS: L int32 a row
 *   FORWARD         x[..] -> y; max_pool2d, adaptive_max_pool2d also saved: int32, one an output
 *                   (the maximum's index within the row's input); channel_mean_max also saved:
 *                   int32, H W a row (the channel of the maximum).  saved may be -1 in evaluation.
 *                   Dropout copies in evaluation programs.
 *   BN_STATS        x[0] -> partial: 2C floats a shard, mean[C] then M2[C] (the count is known)
 *   BN_APPLY        x[0], partial of all shards -> y, whole[0] mean[C], whole[1] inv_std[C],
 *                   running statistics.  Evaluation programs: x[0] -> y alone, with running
 *                   statistics; they have no BN_STATS.
 *   LOSS            x[0] (logits), target -> partial (= program.sums: struct pass_sums a shard, at
 *                   least PLAN_SUMS_FLOATS) and, where dx[0] >= 0, the gradient of the mean loss.
 *                   in[0] of rank 2: a prediction a token.  attr.label_smoothing.
 *   BACKWARD        dy -> dx[..] (where >= 0) and the shard's parameter gradients (those that no
 *                   BACKWARD_PARAMS gives; no step where neither is left, as for an embedding
 *                   whose table is such).  Reads beside:
 *                     x[0]           conv2d, linear, tied_linear, gelu, hardswish, hardsigmoid,
 *                                    layer_norm
 *                     all x          multiply, attention (with its tokens)
 *                     the tokens     embedding (x[0]), positions (x[1], POSITION_OF_TOKENS)
 *                     y              relu, sigmoid, tanh
 *                     saved          max_pool2d, adaptive_max_pool2d, channel_mean_max
 *                     nothing else   the others
 *                   Tokens have no dx.
 *   BACKWARD_PARAMS conv2d, linear, tied_linear, embedding: reads what BACKWARD reads and dy of all
 *                   shards -> the gradient of the parameters whose range is `whole` (see
 *                   plan_grad_range), the others of the node being BACKWARD's.
 *   BN_BACK_REDUCE  x[0], dy, whole -> partial: 2C floats a shard, sum dy then sum dy * x_hat;
 *                   gradients of weight and bias
 *   BN_BACK_APPLY   x[0], dy, whole, partial of all shards -> dx[0]
 *   GRAD_SQUARES    shard gradients -> partial: a double a chunk (BUFFER_LANE), the sum of squares
 *                   of the chunk's gradients, shards added in order first as UPDATE adds them
 *   GRAD_SCALE      partial, added in order -> y: one float, min(1, c / (norm + 1e-6)) with c the
 *                   pass's clip_grad_norm (torch.nn.utils.clip_grad_norm_); 1 where c is 0
 *   UPDATE          the whole parameter block, one step a program.  x[0] (where >= 0): GRAD_SCALE's
 *                   factor, which every added-up gradient is multiplied by
 * GRAD_SQUARES and GRAD_SCALE are in plans that clip only (some model of the bucket does).
 * In place beside relu and dropout: y may be x[0] for all element-wise operations of one input,
 * add, and positions (where no one else needs x[0]); dx[0] may be dy for the same, multiply
 * included, but not where both inputs are one value. in[i].rank is 0 from the node's number of
 * inputs on. Gradients of a parameter are overwritten by the first backward step that names it in
 * the program and added to by later ones (accumulate_grad): tied and shared weights.
 *
 * Large tensors.  n_shards copies of the gradient of a large tensor cost more than they save: VGG's
 * first linear layer has 103 M weights, XLM-R's table 192 M, and a ResNet would spend as long
 * adding shards as multiplying.  For these the plan has one gradient for the whole batch (`whole`),
 * computed by BACKWARD_PARAMS steps in stages of UNIT_PART: unit p does part p of PLAN_PARTS, rows
 * [R p / PLAN_PARTS, R (p + 1) / PLAN_PARTS) of the tensor's R rows in memory (linear: inputs;
 * conv2d: taps x inputs; tables: ids), over all valid rows of the batch at once.  So no shard waits
 * for another's memory, bits do not depend on parts, and products are as long as the batch.
 * The steps may stand anywhere between the last write of dy and UPDATE, several in one stage (also
 * two that share a tensor: same rows, same unit, in order).  Biases stay with BACKWARD. */
#define PLAN_SUMS_FLOATS 16 /* room of a struct pass_sums in a BUFFER_SHARD */

#define STEP_MAX_READS  8
#define STEP_MAX_WRITES 6

struct plan_step {
    enum step_kind kind;
    enum op_kind op;
    int32_t node;    /* graph node, for messages; -1 */
    int32_t ordinal; /* the node's ordinal: dropout counter */
    struct op_attr attr;
    struct shape in[OP_MAX_INPUTS], out;
    /* Buffer indices, -1 where there is none. */
    int32_t x[OP_MAX_INPUTS], y;   /* values */
    int32_t dx[OP_MAX_INPUTS], dy; /* gradients; dx -1: nobody needs it */
    int32_t accumulate_dx; /* bit i: add to dx[i] instead of overwriting (a value used twice) */
    int32_t saved;         /* BUFFER_ROWS kept for backward (max-pool argmax, as int32) */
    int32_t partial;       /* BUFFER_SHARD statistics of batch norm / sums of the loss */
    int32_t whole[2];      /* BUFFER_SHARD copies of the combined batch norm mean, inv_std */
    /* Offsets into the model's parameter and buffer blocks, counts in floats. */
    size_t param[OP_MAX_PARAMS], param_count[OP_MAX_PARAMS];
    int32_t n_params;
    int32_t accumulate_grad; /* bit i: add to the gradient of parameter i */
    size_t buffer[OP_MAX_BUFFERS];
    int32_t n_buffers;
    /* Declared effects, for order, fusion and the conflict check. */
    int32_t read[STEP_MAX_READS], n_reads, write[STEP_MAX_WRITES], n_writes;
    bool reads_all_shards; /* reads other shards' BUFFER_SHARD parts: starts a stage */
};

enum unit_kind { UNIT_SHARD, UNIT_CHUNK, UNIT_PART, UNIT_ONE };

struct plan_stage {
    int32_t first_step, n_steps;
    /* n_shards units, n_chunks units of PLAN_CHUNK parameters, PLAN_PARTS units, or one */
    enum unit_kind unit;
};

#define PLAN_CHUNK 4096 /* floats of the parameter block a UNIT_CHUNK unit updates */
#define PLAN_PARTS 16   /* units of a UNIT_PART stage */

/* Where gradients lie: ranges of the parameter block, in order, covering it. */
struct plan_grad_range {
    size_t first, count; /* floats of the parameter block */
    size_t offset;       /* from the start of the lane to the gradient of `first` (shard 0's) */
    size_t stride;       /* floats to the next shard's */
    bool whole;          /* one for the batch, by BACKWARD_PARAMS; no stride */
};

/* A training or an evaluation pass over one batch. */
struct plan_program {
    struct plan_step *steps;
    int32_t n_steps;
    struct plan_stage *stages;
    int32_t n_stages;
    struct plan_buffer *buffers;
    int32_t n_buffers;
    size_t lane_floats;          /* without shard gradients */
    int32_t input, target, sums; /* buffers: batch input, targets, per-shard pass_sums */
    int32_t logits;
};

struct plan {
    int32_t batch, rows_per_shard, n_shards, n_chunks;
    struct shape in;
    int32_t n_outputs;
    const struct task_info *task;
    enum optim_kind optim;
    bool clips;                         /* programs have GRAD_SQUARES and GRAD_SCALE */
    int32_t n_slots;                    /* optimiser slots a model */
    size_t param_floats, buffer_floats; /* P and R */
    size_t slice_floats;                /* (1 + n_slots) P + R */
    size_t lane_floats;                 /* max over programs + n_shards x P */
    size_t shard_grads;                 /* offset of gradients in the lane */
    /* n_grads 0: one range, all of P, n_shards x P from shard_grads on. */
    struct plan_grad_range *grads;
    int32_t n_grads;
    struct plan_program train, eval;
    uint64_t hash; /* of everything above: the plan_hash column */
};

#endif
