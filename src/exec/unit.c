#include "exec/unit.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "exec/stacking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAUSE_MAX ((int)sizeof((struct job_result *)0)->cause - 1)

/* A data set that was loaded, or why it was not: asked once, either way. */
struct loaded_set {
    char *name;
    struct dataset *data;
    struct error err;
};

struct exec_unit {
    struct engine *engine;
    const struct exec_options *options;
    struct loaded_set *sets;
    int n_sets;
    /* --init-weights, read at the first use. */
    char *weights;
    size_t weights_len;
};

/* A job on its way through exec_unit_run. */
struct unit_job {
    int index; /* the caller's */
    const struct job *job;
    const struct loaded_set *set;
    struct job_result result;
    bool done;
};

struct run;

/* A built bucket and whose models it holds. */
struct stack {
    struct run *run;
    struct bucket *bucket;
    struct unit_job **members; /* owned list; model k is members[k] */
    int n;
};

struct run {
    struct exec_unit *unit;
    const struct group_sink *sink;
    bool (*should_stop)(void *ctx);
    void *stop_ctx;
    struct unit_job *jobs;
    int n_jobs;
    struct stack *stacks;
    int n_stacks;
};

struct exec_unit *exec_unit_open(const struct exec_options *options, int threads, struct error *err)
{
    const struct engine_options o = exec_engine_options(options, threads);
    struct engine *engine = engine_open(&o, err);
    if (!engine)
        return NULL;
    struct exec_unit *u = xcalloc(1, sizeof *u);
    u->engine = engine;
    u->options = options;
    return u;
}

void exec_unit_close(struct exec_unit *u)
{
    if (!u)
        return;
    engine_close(u->engine);
    for (int i = 0; i < u->n_sets; i++) {
        data_free(u->sets[i].data);
        free(u->sets[i].name);
    }
    free(u->sets);
    free(u->weights);
    free(u);
}

bool exec_unit_interrupted(void *ctx)
{
    (void)ctx;
    return os_stop_requested() != 0;
}

/* Books time of a phase to a job. */
static void book(const struct run *run, struct unit_job *j, enum phase p, double t0_s, double t1_s)
{
    j->result.phase_s[p] += t1_s - t0_s;
    sink_phase(run->sink, j->index, p, t0_s, t1_s);
}

/* Completes what is known of every job, whatever became of it, and reports it. */
static void finish(const struct run *run, struct unit_job *j)
{
    struct job_result *r = &j->result;
    const struct exec_unit *u = run->unit;
    const int64_t peak = os_peak_rss(0);
    r->t_end_s = clock_now_s();
    r->peak_rss_mb = peak < 0 ? (double)NAN : (double)peak / (1024.0 * 1024.0);
    r->threads = engine_threads(u->engine);
    snprintf(r->variant, sizeof r->variant, "%s", engine_variant(u->engine));
    snprintf(r->data_source, sizeof r->data_source, "%s",
             u->options->synthetic ? "synthetic" : "real");
    const struct dataset *data = j->set ? j->set->data : NULL;
    if (data)
        snprintf(r->data_source, sizeof r->data_source, "%s",
                 data->source == DATA_SYNTHETIC ? "synthetic" : "real");
    if (data && data->layout)
        snprintf(r->data_layout, sizeof r->data_layout, "%s", data->layout);
    j->done = true;
    sink_done(run->sink, j->index, r);
    job_result_release(r);
}

static void finish_failed(const struct run *run, struct unit_job *j, const struct error *err)
{
    j->result.status = JOB_FAILED;
    snprintf(j->result.cause, sizeof j->result.cause, "%.*s", CAUSE_MAX, err->text);
    finish(run, j);
}

