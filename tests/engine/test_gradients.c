/* Gradients of whole networks against finite differences of the training loss: every operation,
 * batch norm across shards and dropout included (masks depend on counters only, so the loss is a
 * fixed function of the weights).
 */
#include "helper_net.h"

#include "base/rng.h"

#define ROWS 24 /* three shards */

struct problem {
    struct source source;
    float *x;
    int32_t label[ROWS];
    float value[ROWS];
};

static float draw(uint32_t ordinal, uint32_t i)
{
    return 2.0f * rng_unit(rng_u32_at(5, RNG_TEST, ordinal, 0, 0, i)) - 1.0f;
}

static void problem_init(struct problem *p, struct shape shape, int n_classes)
{
    const size_t count = shape_count(shape);
    p->x = calloc(count * ROWS, sizeof *p->x);
    for (size_t i = 0; i < count * ROWS; i++)
        p->x[i] = draw(0, (uint32_t)i);
    for (uint32_t i = 0; i < ROWS; i++) {
        p->label[i] = (int32_t)((draw(1, i) + 1.0f) * 0.5f * (float)n_classes);
        p->value[i] = draw(1, i);
    }
    p->source = (struct source){.type = SOURCE_F32,
                                .x = p->x,
                                .sample_count = count,
                                .shape = shape,
                                .divisor = 1.0f,
                                .label = n_classes > 1 ? p->label : NULL,
                                .value = n_classes > 1 ? NULL : p->value};
}

/* Gradient of the mean loss by the engine and by central differences, every parameter. */
static void check_gradients(struct graph *g, struct shape in, int n_outputs, int threads)
{
    struct problem p;
    struct net n;
    problem_init(&p, in, n_outputs);
    net_open(&n, g, n_outputs > 1 ? "classification" : "regression", ROWS, threads);
    assert_true(n.plan->n_shards > 1);
    const size_t count = n.plan->param_floats;
    float *params = calloc(count, sizeof *params), *grad = calloc(count, sizeof *grad);
    float *zeros = calloc(count, sizeof *zeros);
    float *buffers = calloc(n.plan->buffer_floats + 1, sizeof *buffers);
    graph_init_model(g, 11, params, buffers);
    backend_cpu.model_write(n.bucket, 0, params, zeros, buffers);
    net_training_loss(&n, &p.source, ROWS);
    backend_cpu.model_read(n.bucket, 0, NULL, grad, NULL);
    double norm = 0;
    for (size_t i = 0; i < count; i++)
        norm = fmax(norm, fabs((double)grad[i]));
    assert_true(norm > 1e-3);

    const float h = 2e-3f;
    for (int32_t t = 0; t < g->n_params; t++)
        for (size_t i = g->params[t].offset; i < g->params[t].offset + g->params[t].count; i++) {
            const float old = params[i], up = old + h, down = old - h;
            params[i] = up;
            backend_cpu.model_write(n.bucket, 0, params, zeros, NULL);
            const double above = net_training_loss(&n, &p.source, ROWS);
            params[i] = down;
            backend_cpu.model_write(n.bucket, 0, params, zeros, NULL);
            const double below = net_training_loss(&n, &p.source, ROWS);
            params[i] = old;
            const double slope = (above - below) / ((double)up - (double)down) / ROWS;
            if (fabs(slope - (double)grad[i]) > 0.01 * norm)
                fail_msg("%s[%zu]: gradient %.6g, differences say %.6g (largest %.3g)",
                         g->params[t].name, i - g->params[t].offset, (double)grad[i], slope, norm);
        }
    free(buffers);
    free(zeros);
    free(grad);
    free(params);
    free(p.x);
    net_close(&n);
}

static struct graph *finished(struct graph *g, int x)
{
    struct error err = ERROR_INIT;
    if (!graph_finish(g, x, &err))
        fail_msg("%s", err.text);
    return g;
}

static void test_linear_relu(void **state)
{
    (void)state;
    for (int outputs = 1; outputs <= 3; outputs += 2) {
        struct graph *g = graph_new();
        int x = graph_input(g, shape_vector(5));
        x = graph_relu(g, graph_linear(g, "a", x, 7));
        x = graph_linear(g, "b", x, outputs);
        check_gradients(finished(g, x), shape_vector(5), outputs, 1);
    }
}

static void test_everything(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    int x = graph_input(g, shape_image(6, 6, 2));
    x = graph_conv2d(g, "conv1", x, 3, (struct conv_args){.kernel = 3, .pad = 1});
    x = graph_batch_norm(g, "bn1", x, 0, 0);
    x = graph_relu(g, x);
    x = graph_conv2d(g, "conv2", x, 4,
                     (struct conv_args){.kernel = 3, .stride = 1, .no_bias = true});
    x = graph_batch_norm(g, "bn2", x, 0, 0);
    x = graph_max_pool2d(g, x, 2, 2, 0);
    x = graph_dropout(g, x, 0.25);
    x = graph_flatten(g, x);
    x = graph_linear(g, "fc1", x, 6);
    x = graph_batch_norm(g, "bn3", x, 0, 0);
    x = graph_dropout(g, x, 0.5);
    x = graph_linear(g, "fc2", x, 3);
    check_gradients(finished(g, x), shape_image(6, 6, 2), 3, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_relu),
        cmocka_unit_test(test_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
