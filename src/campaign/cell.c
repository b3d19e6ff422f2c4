/* The cell process: runs one group under one strategy, journals each job as it finishes, measures
 * the whole, and tells its parent. */
#include "campaign/cell.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/os.h"
#include "base/text.h"
#include "campaign/record.h"
#include "campaign/writer.h"
#include "exec/channel.h"
#include "results/results.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long a cell without a parent may take to end in order. */
#define ORPHAN_S 10

struct cell {
    struct channel channel;
    struct cell_spec spec;
    struct record record;
    struct results *store; /* NULL: --no-save-results */
    struct writer *writer;
    struct monitor *monitor;
    struct phase_clock *phases;
    atomic_bool ending; /* the end of the channel is our own doing */
};

static void send_error(struct cell *c, const struct error *err)
{
    channel_sendf(&c->channel, NULL, "error", "{s:i,s:s}", "class", (int)err->class_, "text",
                  err->text);
}

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_NOTICE] = "notice", [LOG_WARNING] = "warning"};

static void on_log(void *ctx, enum log_level level, const char *text)
{
    struct cell *c = ctx;
    channel_sendf(&c->channel, NULL, "notice", "{s:s,s:s}", "level", level_names[level], "text",
                  text);
}

/* The parent sends nothing more: what arrives is its end.  Then the run is stopped as by the user,
 * so that what is finished is kept; should that fail the alarm ends the process. */
static void *watch_parent(void *arg)
{
    struct cell *c = arg;
    for (;;) {
        json_t *msg;
        const enum channel_status status = channel_receive(&c->channel, 3600, &msg, NULL);
        json_decref(msg);
        if (status == CHANNEL_MESSAGE || status == CHANNEL_NOTHING)
            continue;
        if (!atomic_load(&c->ending)) {
            alarm(ORPHAN_S);
            kill(getpid(), SIGTERM);
        }
        return NULL;
    }
}

/* Ends the watching thread without losing what is still to be sent. */
static void stop_watching(struct cell *c, pthread_t watcher)
{
    atomic_store(&c->ending, true);
    shutdown(c->channel.fd, SHUT_RD);
    pthread_join(watcher, NULL);
}

/* ---- what the executor reports ------------------------------------------------------------- */

static void on_begin(void *ctx)
{
    struct cell *c = ctx;
    monitor_window_begin(c->monitor);
    c->record.t_begin_s = clock_now_s();
}

static void on_end(void *ctx)
{
    struct cell *c = ctx;
    c->record.t_end_s = clock_now_s();
    monitor_window_end(c->monitor);
}

static void on_phase(void *ctx, int job, enum phase p, double t0_s, double t1_s)
{
    const struct cell *c = ctx;
    (void)job;
    phase_clock_add(c->phases, p, t0_s, t1_s);
}

static void send_about_job(struct cell *c, const char *type, int job, json_t *event)
{
    const struct job *j = &c->record.jobs[job];
    json_t *msg = json_pack("{s:s,s:i,s:s}", "type", type, "job", job, "job_id", j->job_id);
    json_object_update(msg, event);
    json_object_set_new(msg, "epochs", json_integer(j->net.epochs));
    channel_send(&c->channel, msg, NULL);
    json_decref(event);
    json_decref(msg);
}

static void on_epoch(void *ctx, int job, const struct epoch_report *r)
{
    send_about_job(ctx, "epoch", job, epoch_report_to_json(r));
}

static void on_progress(void *ctx, int job, double epochs_done, double samples_per_s, double loss)
{
    send_about_job(ctx, "progress", job,
                   json_pack("{s:o,s:o,s:o}", "epochs_done", json_number(epochs_done),
                             "samples_per_s", json_number(samples_per_s), "loss",
                             json_number(loss)));
}

static void on_done(void *ctx, int job, const struct job_result *result)
{
    struct cell *c = ctx;
    json_t *row = record_job(&c->record, job, result);
    writer_add(c->writer, job, row, record_history(&c->record, job, result));
}

static void on_worker(void *ctx, pid_t pid, bool alive)
{
    struct cell *c = ctx;
    if (alive)
        monitor_watch(c->monitor, pid);
    else
        monitor_unwatch(c->monitor, pid);
}