/* The set of that name; loads it when it is new (*fresh). */
static struct loaded_set *find_or_load(struct exec_unit *u, const char *name, bool *fresh)
{
    *fresh = false;
    for (int i = 0; i < u->n_sets; i++)
        if (strcmp(u->sets[i].name, name) == 0)
            return &u->sets[i];
    *fresh = true;
    struct loaded_set *set = &u->sets[u->n_sets++];
    *set = (struct loaded_set){.name = xstrdup(name), .err = ERROR_INIT};
    set->data = data_load(name, u->options->data_root, u->options->synthetic, &set->err);
    return set;
}

/* Loads every data set the jobs need; the time is booked to all the jobs that wait for it. */
static void load_data(struct run *run)
{
    struct exec_unit *u = run->unit;
    /* Room for all, so that pointers into the list stay good. */
    u->sets = xrealloc(u->sets, (size_t)(u->n_sets + run->n_jobs) * sizeof *u->sets);
    for (int i = 0; i < run->n_jobs; i++) {
        struct unit_job *j = &run->jobs[i];
        if (j->set)
            continue;
        bool fresh;
        const double t0 = clock_now_s();
        const struct loaded_set *set = find_or_load(u, j->job->net.dataset, &fresh);
        const double t1 = clock_now_s();
        for (int k = i; k < run->n_jobs; k++) {
            struct unit_job *other = &run->jobs[k];
            if (other->set || strcmp(other->job->net.dataset, set->name) != 0)
                continue;
            other->set = set;
            if (fresh)
                book(run, other, PHASE_DATA, t0, t1);
            if (!set->data)
                finish_failed(run, other, &set->err);
        }
    }
}

/* ---- weights ---- */

#define MAX_WEIGHTS_BYTES ((size_t)64 << 30)

static void warn_names(const char *file, const char *what, const struct text_list *names)
{
    if (names->n > 0)
        log_once(LOG_WARNING, "%s: %zu tensor%s %s, the first is %s", file, names->n,
                 names->n == 1 ? "" : "s", what, names->items[0]);
}

/* What fits of --init-weights, into every model of a new bucket. */
static bool init_weights(struct exec_unit *u, struct bucket *b, struct error *err)
{
    const char *file = u->options->init_weights;
    if (!*file)
        return true;
    if (!u->weights && !file_read(file, MAX_WEIGHTS_BYTES, &u->weights, &u->weights_len, err))
        return false;
    for (int k = 0; k < bucket_size(b); k++) {
        struct weights_report report;
        weights_report_init(&report);
        const bool ok =
            bucket_weights_import(b, k, u->weights, u->weights_len, false, &report, err);
        if (ok) {
            warn_names(file, "of the network not in it: drawn from the seed", &report.missing);
            warn_names(file, "of another shape: drawn from the seed", &report.different);
            warn_names(file, "of it not in the network: not used", &report.unused);
        }
        weights_report_release(&report);
        if (!ok)
            return error_prefix(err, "%s", file);
    }
    return true;
}

/* A model that ended well leaves its weights, or the job did not end well. */
static void save_weights(const struct run *run, const struct bucket *b, int model,
                         struct unit_job *j)
{
    const char *folder = run->unit->options->save_weights;
    if (!*folder || j->result.status != JOB_OK)
        return;
    struct error err = ERROR_INIT;
    void *data = NULL;
    size_t len;
    char *path = xasprintf("%s/%s.safetensors", folder, j->job->job_id);
    if (!bucket_weights_export(b, model, &data, &len, &err) ||
        !file_write_atomic(path, data, len, &err)) {
        j->result.status = JOB_FAILED;
        snprintf(j->result.cause, sizeof j->result.cause, "its weights could not be saved: %.400s",
                 err.text);
    }
    free(data);
    free(path);
}

