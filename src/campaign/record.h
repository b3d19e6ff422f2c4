/* What the rows of a cell are made of, and the rows: for this room only.  The cell makes them as
 * its jobs finish; the parent makes the missing ones of a cell that died.
 */
#ifndef CAMPAIGN_RECORD_H
#define CAMPAIGN_RECORD_H

#include "campaign/cell.h"
#include "measure/environment.h"
#include "measure/monitor.h"

#define RECORD_SCHEMA_VERSION 1

/* What is kept of a finished job for the group's row and its score. */
struct job_outcome {
    bool done;
    enum job_status status;
    double train_score, val_loss, val_score; /* NaN unknown */
    int64_t samples;
};

struct record {
    const struct cell_spec *spec; /* borrowed */
    const struct executor_info *executor;
    struct job *jobs; /* owned */
    int32_t n_jobs;
    struct layout layout;
    struct environment env;
    char group_id[48], run_id[17], cell_key[17], definition_hash[17];
    double t_cell_s;           /* the cell's process was started */
    double t_begin_s, t_end_s; /* T_group; NaN where no job began */
    double wall_minus_mono_s;  /* from clock_now_s to UTC */
    struct job_outcome *outcomes;
    json_t *common;        /* columns in which all jobs so far agree; null where they differ */
    char first_cause[600]; /* "JOB: cause" of the first job that did not end well */
};

/* Expands the jobs, checks them and lays them out.  group_id NULL: a new one.  spec is borrowed. */
bool record_init(struct record *r, const struct cell_spec *spec, const char *group_id,
                 const char *run_id, double t_cell_s, struct error *err);
void record_release(struct record *r);

/* Notes a finished job and gives its row of master_individual.csv. */
json_t *record_job(struct record *r, int job, const struct job_result *result);
/* Notes a job whose row was made by another process (cells as JSON values or as text). */
void record_note_row(struct record *r, int job, const json_t *row);
/* Its lines of history/<group_id>.csv. */
json_t *record_history(const struct record *r, int job, const struct job_result *result);
/* The group's row.  phase_s: totals over T_total, NULL: unknown, since the cell died; energy NULL:
 * not measured.  unsaved: jobs whose rows could not be written, which a group that ended well
 * otherwise does not survive. */
json_t *record_group(const struct record *r, double t_total_s, const double phase_s[PHASE_COUNT],
                     const struct monitor_summary *energy, int unsaved);
/* ok only if every job is; else the gravest of what happened. */
enum job_status record_status(const struct record *r);
int32_t record_count_ok(const struct record *r);

/* Identity of the command that makes the rows: the same for all cells this process starts. */
void record_run_id(char out[17]);

/* The score as the summary prints it: {"score_name", "n", "mean", "sd"} and, for a search, "best"
 * {"job_id", "score", "val_loss", "values" {...}}; for a heterogeneous group "models" [{"job_id",
 * "model", "dataset", "score_name", "score"}].  Only jobs that ended well count; NaN is null. */
json_t *score_of(const struct record *r);
/* Mean and standard deviation (n - 1) of the values that are numbers; NaN where there are too few.
 * Returns how many were. */
int score_mean_sd(const double *values, int n, double *mean, double *sd);
/* Index of the best trial: highest score, then lowest loss, then first; -1 none. */
int score_best(const struct record *r);

#endif
