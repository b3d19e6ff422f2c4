#include "helper_nets.h"

#include "backend/cpu/bucket.h"
#include "base/text.h"
#include "helper_double.h"
#include "helper_golden.h"
#include "helper_net.h"

/* Mean over all predictions. */
static double mean_loss(const struct pass_sums *s)
{
    return s->loss_sum / (double)(s->n_tokens ? s->n_tokens : s->n);
}

void nets_check_float(const char *name, int rows_per_shard, double tolerance)
{
    struct golden f;
    struct net net;
    golden_open(&f, name);
    net_open(&net, f.g, f.task, (int)f.rows, rows_per_shard, 2);
    const struct plan *plan = net.plan;
    struct block block = {.f = xcalloc(plan->param_floats, sizeof(float))};
    struct block buffers = {.f = xcalloc(plan->buffer_floats + 1, sizeof(float))};
    golden_fill(&f, block, buffers);
    test_backend->model_write(net.bucket, 0, block.f, NULL, buffers.f);
    for (int step = 0; step < 3; step++) {
        const struct pass_result r = net_pass(&net, PASS_TRAIN, &f.source, f.rows, f.lr, step + 1);
        golden_check_loss(&f, step, mean_loss(&r.sums), tolerance);
        if (step > 0)
            continue;
        test_backend->model_read(net.bucket, 0, NULL, block.f, NULL); /* the slot is the gradient */
        golden_check_gradients(&f, block, tolerance);
    }
    test_backend->model_read(net.bucket, 0, block.f, NULL, buffers.f);
    golden_check_weights(&f, block, tolerance);
    if (plan->buffer_floats > 0)
        golden_check_running(&f, buffers, 10 * tolerance);
    net_pass(&net, PASS_EVAL, &f.source, f.rows, 0, 0);
    const struct plan_buffer *logits = &plan->eval.buffers[plan->eval.logits];
    if (test_backend == &backend_cpu) /* values of a lane can be looked at there alone */
        golden_check_logits(&f, "eval_logits_after",
                            (struct block){.f = net.bucket->lanes + logits->offset},
                            (size_t)f.rows * logits->floats, 10 * tolerance);
    golden_print_worst(&f, "float");
    free(block.f);
    free(buffers.f);
    golden_close(&f);
    net_close(&net);
}

void nets_check_double(const char *name, int rows_per_shard, double tolerance)
{
    struct error err = ERROR_INIT;
    struct golden f;
    struct double_net net;
    golden_open(&f, name);
    const struct plan_request request = {.batch = (int32_t)f.rows,
                                         .rows_per_shard = rows_per_shard,
                                         .task = task_find(f.task),
                                         .optim = OPTIM_SGD,
                                         .n_slots = 1};
    struct plan *plan = plan_build(f.g, &request, &err);
    if (!plan || !plan_check(plan, &err))
        fail_msg("%s", err.text);
    double_open(&net, plan, &f.source);
    golden_fill(&f, (struct block){.d = net.params}, (struct block){.d = net.buffers});
    const size_t n_logits = (size_t)f.rows * shape_count(f.g->nodes[f.g->output].out);
    const int32_t rows = (int32_t)f.rows;
    for (int step = 0; step < 3; step++) {
        const struct pass_sums sums = double_batch(&net, true, rows, f.lr, step == 0);
        golden_check_loss(&f, step, mean_loss(&sums), tolerance);
        if (step > 0)
            continue;
        golden_check_logits(&f, "logits", (struct block){.d = net.logits}, n_logits, tolerance);
        golden_check_gradients(&f, (struct block){.d = net.grads}, tolerance);
    }
    golden_check_weights(&f, (struct block){.d = net.params}, tolerance);
    if (plan->buffer_floats > 0)
        golden_check_running(&f, (struct block){.d = net.buffers}, 10 * tolerance);
    double_batch(&net, false, rows, 0, false);
    golden_check_logits(&f, "eval_logits_after", (struct block){.d = net.logits}, n_logits,
                        10 * tolerance);
    golden_print_worst(&f, "double");
    golden_close(&f);
    double_close(&net);
    graph_free(f.g);
    plan_free(plan);
}