/* Published weights, where the jobs of the bucket start from them. */
static bool pretrained_weights(const struct exec_unit *u, const struct job *job, struct bucket *b,
                               struct error *err)
{
    const struct weights_published *published = job_pretrained(job, u->options);
    struct file_map file;
    if (!published)
        return true;
    char *path = path_join(u->options->data_root, published->path);
    bool ok = file_map_open(&file, path, err);
    for (int k = 0; ok && k < bucket_size(b); k++)
        ok = bucket_weights_import_published(b, k, file.data, file.len, published, err) ||
             error_prefix(err, "%s", path);
    file_map_close(&file);
    free(path);
    return ok;
}

static struct bucket *new_bucket(const struct run *run, struct unit_job *const *members, int n,
                                 struct error *err)
{
    const struct job *first = members[0]->job;
    struct train_spec *models = xcalloc((size_t)n, sizeof *models);
    for (int k = 0; k < n; k++)
        models[k] = job_train_spec(members[k]->job);
    const struct bucket_spec spec = {
        .data = members[0]->set->data,
        .train_limit = first->train_size,
        .model = first->net.model,
        .task = first->net.task,
        .optimizer = first->net.optimizer,
        .batch_size = first->net.batch_size,
        .n_models = n,
        .models = models,
        .eval_each_epoch = first->eval_each_epoch,
    };
    struct bucket *b = bucket_new(run->unit->engine, &spec, err);
    free(models);
    if (!b || (pretrained_weights(run->unit, first, b, err) && init_weights(run->unit, b, err)))
        return b;
    bucket_free(b);
    return NULL;
}

/* --compile on: what it costs is a phase of its own. */
static bool compile(const struct run *run, struct unit_job *const *members, int n, struct bucket *b,
                    struct error *err)
{
    const double t0 = clock_now_s();
    const bool ok = bucket_compile(b, err);
    const double t1 = clock_now_s();
    for (int k = 0; k < n; k++)
        book(run, members[k], PHASE_COMPILE, t0, t1);
    return ok;
}

/* Builds a bucket of these jobs.  When that fails they are tried in halves, so that one impossible
 * job (an empty fold) fails alone and what does not fit as a whole still runs in parts. */
static void build(struct run *run, struct unit_job *const *members, int n)
{
    struct error err = ERROR_INIT;
    const double t0 = clock_now_s();
    struct bucket *b = new_bucket(run, members, n, &err);
    const double t1 = clock_now_s();
    for (int k = 0; k < n; k++)
        book(run, members[k], PHASE_BUILD, t0, t1);
    if (b && run->unit->options->compile && !compile(run, members, n, b, &err)) {
        bucket_free(b);
        b = NULL;
    }
    if (!b && n == 1) {
        finish_failed(run, members[0], &err);
        return;
    }
    if (!b) {
        build(run, members, n / 2);
        build(run, members + n / 2, n - n / 2);
        return;
    }
    struct unit_job **own = xcalloc((size_t)n, sizeof(struct unit_job *));
    struct stack *s = &run->stacks[run->n_stacks++];
    *s = (struct stack){run, b, own, n};
    bucket_set_user(b, s); /* the list has its full room from the start and never moves */
    for (int k = 0; k < n; k++) {
        own[k] = members[k];
        members[k]->result.plan_hash = bucket_plan_hash(b);
    }
}

static void build_all(struct run *run, const struct job *jobs, const int *which)
{
    const size_t n = (size_t)run->n_jobs;
    int *group = xcalloc(n, sizeof *group);
    struct unit_job **members = xcalloc(n, sizeof(struct unit_job *));
    const int n_groups = stacking_groups(jobs, which, run->n_jobs, group);
    for (int g = 0; g < n_groups; g++) {
        int m = 0;
        for (int i = 0; i < run->n_jobs; i++)
            if (group[i] == g && !run->jobs[i].done)
                members[m++] = &run->jobs[i];
        if (m > 0)
            build(run, members, m);
    }
    free(members);
    free(group);
}

static struct unit_job *member(const struct bucket *b, int model)
{
    const struct stack *s = bucket_user(b);
    return s->members[model];
}

