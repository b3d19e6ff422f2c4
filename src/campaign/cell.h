/* A cell: one (experiment, executor, ...) of the matrix.  It runs in a process of its own (the same
 * binary, hidden command "__cell") that journals each finished job itself, so nothing finished is
 * lost whatever happens to the parent; the parent gets events.
 */
#ifndef CAMPAIGN_CELL_H
#define CAMPAIGN_CELL_H

#include "base/error.h"
#include "catalog/experiment.h"
#include "exec/executor.h"

#include <jansson.h>

struct cell_spec {
    struct experiment *experiment; /* overrides applied; owned */
    const char *executor;          /* slug; points into the executor table */
    uint64_t seed, split_seed;
    struct exec_options options; /* data_root owned by the spec when owned_root */
    char *data_root, *runs_dir;  /* owned; runs_dir NULL: --no-save-results */
    int32_t attempt;             /* 1 */
};
void cell_spec_release(struct cell_spec *s);
json_t *cell_spec_to_json(const struct cell_spec *s);
bool cell_spec_from_json(const json_t *msg, struct cell_spec *out, struct error *err);
/* Identity of a cell: experiment id, definition hash, executor, seeds, device, data source,
 * overrides, layout overrides; 16 hex digits: the cell_key column. */
void cell_key(const struct cell_spec *s, char out[17]);

/* Events from a cell, as JSON objects with "type":
 *   start     {group_id, exp_id, executor, workload, n_jobs, layout {...}, device, threads, pid}
 *   notice    {level, text}
 *   progress  {job, job_id, epochs_done, epochs, samples_per_s, loss}
 *   epoch     {job, job_id, epoch, epochs, train_loss, val_loss, score, lr, t_start_s, t_end_s}
 *   job       {job, row {...}}          (individual row, by column name; already journalled)
 *   group     {row {...}, score {...}}  (group row; score: what the summary prints per workload)
 *   error     {class, text}             (nothing could be run)
 * The handler borrows the message. */
typedef void (*cell_event_fn)(void *ctx, const json_t *event);

struct cell_outcome {
    bool ok; /* every job ok and rows written */
    bool interrupted;
    json_t *group;    /* the group event, or NULL; owned */
    struct error err; /* why not ok, when there is a sentence beside the rows */
};

/* Parent: starts the process, relays events, waits.  An interrupt (os_stop_requested) is passed on
 * to the cell as SIGTERM, which ends its children and reports; a cell that does not end within 10 s
 * is killed with its process group. */
void cell_run(const struct cell_spec *spec, cell_event_fn on_event, void *ctx,
              struct cell_outcome *out);
/* Child: the whole life of the cell process.  Returns the exit code. */
int cell_main(void);

#endif
