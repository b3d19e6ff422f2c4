/* A cell as its parent sees it: start, events, end, and the rows of one that died. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/os.h"
#include "base/text.h"
#include "campaign/cell.h"
#include "campaign/record.h"
#include "exec/channel.h"
#include "results/results.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A cell that was asked to stop ends its workers and writes its rows within this. */
#define STOP_S 10
/* From the end of its channel to the end of its process. */
#define END_S 10

struct parent {
    const struct cell_spec *spec;
    cell_event_fn on_event;
    void *ctx;
    struct cell_outcome *out;
    struct os_child child;
    struct channel channel;
    double t_spawn_s;
    json_t *start; /* start event, NULL before */
    json_t *told;  /* job_ids whose job event came, as keys */
    bool failed;   /* an error event came */
    bool asked_to_stop;
    double stop_deadline_s;
};

static bool start(struct parent *p, struct error *err)
{
    int ours, theirs;
    const char *self = os_executable();
    char name[] = "fugue", command[] = "__cell";
    char *argv[] = {name, command, NULL};
    if (!self)
        return error_set(err, ERROR_SYSTEM,
                         "cannot start a cell: the path of the running program is unknown");
    if (!channel_pair(&ours, &theirs, err))
        return false;
    p->t_spawn_s = clock_now_s();
    /* A group of its own: Ctrl-C reaches us, and we decide for the cell. */
    const bool started = os_spawn(&p->child, self, argv, -1, theirs, true, err);
    close(theirs);
    if (!started) {
        close(ours);
        return false;
    }
    channel_init(&p->channel, ours);
    return true;
}

static bool greet_and_ask(struct parent *p, struct error *err)
{
    char run_id[17];
    record_run_id(run_id);
    return channel_hello_parent(&p->channel, 30, err) &&
           channel_sendf(&p->channel, err, "cell", "{s:o,s:s,s:o}", "spec",
                         cell_spec_to_json(p->spec), "run_id", run_id, "t_spawn_s",
                         json_number(p->t_spawn_s));
}

static void keep_error(struct parent *p, const json_t *event)
{
    int64_t class_;
    const char *text;
    struct error err = ERROR_INIT;
    if (!json_get_int(event, "class", "error event", &class_, &err) ||
        !json_get_string(event, "text", "error event", &text, &err)) {
        class_ = ERROR_INTERNAL;
        text = err.text;
    }
    p->failed = true;
    /* The first is the cause; others follow from it. */
    if (p->out->err.class_ == ERROR_NONE)
        error_set(&p->out->err, class_ > 0 ? (enum error_class)class_ : ERROR_INTERNAL, "%s", text);
}

static void take_event(struct parent *p, json_t *event)
{
    const char *type = json_string_value(json_object_get(event, "type"));
    if (strcmp(type, "start") == 0 && !p->start)
        p->start = json_incref(event);
    else if (strcmp(type, "group") == 0 && !p->out->group)
        p->out->group = json_incref(event);
    else if (strcmp(type, "error") == 0)
        keep_error(p, event);
    else if (strcmp(type, "job") == 0) {
        const char *id =
            json_string_value(json_object_get(json_object_get(event, "row"), "job_id"));
        if (id)
            json_object_set(p->told, id, json_object_get(event, "row"));
    }
    p->on_event(p->ctx, event);
}

/* Handles what has arrived; false at the end of the channel (err: it talks nonsense). */
static bool drain(struct parent *p, struct error *err)
{
    for (;;) {
        json_t *event;
        const enum channel_status status = channel_receive(&p->channel, 0, &event, err);
        if (status == CHANNEL_MESSAGE)
            take_event(p, event);
        json_decref(event);
        if (status != CHANNEL_MESSAGE)
            return status == CHANNEL_NOTHING;
    }
}

/* Passes an interrupt on, once, and ends a cell that does not heed it. */
static void heed_interrupt(struct parent *p)
{
    if (!os_stop_requested())
        return;
    if (!p->asked_to_stop) {
        p->asked_to_stop = true;
        p->stop_deadline_s = clock_now_s() + STOP_S;
        if (!os_wait(&p->child, 0, NULL))
            kill(p->child.pid, SIGTERM);
    } else if (clock_now_s() >= p->stop_deadline_s)
        os_end_child(&p->child, 0, NULL);
}

/* Relays events until the channel ends. */
static void relay(struct parent *p, struct error *err)
{
    for (;;) {
        heed_interrupt(p);
        if (!drain(p, err))
            return;
        /* Once it was passed on the stop descriptor, which stays readable, is of no more use. */
        struct pollfd polled[] = {
            {.fd = p->channel.fd, .events = POLLIN},
            {.fd = p->child.pidfd, .events = POLLIN},
            {.fd = p->asked_to_stop ? -1 : os_stop_fd(), .events = POLLIN},
        };
        const double left = p->stop_deadline_s - clock_now_s();
        const int ms = !p->asked_to_stop ? -1 : left > 0 ? (int)(left * 1e3) + 1 : 0;
        poll(polled, 3, ms);
        if (polled[1].revents && os_wait(&p->child, 0, NULL)) {
            drain(p, err);
            return;
        }
    }
}