/* From the writer's thread: the parent hears of a job when its row is safe. */
static void on_written(void *ctx, int job, const json_t *row)
{
    struct cell *c = ctx;
    channel_sendf(&c->channel, NULL, "job", "{s:i,s:O}", "job", job, "row", row);
}

/* ---- the life of a cell -------------------------------------------------------------------- */

static void send_start(struct cell *c)
{
    const struct record *r = &c->record;
    const struct layout *l = &r->layout;
    channel_sendf(&c->channel, NULL, "start",
                  "{s:s,s:s,s:s,s:s,s:i,s:{s:i,s:i,s:i,s:s},s:s,s:i,s:i}", "group_id", r->group_id,
                  "exp_id", c->spec.experiment->id, "executor", c->spec.executor, "workload",
                  c->spec.experiment->workload->name, "n_jobs", r->n_jobs, "layout", "max_parallel",
                  l->max_parallel, "threads", l->threads, "threads_per_unit", l->threads_per_unit,
                  "source", l->source, "device", c->spec.options.device, "threads", l->threads,
                  "pid", (int)getpid());
}

/* Jobs the executor could not even begin: rows like all others. */
static void report_rest(struct cell *c, const struct error *err)
{
    for (int i = 0; i < c->record.n_jobs; i++) {
        struct job_result result;
        if (c->record.outcomes[i].done)
            continue;
        job_result_init(&result);
        result.status = JOB_FAILED;
        snprintf(result.cause, sizeof result.cause, "%.*s", (int)sizeof result.cause - 1,
                 err->text);
        on_done(c, i, &result);
        job_result_release(&result);
    }
}

/* Trains the group.  False when nothing could be run, with the reason. */
static bool run_group(struct cell *c, struct error *err)
{
    struct record *r = &c->record;
    const struct group group = {
        .experiment = c->spec.experiment,
        .jobs = r->jobs,
        .n_jobs = r->n_jobs,
        .options = c->spec.options,
        .layout = r->layout,
    };
    const struct group_sink sink = {
        .ctx = c,
        .begin = on_begin,
        .job_phase = on_phase,
        .epoch = on_epoch,
        .progress = on_progress,
        .done = on_done,
        .end = on_end,
        .worker = on_worker,
    };
    const bool ran = r->executor->run(&group, &sink, err);
    if (!ran)
        report_rest(c, err);
    /* What follows the last result until here: ending workers, giving memory back. */
    if (isfinite(r->t_end_s))
        phase_clock_add(c->phases, PHASE_TEARDOWN, r->t_end_s, clock_now_s());
    return ran;
}

/* The first of the lost rows by name, and how many more. */
static void say_lost(struct cell *c, const struct text_list *lost, const struct error *why)
{
    struct error err = ERROR_INIT;
    struct text names;
    text_init(&names);
    const size_t shown = lost->n < 8 ? lost->n : 8;
    for (size_t i = 0; i < shown; i++)
        text_addf(&names, "%s%s", i ? ", " : "", lost->items[i]);
    if (lost->n > shown)
        text_addf(&names, " and %zu more", lost->n - shown);
    error_set(&err, ERROR_SYSTEM, "rows of %s could not be written: %s", names.data, why->text);
    send_error(c, &err);
    text_release(&names);
}

/* The group's row, after all its jobs' rows.  False when it could not be kept. */
static bool write_group(struct cell *c, const struct monitor_summary *energy, int unsaved)
{
    struct record *r = &c->record;
    struct error err = ERROR_INIT;
    double phase_s[PHASE_COUNT];
    const double end = clock_now_s();
    phase_clock_totals(c->phases, r->t_cell_s, end, phase_s);
    json_t *row = record_group(r, end - r->t_cell_s, phase_s, energy, unsaved);
    bool kept = true;
    if (c->store) {
        kept = results_add_group(c->store, row, &err);
        if (kept && !results_sync(c->store, &err)) {
            kept = false;
            error_prefix(&err, "every row is in the journal (%s), but not yet in the CSV files",
                         results_journal_path(c->store));
        }
    }
    json_t *msg = json_pack("{s:s,s:o,s:o}", "type", "group", "row", row, "score", score_of(r));
    channel_send(&c->channel, msg, NULL);
    json_decref(msg);
    if (!kept)
        send_error(c, &err);
    return kept;
}

