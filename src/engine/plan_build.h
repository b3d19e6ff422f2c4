/* Lowers a network x batch size x task x optimiser to a plan (backend/plan.h): the steps of a
 * training and an evaluation batch, their stages, their buffers and where those lie.
 */
#ifndef ENGINE_PLAN_BUILD_H
#define ENGINE_PLAN_BUILD_H

#include "backend/plan.h"
#include "base/error.h"
#include "nn/graph.h"

#include <stdio.h>

/* Rows of a shard, from shapes alone.  The smallest of 1, 2, 4, ... rows with
 *   - a million floating-point operations in its forward pass (2 macs rows), so that handing it out
 *     costs little beside computing it; 64 million for less than 8 rows;
 *   - 32 multiply-adds for each weight it reads (macs rows / weights; `weights` counts those that
 *     take part in products), so that it is not bound by reading them;
 * more (a multiple of 8 from there on) where the batch would otherwise make over PLAN_MAX_SHARDS;
 * never more than the batch.
 *     mlp of E05 (9280 macs), batch 256: 64 rows, 4 shards;  digits_cnn, batch 64: 8 rows, 8
 * shards; resnet18 at 32x32, batch 32: 4 rows, 8 shards
 */
#define PLAN_MAX_SHARDS 16
int32_t plan_rows_per_shard(double macs, double weights, int32_t batch);

/* Tensors from this many floats on get one gradient for the whole batch (plan.h, large tensors). */
#define PLAN_WHOLE_FLOATS 65536

struct plan_request {
    int32_t batch;
    int32_t rows_per_shard; /* 0: from shapes.  Tests want several shards of a tiny network */
    const struct task_info *task;
    enum optim_kind optim;
    int32_t n_slots; /* optimiser slots of the model that needs most */
    bool clips;      /* some model clips its gradients */
};

/* Caller frees with plan_free; nothing of `g` is kept.  Refused: operations no backend has yet, an
 * output that does not fit the task, networks without parameters. */
struct plan *plan_build(const struct graph *g, const struct plan_request *request,
                        struct error *err);
void plan_free(struct plan *plan);

/* Proves what backends rely on, from the declared effects alone:
 *   - stages cover the steps in order, and a step that reads all shards starts one;
 *   - within a stage no two units touch the same memory, one of them writing;
 *   - buffers that are live at the same step lie apart, inside the lane, clear of shard gradients;
 *   - a buffer is written before it is read, and still holds what was written;
 *   - backward finds the values forward left (nothing worked in place on them in between).
 * The error names program, steps and buffers. */
bool plan_check(const struct plan *plan, struct error *err);

/* A table for people: sizes, then each stage with its steps, shapes and buffers. */
void plan_print(const struct plan *plan, FILE *out);
const char *plan_step_name(enum step_kind kind); /* "bn_stats" */

/* ---- between the files of the builder ---- */

/* FNV-1a over all that determines results: shapes, shards, steps in order, their attributes and
 * parameters, which gradients are whole.  Not in it, since they change no bit: where buffers lie,
 * how many optimiser slots a bucket holds, and the steps that clip (a model that does not clip
 * multiplies by 1). */
uint64_t plan_hash(const struct plan *plan);
/* Live ranges and offsets of a finished list of steps and stages; sets lane_floats. */
void plan_place_buffers(const struct plan *plan, struct plan_program *prog);
/* Floats a buffer takes in a lane. */
size_t plan_buffer_size(const struct plan *plan, const struct plan_buffer *buffer);
/* Stage of a step. */
int32_t plan_stage_of(const struct plan_program *prog, int32_t step);
/* What a step of this kind is cut into. */
enum unit_kind plan_unit_of(enum step_kind kind);

#endif
