/* A worker process of mp: takes jobs from its channel, trains each, sends what happens. */
#include "base/json.h"
#include "base/os.h"
#include "base/text.h"
#include "exec/channel.h"
#include "exec/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct worker {
    struct channel channel;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    json_t *inbox;          /* array of messages not taken yet */
    bool closed;            /* no more will come */
    atomic_bool stop;       /* the parent is gone: end the training too */
    struct exec_unit *unit; /* opened with the first job */
    struct exec_options options;
    char *data_root;
    int job; /* the parent's index of the job in work */
};

/* Reads ahead, so that the end of the parent is noticed while a job trains. */
static void *read_messages(void *arg)
{
    struct worker *w = arg;
    for (;;) {
        json_t *msg;
        const enum channel_status status = channel_receive(&w->channel, 3600, &msg, NULL);
        if (status == CHANNEL_NOTHING)
            continue;
        pthread_mutex_lock(&w->lock);
        if (status == CHANNEL_MESSAGE)
            json_array_append_new(w->inbox, msg);
        else
            w->closed = true;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);
        if (status != CHANNEL_MESSAGE) {
            atomic_store(&w->stop, true);
            return NULL;
        }
    }
}

/* The next message (new reference); NULL at the end. */
static json_t *next_message(struct worker *w)
{
    json_t *msg = NULL;
    pthread_mutex_lock(&w->lock);
    while (json_array_size(w->inbox) == 0 && !w->closed)
        pthread_cond_wait(&w->wake, &w->lock);
    /* What came before the end is not begun any more: nobody would hear of it. */
    if (!w->closed) {
        msg = json_incref(json_array_get(w->inbox, 0));
        json_array_remove(w->inbox, 0);
    }
    pthread_mutex_unlock(&w->lock);
    return msg;
}

static bool parent_gone(void *ctx)
{
    const struct worker *w = ctx;
    return atomic_load(&w->stop);
}

/* Sends a message about the job in work.  A send that fails is the parent's end, which the reader
 * notices too. */
static void send_about_job(struct worker *w, const char *type, json_t *msg)
{
    json_object_set_new(msg, "type", json_string(type));
    json_object_set_new(msg, "job", json_integer(w->job));
    channel_send(&w->channel, msg, NULL);
    json_decref(msg);
}

static void on_phase(void *ctx, int job, enum phase p, double t0_s, double t1_s)
{
    (void)job;
    send_about_job(ctx, "phase",
                   json_pack("{s:s,s:o,s:o}", "phase", phase_name(p), "t0_s", json_number(t0_s),
                             "t1_s", json_number(t1_s)));
}

static void on_epoch(void *ctx, int job, const struct epoch_report *r)
{
    (void)job;
    send_about_job(ctx, "epoch", epoch_report_to_json(r));
}

static void on_progress(void *ctx, int job, double epochs_done, double samples_per_s, double loss)
{
    (void)job;
    send_about_job(ctx, "progress",
                   json_pack("{s:o,s:o,s:o}", "epochs_done", json_number(epochs_done),
                             "samples_per_s", json_number(samples_per_s), "loss",
                             json_number(loss)));
}

static void on_done(void *ctx, int job, const struct job_result *r)
{
    (void)job;
    struct job_result sent = *r;
    sent.worker_pid = (int32_t)getpid();
    /* The parent has every epoch already; a long history would not fit a message. */
    sent.history = NULL;
    sent.n_history = 0;
    send_about_job(ctx, "result", job_result_to_json(&sent));
}

/* Says that a job cannot be run, as an error message. */
static void send_error(struct worker *w, const struct error *err)
{
    send_about_job(w, "error",
                   json_pack("{s:i,s:s}", "class", (int)err->class_, "text", err->text));
}

/* Options come with each job and are the same for all of a worker's life: the first counts. */
static bool open_unit(struct worker *w, const json_t *msg, struct error *err)
{
    if (w->unit)
        return true;
    if (!exec_options_from_json(json_object_get(msg, "options"), &w->options, &w->data_root, err))
        return false;
    w->unit = exec_unit_open(&w->options, w->options.threads, err);
    if (w->unit)
        return true;
    free(w->data_root);
    w->data_root = NULL;
    return false;
}

static void run_job(struct worker *w, const json_t *msg)
{
    const struct group_sink sink = {
        .ctx = w,
        .job_phase = on_phase,
        .epoch = on_epoch,
        .progress = on_progress,
        .done = on_done,
    };
    struct error err = ERROR_INIT;
    struct job job;
    int64_t index = 0;
    if (!json_get_int(msg, "index", "job message", &index, &err)) {
        send_error(w, &err);
        return;
    }
    w->job = (int)index;
    if (!open_unit(w, msg, &err) || !job_from_json(json_object_get(msg, "job"), &job, &err)) {
        send_error(w, &err);
        return;
    }
    const int first = 0;
    exec_unit_run(w->unit, &job, &first, 1, &sink, parent_gone, w);
    job_release(&job);
}

static void on_log(void *ctx, enum log_level level, const char *text)
{
    struct worker *w = ctx;
    channel_sendf(&w->channel, NULL, "notice", "{s:i,s:s}", "level", (int)level, "text", text);
}

static void serve(struct worker *w)
{
    for (json_t *msg; (msg = next_message(w)) != NULL; json_decref(msg)) {
        struct error err = ERROR_INIT;
        const char *type = json_string_value(json_object_get(msg, "type"));
        if (strcmp(type, "job") == 0) {
            run_job(w, msg);
            continue;
        }
        error_set(&err, ERROR_INTERNAL, "a worker got a message of unknown type '%s'", type);
        send_error(w, &err);
    }
}

int worker_main(void)
{
    os_die_with_parent();
    os_ignore_interrupts();
    struct worker w = {.inbox = json_array(), .job = -1};
    struct error err = ERROR_INIT;
    channel_init(&w.channel, OS_CHANNEL_FD);
    if (!channel_hello_child(&w.channel, &err)) {
        log_msg(LOG_WARNING, "a worker process cannot begin: %s", err.text);
        channel_release(&w.channel);
        json_decref(w.inbox);
        return 1;
    }
    pthread_t reader;
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.wake, NULL);
    log_set_sink(on_log, &w);
    struct heartbeat *heart = heartbeat_start(&w.channel);
    const bool reading = heart && pthread_create(&reader, NULL, read_messages, &w) == 0;
    if (reading) {
        serve(&w);
        pthread_join(reader, NULL);
    }
    heartbeat_stop(heart);
    exec_unit_close(w.unit);
    log_set_sink(NULL, NULL);
    channel_release(&w.channel);
    json_decref(w.inbox);
    free(w.data_root);
    return reading ? 0 : 1;
}
