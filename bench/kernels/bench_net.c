/* Training speed of the CPU backend alone: K networks on made-up rows, no data set, no engine loop.
 *
 *     bench_net NET K THREADS EPOCHS [ISA]     NET: mlp, lenet, simplecnn, digits_cnn
 *
 * Prints one JSON line: samples a second of all K together, best and median of the epochs (an epoch
 * is one pass of all K).
 */
#include "backend/cpu/kernel.h"
#include "base/clock.h"
#include "base/rng.h"
#include "engine/plan_build.h"
#include "nn/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    const char *net;
    struct shape shape;
    int outputs, batch;
    int64_t rows;
};

static const struct bench benches[] = {
    {"mlp", {1, {8, 1, 1}}, 1, 256, 20640},
    {"lenet", {3, {28, 28, 1}}, 10, 256, 4096},
    {"simplecnn", {3, {32, 32, 3}}, 10, 64, 512},
    {"digits_cnn", {3, {8, 8, 1}}, 10, 64, 1438},
};

struct model {
    struct pass pass;
    int left;
    double loss;
};

static bool next_pass(void *ctx, struct pass *pass)
{
    struct model *m = ctx;
    if (m->left-- <= 0)
        return false;
    *pass = m->pass;
    return true;
}

static void pass_done(void *ctx, const struct pass *pass, const struct pass_result *result)
{
    struct model *m = ctx;
    m->loss = result->sums.loss_sum / (double)result->sums.n;
    m->pass.first_update += result->n_updates;
    m->pass.epoch = pass->epoch + 1;
}

static double remaining(void *ctx)
{
    return ((struct model *)ctx)->left;
}

static float draw(uint32_t ordinal, uint32_t i)
{
    return 2.0f * rng_unit(rng_u32_at(1, RNG_TEST, ordinal, 0, 0, i)) - 1.0f;
}

static struct source make_source(const struct bench *b)
{
    const size_t count = shape_count(b->shape);
    float *x = malloc(count * (size_t)b->rows * sizeof *x);
    float *value = malloc((size_t)b->rows * sizeof *value);
    int32_t *label = malloc((size_t)b->rows * sizeof *label);
    for (size_t i = 0; i < count * (size_t)b->rows; i++)
        x[i] = draw(0, (uint32_t)i);
    for (int64_t i = 0; i < b->rows; i++) {
        value[i] = x[(size_t)i * count];
        label[i] = (int32_t)((draw(1, (uint32_t)i) + 1.0f) * 0.5f * (float)b->outputs);
    }
    return (struct source){.type = SOURCE_F32,
                           .x = x,
                           .sample_count = count,
                           .shape = b->shape,
                           .divisor = 1.0f,
                           .label = b->outputs > 1 ? label : NULL,
                           .value = b->outputs > 1 ? NULL : value};
}

static int fail(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    const struct bench *b = benches;
    const char *net = argc > 1 ? argv[1] : "mlp";
    const int k = argc > 2 ? atoi(argv[2]) : 5, threads = argc > 3 ? atoi(argv[3]) : 2;
    const int epochs = argc > 4 ? atoi(argv[4]) : 10;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        if (strcmp(benches[i].net, net) == 0)
            b = &benches[i];
    const struct cpu_isa *isa = cpu_isa_find(argc > 5 ? argv[5] : NULL);
    struct graph *g = model_build(b->net, b->shape, b->outputs, &err);
    const struct task_info *task = task_find(b->outputs > 1 ? "classification" : "regression");
    const struct plan_request request = {
        .batch = b->batch, .task = task, .optim = OPTIM_ADAM, .n_slots = 2};
    struct plan *plan = g ? plan_build(g, &request, &err) : NULL;
    if (!plan || !isa)
        return fail(&err);
    struct backend_device *dev = cpu_open(threads, isa, true, &err);
    struct backend_bucket *bucket = dev ? backend_cpu.bucket_new(dev, plan, k, &err) : NULL;
    if (!bucket)
        return fail(&err);
    const struct source source = make_source(b);
    uint32_t *rows = malloc((size_t)b->rows * sizeof *rows);
    const struct rng_perm perm = rng_perm_make((uint32_t)b->rows, 1, RNG_ORDER, 1);
    for (uint32_t i = 0; i < (uint32_t)b->rows; i++)
        rows[i] = rng_perm_at(&perm, i);
    struct model *models = calloc((size_t)k, sizeof *models);
    struct model_run *runs = calloc((size_t)k, sizeof *runs),
                     **list = calloc((size_t)k, sizeof *list);
    float *params = calloc(plan->param_floats, sizeof *params);
    float *buffers = calloc(plan->buffer_floats + 1, sizeof *buffers);
    for (int i = 0; i < k; i++) {
        graph_init_model(g, (uint64_t)i, params, buffers);
        backend_cpu.model_write(bucket, i, params, NULL, buffers);
        models[i].pass = (struct pass){.kind = PASS_TRAIN,
                                       .source = &source,
                                       .rows = rows,
                                       .n_rows = b->rows,
                                       .seed = (uint64_t)i,
                                       .epoch = 1,
                                       .first_update = 1,
                                       .optim = optim_infos[OPTIM_ADAM].defaults};
        models[i].pass.optim.lr = 1e-3;
        runs[i] = (struct model_run){bucket, i, &models[i], next_pass, pass_done, remaining};
        list[i] = &runs[i];
    }
    double *rate = calloc((size_t)epochs, sizeof *rate);
    for (int e = 0; e < epochs; e++) {
        for (int i = 0; i < k; i++)
            models[i].left = 1;
        const double start = clock_now_s();
        backend_cpu.run(dev, list, k, NULL, &err);
        rate[e] = (double)k * (double)b->rows / (clock_now_s() - start);
    }
    qsort(rate, (size_t)epochs, sizeof *rate, by_value);
    printf("{\"net\": \"%s\", \"K\": %d, \"threads\": %d, \"isa\": \"%s\", \"best\": %.0f, "
           "\"median\": %.0f, \"loss\": %.6g}\n",
           b->net, k, threads, isa->name, rate[epochs - 1], rate[epochs / 2], models[0].loss);
    return 0;
}