static void on_epoch(void *ctx, const struct bucket *b, int model, const struct epoch_report *r)
{
    const struct run *run = ctx;
    struct unit_job *j = member(b, model);
    job_result_add_epoch(&j->result, r);
    sink_epoch(run->sink, j->index, r);
}

static void on_phase(void *ctx, const struct bucket *b, int model, enum phase p, double t0_s,
                     double t1_s)
{
    book(ctx, member(b, model), p, t0_s, t1_s);
}

static void on_progress(void *ctx, const struct bucket *b, int model, double epochs_done,
                        double samples_per_s, double loss)
{
    const struct run *run = ctx;
    sink_progress(run->sink, member(b, model)->index, epochs_done, samples_per_s, loss);
}

static void on_result(void *ctx, const struct bucket *b, int model, const struct model_result *m)
{
    struct unit_job *j = member(b, model);
    struct job_result *r = &j->result;
    const int epochs = j->job->net.epochs;
    r->model = *m;
    r->status = JOB_OK;
    if (m->status == MODEL_DIVERGED) {
        r->status = JOB_DIVERGED;
        snprintf(r->cause, sizeof r->cause,
                 "the loss was no longer finite after %d of %d epochs (lr %g); a smaller learning "
                 "rate may help",
                 m->epochs_run, epochs, j->job->net.optim.lr);
    } else if (m->status == MODEL_INTERRUPTED) {
        r->status = JOB_INTERRUPTED;
        snprintf(r->cause, sizeof r->cause, "interrupted after %d of %d epochs", m->epochs_run,
                 epochs);
    }
    save_weights(ctx, b, model, j);
    finish(ctx, j);
}

static bool on_should_stop(void *ctx)
{
    const struct run *run = ctx;
    return run->should_stop && run->should_stop(run->stop_ctx);
}

/* Trains what was built; then every job has its result, whatever the engine did. */
static void train(struct run *run)
{
    const struct engine_events events = {
        .ctx = run,
        .epoch = on_epoch,
        .result = on_result,
        .phase = on_phase,
        .progress = on_progress,
        .should_stop = on_should_stop,
    };
    struct error err = ERROR_INIT;
    struct bucket **buckets = xcalloc((size_t)run->n_stacks + 1, sizeof(struct bucket *));
    for (int s = 0; s < run->n_stacks; s++)
        buckets[s] = run->stacks[s].bucket;
    if (run->n_stacks > 0 && engine_run(run->unit->engine, buckets, run->n_stacks, &events, &err))
        error_set(&err, ERROR_INTERNAL, "the engine ended without a result for this job");
    for (int i = 0; i < run->n_jobs; i++)
        if (!run->jobs[i].done)
            finish_failed(run, &run->jobs[i], &err);
    free(buckets);
}

void exec_unit_run(struct exec_unit *u, const struct job *jobs, const int *which, int n,
                   const struct group_sink *sink, bool (*should_stop)(void *ctx), void *stop_ctx)
{
    struct run run = {
        .unit = u,
        .sink = sink,
        .should_stop = should_stop,
        .stop_ctx = stop_ctx,
        .jobs = xcalloc((size_t)n + 1, sizeof(struct unit_job)),
        .n_jobs = n,
        /* At most a bucket for each job. */
        .stacks = xcalloc((size_t)n + 1, sizeof(struct stack)),
    };
    const double start = clock_now_s();
    for (int i = 0; i < n; i++) {
        run.jobs[i] = (struct unit_job){.index = which[i], .job = &jobs[which[i]]};
        job_result_init(&run.jobs[i].result);
        run.jobs[i].result.t_start_s = start;
    }
    load_data(&run);
    build_all(&run, jobs, which);
    train(&run);
    for (int s = 0; s < run.n_stacks; s++) {
        bucket_free(run.stacks[s].bucket);
        free(run.stacks[s].members);
    }
    free(run.stacks);
    free(run.jobs);
}
