/* Jobs in worker processes of the same binary, some at once, each handed its next job when it has
 * finished one.  Every message, death and silence is an event of one poll loop. */
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "exec/mp_worker.h"
#include "exec/strategies.h"
#include "exec/unit.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct mp {
    const struct group *group;
    const struct group_sink *sink;
    struct mp_worker *workers;
    int n_workers;
    int next; /* first job nobody has yet */
    int left; /* jobs without a result */
    bool stopping;
};

static void report(struct mp *mp, struct mp_worker *w)
{
    sink_done(mp->sink, w->job, &w->result);
    job_result_release(&w->result);
    w->job = -1;
    mp->left--;
}

/* Reports the worker's job as it stands, with this status and cause. */
static void report_lost(struct mp *mp, struct mp_worker *w, enum job_status status,
                        const char *cause)
{
    snprintf(w->result.cause, sizeof w->result.cause, "%.*s", (int)sizeof w->result.cause - 1,
             cause);
    w->result.status = status;
    w->result.model.epochs_run = w->result.n_history;
    w->result.t_end_s = clock_now_s();
    w->result.worker_pid = (int32_t)w->child.pid;
    w->result.threads = w->threads;
    report(mp, w);
}

/* Gives the worker the next job, as a record of ours; it is sent when the worker has greeted. */
static bool assign(struct mp *mp, struct mp_worker *w)
{
    if (mp->stopping || mp->next >= mp->group->n_jobs)
        return false;
    w->job = mp->next++;
    w->in_epoch = false;
    job_result_init(&w->result);
    w->result.t_start_s = clock_now_s();
    return true;
}

static bool send_job(struct mp *mp, struct mp_worker *w, struct error *err)
{
    struct exec_options options = mp->group->options;
    options.threads = w->threads;
    options.max_parallel = 0;
    return channel_sendf(&w->channel, err, "job", "{s:i,s:o,s:o}", "index", w->job, "job",
                         job_to_json(&mp->group->jobs[w->job]), "options",
                         exec_options_to_json(&options));
}

/* Starts the worker with the next job; a process that cannot be started costs that job only. */
static void start(struct mp *mp, struct mp_worker *w)
{
    while (!w->running && assign(mp, w)) {
        struct error err = ERROR_INIT;
        if (mp_worker_start(w, &err))
            sink_worker(mp->sink, w->child.pid, true);
        else
            report_lost(mp, w, JOB_FAILED, err.text);
    }
}

static void stop(struct mp *mp, struct mp_worker *w, double wait_s, int *status)
{
    const pid_t pid = w->child.pid;
    mp_worker_stop(w, wait_s, status);
    sink_worker(mp->sink, pid, false);
}

static bool on_hello(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    if (w->greeted)
        return error_set(err, ERROR_RUN, "it sent a second hello");
    w->greeted = true;
    return channel_answer_hello(&w->channel, msg, err) && send_job(mp, w, err);
}

static bool on_phase(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    const char *name;
    double t0, t1;
    enum phase p;
    if (!json_get_string(msg, "phase", "phase message", &name, err) ||
        !json_get_number(msg, "t0_s", "phase message", &t0, err) ||
        !json_get_number(msg, "t1_s", "phase message", &t1, err))
        return false;
    if (!phase_parse(name, &p))
        return error_set(err, ERROR_RUN, "phase message: unknown phase '%s'", name);
    w->result.phase_s[p] += t1 - t0;
    sink_phase(mp->sink, w->job, p, t0, t1);
    return true;
}

static bool on_epoch(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    struct epoch_report r;
    if (!epoch_report_from_json(msg, &r, err))
        return false;
    w->in_epoch = true;
    job_result_add_epoch(&w->result, &r);
    sink_epoch(mp->sink, w->job, &r);
    return true;
}

static bool on_progress(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    double done, speed, loss;
    if (!json_get_number(msg, "epochs_done", "progress message", &done, err) ||
        !json_get_number(msg, "samples_per_s", "progress message", &speed, err) ||
        !json_get_number(msg, "loss", "progress message", &loss, err))
        return false;
    w->in_epoch = true;
    sink_progress(mp->sink, w->job, done, speed, loss);
    return true;
}

/* After a job: the next one, or the end of the worker. */
static bool go_on(struct mp *mp, struct mp_worker *w, struct error *err)
{
    if (assign(mp, w))
        return send_job(mp, w, err);
    /* It ends at the end of file while others go on, and gives its memory back. */
    channel_release(&w->channel);
    return true;
}

static bool on_result(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    struct job_result r;
    if (!job_result_from_json(msg, &r, err))
        return false;
    /* Of our own record only the history and the instant of issue are more than it knows. */
    job_result_release(&r);
    r.history = w->result.history;
    r.n_history = w->result.n_history;
    r.t_start_s = w->result.t_start_s;
    w->result = r;
    report(mp, w);
    return go_on(mp, w, err);
}

static bool on_error(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    const char *text;
    if (!json_get_string(msg, "text", "error message", &text, err))
        return false;
    report_lost(mp, w, JOB_FAILED, text);
    return go_on(mp, w, err);
}

