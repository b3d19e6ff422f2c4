/* Whole networks against what PyTorch computes: tests/golden/README.md has the rules of inputs and
 * weights.  One network through three SGD steps: losses, gradients of the first, weights and
 * running statistics after, and the evaluation loss on them.
 */
#include "helper_net.h"

#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "nn/model.h"

#define SEED 7

static double unit(uint32_t ordinal, size_t i)
{
    return (double)rng_unit(rng_u32_at(SEED, RNG_TEST, ordinal, 0, 0, (uint32_t)i));
}

static json_t *load(const char *name)
{
    struct error err = ERROR_INIT;
    const char *root = getenv("FUGUE_TEST_SOURCE");
    char *path = xasprintf("%s/tests/golden/%s.json", root ? root : ".", name);
    json_t *j = json_read_file(path, &err);
    free(path);
    if (!j)
        fail_msg("%s", err.text);
    return j;
}

struct fixture {
    json_t *golden;
    struct net net;
    struct source source;
    float *x;
    int32_t *label;
    float *value;
    int64_t rows;
    float *params, *slots, *buffers;
};

/* Samples are drawn in N,C,H,W order and stored as N,H,W,C. */
static void fill_data(struct fixture *f, struct shape s, int n_outputs)
{
    const size_t count = shape_count(s), h = (size_t)s.d[0], w = (size_t)s.d[1], c = (size_t)s.d[2];
    f->x = calloc(count * (size_t)f->rows, sizeof *f->x);
    f->label = calloc((size_t)f->rows, sizeof *f->label);
    f->value = calloc((size_t)f->rows, sizeof *f->value);
    for (size_t n = 0; n < (size_t)f->rows; n++) {
        for (size_t i = 0; i < count; i++) {
            const size_t from =
                s.rank == 3 ? n * count + (i % c * h + i / c / w) * w + i / c % w : n * count + i;
            f->x[n * count + i] = (float)(2.0 * unit(1000, from) - 1.0);
        }
        f->label[n] = (int32_t)(unit(1001, n) * n_outputs);
        f->value[n] = (float)(2.0 * unit(1001, n) - 1.0);
    }
    f->source = (struct source){.type = SOURCE_F32,
                                .x = f->x,
                                .sample_count = count,
                                .shape = s,
                                .divisor = 1.0f,
                                .label = n_outputs > 1 ? f->label : NULL,
                                .value = n_outputs > 1 ? NULL : f->value};
}

static void fill_weights(struct fixture *f)
{
    const struct graph *g = f->net.g;
    for (int32_t p = 0; p < g->n_params; p++) {
        const struct param *t = &g->params[p];
        float *logical = calloc(t->count, sizeof *logical);
        double fan_in = 1;
        for (int32_t d = 1; d < t->rank; d++)
            fan_in *= t->dims[d];
        for (size_t i = 0; i < t->count; i++) {
            const double v = 2.0 * unit((uint32_t)p, i) - 1.0;
            if (t->rank >= 2)
                logical[i] = (float)(v * (1.0 / sqrt(fan_in)));
            else
                logical[i] = (float)(0.1 * v + (t->init == INIT_ONES ? 1.0 : 0.0));
        }
        param_from_logical(t, logical, f->params + t->offset);
        free(logical);
    }
}

