/* The table of strategies.  To add one: a file with its struct executor_info, a line here. */
#include "exec/executor.h"
#include "exec/strategies.h"

#include <string.h>

const struct executor_info *const executor_table[] = {&executor_seq, &executor_mp,
                                                      &executor_unified_model, NULL};

const struct executor_info *executor_find(const char *slug)
{
    for (int i = 0; slug && executor_table[i]; i++)
        if (strcmp(executor_table[i]->slug, slug) == 0)
            return executor_table[i];
    return NULL;
}

const char *executor_planned(const char *slug)
{
    if (slug && strcmp(slug, "ray") == 0)
        return "ray needs the Ray bridge, which this version does not have; use seq, mp or "
               "unified_model";
    return NULL;
}

struct engine_options exec_engine_options(const struct exec_options *o, int threads)
{
    return (struct engine_options){.device = o->device,
                                   .threads = threads,
                                   .gpu = o->gpu,
                                   .tf32 = o->tf32,
                                   .compile = o->compile};
}

bool executor_check_common(const struct job *jobs, int32_t n, const struct exec_options *o,
                           struct error *err)
{
    if (n <= 0 || !jobs)
        return error_set(err, ERROR_USAGE, "there are no jobs to run");
    if (strcmp(o->device, "cpu") != 0 && strcmp(o->device, "cuda") != 0)
        return error_set(err, ERROR_USAGE,
                         "device '%s' is not one this version trains on; use --device cpu or cuda",
                         o->device);
    return true;
}
