/* A unit: jobs trained as buckets in this process with these threads.  seq runs its jobs through
 * one unit, one after another; unified_model all at once; a worker process one at a time.
 * For this room only.
 */
#ifndef EXEC_UNIT_H
#define EXEC_UNIT_H

#include "exec/executor.h"

struct exec_unit;

/* Opens the engine.  Data sets are loaded at their first use, once for the life of the unit.
 * options are borrowed for the unit's life. */
struct exec_unit *exec_unit_open(const struct exec_options *options, int threads,
                                 struct error *err);
void exec_unit_close(struct exec_unit *u);

/* Trains jobs[which[0 .. n-1]], stacking those that can be, and reports each exactly once to the
 * sink's `done` (its `begin` and `end` are the caller's).  should_stop may be NULL. */
void exec_unit_run(struct exec_unit *u, const struct job *jobs, const int *which, int n,
                   const struct group_sink *sink, bool (*should_stop)(void *ctx), void *stop_ctx);

/* should_stop of the executors that train in the cell's own process. */
bool exec_unit_interrupted(void *ctx);

/* Reports a job that never ran. */
void sink_not_run(const struct group_sink *sink, int job, enum job_status status,
                  const char *cause);
#define CAUSE_NOT_STARTED "the run was interrupted before this job began"

/* Calls of a sink's members that may be NULL. */
void sink_begin(const struct group_sink *sink);
void sink_end(const struct group_sink *sink);
void sink_phase(const struct group_sink *sink, int job, enum phase p, double t0_s, double t1_s);
void sink_epoch(const struct group_sink *sink, int job, const struct epoch_report *r);
void sink_progress(const struct group_sink *sink, int job, double epochs_done, double samples_per_s,
                   double loss);
void sink_done(const struct group_sink *sink, int job, const struct job_result *r);
void sink_worker(const struct group_sink *sink, pid_t pid, bool alive);

#endif