static bool on_notice(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    int64_t level;
    const char *text;
    (void)mp;
    (void)w;
    if (!json_get_int(msg, "level", "notice message", &level, err) ||
        !json_get_string(msg, "text", "notice message", &text, err))
        return false;
    /* Workers are alike, and so is what they have to say. */
    log_once(level >= LOG_WARNING ? LOG_WARNING : (enum log_level)level, "%s", text);
    return true;
}

static bool on_heartbeat(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    (void)mp;
    (void)w;
    (void)msg;
    (void)err;
    return true; /* the channel has noted the time */
}

static const struct {
    const char *type;
    bool about_job; /* carries "job" and counts only for the job the worker has */
    bool (*handle)(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err);
} messages[] = {
    {"heartbeat", false, on_heartbeat}, {"progress", true, on_progress}, {"epoch", true, on_epoch},
    {"phase", true, on_phase},          {"result", true, on_result},     {"error", true, on_error},
    {"notice", false, on_notice},       {"hello", false, on_hello},
};

static bool handle(struct mp *mp, struct mp_worker *w, const json_t *msg, struct error *err)
{
    const char *type = json_string_value(json_object_get(msg, "type"));
    int64_t job;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        if (strcmp(messages[i].type, type) != 0)
            continue;
        if (!w->greeted && strcmp(type, "hello") != 0)
            return error_set(err, ERROR_RUN, "it sent '%s' before its hello", type);
        if (!messages[i].about_job)
            return messages[i].handle(mp, w, msg, err);
        if (!json_get_int(msg, "job", type, &job, err))
            return false;
        if (job != w->job)
            return error_set(err, ERROR_RUN, "it sent '%s' for a job it does not have", type);
        return messages[i].handle(mp, w, msg, err);
    }
    return error_set(err, ERROR_RUN, "it sent a message of unknown type '%s'", type);
}

/* Handles what has arrived.  NOTHING: all of it; CLOSED: the worker is gone; BROKEN: it talks
 * nonsense (err). */
static enum channel_status drain(struct mp *mp, struct mp_worker *w, struct error *err)
{
    for (;;) {
        json_t *msg;
        const enum channel_status status = channel_receive(&w->channel, 0, &msg, err);
        if (status != CHANNEL_MESSAGE)
            return status;
        const bool good = handle(mp, w, msg, err);
        json_decref(msg);
        if (!good)
            return CHANNEL_BROKEN;
    }
}

/* The worker died or was ended: its job, if it still has one, says how. */
static void lose(struct mp *mp, struct mp_worker *w, enum channel_status why,
                 const struct error *err)
{
    char place[64] = "", how[96], words[200];
    int status = 0;
    const long pid = (long)w->child.pid;
    if (w->job >= 0)
        mp_worker_place(w, mp->group->jobs[w->job].net.epochs, place, sizeof place);
    if (why == CHANNEL_CLOSED && !os_wait(&w->child, 2, &status))
        why = CHANNEL_BROKEN; /* alive without its channel */
    if (why != CHANNEL_CLOSED)
        os_end_child(&w->child, 0, &status);
    mp_worker_last_words(w, words, sizeof words);
    os_describe_status(status, how, sizeof how);
    stop(mp, w, 0, NULL);
    if (w->job < 0)
        return;
    const char *mark = words[0] ? "; its last words: " : "";
    const char *said = err->text[0] ? err->text : "it closed its channel";
    enum job_status lost = JOB_FAILED;
    char *cause;
    if (why == CHANNEL_NOTHING) {
        lost = JOB_KILLED;
        cause = xasprintf("worker %ld sent nothing for %g s %s and was ended%s%s", pid,
                          mp->group->options.silence_s, place, mark, words);
    } else if (why == CHANNEL_BROKEN) {
        cause = xasprintf("worker %ld was ended %s: %s%s%s", pid, place, said, mark, words);
    } else {
        lost = WIFSIGNALED(status) ? JOB_KILLED : JOB_FAILED;
        cause = xasprintf("worker %ld %s%s %s%s%s", pid, WIFSIGNALED(status) ? "" : "ended with ",
                          how, place, mark, words);
    }
    report_lost(mp, w, lost, cause);
    free(cause);
}

static bool is_silent(const struct mp *mp, const struct mp_worker *w)
{
    const double limit = mp->group->options.silence_s;
    return limit > 0 && clock_now_s() - w->channel.last_heard_s > limit;
}

static bool is_busy(const struct mp_worker *w)
{
    return w->running && w->job >= 0;
}

/* Messages first, so that what a worker said before it died or stopped counts. */
static void attend(struct mp *mp, struct mp_worker *w)
{
    struct error err = ERROR_INIT;
    enum channel_status status = drain(mp, w, &err);
    if (!is_busy(w))
        return;
    if (status == CHANNEL_NOTHING && os_wait(&w->child, 0, NULL)) {
        status = drain(mp, w, &err);
        if (!is_busy(w))
            return;
        if (status == CHANNEL_NOTHING)
            status = CHANNEL_CLOSED;
    }
    if (status == CHANNEL_NOTHING && !is_silent(mp, w))
        return;
    lose(mp, w, status, &err);
    start(mp, w);
}

