/* What jobs will need, found from their plans: no data is read and nothing is trained. */
#ifndef EXEC_ESTIMATE_H
#define EXEC_ESTIMATE_H

#include "catalog/experiment.h"
#include "engine/engine.h"

#include <stdio.h>

/* Bytes beside the data sets and the program itself, on the engine's device and threads. */
struct memory_estimate {
    size_t one; /* the job that needs most, by itself: seq */
    size_t all; /* all jobs at once, stacked in their buckets: unified_model */
};

/* False when a network cannot be planned (yet), or its data set is not in the table. */
bool estimate_memory(const struct engine *e, const struct job *jobs, int32_t n,
                     struct memory_estimate *out, struct error *err);

/* The plan of the first job's bucket as unified_model builds it, and the memory it takes. */
bool estimate_print_plan(const struct engine *e, const struct job *jobs, int32_t n, FILE *out,
                         struct error *err);

#endif
