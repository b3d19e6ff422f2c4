/* How the jobs of a group share the cores: pure functions of jobs and options. */
#include "base/os.h"
#include "exec/strategies.h"

const char layout_source_fixed[] = "fixed";
const char layout_source_default[] = "default";
const char layout_source_option[] = "--max-parallel";

int layout_threads(const struct exec_options *o)
{
    return o->threads > 0 ? o->threads : os_cpu_count();
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

void layout_seq(const struct job *jobs, int32_t n, const struct exec_options *o, struct layout *out)
{
    (void)jobs;
    (void)n;
    const int threads = layout_threads(o);
    *out = (struct layout){1, threads, threads, layout_source_fixed};
}

void layout_mp(const struct job *jobs, int32_t n, const struct exec_options *o, struct layout *out)
{
    (void)jobs;
    const int threads = layout_threads(o);
    const bool asked = o->max_parallel > 0;
    /* More processes than jobs would never get one. */
    const int units = smaller(n, asked ? o->max_parallel : threads);
    const int share = units > 0 ? threads / units : threads;
    *out = (struct layout){units, threads, share > 0 ? share : 1,
                           asked ? layout_source_option : layout_source_default};
}

void layout_unified_model(const struct job *jobs, int32_t n, const struct exec_options *o,
                          struct layout *out)
{
    (void)jobs;
    const int threads = layout_threads(o);
    const bool asked = o->max_parallel > 0;
    *out = (struct layout){asked ? smaller(n, o->max_parallel) : n, threads, threads,
                           asked ? layout_source_option : layout_source_default};
}

int layout_slot_threads(const struct layout *l, int slot)
{
    if (l->max_parallel <= 0)
        return l->threads;
    const int share = l->threads / l->max_parallel;
    const int threads = share + (slot < l->threads % l->max_parallel);
    return threads > 0 ? threads : 1;
}
