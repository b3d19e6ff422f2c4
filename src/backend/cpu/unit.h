/* One unit of work: all steps of a stage for one shard, a part of each of its parameter gradients
 * for the whole batch, or the update of one chunk. */
#ifndef BACKEND_CPU_UNIT_H
#define BACKEND_CPU_UNIT_H

#include "backend/cpu/bucket.h"

/* A batch of one model, as all members of its team see it. */
struct batch {
    const struct backend_bucket *bucket;
    const struct exec_program *program;
    const struct pass *pass;
    float *slice, *lane;
    int64_t first;  /* position of its first row in the pass */
    uint32_t index; /* of the batch in the pass */
    int32_t n_valid;
    struct optim_step rule; /* PASS_TRAIN */
};

/* Units of a stage that have work in this batch. */
int32_t unit_count(const struct batch *batch, const struct exec_stage *stage);
/* `thread` names the scratch to use. */
void unit_run(const struct batch *batch, const struct exec_stage *stage, int32_t unit, int thread);
/* Adds this batch's sums of all shards, in shard order. */
void batch_add_sums(const struct batch *batch, struct pass_sums *sums);

#endif
