/* All jobs in the cell's own process as buckets of stacked models. */
#include "base/text.h"
#include "exec/stacking.h"
#include "exec/strategies.h"
#include "exec/unit.h"

#include <stdlib.h>

static bool run(const struct group *g, const struct group_sink *sink, struct error *err)
{
    sink_begin(sink);
    struct exec_unit *u = exec_unit_open(&g->options, g->layout.threads, err);
    if (!u)
        return false;
    struct waves waves;
    waves_make(g->jobs, g->n_jobs, g->layout.max_parallel, &waves);
    for (int w = 0; w < waves.n; w++) {
        const int *jobs = waves.order + waves.start[w];
        const int n = waves.start[w + 1] - waves.start[w];
        if (!exec_unit_interrupted(NULL)) {
            exec_unit_run(u, g->jobs, jobs, n, sink, exec_unit_interrupted, NULL);
            continue;
        }
        for (int i = 0; i < n; i++)
            sink_not_run(sink, jobs[i], JOB_NOT_STARTED, CAUSE_NOT_STARTED);
    }
    sink_end(sink);
    waves_release(&waves);
    exec_unit_close(u);
    return true;
}

static int buckets(const struct job *jobs, int n, int *group)
{
    int *all = xmalloc(((size_t)n + 1) * sizeof *all);
    for (int i = 0; i < n; i++)
        all[i] = i;
    const int count = stacking_groups(jobs, all, n, group);
    free(all);
    return count;
}

static const char *const no_columns[] = {NULL};

const struct executor_info executor_unified_model = {
    .slug = "unified_model",
    .label = "Unified model",
    .colour = "#0072B2",
    .summary = "one process; jobs of one shape are stacked and trained together",
    .baseline = false,
    .uses_max_parallel = true,
    .columns = no_columns,
    .check = executor_check_common,
    .layout = layout_unified_model,
    .buckets = buckets,
    .run = run,
};
