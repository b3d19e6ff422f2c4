#include "helper_net.h"

const struct backend *test_backend = &backend_cpu;

void net_open(struct net *n, struct graph *g, const char *task, int batch, int rows_per_shard,
              int threads)
{
    struct error err = ERROR_INIT;
    n->g = g;
    const int shard = test_backend->one_shard ? batch : rows_per_shard;
    const struct plan_request request = {.batch = batch,
                                         .rows_per_shard = shard,
                                         .task = task_find(task),
                                         .optim = OPTIM_SGD,
                                         .n_slots = 1};
    n->plan = plan_build(g, &request, &err);
    if (!n->plan || !plan_check(n->plan, &err))
        fail_msg("%s", err.text);
    n->device = test_backend->open(&(struct backend_options){.threads = threads}, &err);
    if (!n->device)
        fail_msg("%s", err.text);
    n->bucket = test_backend->bucket_new(n->device, n->plan, 1, &err);
    if (!n->bucket)
        fail_msg("%s", err.text);
}

void net_close(struct net *n)
{
    test_backend->bucket_free(n->bucket);
    test_backend->close(n->device);
    plan_free(n->plan);
    graph_free(n->g);
}

struct one_pass {
    struct pass pass;
    struct pass_result result;
    bool given, done;
};

static bool next_pass(void *ctx, struct pass *pass)
{
    struct one_pass *p = ctx;
    if (p->given)
        return false;
    p->given = true;
    *pass = p->pass;
    return true;
}

static void pass_done(void *ctx, const struct pass *pass, const struct pass_result *result)
{
    (void)pass;
    struct one_pass *p = ctx;
    p->result = *result;
    p->done = true;
}

static double remaining(void *ctx)
{
    (void)ctx;
    return 1;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void no_tick(void *ctx, const struct model_run *run, const struct pass *pass,
                    int64_t rows_done, double loss_sum)
{
    (void)ctx;
    (void)run;
    (void)pass;
    (void)rows_done;
    (void)loss_sum;
}

struct pass_result net_pass(struct net *n, enum pass_kind kind, const struct source *source,
                            int64_t n_rows, double lr, int64_t first)
{
    struct error err = ERROR_INIT;
    uint32_t *rows = calloc((size_t)n_rows, sizeof *rows);
    for (int64_t i = 0; i < n_rows; i++)
        rows[i] = (uint32_t)i;
    struct one_pass p = {.pass = {.kind = kind,
                                  .source = source,
                                  .rows = rows,
                                  .n_rows = n_rows,
                                  .seed = 3,
                                  .epoch = 1,
                                  .first_update = first,
                                  .optim = optim_defaults("sgd", lr)}};
    p.pass.optim.momentum = 0.9;
    struct model_run run = {.bucket = n->bucket,
                            .k = 0,
                            .ctx = &p,
                            .next = next_pass,
                            .done = pass_done,
                            .remaining = remaining};
    struct model_run *const runs[] = {&run};
    const struct run_hooks hooks = {.should_stop = never, .tick = no_tick};
    struct source held = *source;
    held.n = n_rows;
    const bool holds = test_backend->source_hold != NULL;
    p.pass.source = &held;
    if (holds && !test_backend->source_hold(n->device, &held, &err))
        fail_msg("%s", err.text);
    if (!test_backend->run(n->device, runs, 1, &hooks, &err))
        fail_msg("%s", err.text);
    if (holds)
        test_backend->source_drop(n->device, &held);
    assert_true(p.done && !p.result.stopped);
    assert_int_equal(p.result.sums.n, n_rows);
    free(rows);
    return p.result;
}

double net_training_loss(struct net *n, const struct source *source, int64_t n_rows)
{
    return net_pass(n, PASS_TRAIN, source, n_rows, 0.0, 1).sums.loss_sum;
}
