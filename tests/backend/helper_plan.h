/* A plan made by hand, for tests that must not depend on the engine's planner:
 *     input 6 -> linear 24 -> batch norm -> relu -> dropout 0.25 -> linear 16 -> relu -> linear n
 * with cross-entropy over n classes, Adam.  Every buffer has a place of its own. */
#ifndef TESTS_BACKEND_HELPER_PLAN_H
#define TESTS_BACKEND_HELPER_PLAN_H

#include "helper_case.h"

#define PLAN_INPUTS  6
#define PLAN_CLASSES 5

struct hand_plan {
    struct plan plan;
    struct plan_step train_steps[32], eval_steps[16];
    struct plan_stage train_stages[8], eval_stages[1];
    struct plan_buffer train_buffers[40], eval_buffers[16];
};

void hand_plan_init(struct hand_plan *h, int32_t batch, int32_t rows_per_shard);

#endif
