/* Strategies: how the jobs of a group share the machine.  One table; slug, label, colour, columns
 * and options are asked of it by everything else.
 *
 * An executor gets jobs and a sink, and knows no files.  It reports each finished job at once, and
 * every job exactly once: ok, failed, killed, diverged, interrupted or never started.
 */
#ifndef EXEC_EXECUTOR_H
#define EXEC_EXECUTOR_H

#include "base/error.h"
#include "base/log.h"
#include "base/phase.h"
#include "catalog/experiment.h"
#include "engine/engine.h"
#include "measure/monitor.h"
#include "measure/phase_clock.h"

enum job_status {
    JOB_OK,
    JOB_FAILED,      /* an error inside the job: data missing, plan impossible, worker protocol */
    JOB_KILLED,      /* its process died by a signal or went silent */
    JOB_DIVERGED,    /* loss not finite */
    JOB_INTERRUPTED, /* the user stopped the run while it trained */
    JOB_NOT_STARTED, /* the run ended before it began */
};
const char *job_status_name(enum job_status s); /* "ok", "failed", ..., "not_started" */
bool job_status_parse(const char *name, enum job_status *out);

struct job_result {
    enum job_status status;
    char cause[512];              /* "" when ok */
    struct model_result model;    /* NaN / 0 where not reached */
    double t_start_s, t_end_s;    /* clock_now_s; first and last instant of the job */
    double phase_s[PHASE_COUNT];  /* the job's own phases */
    double peak_rss_mb;           /* of the process it ran in; NaN unknown */
    struct epoch_report *history; /* epochs_run entries; owned */
    int32_t n_history;
    uint64_t plan_hash;   /* 0 unknown */
    char variant[24];     /* instruction set: "avx512" */
    char data_source[16]; /* "real", "synthetic" */
    char data_layout[32]; /* which of the set's file layouts was read ("tokens"); "" none */
    int32_t threads;      /* given to this job's unit */
    int32_t worker_pid;   /* 0: this process */
};
void job_result_init(struct job_result *r);
void job_result_release(struct job_result *r);
json_t *job_result_to_json(const struct job_result *r);
bool job_result_from_json(const json_t *msg, struct job_result *out, struct error *err);
/* Appends to the history. */
void job_result_add_epoch(struct job_result *r, const struct epoch_report *e);
json_t *epoch_report_to_json(const struct epoch_report *e);
bool epoch_report_from_json(const json_t *msg, struct epoch_report *out, struct error *err);

#define EXEC_MAX_PATH 1024

/* What the whole cell was asked for (flags of `run` that reach an executor). */
struct exec_options {
    char device[8];        /* "cpu" or "cuda" (auto already resolved) */
    int gpu;               /* cuda: which of the visible ones */
    bool compile;          /* cuda: --compile on */
    bool tf32;             /* cuda: --tf32 */
    int threads;           /* cap of the whole cell; 0: all cores it may use */
    int max_parallel;      /* 0: estimated */
    bool synthetic;        /* --data synthetic */
    const char *data_root; /* borrowed */
    double silence_s;      /* a worker without a heartbeat this long is ended; 30 */
    /* "" none.  Folder that gets <job_id>.safetensors of each job that ends ok (it exists); file
     * every network takes its initial weights from, what fits of it. */
    char save_weights[EXEC_MAX_PATH], init_weights[EXEC_MAX_PATH];
    /* Names of the published weights (nn/weights.h) whose models start from them, joined by commas;
     * "" none.  Settled before the cell starts, so that its key can say it. */
    char pretrained[64];
};

/* How the engine is to be opened for a unit with so many threads. */
struct engine_options exec_engine_options(const struct exec_options *o, int threads);
json_t *exec_options_to_json(const struct exec_options *o);
/* *data_root: malloc'd, what out->data_root points to. */
bool exec_options_from_json(const json_t *msg, struct exec_options *out, char **data_root,
                            struct error *err);

struct layout {
    int max_parallel; /* units at once: 1 for seq; processes; sub-models */
    int threads;      /* of the whole cell */
    int threads_per_unit;
    const char *source; /* layout_source: "fixed", "default", "--max-parallel" */
};

struct group {
    const struct experiment *experiment;
    const struct job *jobs;
    int32_t n_jobs;
    struct exec_options options;
    struct layout layout;
};

/* Where an executor reports; calls are serialised by the executor. */
struct group_sink {
    void *ctx;
    /* T_group starts: the runtime is up, the first worker or bucket is about to be issued. */
    void (*begin)(void *ctx);
    void (*job_phase)(void *ctx, int job, enum phase phase, double t0_s, double t1_s);
    void (*epoch)(void *ctx, int job, const struct epoch_report *r);
    void (*progress)(void *ctx, int job, double epochs_done, double samples_per_s, double loss);
    /* Takes what it needs; the result stays the executor's. */
    void (*done)(void *ctx, int job, const struct job_result *r);
    /* T_group ends: the last job's evaluated result is there (teardown follows). */
    void (*end)(void *ctx);
    /* Processes to watch for memory. */
    void (*worker)(void *ctx, pid_t pid, bool alive);
};

struct executor_info {
    const char *slug;           /* "unified_model": in rows, group ids, figures */
    const char *label;          /* "Unified model" */
    const char *colour;         /* "#0072B2" */
    const char *summary;        /* one line of help */
    bool baseline;              /* speedups are against it */
    bool uses_max_parallel;     /* --max-parallel means something */
    const char *const *columns; /* extra group columns it records (NULL-terminated) */
    /* Can run these jobs in this version, or an error with the reason. */
    bool (*check)(const struct job *jobs, int32_t n, const struct exec_options *o,
                  struct error *err);
    void (*layout)(const struct job *jobs, int32_t n, const struct exec_options *o,
                   struct layout *out);
    /* Which jobs train stacked together: group[i] is the number of job i's bucket, by first
     * appearance; returns how many there are.  NULL: every job trains by itself. */
    int (*buckets)(const struct job *jobs, int n, int *group);
    /* False only when nothing could be run at all; failed jobs are results. */
    bool (*run)(const struct group *g, const struct group_sink *sink, struct error *err);
};

/* seq, mp, unified_model; NULL-terminated.  executor_planned: "ray" gives the reason it is refused.
 */
extern const struct executor_info *const executor_table[];
const struct executor_info *executor_find(const char *slug);
const char *executor_planned(const char *slug);

/* The published weights a job starts from under these options; NULL: none. */
const struct weights_published *job_pretrained(const struct job *job,
                                               const struct exec_options *options);
/* Would they fit?  Reads the head of their file and builds the network, trains nothing. */
bool job_pretrained_fit(const struct job *job, const struct exec_options *options,
                        const struct weights_published *published, struct error *err);

/* The train_spec of a job (borrows its job_id). */
struct train_spec job_train_spec(const struct job *job);
/* "accuracy", "R2": what the score of its task is called. */
const char *job_score_name(const struct job *job);
/* exp(loss) where the job's task has that figure (perplexity), else NaN. */
double job_perplexity(const struct job *job, double loss);
/* The options of its optimiser beside lr, as --optimizer-arg takes them: "betas=0.9,0.999
 * eps=1e-08"; malloc'd. */
char *job_optimizer_args(const struct job *job);

#endif
