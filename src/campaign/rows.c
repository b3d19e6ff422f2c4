/* Rows: a finished job, its history, and the group, by the names of results/columns.h.  Blank is
 * null and never a number that was not measured. */
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"
#include "campaign/record.h"
#include "fugue_version.h"
#include "results/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void put_text(json_t *row, const char *name, const char *text)
{
    if (!text || !*text)
        json_object_set_new(row, name, json_null());
    else if (json_object_set_new(row, name, json_string(text)) != 0)
        /* Not UTF-8: a program's last words may be anything. */
        json_object_set_new(row, name, json_string("(unreadable text)"));
}

static void put_real(json_t *row, const char *name, double v)
{
    json_object_set_new(row, name, isfinite(v) ? json_real(v) : json_null());
}

static void put_int(json_t *row, const char *name, int64_t v)
{
    json_object_set_new(row, name, json_integer(v));
}

static void put_bool(json_t *row, const char *name, bool v)
{
    json_object_set_new(row, name, json_boolean(v));
}

/* A count or size of which -1 says unknown. */
static void put_known(json_t *row, const char *name, double v)
{
    put_real(row, name, v >= 0 ? v : (double)NAN);
}

static void put_hash(json_t *row, const char *name, uint64_t hash)
{
    char hex[17];
    snprintf(hex, sizeof hex, "%016" PRIx64, hash);
    put_text(row, name, hash ? hex : NULL);
}

/* An instant of clock_now_s as UTC. */
static void put_utc(json_t *row, const char *name, const struct record *r, double t_s)
{
    if (!isfinite(t_s)) {
        json_object_set_new(row, name, json_null());
        return;
    }
    const int64_t ms = (int64_t)llround((t_s + r->wall_minus_mono_s) * 1e3);
    const time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    char text[40];
    gmtime_r(&seconds, &utc);
    const size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof text - n, ".%03dZ", (int)(ms % 1000));
    put_text(row, name, text);
}

static void put_identity(json_t *row, const struct record *r, enum job_status status,
                         const char *cause)
{
    put_text(row, "run_id", r->run_id);
    put_text(row, "cell_key", r->cell_key);
    put_text(row, "definition_hash", r->definition_hash);
    put_text(row, "overrides", r->spec->experiment->overrides);
    put_int(row, "attempt", r->spec->attempt);
    put_text(row, "status", job_status_name(status));
    put_text(row, "cause", status == JOB_OK ? NULL : cause);
    put_text(row, "engine", "fugue");
    put_text(row, "fugue_version", FUGUE_VERSION);
    put_text(row, "build_id", os_build_id());
    put_int(row, "schema_version", RECORD_SCHEMA_VERSION);
    put_text(row, "device", r->spec->options.device);
}

static void put_environment(json_t *row, const struct environment *env)
{
    put_text(row, "gpu_name", env->gpu_name);
    put_text(row, "gpu_uuid", env->gpu_uuid);
    put_text(row, "cuda_version", env->cuda_version);
    put_text(row, "nv_driver_version", env->driver_version);
    put_text(row, "gpu_compute_mode", env->compute_mode);
    put_known(row, "gpu_vram_total_mb", env->vram_total_mb);
    put_text(row, "cpu_model", env->cpu_model);
    put_int(row, "cpu_cores", env->cpu_cores);
    put_text(row, "hostname", env->hostname);
    put_text(row, "os", env->os);
    put_known(row, "ram_total_mb", env->ram_total_mb);
}

static void put_layout(json_t *row, const struct record *r, int threads_per_unit)
{
    put_int(row, "threads", r->layout.threads);
    put_int(row, "threads_per_unit", threads_per_unit);
    put_text(row, "layout_source", r->layout.source);
    put_bool(row, "compile", r->spec->options.compile);
}

static const char *const phase_columns[PHASE_COUNT] = {
    [PHASE_TRAIN] = "train_s", [PHASE_EVAL] = "eval_s", [PHASE_COMPILE] = "compile_s",
    [PHASE_BUILD] = "build_s", [PHASE_DATA] = "data_s", [PHASE_TEARDOWN] = "teardown_s",
    [PHASE_SETUP] = "setup_s",
};

static void put_job_phases(json_t *row, const struct job_result *result)
{
    double named = 0;
    for (int p = 0; p < PHASE_COUNT; p++)
        if (p != PHASE_SETUP)
            named += result->phase_s[p];
    for (int p = 0; p < PHASE_COUNT; p++)
        if (p != PHASE_SETUP)
            put_real(row, phase_columns[p], result->phase_s[p]);
    /* What is left of its life: the start of its process, waiting for others. */
    put_real(row, "setup_s", fmax(0, result->t_end_s - result->t_start_s - named));
}

