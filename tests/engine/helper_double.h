/* Runs a plan in double with the reference kernels: what the float engine rounds, without the
 * rounding.  One network, one thread, SGD with momentum 0.9. */
#ifndef TESTS_ENGINE_HELPER_DOUBLE_H
#define TESTS_ENGINE_HELPER_DOUBLE_H

#include "backend/backend.h"

struct double_net {
    const struct plan *plan;
    const struct source *source;
    double *params, *momentum, *grads, *buffers; /* blocks; grads: of the last training batch */
    double *logits;                              /* of the last batch */
    double *lane, *scratch;
};

void double_open(struct double_net *n, const struct plan *plan, const struct source *source);
void double_close(struct double_net *n);
/* One batch of the source's first n_rows samples; training updates the parameters. */
struct pass_sums double_batch(struct double_net *n, bool training, int32_t n_rows, double lr,
                              bool first);

#endif
