/* Gradients of whole networks against finite differences of the training loss: every operation,
 * batch norm across shards and dropout included (masks depend on counters only, so the loss is a
 * fixed function of the weights).
 */
#include "helper_net.h"

#include "base/rng.h"

#define ROWS 24 /* four shards, the last one partial */

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

struct check {
    struct net net;
    struct problem problem;
    float *params, *grad, *zeros, *buffers;
    double largest; /* gradient */
    double here;    /* the loss at the present weights */
    int n, one_sided;
};

static double loss_at(struct check *c, size_t i, float value)
{
    const float old = c->params[i];
    c->params[i] = value;
    backend_cpu.model_write(c->net.bucket, 0, c->params, c->zeros, NULL);
    c->params[i] = old;
    return net_training_loss(&c->net, &c->problem.source, ROWS) / ROWS;
}

/* Relu and max pool have kinks: where one lies within the step, the slope of the side without it is
 * the gradient.  That must stay the exception. */
static void check_element(struct check *c, const char *name, size_t i)
{
    const float h = 1e-3f, up = c->params[i] + h, down = c->params[i] - h;
    const double here = (double)c->params[i], got = (double)c->grad[i];
    const double above = loss_at(c, i, up), below = loss_at(c, i, down);
    const double both = (above - below) / ((double)up - (double)down);
    const double right = (above - c->here) / ((double)up - here);
    const double left = (c->here - below) / (here - (double)down);
    const double allowed = 0.01 * c->largest;
    c->n++;
    if (fabs(both - got) <= allowed)
        return;
    c->one_sided++;
    if (fabs(left - got) > allowed && fabs(right - got) > allowed)
        fail_msg("%s: gradient %.6g, differences say %.6g (%.6g left, %.6g right; largest %.3g)",
                 name, got, both, left, right, c->largest);
}

/* Gradient of the mean loss by the engine and by differences, every parameter. */
static void check_gradients(struct graph *g, struct shape in, int n_outputs, int threads)
{
    struct check c = {0};
    problem_init(&c.problem, in, n_outputs);
    net_open(&c.net, g, n_outputs > 1 ? "classification" : "regression", ROWS, 7, threads);
    assert_int_equal(c.net.plan->n_shards, 4);
    const size_t count = c.net.plan->param_floats;
    c.params = calloc(count, sizeof *c.params);
    c.grad = calloc(count, sizeof *c.grad);
    c.zeros = calloc(count, sizeof *c.zeros);
    c.buffers = calloc(c.net.plan->buffer_floats + 1, sizeof *c.buffers);
    graph_init_model(g, 11, c.params, c.buffers);
    backend_cpu.model_write(c.net.bucket, 0, c.params, c.zeros, c.buffers);
    c.here = net_training_loss(&c.net, &c.problem.source, ROWS) / ROWS;
    backend_cpu.model_read(c.net.bucket, 0, NULL, c.grad, NULL);
    for (size_t i = 0; i < count; i++)
        c.largest = fmax(c.largest, fabs((double)c.grad[i]));
    assert_true(c.largest > 1e-3);
    for (int32_t t = 0; t < g->n_params; t++)
        for (size_t i = 0; i < g->params[t].count; i++)
            check_element(&c, g->params[t].name, g->params[t].offset + i);
    assert_true(c.one_sided * 5 < c.n);
    free(c.buffers);
    free(c.zeros);
    free(c.grad);
    free(c.params);
    free(c.problem.x);
    net_close(&c.net);
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