/* Sleeps until a worker says something, ends or has been silent too long, or the user stops. */
static void wait_for_news(const struct mp *mp, struct pollfd *p)
{
    const double now = clock_now_s();
    double wait = 3600;
    int n = 0;
    p[n++] = (struct pollfd){.fd = os_stop_fd(), .events = POLLIN};
    for (int i = 0; i < mp->n_workers; i++) {
        const struct mp_worker *w = &mp->workers[i];
        if (!is_busy(w))
            continue;
        p[n++] = (struct pollfd){.fd = w->channel.fd, .events = POLLIN};
        p[n++] = (struct pollfd){.fd = w->child.pidfd, .events = POLLIN};
        if (mp->group->options.silence_s > 0)
            wait = fmin(wait, w->channel.last_heard_s + mp->group->options.silence_s - now);
    }
    /* Rounded up: a wait that ends just too early would be followed by idle turns. */
    poll(p, (nfds_t)n, wait > 0 ? (int)(wait * 1e3) + 1 : 0);
}

/* The user stopped the run: workers are ended together; a result that was on its way counts. */
static void interrupt(struct mp *mp)
{
    struct error err = ERROR_INIT;
    mp->stopping = true;
    for (int i = 0; i < mp->n_workers; i++)
        if (is_busy(&mp->workers[i]) && !os_wait(&mp->workers[i].child, 0, NULL))
            kill(mp->workers[i].child.pid, SIGTERM);
    for (int i = 0; i < mp->n_workers; i++) {
        struct mp_worker *w = &mp->workers[i];
        if (!is_busy(w))
            continue;
        os_end_child(&w->child, 1, NULL);
        drain(mp, w, &err);
        if (is_busy(w)) {
            char cause[64];
            snprintf(cause, sizeof cause, "interrupted after %d of %d epochs", w->result.n_history,
                     mp->group->jobs[w->job].net.epochs);
            report_lost(mp, w, JOB_INTERRUPTED, cause);
        }
    }
    for (; mp->next < mp->group->n_jobs; mp->next++, mp->left--)
        sink_not_run(mp->sink, mp->next, JOB_NOT_STARTED, CAUSE_NOT_STARTED);
}

static void say_layout(const struct group *g)
{
    const struct layout *l = &g->layout;
    if (l->source == layout_source_default && g->n_jobs > 1)
        log_msg(LOG_WARNING,
                "mp: %d worker process%s at once, as many as jobs and cores allow: there is no "
                "resource profile to estimate from (--max-parallel N says otherwise)",
                l->max_parallel, l->max_parallel == 1 ? "" : "es");
    if (l->max_parallel > l->threads)
        log_msg(LOG_WARNING, "mp: %d worker processes of one thread each share %d thread%s",
                l->max_parallel, l->threads, l->threads == 1 ? "" : "s");
}

static bool run(const struct group *g, const struct group_sink *sink, struct error *err)
{
    (void)err; /* a worker that cannot be started is its job's failure */
    const int n = g->layout.max_parallel;
    struct mp mp = {
        .group = g,
        .sink = sink,
        .workers = xcalloc((size_t)n, sizeof(struct mp_worker)),
        .n_workers = n,
        .left = g->n_jobs,
    };
    struct pollfd *polled = xcalloc(2 * (size_t)n + 1, sizeof *polled);
    say_layout(g);
    sink_begin(sink);
    for (int i = 0; i < n; i++) {
        mp.workers[i] = (struct mp_worker){
            .job = -1, .log_fd = -1, .threads = layout_slot_threads(&g->layout, i)};
        if (!os_stop_requested())
            start(&mp, &mp.workers[i]);
    }
    while (mp.left > 0 && !os_stop_requested()) {
        wait_for_news(&mp, polled);
        for (int i = 0; i < n; i++)
            if (is_busy(&mp.workers[i]))
                attend(&mp, &mp.workers[i]);
    }
    if (mp.left > 0)
        interrupt(&mp);
    sink_end(sink);
    for (int i = 0; i < n; i++)
        if (mp.workers[i].running)
            stop(&mp, &mp.workers[i], 2, NULL);
    free(polled);
    free(mp.workers);
    return true;
}

static const char *const no_columns[] = {NULL};

/* Processes that take turns on a GPU would measure the driver, not sharing. */
static bool check(const struct job *jobs, int32_t n, const struct exec_options *o,
                  struct error *err)
{
    if (strcmp(o->device, "cuda") == 0)
        return error_set(err, ERROR_USAGE,
                         "mp shares a GPU through the MPS daemon, which this version does not "
                         "start yet; use seq or unified_model, or --device cpu");
    return executor_check_common(jobs, n, o, err);
}

const struct executor_info executor_mp = {
    .slug = "mp",
    .label = "Processes",
    .colour = "#E69F00",
    .summary = "worker processes side by side, each training one job at a time",
    .baseline = false,
    .uses_max_parallel = true,
    .columns = no_columns,
    .check = check,
    .layout = layout_mp,
    .run = run,
};