static void put_split(json_t *row, const struct job *job)
{
    const struct split_spec *s = &job->split;
    char text[64];
    snprintf(text, sizeof text, "fixed");
    if (s->kind == SPLIT_KFOLD)
        snprintf(text, sizeof text, "kfold %d of %d", s->split_id + 1, s->k);
    else if (s->kind == SPLIT_HOLDOUT)
        snprintf(text, sizeof text, "holdout %g", s->fraction);
    put_text(row, "split", text);
    put_int(row, "split_seed", (int64_t)s->seed);
}

static void put_net(json_t *row, const struct job *job)
{
    char *args = job_optimizer_args(job);
    put_text(row, "dataset", job->net.dataset);
    put_text(row, "model", job->net.model);
    put_int(row, "batch_size", job->net.batch_size);
    put_int(row, "epochs", job->net.epochs);
    put_real(row, "lr", job->net.optim.lr);
    put_bool(row, "amp", job->net.amp);
    put_text(row, "task", job->net.task);
    put_text(row, "score_name", job_score_name(job));
    put_text(row, "optimizer", job->net.optimizer);
    put_text(row, "optimizer_args", args);
    put_text(row, "schedule", job->net.schedule ? job->net.schedule : "constant");
    put_real(row, "clip_grad_norm", job->net.clip_grad_norm);
    free(args);
}

/* What only a job that began has. */
static void put_training(json_t *row, const struct job_result *result)
{
    const struct model_result *m = &result->model;
    const double train_s = result->phase_s[PHASE_TRAIN];
    put_text(row, "precision", "fp32");
    put_text(row, "variant", result->variant);
    put_text(row, "data_source", result->data_source);
    put_text(row, "data_layout", result->data_layout);
    put_text(row, "val_source", m->val_source);
    put_int(row, "epochs_run", m->epochs_run);
    if (m->n_train > 0) {
        put_real(row, "total_time_s", train_s);
        put_int(row, "total_samples", m->total_samples);
        put_real(row, "throughput_sps",
                 train_s > 0 ? (double)m->total_samples / train_s : (double)NAN);
        put_int(row, "n_train", m->n_train);
        put_int(row, "n_val", m->n_val);
    }
    put_real(row, "final_train_loss", m->train_loss);
    put_real(row, "final_train_acc", m->train_score);
    put_real(row, "final_val_loss", m->val_loss);
    put_real(row, "final_val_acc", m->val_score);
    put_job_phases(row, result);
    put_real(row, "peak_rss_mb", result->peak_rss_mb);
    put_hash(row, "plan_hash", result->plan_hash);
    if (result->worker_pid > 0)
        put_int(row, "worker_pid", result->worker_pid);
}

/* Columns of the group's row that say what all its jobs have in common, or nothing. */
static const char *const common_columns[] = {
    "dataset",        "model",      "precision", "variant",        "data_source",
    "data_layout",    "val_source", "task",      "score_name",     "optimizer",
    "optimizer_args", "plan_hash",  "schedule",  "clip_grad_norm", "pretrained"};
#define N_COMMON ((int)(sizeof common_columns / sizeof *common_columns))

/* A job that did not get as far as a value does not differ in it. */
static void note_common(json_t *common, const json_t *row)
{
    for (int i = 0; i < N_COMMON; i++) {
        const char *name = common_columns[i];
        json_t *value = json_object_get(row, name);
        const json_t *before = json_object_get(common, name);
        if (!value || json_is_null(value))
            continue;
        if (!before)
            json_object_set(common, name, value);
        else if (!json_equal(before, value))
            json_object_set_new(common, name, json_null());
    }
}

static void note_outcome(struct record *r, int job, const struct job_outcome *outcome,
                         const char *cause)
{
    r->outcomes[job] = *outcome;
    if (outcome->status != JOB_OK && !r->first_cause[0])
        snprintf(r->first_cause, sizeof r->first_cause, "%s %s: %.*s", r->jobs[job].job_id,
                 job_status_name(outcome->status), (int)sizeof((struct job_result *)0)->cause,
                 cause);
}

/* A cell of a row, as a JSON number or as text; NaN when blank. */
static double cell_number(const json_t *row, const char *name)
{
    const json_t *value = json_object_get(row, name);
    double v = NAN;
    if (json_is_number(value))
        return json_number_value(value);
    if (json_is_string(value) && text_to_double(json_string_value(value), &v))
        return v;
    return (double)NAN;
}