static void open_fixture(struct fixture *f, const char *file, const char *model, int rows_per_shard)
{
    struct error err = ERROR_INIT;
    f->golden = load(file);
    const json_t *in = json_object_get(f->golden, "input_shape");
    const int n_outputs = (int)json_integer_value(json_object_get(f->golden, "outputs"));
    int32_t d[3] = {0};
    for (size_t i = 0; i < json_array_size(in) && i < 3; i++)
        d[i] = (int32_t)json_integer_value(json_array_get(in, i));
    const struct shape shape =
        json_array_size(in) == 3 ? shape_image(d[1], d[2], d[0]) : shape_vector(d[0]);
    struct graph *g = model_build(model, shape, n_outputs, &err);
    if (!g)
        fail_msg("%s", err.text);
    for (int32_t i = 0; i < g->n_nodes; i++) /* the golden networks have dropout 0 */
        if (g->nodes[i].op == OP_DROPOUT)
            g->nodes[i].attr.p = 0.0f;
    f->rows = json_integer_value(json_object_get(f->golden, "batch"));
    net_open(&f->net, g, n_outputs == 1 ? "regression" : "classification", (int)f->rows,
             rows_per_shard, 2);
    fill_data(f, shape, n_outputs);
    f->params = calloc(f->net.plan->param_floats, sizeof *f->params);
    f->slots = calloc(f->net.plan->param_floats, sizeof *f->slots);
    f->buffers = calloc(f->net.plan->buffer_floats + 1, sizeof *f->buffers);
    graph_init_model(g, 1, f->params, f->buffers);
    fill_weights(f);
    backend_cpu.model_write(f->net.bucket, 0, f->params, f->slots, f->buffers);
    const json_t *first = json_object_get(f->golden, "x_first");
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(json_number_value(json_array_get(first, i)) -
                         (float)(2.0 * unit(1000, i) - 1.0)) < 1e-7);
}

static void close_fixture(struct fixture *f)
{
    json_decref(f->golden);
    net_close(&f->net);
    free(f->x);
    free(f->label);
    free(f->value);
    free(f->params);
    free(f->slots);
    free(f->buffers);
}

/* |a - b| <= 1e-4 max(|b|, 1e-3 scale): samples and norm of every tensor. */
static void compare_tensors(const struct fixture *f, const float *block, const char *key,
                            double scale)
{
    const json_t *list = json_object_get(f->golden, key);
    assert_int_equal(json_array_size(list), f->net.g->n_params);
    for (int32_t p = 0; p < f->net.g->n_params; p++) {
        const struct param *t = &f->net.g->params[p];
        const json_t *want = json_array_get(list, (size_t)p);
        assert_string_equal(json_string_value(json_object_get(want, "name")), t->name);
        float *logical = calloc(t->count, sizeof *logical);
        param_to_logical(t, block + t->offset, logical);
        double norm = 0;
        for (size_t i = 0; i < t->count; i++)
            norm += (double)logical[i] * (double)logical[i];
        norm = sqrt(norm);
        const double wanted_norm = json_number_value(json_object_get(want, "norm"));
        if (fabs(norm - wanted_norm) > 1e-4 * fmax(wanted_norm, 1e-3 * scale))
            fail_msg("%s of %s: norm %.9g, PyTorch %.9g", key, t->name, norm, wanted_norm);
        const json_t *index = json_object_get(want, "index"),
                     *value = json_object_get(want, "value");
        assert_true(json_array_size(index) > 0);
        for (size_t i = 0; i < json_array_size(index); i++) {
            const size_t at = (size_t)json_integer_value(json_array_get(index, i));
            const double b = json_number_value(json_array_get(value, i));
            assert_true(at < t->count);
            if (fabs((double)logical[at] - b) > 1e-4 * fmax(fabs(b), 1e-3 * scale))
                fail_msg("%s of %s[%zu]: %.9g, PyTorch %.9g", key, t->name, at, (double)logical[at],
                         b);
        }
        free(logical);
    }
}

static double scale_of(const struct fixture *f, const char *key)
{
    const json_t *list = json_object_get(f->golden, key);
    double sum = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const double norm = json_number_value(json_object_get(json_array_get(list, i), "norm"));
        sum += norm * norm;
    }
    return sqrt(sum);
}

