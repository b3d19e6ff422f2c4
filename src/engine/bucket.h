/* Inside of a bucket: shared by the files of this room, not for others.
 */
#ifndef ENGINE_BUCKET_H
#define ENGINE_BUCKET_H

#include "backend/backend.h"
#include "engine/engine.h"
#include "engine/plan_build.h"
#include "nn/graph.h"

#include <pthread.h>
#include <stdatomic.h>

struct engine {
    const struct backend *backend;
    struct backend_device *device;
};

/* A split, once for all models of the bucket that ask for the same. */
struct shared_split {
    struct split_spec key;
    struct split split;
    bool val_is_train; /* the two lists are the same: one evaluation serves both */
};

struct run_context;

/* One model: what it is, how far it is, what it has found out. */
struct model_state {
    struct bucket *bucket;
    int32_t k;
    struct train_spec spec;
    char *job_id; /* spec's, owned */
    const struct shared_split *split;
    uint32_t *order; /* of the epoch being trained: split.n_train ids */

    int32_t epoch;       /* epochs trained */
    int64_t updates;     /* optimiser updates done */
    int32_t pause_after; /* 0: none */
    bool torn;           /* stopped inside an epoch: no epoch boundary to export or go on from */
    bool finished;       /* its result has been reported */

    bool report_due;             /* an epoch is trained and waits for its validation */
    struct epoch_report report;  /* of that epoch */
    bool train_known, val_known; /* the evaluations below belong to the present weights */
    struct model_result result;

    struct run_context *run; /* during engine_run */
    double pass_start_s;
    _Atomic int64_t next_progress_ns;
};

struct bucket {
    struct engine *engine;
    const struct dataset *data;
    char *model; /* as asked for, arguments included */
    const struct task_info *task;
    const struct optim_info *optim;
    int32_t n_models;
    bool eval_each_epoch;
    double macs; /* of a forward pass a sample */
    struct graph *graph;
    struct plan *plan;
    struct backend_bucket *memory;
    struct source train_source, test_source;
    int n_held; /* of these two, by the backend */
    struct model_state *models;
    struct shared_split *splits;
    int32_t n_splits;
    void *user;
};

/* Back to the state of a model that has done nothing yet (its memory aside). */
void model_reset(struct model_state *m);

/* ---- train.c: the passes of a model ---- */

/* Events of one engine_run, one at a time. */
struct run_context {
    const struct engine_events *events;
    pthread_mutex_t *mutex;
};

bool train_next(void *ctx, struct pass *pass);
void train_done(void *ctx, const struct pass *pass, const struct pass_result *result);
double train_remaining(void *ctx);
void train_tick(void *ctx, const struct model_run *run, const struct pass *pass, int64_t rows_done,
                double loss_sum);
/* True when the model has passes left in this run. */
bool train_wants_pass(const struct model_state *m);
/* Reports a model that this run began and should_stop ended. */
void train_interrupted(struct model_state *m);

#endif
