/* fugue run: trains experiments under strategies and says what each cost. */
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "campaign/summary.h"
#include "cli/run_plan.h"
#include "cli/run_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_summary(const struct run_plan *plan, const struct cell_outcome *outcomes,
                          bool quiet)
{
    bool any = false;
    summary_print(stdout, plan->cells, outcomes, plan->n);
    for (int i = 0; i < plan->n; i++)
        any |= outcomes[i].group != NULL;
    /* Where rows were written, that is: all cells write to one place. */
    const char *runs_dir = plan->cells[0].runs_dir;
    if (any && runs_dir && !quiet)
        printf("Rows: %s/master_groups.csv, %s/master_individual.csv\n", runs_dir, runs_dir);
}

static void print_json_summary(const struct run_plan *plan, const struct cell_outcome *outcomes,
                               struct run_view *view)
{
    json_t *summary = json_pack("{s:s,s:o}", "type", "summary", "experiments",
                                summary_json(plan->cells, outcomes, plan->n));
    run_view_print(view, summary);
    json_decref(summary);
}

static void say_device(const struct run_plan *plan, bool json)
{
    if (!json && *plan->device.notice)
        log_msg(LOG_NOTICE, "%s", plan->device.notice);
}

/* Runs the cells one after another; returns how many were begun. */
static int run_cells(const struct run_plan *plan, struct run_view *view,
                     struct cell_outcome *outcomes)
{
    int n = 0;
    while (n < plan->n && !os_stop_requested()) {
        const struct cell_spec *spec = &plan->cells[n];
        struct cell_outcome *outcome = &outcomes[n];
        run_view_begin(view, n, spec);
        cell_run(spec, run_view_event, view, outcome);
        run_view_end(view);
        n++;
        /* With --json too: a program's operator reads stderr. */
        if (outcome->err.class_ != ERROR_NONE && !run_view_reader_gone(view))
            log_msg(LOG_WARNING, "%s under %s: %s", spec->experiment->id, spec->executor,
                    outcome->err.text);
    }
    return n;
}

static int run_plan_run(const struct run_plan *plan, struct run_view *view, bool json, bool quiet)
{
    struct cell_outcome *outcomes = xcalloc((size_t)plan->n, sizeof *outcomes);
    const int begun = run_cells(plan, view, outcomes);
    int code = begun < plan->n;
    for (int i = 0; i < begun; i++)
        if (!outcomes[i].ok)
            code = 1;
    if (json)
        print_json_summary(plan, outcomes, view);
    else
        print_summary(plan, outcomes, quiet);
    if (os_stop_requested() && !run_view_reader_gone(view))
        log_msg(LOG_WARNING, "interrupted in cell %d of %d%s", begun, plan->n,
                plan->cells[0].runs_dir ? ": what was finished is kept" : "");
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
    const bool json = run_value(values, "--json")->given;
    const bool quiet = run_value(values, "--quiet")->given;
    os_catch_signals();
    os_become_subreaper();
    struct run_view *view = run_view_new(json, quiet, plan.n);
    say_device(&plan, json);
    const int code = run_plan_run(&plan, view, json, quiet);
    const bool reader_gone = run_view_reader_gone(view);
    run_view_free(view);
    run_plan_release(&plan);
    if (reader_gone)
        return 0;
    if (os_stop_requested()) {
        fflush(stdout);
        os_die_by_signal(os_stop_requested());
    }
    return code;
}
