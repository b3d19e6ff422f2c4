/* Fixtures of whole networks (tests/golden/nets): the network with their weights and inputs, and
 * what PyTorch's float64 says of it.  tests/golden/README.md has the rules. */
#ifndef TESTS_ENGINE_HELPER_GOLDEN_H
#define TESTS_ENGINE_HELPER_GOLDEN_H

#include "backend/backend.h"
#include "helper_engine.h"
#include "nn/graph.h"

#include <jansson.h>

struct golden {
    const char *name;
    json_t *json;
    struct graph *g; /* dropout off; owned until it is taken */
    struct source source;
    int64_t rows;
    const char *task;
    double lr;
    void *x;
    int32_t *label;
    float *value;
    int32_t *param; /* of each tensor of the file: its number in the graph */
    double worst_gradient, worst_weight, worst_running, worst_logits, worst_loss;
};

void golden_open(struct golden *f, const char *name);
void golden_close(struct golden *f); /* not the graph */

/* A block of parameters or running statistics, in either type. */
struct block {
    float *f;
    double *d;
};

/* Initial weights; running statistics 0 and 1. */
void golden_fill(const struct golden *f, struct block params, struct block buffers);

/* Each fails the test where the difference is larger than `tolerance` times the scale, and keeps
 * the largest ratio. */
void golden_check_loss(struct golden *f, int step, double loss, double tolerance);
void golden_check_gradients(struct golden *f, struct block block, double tolerance);
void golden_check_weights(struct golden *f, struct block block, double tolerance);
void golden_check_running(struct golden *f, struct block block, double tolerance);
/* "logits", "eval_logits_after"; n values in the order of rows. */
void golden_check_logits(struct golden *f, const char *key, struct block logits, size_t n,
                         double tolerance);
void golden_print_worst(const struct golden *f, const char *what);

#endif