void record_note_row(struct record *r, int job, const json_t *row)
{
    struct job_outcome o = {.done = true, .status = JOB_FAILED};
    const char *cause = json_string_value(json_object_get(row, "cause"));
    const double samples = cell_number(row, "total_samples");
    job_status_parse(json_string_value(json_object_get(row, "status")), &o.status);
    o.train_score = cell_number(row, "final_train_acc");
    o.val_loss = cell_number(row, "final_val_loss");
    o.val_score = cell_number(row, "final_val_acc");
    o.samples = isfinite(samples) ? (int64_t)samples : 0;
    note_common(r->common, row);
    note_outcome(r, job, &o, cause ? cause : "");
}

json_t *record_job(struct record *r, int job, const struct job_result *result)
{
    const struct job *j = &r->jobs[job];
    const bool began = isfinite(result->t_start_s);
    json_t *row = json_object();
    put_text(row, "group_id", r->group_id);
    put_text(row, "job_id", j->job_id);
    put_text(row, "exp_id", j->exp_id);
    put_text(row, "executor", r->executor->slug);
    put_bool(row, "early_stopped", false);
    put_int(row, "seed", (int64_t)j->seed);
    put_identity(row, r, result->status, result->cause);
    put_net(row, j);
    const struct weights_published *published = job_pretrained(j, &r->spec->options);
    put_text(row, "pretrained", published ? published->name : "none");
    put_split(row, j);
    put_layout(row, r, result->threads > 0 ? result->threads : r->layout.threads_per_unit);
    put_environment(row, &r->env);
    put_utc(row, "t_start_utc", r, result->t_start_s);
    put_utc(row, "t_end_utc", r, result->t_end_s);
    if (began) {
        put_training(row, result);
        put_real(row, "perplexity", job_perplexity(j, result->model.val_loss));
    }
    note_common(r->common, row);
    const struct job_outcome outcome = {
        .done = true,
        .status = result->status,
        .train_score = result->model.train_score,
        .val_loss = result->model.val_loss,
        .val_score = result->model.val_score,
        .samples = result->model.total_samples,
    };
    note_outcome(r, job, &outcome, result->cause);
    return row;
}

json_t *record_history(const struct record *r, int job, const struct job_result *result)
{
    json_t *lines = json_array();
    for (int32_t i = 0; i < result->n_history; i++) {
        const struct epoch_report *e = &result->history[i];
        const double values[] = {e->t_start_s - r->t_begin_s,
                                 e->t_end_s - r->t_begin_s,
                                 e->train_loss,
                                 e->val_loss,
                                 e->score,
                                 e->lr};
        json_t *line = json_array();
        json_array_append_new(line, json_string(r->jobs[job].job_id));
        json_array_append_new(line, json_integer(e->epoch));
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            json_array_append_new(line, isfinite(values[v]) ? json_real(values[v]) : json_null());
        json_array_append_new(lines, line);
    }
    return lines;
}

static void put_scores(json_t *row, const struct record *r)
{
    const size_t n = (size_t)r->n_jobs;
    double *val = xcalloc(n, sizeof *val), *train = xcalloc(n, sizeof *train), mean, sd;
    double *perplexity = xcalloc(n, sizeof *perplexity);
    for (int i = 0; i < r->n_jobs; i++) {
        const struct job_outcome *o = &r->outcomes[i];
        const bool good = o->done && o->status == JOB_OK;
        val[i] = good ? o->val_score : (double)NAN;
        train[i] = good ? o->train_score : (double)NAN;
        perplexity[i] = good ? job_perplexity(&r->jobs[i], o->val_loss) : (double)NAN;
    }
    score_mean_sd(val, r->n_jobs, &mean, &sd);
    put_real(row, "score_mean", mean);
    put_real(row, "score_sd", sd);
    score_mean_sd(train, r->n_jobs, &mean, &sd);
    put_real(row, "train_score_mean", mean);
    put_real(row, "train_score_sd", sd);
    const int best = r->spec->experiment->workload->uses_trial_scheduler ? score_best(r) : -1;
    score_mean_sd(perplexity, r->n_jobs, &mean, &sd);
    put_real(row, "perplexity", mean);
    put_text(row, "best_job_id", best >= 0 ? r->jobs[best].job_id : NULL);
    free(val);
    free(train);
    free(perplexity);
}

