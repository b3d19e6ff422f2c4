/* One job after another in the cell's own process, with all its threads: the baseline. */
#include "exec/strategies.h"
#include "exec/unit.h"

static bool run(const struct group *g, const struct group_sink *sink, struct error *err)
{
    sink_begin(sink);
    struct exec_unit *u = exec_unit_open(&g->options, g->layout.threads, err);
    if (!u)
        return false;
    for (int i = 0; i < g->n_jobs; i++) {
        if (exec_unit_interrupted(NULL))
            sink_not_run(sink, i, JOB_NOT_STARTED, CAUSE_NOT_STARTED);
        else
            exec_unit_run(u, g->jobs, &i, 1, sink, exec_unit_interrupted, NULL);
    }
    sink_end(sink);
    exec_unit_close(u);
    return true;
}

static const char *const no_columns[] = {NULL};

const struct executor_info executor_seq = {
    .slug = "seq",
    .label = "Sequential",
    .colour = "#000000",
    .summary = "one job after another in one process: the baseline",
    .baseline = true,
    .uses_max_parallel = false,
    .columns = no_columns,
    .check = executor_check_common,
    .layout = layout_seq,
    .run = run,
};
