/* Lowers a network x batch size x task x optimiser to a plan (backend/plan.h): the steps of a
 * training and an evaluation batch, their stages, their buffers and where those lie.
 */
#ifndef ENGINE_PLAN_BUILD_H
#define ENGINE_PLAN_BUILD_H

#include "backend/plan.h"
#include "base/error.h"
#include "nn/graph.h"

#include <stdio.h>

/* Rows of a shard, from shapes alone: the smallest of 8, 16, 32, ... rows whose forward pass
 * (2 macs rows floating-point operations) comes to a million, so that handing a shard out costs
 * little beside computing it; more (a multiple of 8) where the batch would otherwise make over
 * PLAN_MAX_SHARDS; never more than the batch.
 *     mlp of E05 (9280 macs), batch 256: 64 rows, 4 shards;  digits_cnn, batch 64: 8 rows, 8 shards
 */
#define PLAN_MAX_SHARDS 16
int32_t plan_rows_per_shard(double macs, int32_t batch);

/* n_slots: optimiser slots of the model that needs most.  Only nodes the logits depend on are
 * planned.  Caller frees with plan_free; nothing of `g` is kept. */
struct plan *plan_build(const struct graph *g, int32_t batch, const struct task_info *task,
                        enum optim_kind optim, int32_t n_slots, struct error *err);
/* The same with shards of a given size: for tests that want several shards of a tiny network. */
struct plan *plan_build_sharded(const struct graph *g, int32_t batch, int32_t rows_per_shard,
                                const struct task_info *task, enum optim_kind optim,
                                int32_t n_slots, struct error *err);
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
 * parameters.  Not in it: where buffers lie and how many optimiser slots a bucket holds, which
 * change no bit. */
uint64_t plan_hash(const struct plan *plan);
/* Live ranges and offsets of a finished list of steps and stages; sets lane_floats. */
void plan_place_buffers(const struct plan *plan, struct plan_program *prog);
/* Floats a buffer takes in a lane. */
size_t plan_buffer_size(const struct plan *plan, const struct plan_buffer *buffer);
/* Stage of a step. */
int32_t plan_stage_of(const struct plan_program *prog, int32_t step);

#endif