/* ---- the rows of a cell that died ---------------------------------------------------------- */

/* Adds to `told` the jobs whose rows were written before the cell could say so. */
static bool find_written(struct results *store, const char *group_id, json_t *told,
                         struct error *err)
{
    json_t *rows, *row;
    size_t i;
    const char *path = results_path(store, RESULTS_INDIVIDUAL);
    if (!results_sync(store, err))
        return false;
    if (!file_exists(path))
        return true; /* nobody has written a job's row yet */
    if (!(rows = results_read(path, err)))
        return false;
    json_array_foreach(rows, i, row)
    {
        const char *group = json_string_value(json_object_get(row, "group_id"));
        const char *job = json_string_value(json_object_get(row, "job_id"));
        if (group && job && strcmp(group, group_id) == 0)
            json_object_set(told, job, row);
    }
    json_decref(rows);
    return true;
}

static bool write_killed(struct parent *p, struct record *r, int job, struct results *store,
                         const char *cause, struct error *err)
{
    struct job_result result;
    job_result_init(&result);
    result.status = JOB_KILLED;
    snprintf(result.cause, sizeof result.cause, "%s", cause);
    json_t *row = record_job(r, job, &result);
    json_t *event = json_pack("{s:s,s:i,s:o}", "type", "job", "job", job, "row", row);
    const bool good = !store || results_add_job(store, row, NULL, err);
    p->on_event(p->ctx, event);
    json_decref(event);
    job_result_release(&result);
    return good;
}

/* Writes a row for each job the dead cell left without one, and the group's. */
static bool write_missing(struct parent *p, struct record *r, struct results *store,
                          const char *cause, struct error *err)
{
    bool good = true;
    if (store && !find_written(store, r->group_id, p->told, err))
        return false;
    for (int i = 0; i < r->n_jobs; i++) {
        const json_t *told = json_object_get(p->told, r->jobs[i].job_id);
        if (told)
            record_note_row(r, i, told);
        else
            good = write_killed(p, r, i, store, cause, err) && good;
    }
    json_t *group = record_group(r, clock_now_s() - p->t_spawn_s, NULL, NULL, 0);
    if (store)
        good = results_add_group(store, group, err) && results_sync(store, err) && good;
    p->out->group = json_pack("{s:s,s:o,s:o}", "type", "group", "row", group, "score", score_of(r));
    p->on_event(p->ctx, p->out->group);
    return good;
}

/* Only a cell that had begun and did not end with its group's row leaves something to do. */
static void bury(struct parent *p, const char *cause)
{
    const char *group_id = json_string_value(json_object_get(p->start, "group_id"));
    struct error err = ERROR_INIT;
    struct record record;
    char run_id[17];
    if (!group_id || p->out->group)
        return;
    record_run_id(run_id);
    if (!record_init(&record, p->spec, group_id, run_id, p->t_spawn_s, &err))
        return;
    struct results *store = p->spec->runs_dir ? results_open(p->spec->runs_dir, &err) : NULL;
    if ((p->spec->runs_dir && !store) || !write_missing(p, &record, store, cause, &err))
        log_msg(LOG_WARNING, "rows of %s under %s are missing: %s", p->spec->experiment->id,
                p->spec->executor, err.text);
    if (store)
        results_close(store);
    record_release(&record);
}

/* The channel has ended: so does the process; a cell that died is said and recorded to have. */
static void conclude(struct parent *p, const struct error *talk)
{
    char how[96], cause[512];
    int status = 0;
    if (!os_wait(&p->child, END_S, &status))
        os_end_child(&p->child, 0, &status);
    os_describe_status(status, how, sizeof how);
    const bool in_order = WIFEXITED(status) && (p->out->group || p->failed) && !talk->text[0];
    if (!in_order) {
        snprintf(cause, sizeof cause, "the cell's process %ld %s%s%s%.300s", (long)p->child.pid,
                 WIFEXITED(status) ? "ended with " : "was ", how, talk->text[0] ? ": " : "",
                 talk->text);
        bury(p, cause);
        if (p->out->err.class_ == ERROR_NONE)
            error_set(&p->out->err, ERROR_RUN, "%s", cause);
    }
    const json_t *row = json_object_get(p->out->group, "row");
    const char *said = json_string_value(json_object_get(row, "status"));
    p->out->interrupted = p->asked_to_stop || (said && strcmp(said, "interrupted") == 0);
    p->out->ok = in_order && !p->failed && status == 0 && said && strcmp(said, "ok") == 0;
}

void cell_run(const struct cell_spec *spec, cell_event_fn on_event, void *ctx,
              struct cell_outcome *out)
{
    *out = (struct cell_outcome){.err = ERROR_INIT};
    struct parent p = {
        .spec = spec, .on_event = on_event, .ctx = ctx, .out = out, .told = json_object()};
    struct error talk = ERROR_INIT;
    if (start(&p, &out->err)) {
        if (greet_and_ask(&p, &talk))
            relay(&p, &talk);
        conclude(&p, &talk);
        channel_release(&p.channel);
    }
    json_decref(p.start);
    json_decref(p.told);
}
