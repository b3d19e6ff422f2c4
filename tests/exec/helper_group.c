#include "helper_group.h"
#include "base/json.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void test_group_make(struct test_group *g, const char *definition)
{
    struct error err = ERROR_INIT;
    char *text = xstrdup(definition);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *def = json_read_text(text, strlen(text), "definition", &err);
    if (!def)
        fail_msg("%s", err.text);
    g->experiment = experiment_from_json("T01", def, "ad-hoc", "definition", &err);
    if (!g->experiment)
        fail_msg("%s", err.text);
    if (!experiment_jobs(g->experiment, 42, 7, &g->jobs, &g->n, &err))
        fail_msg("%s", err.text);
    json_decref(def);
    free(text);
}

void test_group_release(struct test_group *g)
{
    jobs_free(g->jobs, g->n);
    experiment_free(g->experiment);
}

void recorder_init(struct recorder *r, int n)
{
    *r = (struct recorder){.n = n};
    r->results = xcalloc((size_t)n, sizeof *r->results);
    r->times = xcalloc((size_t)n, sizeof *r->times);
    r->order = xcalloc((size_t)n, sizeof *r->order);
}

void recorder_release(struct recorder *r)
{
    for (int i = 0; i < r->n; i++)
        job_result_release(&r->results[i]);
    free(r->results);
    free(r->times);
    free(r->order);
}

static void on_begin(void *ctx)
{
    struct recorder *r = ctx;
    r->begins++;
}

static void on_end(void *ctx)
{
    struct recorder *r = ctx;
    r->ends++;
}

static void on_phase(void *ctx, int job, enum phase p, double t0_s, double t1_s)
{
    struct recorder *r = ctx;
    (void)job;
    r->phase_s[p] += t1_s - t0_s;
}

static void on_epoch(void *ctx, int job, const struct epoch_report *e)
{
    struct recorder *r = ctx;
    if (r->on_epoch)
        r->on_epoch(r, job, e);
}

static void on_done(void *ctx, int job, const struct job_result *result)
{
    struct recorder *r = ctx;
    r->late = r->late || r->begins != 1 || r->ends != 0;
    if (r->times[job]++ > 0)
        return;
    r->order[r->n_done++] = job;
    r->results[job] = *result;
    r->results[job].history = NULL;
    r->results[job].n_history = 0;
    for (int32_t i = 0; i < result->n_history; i++)
        job_result_add_epoch(&r->results[job], &result->history[i]);
}

static void on_worker(void *ctx, pid_t pid, bool alive)
{
    struct recorder *r = ctx;
    if (alive && r->n_pids < 64)
        r->pids[r->n_pids++] = pid;
    r->alive += alive ? 1 : -1;
}

struct exec_options test_options(int threads, int max_parallel)
{
    struct exec_options o = {.device = "cpu",
                             .threads = threads,
                             .max_parallel = max_parallel,
                             .data_root = "/nonexistent",
                             .silence_s = 30};
    return o;
}

void recorder_run(struct recorder *r, const char *slug, const struct test_group *g,
                  const struct exec_options *options)
{
    const struct executor_info *info = executor_find(slug);
    struct group group = {
        .experiment = g->experiment,
        .jobs = g->jobs,
        .n_jobs = g->n,
        .options = options ? *options : test_options(2, 0),
    };
    const struct group_sink sink = {
        .ctx = r,
        .begin = on_begin,
        .job_phase = on_phase,
        .epoch = on_epoch,
        .done = on_done,
        .end = on_end,
        .worker = on_worker,
    };
    struct error err = ERROR_INIT;
    assert_non_null(info);
    if (!info->check(g->jobs, g->n, &group.options, &err))
        fail_msg("%s", err.text);
    info->layout(g->jobs, g->n, &group.options, &group.layout);
    if (!info->run(&group, &sink, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r->begins, 1);
    assert_int_equal(r->ends, 1);
    assert_false(r->late);
    assert_int_equal(r->alive, 0);
    for (int i = 0; i < r->n; i++)
        assert_int_equal(r->times[i], 1);
}