/* Runs and writes; true when every job ended well and every row is kept. */
static bool run_and_write(struct cell *c)
{
    struct error run_err = ERROR_INIT, write_err = ERROR_INIT;
    struct monitor_summary energy;
    struct text_list lost;
    text_list_init(&lost);
    send_start(c);
    const bool ran = run_group(c, &run_err);
    monitor_stop(c->monitor, &energy);
    c->monitor = NULL;
    writer_finish(c->writer, &lost, &write_err);
    c->writer = NULL;
    /* The parent takes the first error for the cause: in the order in which they came about. */
    if (!ran)
        send_error(c, &run_err);
    if (lost.n > 0)
        say_lost(c, &lost, &write_err);
    const bool kept = write_group(c, &energy, (int)lost.n);
    const bool good = ran && kept && lost.n == 0 && record_status(&c->record) == JOB_OK;
    text_list_release(&lost);
    return good;
}

/* Everything a run needs besides the strategy. */
static bool set_up(struct cell *c, const json_t *msg, struct error *err)
{
    const char *run_id;
    double t_cell_s;
    if (!json_get_string(msg, "run_id", "cell message", &run_id, err) ||
        !json_get_number(msg, "t_spawn_s", "cell message", &t_cell_s, err) ||
        !cell_spec_from_json(json_object_get(msg, "spec"), &c->spec, err))
        return false;
    if (!record_init(&c->record, &c->spec, NULL, run_id, t_cell_s, err))
        return false;
    if (c->spec.runs_dir && !(c->store = results_open(c->spec.runs_dir, err)))
        return false;
    c->phases = phase_clock_new();
    c->monitor =
        monitor_start(c->spec.options.gpu, strcmp(c->spec.options.device, "cpu") != 0, err);
    if (!c->monitor)
        return false;
    c->writer = writer_start(c->store, on_written, c, err);
    return c->writer != NULL;
}

static void release(struct cell *c)
{
    if (c->writer) {
        struct text_list lost;
        text_list_init(&lost);
        writer_finish(c->writer, &lost, NULL);
        text_list_release(&lost);
    }
    if (c->monitor) {
        struct monitor_summary unused;
        monitor_stop(c->monitor, &unused);
    }
    if (c->phases)
        phase_clock_free(c->phases);
    if (c->store)
        results_close(c->store);
    record_release(&c->record);
    if (c->spec.experiment)
        cell_spec_release(&c->spec);
}

/* The spec message, which follows the greeting at once. */
static json_t *receive_spec(struct cell *c, struct error *err)
{
    json_t *msg;
    const enum channel_status status = channel_receive(&c->channel, 60, &msg, err);
    if (status == CHANNEL_MESSAGE)
        return msg;
    if (status != CHANNEL_BROKEN)
        error_set(err, ERROR_RUN, "the cell was told nothing to do");
    return NULL;
}

int cell_main(void)
{
    struct cell c = {0};
    struct error err = ERROR_INIT;
    bool good = false;
    json_t *msg = NULL;
    pthread_t watcher;
    os_catch_signals();
    os_become_subreaper();
    channel_init(&c.channel, OS_CHANNEL_FD);
    if (!channel_hello_child(&c.channel, &err) || !(msg = receive_spec(&c, &err))) {
        log_msg(LOG_WARNING, "a cell cannot begin: %s", err.text);
        channel_release(&c.channel);
        return 1;
    }
    log_set_sink(on_log, &c);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool watched = pthread_create(&watcher, NULL, watch_parent, &c) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!watched)
        error_set(&err, ERROR_SYSTEM, "the cell cannot start a thread");
    if (watched && set_up(&c, msg, &err))
        good = run_and_write(&c);
    else
        send_error(&c, &err);
    log_set_sink(NULL, NULL);
    if (watched)
        stop_watching(&c, watcher);
    release(&c);
    json_decref(msg);
    channel_release(&c.channel);
    return good ? 0 : 1;
}
