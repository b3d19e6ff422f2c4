/* What every batch-norm kernel says when a channel has a single value in the batch: its variance
 * is unknown (PyTorch refuses such a batch; the last one of an epoch can be that small). */
#ifndef BACKEND_CPU_BATCH_NORM_H
#define BACKEND_CPU_BATCH_NORM_H

#define BATCH_NORM_WARNING                                                                         \
    "batch norm met a batch with a single value a channel: it used its running statistics there"

#endif