/* The energy a strategy is judged by: the device's that trained. */
static double group_energy(const struct record *r, const struct monitor_summary *m)
{
    if (strcmp(r->spec->options.device, "cpu") == 0)
        return m->host_energy_j;
    return isfinite(m->gpu_energy_counter_j) ? m->gpu_energy_counter_j : m->gpu_energy_integral_j;
}

static void put_energy(json_t *row, const struct record *r, const struct monitor_summary *m)
{
    if (!m) {
        put_text(row, "energy_cause", "the cell died before its energy was read");
        return;
    }
    put_real(row, "energy_group", group_energy(r, m));
    put_real(row, "gpu_util_mean", m->gpu_util_mean);
    put_real(row, "gpu_util_max", m->gpu_util_max);
    put_real(row, "vram_peak_mb", m->vram_peak_mb);
    put_real(row, "gpu_energy_counter_j", m->gpu_energy_counter_j);
    put_real(row, "gpu_energy_integral_j", m->gpu_energy_integral_j);
    put_real(row, "gpu_energy_ratio", m->gpu_energy_ratio);
    put_real(row, "gpu_idle_w", m->gpu_idle_w);
    put_real(row, "host_energy_j", m->host_energy_j);
    put_text(row, "energy_method", m->energy_method);
    put_text(row, "energy_cause", m->energy_cause);
    put_real(row, "gpu_power_mean_w", m->gpu_power_mean_w);
    put_real(row, "gpu_temp_max_c", m->gpu_temp_max_c);
    put_real(row, "sm_clock_mean_mhz", m->sm_clock_mean_mhz);
    put_text(row, "throttle_reasons", m->throttle_reasons);
    put_real(row, "host_peak_mb", m->host_peak_mb);
}

static void put_totals(json_t *row, const struct record *r, int unsaved)
{
    const int32_t ok = record_count_ok(r);
    const double t_group = r->t_end_s - r->t_begin_s;
    int64_t samples = 0;
    for (int i = 0; i < r->n_jobs; i++)
        samples += r->outcomes[i].done ? r->outcomes[i].samples : 0;
    put_int(row, "K", r->n_jobs);
    put_int(row, "jobs_ok", ok);
    put_int(row, "jobs_failed", r->n_jobs - ok);
    put_int(row, "total_samples", samples);
    put_real(row, "T_group", t_group);
    put_real(row, "throughput_group", t_group > 0 ? (double)samples / t_group : (double)NAN);
    enum job_status status = record_status(r);
    char cause[900] = "";
    if (status != JOB_OK)
        snprintf(cause, sizeof cause, "%d of %d jobs did not end well; first: %s", r->n_jobs - ok,
                 r->n_jobs, r->first_cause);
    else if (unsaved > 0) {
        status = JOB_FAILED;
        snprintf(cause, sizeof cause, "the rows of %d of %d jobs could not be written", unsaved,
                 r->n_jobs);
    }
    put_identity(row, r, status, cause);
}

json_t *record_group(const struct record *r, double t_total_s, const double phase_s[PHASE_COUNT],
                     const struct monitor_summary *energy, int unsaved)
{
    const struct experiment *e = r->spec->experiment;
    char stamp[16];
    json_t *row = json_object();
    put_text(row, "group_id", r->group_id);
    put_text(row, "exp_id", e->id);
    put_text(row, "executor", r->executor->slug);
    put_text(row, "mode", e->workload->name);
    put_text(row, "size", e->size);
    put_int(row, "max_parallel", r->layout.max_parallel);
    put_totals(row, r, unsaved);
    put_layout(row, r, r->layout.threads_per_unit);
    put_environment(row, &r->env);
    put_known(row, "power_limit_w", r->env.power_limit_w);
    for (int i = 0; i < N_COMMON; i++) {
        json_t *value = json_object_get(r->common, common_columns[i]);
        if (value)
            json_object_set(row, common_columns[i], value);
    }
    put_int(row, "seed", (int64_t)r->spec->seed);
    put_int(row, "split_seed", (int64_t)r->spec->split_seed);
    put_int(row, "repeats", 1);
    put_real(row, "T_total", t_total_s);
    for (int p = 0; p < PHASE_COUNT; p++)
        put_real(row, phase_columns[p], phase_s ? phase_s[p] : (double)NAN);
    put_utc(row, "t_start_utc", r, r->t_begin_s);
    put_utc(row, "t_end_utc", r, r->t_end_s);
    put_scores(row, r);
    put_energy(row, r, energy);
    clock_stamp(stamp);
    put_text(row, "timestamp", stamp);
    return row;
}
