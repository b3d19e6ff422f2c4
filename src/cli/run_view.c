#include "cli/run_view.h"
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "cli/run_tracks.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Failures of one cell that are told one by one: hundreds of networks may fail of one cause. */
#define MOST_TOLD 8

struct run_view {
    bool json, quiet, reader_gone;
    struct progress *progress; /* NULL with --json */
    int cell, n_cells;
    const struct cell_spec *spec;
    struct run_tracks *tracks; /* NULL before the start event, and where nothing is shown */
    int n_failed;              /* of this cell */
};

static double number_of(const json_t *event, const char *key)
{
    double v = NAN;
    const json_t *value = json_object_get(event, key);
    if (value)
        json_to_number(value, &v);
    return v;
}

static long long int_of(const json_t *event, const char *key)
{
    return (long long)json_integer_value(json_object_get(event, key));
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *s = json_string_value(json_object_get(event, key));
    return s ? s : "";
}

/* Messages of this process go above the bars.  No level is looked at here: log_msg has. */
static void log_above_bars(void *ctx, enum log_level level, const char *text)
{
    const struct run_view *v = ctx;
    const bool coloured = level == LOG_WARNING && log_use_color(STDERR_FILENO);
    char *line =
        xasprintf("fugue: %s%s%s%s", coloured ? "\033[33m" : "",
                  level == LOG_WARNING ? "warning: " : "", coloured ? "\033[0m" : "", text);
    progress_line(v->progress, line);
    free(line);
}

struct run_view *run_view_new(bool json, bool quiet, int n_cells)
{
    struct run_view *v = xcalloc(1, sizeof *v);
    v->json = json;
    v->quiet = quiet;
    v->n_cells = n_cells;
    if (quiet)
        log_set_level(LOG_WARNING);
    if (!json) {
        v->progress = progress_new(stderr, quiet ? PROGRESS_QUIET : PROGRESS_AUTO, NULL);
        log_set_sink(log_above_bars, v);
    }
    return v;
}

void run_view_free(struct run_view *v)
{
    log_set_sink(NULL, NULL);
    log_set_level(LOG_NOTICE);
    run_tracks_free(v->tracks);
    if (v->progress)
        progress_free(v->progress);
    free(v);
}

void run_view_begin(struct run_view *v, int cell, const struct cell_spec *spec)
{
    v->cell = cell;
    v->spec = spec;
    v->n_failed = 0;
}

void run_view_end(struct run_view *v)
{
    run_tracks_free(v->tracks);
    v->tracks = NULL;
    if (v->progress)
        progress_clear(v->progress);
    if (v->n_failed > MOST_TOLD && !v->json)
        log_msg(LOG_WARNING, "%s under %s: %d more networks were not trained to the end",
                v->spec->experiment->id, v->spec->executor, v->n_failed - MOST_TOLD);
}

/* ---- for programs -------------------------------------------------------------------------- */

void run_view_print(struct run_view *v, const json_t *message)
{
    if (v->reader_gone)
        return;
    char *line = json_line(message);
    errno = 0;
    if ((puts(line) == EOF || fflush(stdout) == EOF) && errno == EPIPE) {
        /* As any program in a pipe ends with its reader; the rows of what is finished are kept.
         * A full disk is no reason to stop: the rows are still written, the exit code tells. */
        v->reader_gone = true;
        raise(SIGTERM);
    }
    free(line);
}

bool run_view_reader_gone(const struct run_view *v)
{
    return v->reader_gone;
}

/* ---- for people ---------------------------------------------------------------------------- */

static void show_start(struct run_view *v, const json_t *event)
{
    if (v->quiet)
        return;
    const json_t *layout = json_object_get(event, "layout");
    const char *overrides = v->spec->experiment->overrides;
    const long long n = int_of(event, "n_jobs"), threads = int_of(layout, "threads");
    char *line =
        xasprintf("[%d/%d] %s under %s: %lld network%s, %lld at once, %lld thread%s%s%s",
                  v->cell + 1, v->n_cells, text_of(event, "exp_id"), text_of(event, "executor"), n,
                  n == 1 ? "" : "s", int_of(layout, "max_parallel"), threads,
                  threads == 1 ? "" : "s", overrides ? ", with " : "", overrides ? overrides : "");
    progress_line(v->progress, line);
    free(line);
    if (!v->tracks)
        v->tracks = run_tracks_new(v->progress, v->spec, NULL);
}

static void show_progress(struct run_view *v, const json_t *event)
{
    const struct job_news news = {
        .epochs_done = number_of(event, "epochs_done"),
        .samples_per_s = number_of(event, "samples_per_s"),
        .loss = number_of(event, "loss"),
    };
    if (v->tracks)
        run_tracks_update(v->tracks, (int)int_of(event, "job"), &news);
}

static void show_epoch(struct run_view *v, const json_t *event)
{
    const struct job_news news = {
        .epochs_done = number_of(event, "epoch"),
        .samples_per_s = NAN,
        .loss = number_of(event, "train_loss"),
    };
    if (v->tracks)
        run_tracks_update(v->tracks, (int)int_of(event, "job"), &news);
}

/* A failure must not vanish with the bars, nor in --quiet.  That the user's own Ctrl-C stopped a
 * network is no news. */
static void tell_failure(struct run_view *v, const json_t *row, const char *note)
{
    if (os_stop_requested())
        return;
    if (++v->n_failed <= MOST_TOLD)
        log_msg(LOG_WARNING, "%s: %s", text_of(row, "job_id"), note);
}

static void show_job(struct run_view *v, const json_t *event)
{
    const json_t *row = json_object_get(event, "row");
    const char *status = text_of(row, "status"), *cause = text_of(row, "cause");
    const bool ok = strcmp(status, "ok") == 0;
    char *note = ok ? NULL : xasprintf("%s%s%s", status, *cause ? ": " : "", cause);
    const struct job_news news = {
        .epochs_done = number_of(row, "epochs_run"),
        .samples_per_s = number_of(row, "throughput_sps"),
        .loss = number_of(row, "final_train_loss"),
    };
    if (!ok)
        tell_failure(v, row, note);
    if (v->tracks)
        run_tracks_finish(v->tracks, (int)int_of(event, "job"), &news, note);
    free(note);
}

static void show_notice(struct run_view *v, const json_t *event)
{
    (void)v;
    log_msg(strcmp(text_of(event, "level"), "warning") == 0 ? LOG_WARNING : LOG_NOTICE, "%s",
            text_of(event, "text"));
}

static const struct {
    const char *type;
    void (*show)(struct run_view *v, const json_t *event);
} shows[] = {
    {"start", show_start}, {"progress", show_progress}, {"epoch", show_epoch},
    {"job", show_job},     {"notice", show_notice},
};

void run_view_event(void *view, const json_t *event)
{
    struct run_view *v = view;
    if (v->json) {
        run_view_print(v, event);
        return;
    }
    const char *type = text_of(event, "type");
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++)
        if (strcmp(shows[i].type, type) == 0)
            shows[i].show(v, event);
}