static void compare_running(struct fixture *f, const char *key)
{
    const json_t *want = json_object_get(f->golden, key);
    assert_int_equal(json_object_size(want), f->net.g->n_buffers);
    backend_cpu.model_read(f->net.bucket, 0, NULL, NULL, f->buffers);
    for (int32_t i = 0; i < f->net.g->n_buffers; i++) {
        const struct param *t = &f->net.g->buffers[i];
        const json_t *list = json_object_get(want, t->name);
        assert_int_equal(json_array_size(list), t->count);
        for (size_t j = 0; j < t->count; j++) {
            const double a = (double)f->buffers[t->offset + j];
            const double b = json_number_value(json_array_get(list, j));
            if (fabs(a - b) > 1e-5 * fmax(fabs(b), 0.1))
                fail_msg("%s of %s[%zu]: %.9g, PyTorch %.9g", key, t->name, j, a, b);
        }
    }
}

/* Mean loss of PyTorch's logits, in double. */
static double loss_of_logits(const struct fixture *f, const json_t *logits)
{
    double sum = 0;
    for (size_t n = 0; n < json_array_size(logits); n++) {
        const json_t *row = json_array_get(logits, n);
        if (f->source.value) {
            const double d = json_number_value(json_array_get(row, 0)) - (double)f->source.value[n];
            sum += d * d;
            continue;
        }
        double e = 0;
        for (size_t j = 0; j < json_array_size(row); j++)
            e += exp(json_number_value(json_array_get(row, j)));
        sum += log(e) - json_number_value(json_array_get(row, (size_t)f->source.label[n]));
    }
    return sum / (double)f->rows;
}

static void check_close(double a, double b, const char *what)
{
    if (fabs(a - b) > 2e-5 * fmax(fabs(b), 0.1))
        fail_msg("%s: %.9g, PyTorch %.9g", what, a, b);
}

/* rows_per_shard: the numbers must come out whether a batch is one shard or several. */
static void check_shards(const char *file, const char *model, int rows_per_shard)
{
    struct fixture f;
    open_fixture(&f, file, model, rows_per_shard);
    const json_t *losses = json_object_get(f.golden, "losses");
    const double n = (double)f.rows;
    for (int step = 0; step < 3; step++) {
        const struct pass_result r = net_pass(&f.net, PASS_TRAIN, &f.source, f.rows, 0.1, step + 1);
        assert_int_equal(r.n_updates, 1);
        check_close(r.sums.loss_sum / n, json_number_value(json_array_get(losses, (size_t)step)),
                    "loss of a training step");
        if (step > 0)
            continue;
        backend_cpu.model_read(f.net.bucket, 0, NULL, f.slots, NULL);
        compare_tensors(&f, f.slots, "gradients", scale_of(&f, "gradients"));
        if (f.net.g->n_buffers > 0)
            compare_running(&f, "running_after_1");
    }
    backend_cpu.model_read(f.net.bucket, 0, f.params, NULL, NULL);
    compare_tensors(&f, f.params, "weights_after", scale_of(&f, "weights_after"));
    if (f.net.g->n_buffers > 0)
        compare_running(&f, "running_after_3");
    const struct pass_result r = net_pass(&f.net, PASS_EVAL, &f.source, f.rows, 0, 0);
    check_close(r.sums.loss_sum / n,
                loss_of_logits(&f, json_object_get(f.golden, "eval_logits_after")),
                "evaluation loss after three steps");
    close_fixture(&f);
}

static void check_network(const char *file, const char *model)
{
    check_shards(file, model, 8);
    check_shards(file, model, 2);
    check_shards(file, model, 1);
}

static void test_mlp(void **state)
{
    (void)state;
    check_network("mlp", "mlp");
}

static void test_mlp64(void **state)
{
    (void)state;
    check_network("mlp64", "mlp");
}

static void test_lenet(void **state)
{
    (void)state;
    check_network("lenet", "lenet");
}

static void test_simplecnn(void **state)
{
    (void)state;
    check_network("simplecnn", "simplecnn");
}

static void test_digits_cnn(void **state)
{
    (void)state;
    check_network("digits_cnn", "digits_cnn");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),        cmocka_unit_test(test_mlp64),
        cmocka_unit_test(test_lenet),      cmocka_unit_test(test_simplecnn),
        cmocka_unit_test(test_digits_cnn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
