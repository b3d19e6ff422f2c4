/* fugue run: trains experiments under strategies and says what each cost. */
#include "base/env.h"
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/progress.h"
#include "campaign/summary.h"
#include "cli/run_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the event handler of all cells shares. */
struct view {
    struct progress *progress; /* NULL with --json */
    bool json, quiet;
    int cell, n_cells;
    const struct cell_spec *spec;
};

static double number_of(const json_t *event, const char *key)
{
    double v = NAN;
    const json_t *value = json_object_get(event, key);
    if (value)
        json_to_number(value, &v);
    return v;
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *s = json_string_value(json_object_get(event, key));
    return s ? s : "";
}

static void show_start(struct view *v, const json_t *event)
{
    if (v->quiet)
        return;
    const json_t *layout = json_object_get(event, "layout");
    char line[512];
    snprintf(line, sizeof line,
             "[%d/%d] %s under %s: %lld network%s, %lld at once, %lld thread%s%s%s", v->cell + 1,
             v->n_cells, text_of(event, "exp_id"), text_of(event, "executor"),
             (long long)json_integer_value(json_object_get(event, "n_jobs")),
             json_integer_value(json_object_get(event, "n_jobs")) == 1 ? "" : "s",
             (long long)json_integer_value(json_object_get(layout, "max_parallel")),
             (long long)json_integer_value(json_object_get(layout, "threads")),
             json_integer_value(json_object_get(layout, "threads")) == 1 ? "" : "s",
             v->spec->experiment->overrides ? ", with " : "",
             v->spec->experiment->overrides ? v->spec->experiment->overrides : "");
    progress_line(v->progress, line);
}

static void show_progress(struct view *v, const json_t *event, bool epoch)
{
    struct progress_state s = {
        .done = number_of(event, epoch ? "epoch" : "epochs_done"),
        .total = number_of(event, "epochs"),
        .samples_per_s = number_of(event, "samples_per_s"),
        .loss = number_of(event, epoch ? "train_loss" : "loss"),
    };
    if (isnan(s.samples_per_s))
        s.samples_per_s = 0;
    progress_update(v->progress, text_of(event, "job_id"), &s);
}

static void show_job(struct view *v, const json_t *event)
{
    const json_t *row = json_object_get(event, "row");
    const char *status = text_of(row, "status");
    char note[640] = "";
    const bool ok = strcmp(status, "ok") == 0;
    if (!ok) {
        const char *cause = text_of(row, "cause");
        snprintf(note, sizeof note, "%s%s%s", status, *cause ? ": " : "", cause);
    }
    struct progress_state s = {
        .done = number_of(row, "epochs_run"),
        .total = number_of(row, "epochs"),
        .samples_per_s = number_of(row, "throughput_sps"),
        .loss = number_of(row, "final_train_loss"),
        .finished = true,
        .note = ok ? NULL : note,
    };
    if (isnan(s.done))
        s.done = 0;
    if (isnan(s.samples_per_s))
        s.samples_per_s = 0;
    progress_update(v->progress, text_of(row, "job_id"), &s);
    /* A failure must not vanish with the bars, nor in --quiet. */
    if (!ok)
        log_msg(LOG_WARNING, "%s: %s", text_of(row, "job_id"), note);
}

static void on_event(void *ctx, const json_t *event)
{
    struct view *v = ctx;
    const char *type = text_of(event, "type");
    if (v->json) {
        char *line = json_line(event);
        puts(line);
        fflush(stdout);
        free(line);
        return;
    }
    if (strcmp(type, "start") == 0)
        show_start(v, event);
    else if (strcmp(type, "progress") == 0 || strcmp(type, "epoch") == 0)
        show_progress(v, event, type[0] == 'e');
    else if (strcmp(type, "job") == 0)
        show_job(v, event);
    else if (strcmp(type, "notice") == 0)
        log_msg(strcmp(text_of(event, "level"), "warning") == 0 ? LOG_WARNING : LOG_NOTICE, "%s",
                text_of(event, "text"));
    else if (strcmp(type, "group") == 0)
        progress_clear(v->progress);
}

/* Messages of this process go above the bars. */
static void log_above_bars(void *ctx, enum log_level level, const char *text)
{
    struct progress *p = ctx;
    if (level == LOG_DEBUG)
        return;
    char line[2048];
    snprintf(line, sizeof line, "fugue: %s%s", level == LOG_WARNING ? "warning: " : "", text);
    progress_line(p, line);
}

static void print_end(const struct run_plan *plan, const struct cell_outcome *outcomes,
                      const struct view *v)
{
    if (v->json) {
        json_t *summary = json_pack("{ssso}", "type", "summary", "experiments",
                                    summary_json(plan->cells, outcomes, plan->n));
        char *line = json_line(summary);
        puts(line);
        free(line);
        json_decref(summary);
        return;
    }
    summary_print(stdout, plan->cells, outcomes, plan->n);
    if (!v->quiet && plan->n > 0 && plan->cells[0].runs_dir)
        printf("Rows: %s/master_groups.csv, %s/master_individual.csv\n", plan->cells[0].runs_dir,
               plan->cells[0].runs_dir);
}

static void say_device(const struct option_value *values, bool quiet)
{
    const struct option_value *device = run_value(values, "--device");
    if (!quiet && (!device->given || strcmp(device->text, "auto") == 0))
        log_msg(LOG_NOTICE, "no GPU backend in this version: training on the CPU");
}

static int run_cells(const struct run_plan *plan, struct view *view)
{
    struct cell_outcome *outcomes = xcalloc((size_t)plan->n, sizeof *outcomes);
    int code = 0, done = 0;
    for (; done < plan->n && !os_stop_requested(); done++) {
        view->cell = done;
        view->spec = &plan->cells[done];
        cell_run(&plan->cells[done], on_event, view, &outcomes[done]);
        if (!outcomes[done].ok)
            code = 1;
        if (outcomes[done].err.class_ != ERROR_NONE && !view->json)
            log_msg(LOG_WARNING, "%s under %s: %s", plan->cells[done].experiment->id,
                    plan->cells[done].executor, outcomes[done].err.text);
    }
    if (view->progress)
        progress_clear(view->progress);
    print_end(plan, outcomes, view);
    if (os_stop_requested() && !view->json)
        log_msg(LOG_WARNING, "interrupted: %d of %d cells were run; finished jobs are kept", done,
                plan->n);
    for (int i = 0; i < plan->n; i++)
        json_decref(outcomes[i].group);
    free(outcomes);
    return code;
}

int cmd_run(const struct option_value *values, const struct text_list *words, struct error *err)
{
    (void)words; /* takes none: the parser has seen to it */
    struct run_plan plan;
    if (!run_plan_make(values, &plan, err))
        return error_exit_code(err);
    struct view view = {
        .json = run_value(values, "--json")->given,
        .quiet = run_value(values, "--quiet")->given,
        .n_cells = plan.n,
    };
    os_catch_signals();
    os_become_subreaper();
    if (!view.json)
        view.progress = progress_new(stderr, view.quiet ? PROGRESS_QUIET : PROGRESS_AUTO, NULL);
    if (view.progress && !view.quiet)
        log_set_sink(log_above_bars, view.progress);
    say_device(values, view.quiet || view.json);
    const int code = run_cells(&plan, &view);
    log_set_sink(NULL, NULL);
    if (view.progress)
        progress_free(view.progress);
    run_plan_release(&plan);
    if (os_stop_requested()) {
        fflush(stdout);
        os_die_by_signal(os_stop_requested());
    }
    return code;
}
