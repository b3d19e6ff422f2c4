/* Which jobs share a bucket, and in which waves they run: for this room only. */
#ifndef EXEC_STACKING_H
#define EXEC_STACKING_H

#include "catalog/experiment.h"

/* Two jobs can be stacked: same data set, model, batch size, task, AMP, optimiser and training
 * rows.  Names are compared without case, their arguments ("?layers=2", ":PATH") with it. */
bool stacking_same(const struct job *a, const struct job *b);

/* Jobs in the order of their buckets (by first appearance, job order within each), cut into waves
 * of at most `limit` sub-models (0: one wave).  A bucket is cut only where it alone exceeds the
 * limit, and never mixed with another to fill a wave by cutting that one. */
struct waves {
    int *order; /* n_jobs indices of jobs */
    int *start; /* n + 1 entries: wave w is order[start[w] .. start[w + 1] - 1] */
    int n;
};
void waves_make(const struct job *jobs, int n_jobs, int limit, struct waves *out);
void waves_release(struct waves *w);

/* The same for any selection of jobs without a limit: group[i] gets the bucket number of which[i],
 * numbered by first appearance.  Returns how many there are. */
int stacking_groups(const struct job *jobs, const int *which, int n, int *group);

#endif
