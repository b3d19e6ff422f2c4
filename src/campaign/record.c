/* The context of a cell's rows: built once, filled as jobs finish. */
#include "campaign/record.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static uint64_t fnv1a(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* A process is named for good by its host, the boot, its pid and its start time. */
void record_run_id(char out[17])
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char *boot = NULL;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    char line[64] = "";
    if (f && !fgets(line, sizeof line, f))
        line[0] = '\0';
    if (f)
        fclose(f);
    boot = xasprintf("%s\n%s\n%ld\n%" PRIu64, host, line, (long)getpid(),
                     os_process_start_time(getpid()));
    snprintf(out, 17, "%016" PRIx64, fnv1a(UINT64_C(0xcbf29ce484222325), boot));
    free(boot);
}

static void new_group_id(const char *slug, char *out, size_t size)
{
    uint32_t random;
    if (getentropy(&random, sizeof random) != 0)
        random = (uint32_t)clock_now_ns() ^ (uint32_t)getpid() << 16;
    snprintf(out, size, "%.32s_%08" PRIx32, slug, random);
}

static double wall_minus_mono(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - clock_now_s();
}

bool record_init(struct record *r, const struct cell_spec *spec, const char *group_id,
                 const char *run_id, double t_cell_s, struct error *err)
{
    *r = (struct record){
        .spec = spec,
        .executor = executor_find(spec->executor),
        .t_cell_s = t_cell_s,
        .t_begin_s = NAN,
        .t_end_s = NAN,
        .wall_minus_mono_s = wall_minus_mono(),
    };
    if (!r->executor)
        return error_set(err, ERROR_USAGE, "no strategy is called '%s'", spec->executor);
    if (!experiment_jobs(spec->experiment, spec->seed, spec->split_seed, &r->jobs, &r->n_jobs, err))
        return false;
    if (!r->executor->check(r->jobs, r->n_jobs, &spec->options, err)) {
        record_release(r);
        return false;
    }
    r->executor->layout(r->jobs, r->n_jobs, &spec->options, &r->layout);
    environment_read(&r->env, spec->options.gpu);
    if (group_id)
        snprintf(r->group_id, sizeof r->group_id, "%s", group_id);
    else
        new_group_id(spec->executor, r->group_id, sizeof r->group_id);
    snprintf(r->run_id, sizeof r->run_id, "%s", run_id);
    cell_key(spec, r->cell_key);
    experiment_hash(spec->experiment, r->definition_hash);
    r->outcomes = xcalloc((size_t)r->n_jobs, sizeof *r->outcomes);
    r->common = json_object();
    return true;
}

void record_release(struct record *r)
{
    jobs_free(r->jobs, r->n_jobs);
    free(r->outcomes);
    json_decref(r->common);
    r->jobs = NULL;
    r->outcomes = NULL;
    r->common = NULL;
    r->n_jobs = 0;
}

/* From harmless to grave: a group is as badly off as its worst job, and a run that the user stopped
 * is called that whatever else happened. */
static const enum job_status by_gravity[] = {JOB_OK,     JOB_DIVERGED,    JOB_FAILED,
                                             JOB_KILLED, JOB_NOT_STARTED, JOB_INTERRUPTED};

static int gravity(enum job_status s)
{
    int i = (int)(sizeof by_gravity / sizeof *by_gravity) - 1;
    while (i > 0 && by_gravity[i] != s)
        i--;
    return i;
}

enum job_status record_status(const struct record *r)
{
    int worst = 0;
    for (int i = 0; i < r->n_jobs; i++) {
        const enum job_status s = r->outcomes[i].done ? r->outcomes[i].status : JOB_NOT_STARTED;
        if (gravity(s) > worst)
            worst = gravity(s);
    }
    /* Jobs are never started only when the user stopped the run before their turn. */
    return by_gravity[worst] == JOB_NOT_STARTED ? JOB_INTERRUPTED : by_gravity[worst];
}

int32_t record_count_ok(const struct record *r)
{
    int32_t n = 0;
    for (int i = 0; i < r->n_jobs; i++)
        n += r->outcomes[i].done && r->outcomes[i].status == JOB_OK;
    return n;
}
