/* Training speed of the CPU backend alone: K networks on made-up rows, no data set, no engine loop.
 *
 *     bench_net NET K THREADS EPOCHS [ISA]     NET: mlp, lenet, simplecnn, digits_cnn, resnet18
 *
 * SGD with momentum 0.9; Adam for mlp and digits_cnn.  Prints one JSON line: samples a second of
 * all K together, best and median of the epochs (an epoch is one pass of all K; one more before
 * them does not count), and the nominal GFLOP/s of the median: six operations a multiply-add of the
 * forward pass, padded taps counted.
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
    enum optim_kind optim;
    int n_slots;
};

static const struct bench benches[] = {
    {"mlp", {1, {8, 1, 1}}, 1, 256, 20640, OPTIM_ADAM, 2},
    {"lenet", {3, {28, 28, 1}}, 10, 256, 4096, OPTIM_SGD, 1},
    {"simplecnn", {3, {32, 32, 3}}, 10, 64, 1024, OPTIM_SGD, 1},
    {"digits_cnn", {3, {8, 8, 1}}, 10, 64, 1438, OPTIM_ADAM, 2},
    {"resnet18", {3, {32, 32, 3}}, 10, 128, 256, OPTIM_SGD, 1},
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

/* K models with initial weights of their own on one list of rows. */
struct stack {
    struct graph *g;
    struct plan *plan;
    struct backend_device *dev;
    struct backend_bucket *bucket;
    struct source source;
    struct model *models;
    struct model_run *runs, **list;
};

static void fill_models(struct stack *s, const struct bench *b, int k)
{
    uint32_t *rows = malloc((size_t)b->rows * sizeof *rows);
    const struct rng_perm perm = rng_perm_make((uint32_t)b->rows, 1, RNG_ORDER, 1);
    for (uint32_t i = 0; i < (uint32_t)b->rows; i++)
        rows[i] = rng_perm_at(&perm, i);
    s->models = calloc((size_t)k, sizeof *s->models);
    s->runs = calloc((size_t)k, sizeof *s->runs);
    s->list = calloc((size_t)k, sizeof(struct model_run *));
    float *params = calloc(s->plan->param_floats, sizeof *params);
    float *slots = calloc((size_t)b->n_slots * s->plan->param_floats, sizeof *slots);
    float *buffers = calloc(s->plan->buffer_floats + 1, sizeof *buffers);
    for (int i = 0; i < k; i++) {
        graph_init_model(s->g, (uint64_t)i, params, buffers);
        backend_cpu.model_write(s->bucket, i, params, slots, buffers);
        s->models[i].pass = (struct pass){.kind = PASS_TRAIN,
                                          .source = &s->source,
                                          .rows = rows,
                                          .n_rows = b->rows,
                                          .seed = (uint64_t)i,
                                          .epoch = 1,
                                          .first_update = 1,
                                          .optim = optim_infos[b->optim].defaults};
        s->models[i].pass.optim.lr = 1e-3;
        if (b->optim == OPTIM_SGD)
            s->models[i].pass.optim.momentum = 0.9;
        s->runs[i] =
            (struct model_run){s->bucket, i, &s->models[i], next_pass, pass_done, remaining};
        s->list[i] = &s->runs[i];
    }
    free(params);
    free(slots);
    free(buffers);
}

static bool open_stack(struct stack *s, const struct bench *b, int k, int threads,
                       const struct cpu_isa *isa, struct error *err)
{
    const struct plan_request request = {
        .batch = b->batch,
        .task = task_find(b->outputs > 1 ? "classification" : "regression"),
        .optim = b->optim,
        .n_slots = b->n_slots};
    s->g = model_build(b->net, b->shape, b->outputs, err);
    s->plan = s->g ? plan_build(s->g, &request, err) : NULL;
    s->dev = s->plan ? cpu_open(threads, isa, true, err) : NULL;
    s->bucket = s->dev ? backend_cpu.bucket_new(s->dev, s->plan, k, err) : NULL;
    if (!s->bucket)
        return false;
    s->source = make_source(b);
    fill_models(s, b, k);
    return true;
}

/* Samples a second of one pass of all models; 0 with an error. */
static double one_epoch(struct stack *s, const struct bench *b, int k, struct error *err)
{
    for (int i = 0; i < k; i++)
        s->models[i].left = 1;
    const double start = clock_now_s();
    if (!backend_cpu.run(s->dev, s->list, k, NULL, err))
        return 0;
    return (double)k * (double)b->rows / (clock_now_s() - start);
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct stack s = {0};
    const struct bench *b = NULL;
    const char *net = argc > 1 ? argv[1] : "mlp";
    const int k = argc > 2 ? atoi(argv[2]) : 5, threads = argc > 3 ? atoi(argv[3]) : 2;
    const int epochs = argc > 4 ? atoi(argv[4]) : 10;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        if (strcmp(benches[i].net, net) == 0)
            b = &benches[i];
    const struct cpu_isa *isa = cpu_isa_find(argc > 5 ? argv[5] : NULL);
    if (!b || !isa || k < 1 || epochs < 1) {
        fputs("bench_net NET K THREADS EPOCHS [ISA]: see the head of bench_net.c\n", stderr);
        return 2;
    }
    if (!open_stack(&s, b, k, threads, isa, &err))
        return fail(&err);
    double *rate = calloc((size_t)epochs, sizeof *rate);
    for (int e = -1; e < epochs; e++) {
        const double r = one_epoch(&s, b, k, &err);
        if (r <= 0)
            return fail(&err);
        if (e >= 0)
            rate[e] = r;
    }
    qsort(rate, (size_t)epochs, sizeof *rate, by_value);
    printf("{\"net\": \"%s\", \"K\": %d, \"threads\": %d, \"isa\": \"%s\", \"best\": %.0f, "
           "\"median\": %.0f, \"gflops\": %.1f, \"loss\": %.6g}\n",
           b->net, k, threads, isa->name, rate[epochs - 1], rate[epochs / 2],
           rate[epochs / 2] * graph_macs(s.g) * 6e-9, s.models[0].loss);
    return 0;
}
