/* A single network on a backend, one pass at a time, without bucket or data set: for tests of
 * gradients and golden values. */
#ifndef TESTS_ENGINE_HELPER_NET_H
#define TESTS_ENGINE_HELPER_NET_H

#include "backend/backend.h"
#include "engine/plan_build.h"
#include "helper_engine.h"

/* Where nets run: the CPU unless a test (tests/gpu) says otherwise. */
extern const struct backend *test_backend;

struct net {
    struct graph *g; /* owned */
    struct plan *plan;
    struct backend_device *device;
    struct backend_bucket *bucket;
};

/* SGD with a momentum slot: after the first update the slot is the gradient itself. */
void net_open(struct net *n, struct graph *g, const char *task, int batch, int rows_per_shard,
              int threads);
void net_close(struct net *n);

/* One pass over rows 0..n_rows-1 of a source.  Training starts at update `first`. */
struct pass_result net_pass(struct net *n, enum pass_kind kind, const struct source *source,
                            int64_t n_rows, double lr, int64_t first);

/* Sum of sample losses in training mode; weights stay as they are. */
double net_training_loss(struct net *n, const struct source *source, int64_t n_rows);

#endif
