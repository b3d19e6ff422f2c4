/* fugue doctor: what this machine and this build can do. */
#include "base/env.h"
#include "catalog/registry.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "exec/estimate.h"

#include <stdlib.h>

enum { OPT_OPS, OPT_PLAN, OPT_THREADS, OPT_JSON };

static const struct option options[] = {
    [OPT_OPS] = {.name = "--ops",
                 .type = OPTION_SWITCH,
                 .help = "the operations instead: which of their steps each backend has kernels "
                         "for, plain ones and those for each instruction set"},
    [OPT_PLAN] = {.name = "--plan",
                  .type = OPTION_TEXT,
                  .arg = "ID",
                  .help =
                      "the plan of an experiment's first bucket instead: steps, stages, shards, "
                      "buffers, memory; nothing is trained and no data read"},
    [OPT_THREADS] = {.name = "--threads",
                     .type = OPTION_INT,
                     .arg = "N",
                     .help = "with --plan: memory on so many threads; all there are when not given",
                     .min = 1,
                     .max = 1024},
    [OPT_JSON] = {.name = "--json",
                  .type = OPTION_SWITCH,
                  .help = "as one JSON object (not with --plan)"},
};

static bool print_plan(const struct experiment *e, int threads, struct error *err)
{
    struct job *jobs;
    int32_t n;
    if (!experiment_jobs(e, 0, 0, &jobs, &n, err))
        return false;
    struct engine *engine =
        engine_open(&(struct engine_options){.device = "cpu", .threads = threads}, err);
    const bool ok = engine && estimate_print_plan(engine, jobs, n, stdout, err);
    engine_close(engine);
    jobs_free(jobs, n);
    return ok || error_prefix(err, "%s", e->id);
}

static bool run_plan(const char *id, int threads, struct error *err)
{
    struct registry registry;
    const struct experiment **list;
    int32_t n;
    if (!registry_load(&registry, env_value(ENV_REGISTRY_DIR), err))
        return false;
    bool ok = registry_select(&registry, &id, 1, &list, &n, err);
    if (ok) {
        ok = n == 1 ? print_plan(list[0], threads, err)
                    : error_set(err, ERROR_USAGE, "--plan '%.80s': name one experiment, not %d", id,
                                (int)n);
        free(list);
    }
    registry_release(&registry);
    return ok;
}

static bool check_options(const struct option_value *values, struct error *err)
{
    if (values[OPT_OPS].given && values[OPT_PLAN].given)
        return error_set(err, ERROR_USAGE, "--ops and --plan are two questions: ask one");
    if (values[OPT_JSON].given && values[OPT_PLAN].given)
        return error_set(err, ERROR_USAGE, "--plan is for people: it has no --json");
    if (values[OPT_THREADS].given && !values[OPT_PLAN].given)
        return error_set(err, ERROR_USAGE, "--threads changes nothing without --plan");
    return true;
}

static int run(const struct option_value *values, const struct text_list *words, struct error *err)
{
    (void)words;
    if (!check_options(values, err))
        return 2;
    if (values[OPT_PLAN].given)
        return run_plan(values[OPT_PLAN].text, (int)values[OPT_THREADS].integer, err) ? 0 : 1;
    if (values[OPT_OPS].given)
        doctor_print_ops(stdout, values[OPT_JSON].given);
    else
        doctor_print_checks(stdout, values[OPT_JSON].given);
    return 0;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "Check this machine and this build: what was found, and the cure of what is amiss.",
    .usage = "fugue doctor [--json]\n"
             "fugue doctor --ops [--json]\n"
             "fugue doctor --plan ID [--threads N]",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .details =
        "A warning is something that costs speed, readings or data sets, or that will stop a run; "
        "each comes with its cure. The exit code is 0 with warnings, too.",
    .run = run,
};
