/* Experiments and workloads: what an experiment is, how it expands into jobs.
 *
 * Fields and expansion as reference runtime.md sections 2.2, 2.3; the catalogue E01-E17 as its
 * Appendix A, D01-D04 on the embedded digits.  Everything is checked when a definition is read:
 * unknown keys, types, ranges, optimiser options, workload needs; nothing is accepted and ignored.
 */
#ifndef CATALOG_EXPERIMENT_H
#define CATALOG_EXPERIMENT_H

#include "base/error.h"
#include "data/split.h"
#include "nn/optim.h"

#include <jansson.h>
#include <stdint.h>

/* What one network is trained with.  Strings are owned. */
struct net_def {
    char *model, *dataset, *task, *optimizer;
    struct optim_args optim; /* lr included */
    char *schedule;          /* of the learning rate, as schedule_parse takes it; NULL: constant */
    double clip_grad_norm;   /* 0: gradients are not clipped */
    int32_t batch_size, epochs;
    bool amp;
};

/* One axis of a search: key and its values as typed JSON (array). */
struct search_axis {
    char *key;
    json_t *values;
};

struct workload_info;

struct experiment {
    char *id;
    const char *source; /* "built-in", "experiments.json", "ad-hoc" */
    const struct workload_info *workload;
    char *size, *notes;       /* labels; may be NULL */
    struct net_def net;       /* ensemble, cv, hpo; multi_model: unused */
    int32_t k;                /* committee_size or folds */
    struct search_axis *axes; /* hpo, in key order */
    int32_t n_axes;
    struct net_def *models; /* multi_model */
    int32_t n_models;
    int64_t train_size; /* 0: all; only through --set train_size=N */
    char *overrides;    /* "epochs=2,k=3" in the order given, NULL when none */
};

/* A job: one network to train. */
struct job {
    char *job_id; /* "E05_ens_s0", "D02_fold3", "D03_t7", "D04_m1_digits_cnn" */
    char *exp_id;
    int32_t index; /* in the expanded list */
    struct net_def net;
    struct split_spec split;
    uint64_t seed; /* base seed + index */
    int64_t train_size;
    bool eval_each_epoch; /* hpo */
};

/* Workload types, in registration order: ensemble, cv, multi_model, hpo. */
struct workload_info {
    const char *name;
    const char *summary;
    const char *count_key;     /* "committee_size", "folds", NULL */
    bool uses_trial_scheduler; /* hpo */
    /* Type-specific checks of a definition. */
    bool (*check)(const struct experiment *e, struct error *err);
    int64_t (*job_count)(const struct experiment *e);
    /* Fills job i (job_id, net, split, eval_each_epoch); seed and index are the caller's. */
    bool (*job)(const struct experiment *e, int64_t i, uint64_t split_seed, struct job *out,
                struct error *err);
};
extern const struct workload_info *const workload_table[];
const struct workload_info *workload_find(const char *name);

#define EXPERIMENT_MAX_JOBS 100000 /* a bigger grid is refused with its size */

/* Reads a definition (an object of the reference's fields).  `where` names it in errors
 * ("registry/experiments.json:12:3: E99"). */
struct experiment *experiment_from_json(const char *id, const json_t *def, const char *source,
                                        const char *where, struct error *err);
/* The definition back as JSON, defaults filled in, fields in a fixed order. */
json_t *experiment_to_json(const struct experiment *e);
void experiment_free(struct experiment *e);
struct experiment *experiment_copy(const struct experiment *e);
/* SHA-free 64-bit FNV-1a of the canonical definition (id excluded), as 16 hex digits: the
 * definition_hash column. */
void experiment_hash(const struct experiment *e, char out[17]);

/* --set KEY=V: epochs, batch_size, lr, schedule, clip_grad_norm, k, dataset, model, task,
 * optimizer, amp, train_size, and the optimiser's options (momentum=0.8).  For multi_model a key
 * applies to every entry.  A key that is an axis of the search replaces that axis by its one value.
 * Unknown keys name the closest.  Appends to overrides. */
bool experiment_set(struct experiment *e, const char *key, const char *value, struct error *err);

/* All is known and usable now: model, data set, task, optimiser and how they fit (task against the
 * data set, input shape against the model), naming what is not built yet.  synthetic: --data
 * synthetic was asked for. */
bool experiment_check(const struct experiment *e, bool synthetic, struct error *err);
/* "built", or why not: "model not built yet", "data set not built yet" (words of `list`). */
const char *experiment_state(const struct experiment *e, bool synthetic);

/* Expands to jobs; *jobs is malloc'd. */
bool experiment_jobs(const struct experiment *e, uint64_t seed, uint64_t split_seed,
                     struct job **jobs, int32_t *n, struct error *err);
void jobs_free(struct job *jobs, int32_t n);

/* Options of a network's optimiser that differ from its defaults, for people:
 * "momentum=0.9 nesterov"; malloc'd, "" when none. */
char *net_options_text(const struct net_def *net);

/* A job as a JSON message and back (worker protocol, cells). */
json_t *job_to_json(const struct job *job);
bool job_from_json(const json_t *msg, struct job *out, struct error *err);
void job_release(struct job *job);

#endif
