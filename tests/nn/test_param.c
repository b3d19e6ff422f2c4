/* Where elements lie and what they are at the start. */
#include "base/rng.h"
#include "helper_nn.h"
#include "nn/model.h"

static struct graph *built(const char *model, struct shape in, int n_outputs)
{
    struct error err = ERROR_INIT;
    struct graph *g = model_build(model, in, n_outputs, &err);
    if (!g)
        fail_msg("%s", err.text);
    return g;
}

static void test_memory_index(void **state)
{
    (void)state;
    const struct param linear = {
        .layout = LAYOUT_LINEAR, .rank = 2, .dims = {3, 5, 1, 1}, .count = 15};
    for (size_t o = 0; o < 3; o++)
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(param_memory_index(&linear, o * 5 + i), i * 3 + o);
    const struct param conv = {
        .layout = LAYOUT_CONV, .rank = 4, .dims = {3, 2, 4, 5}, .count = 120};
    for (size_t o = 0; o < 3; o++)
        for (size_t c = 0; c < 2; c++)
            for (size_t y = 0; y < 4; y++)
                for (size_t x = 0; x < 5; x++)
                    assert_int_equal(param_memory_index(&conv, ((o * 2 + c) * 4 + y) * 5 + x),
                                     ((y * 5 + x) * 2 + c) * 3 + o);
    const struct param plain = {
        .layout = LAYOUT_PLAIN, .rank = 1, .dims = {7, 1, 1, 1}, .count = 7};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(param_memory_index(&plain, i), i);
}

static void test_round_trips(void **state)
{
    (void)state;
    struct graph *g = built("digits_cnn", shape_image(8, 8, 1), 10);
    for (int i = 0; i < g->n_params; i++) {
        const struct param *p = &g->params[i];
        float *logical = malloc(p->count * sizeof *logical);
        float *memory = malloc(p->count * sizeof *memory);
        float *back = malloc(p->count * sizeof *back);
        for (size_t j = 0; j < p->count; j++)
            logical[j] = (float)j;
        param_from_logical(p, logical, memory);
        for (size_t j = 0; j < p->count; j++)
            assert_true(memory[param_memory_index(p, j)] == (float)j);
        param_to_logical(p, memory, back);
        assert_memory_equal(back, logical, p->count * sizeof *back);
        free(logical);
        free(memory);
        free(back);
    }
    graph_free(g);
}

/* Computed apart from this code, in Python, from the formulas of base/rng.h and nn/graph.h. */
static void test_exact_values(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        int param;
        size_t index;
        float want;
    } cases[] = {
        {42, 0, 0, 0x1.72259ap-5f},
        {42, 0, 149, 0x1.0abc8p-3f},
        {42, 1, 5, -0x1.df074p-5f},
        {42, 2, 1234, 0x1.eb2c26p-9f},
        {42, 4, 30719, 0x1.133518p-6f},
        {42, 9, 9, 0x1.08a5e4p-5f},
        {UINT64_C(0x123456789abcdef0), 0, 0, -0x1.7c3e1p-3f},
        {UINT64_C(0x123456789abcdef0), 0, 149, -0x1.c3ba14p-4f},
        {UINT64_C(0x123456789abcdef0), 1, 5, -0x1.364ac4p-3f},
        {UINT64_C(0x123456789abcdef0), 2, 1234, 0x1.3ec444p-8f},
        {UINT64_C(0x123456789abcdef0), 4, 30719, -0x1.ee0008p-6f},
        {UINT64_C(0x123456789abcdef0), 9, 9, -0x1.e0fa28p-5f},
    };
    struct graph *g = built("lenet", shape_image(28, 28, 1), 10);
    float *params = malloc(g->param_floats * sizeof *params);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct param *p = &g->params[cases[i].param];
        graph_init_model(g, cases[i].seed, params, NULL);
        const float got = params[p->offset + param_memory_index(p, cases[i].index)];
        if (got != cases[i].want)
            fail_msg("%s[%zu] is %a, not %a", p->name, cases[i].index, (double)got,
                     (double)cases[i].want);
    }
    free(params);
    graph_free(g);
}

static void test_constants_and_padding(void **state)
{
    (void)state;
    struct graph *g = built("digits_cnn?width=5", shape_image(8, 8, 1), 10);
    float *params = malloc(g->param_floats * sizeof *params);
    float *buffers = malloc(g->buffer_floats * sizeof *buffers);
    memset(params, 0xFF, g->param_floats * sizeof *params);
    memset(buffers, 0xFF, g->buffer_floats * sizeof *buffers);
    graph_init_model(g, 7, params, buffers);
    size_t end = 0, padding = 0;
    for (int i = 0; i <= g->n_params; i++) {
        const size_t next = i < g->n_params ? g->params[i].offset : g->param_floats;
        for (; end < next; end++, padding++)
            assert_true(params[end] == 0.0f);
        if (i < g->n_params)
            end += g->params[i].count;
    }
    assert_int_equal(padding, g->param_floats - graph_parameter_count(g));
    assert_true(padding > 0);
    for (int i = 0; i < 5; i++) {
        assert_true(params[g->params[2].offset + (size_t)i] == 1.0f);   /* bn1.weight */
        assert_true(params[g->params[3].offset + (size_t)i] == 0.0f);   /* bn1.bias */
        assert_true(buffers[g->buffers[0].offset + (size_t)i] == 0.0f); /* running_mean */
        assert_true(buffers[g->buffers[1].offset + (size_t)i] == 1.0f); /* running_var */
    }
    assert_true(buffers[g->buffers[1].offset + 5] == 0.0f);
    free(params);
    free(buffers);
    graph_free(g);
}

/* Mean and standard deviation of uniform(-bound, bound) over 20 seeds, within four standard errors:
 * s / sqrt(n) of the mean, s sqrt((kurtosis - 1) / 4n) of the deviation, kurtosis 9/5. */
static void check_moments(const struct graph *g, int index, double bound)
{
    const struct param *p = &g->params[index];
    float *params = malloc(g->param_floats * sizeof *params);
    float *buffers = malloc((g->buffer_floats + 1) * sizeof *buffers);
    double sum = 0, squares = 0, largest = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        graph_init_model(g, seed, params, buffers);
        for (size_t i = 0; i < p->count; i++) {
            const double v = (double)params[p->offset + i];
            sum += v;
            squares += v * v;
            largest = fmax(largest, fabs(v));
        }
    }
    free(params);
    free(buffers);
    const double n = 20.0 * (double)p->count, want = bound / sqrt(3);
    const double mean = sum / n, sd = sqrt(squares / n - mean * mean);
    if (fabs(mean) > 4 * want / sqrt(n))
        fail_msg("%s: mean %g", p->name, mean);
    if (fabs(sd - want) > 4 * want * sqrt(0.2 / n))
        fail_msg("%s: deviation %g, expected %g", p->name, sd, want);
    /* Rounding the bound to float may pass it by half a unit. */
    assert_true(largest <= bound * (1 + 1e-7));
    assert_true(largest > bound * (1 - 40 / n));
}

static void test_moments(void **state)
{
    (void)state;
    const struct {
        const char *model;
        struct shape in;
        int n_outputs;
    } nets[] = {
        {"mlp", shape_vector(8), 1},
        {"lenet", shape_image(28, 28, 1), 10},
        {"simplecnn", shape_image(32, 32, 3), 10},
        {"digits_cnn", shape_image(8, 8, 1), 10},
    };
    json_t *wanted = golden("init_moments.json");
    const json_t *list = json_object_get(wanted, "nets");
    assert_int_equal(json_array_size(list), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *net = json_array_get(list, i);
        assert_string_equal(json_string_value(json_object_get(net, "net")), nets[i].model);
        const json_t *tensors = json_object_get(net, "tensors");
        struct graph *g = built(nets[i].model, nets[i].in, nets[i].n_outputs);
        assert_int_equal(json_array_size(tensors), g->n_params);
        for (int j = 0; j < g->n_params; j++) {
            const json_t *t = json_array_get(tensors, (size_t)j);
            const struct param *p = &g->params[j];
            assert_string_equal(json_string_value(json_object_get(t, "name")), p->name);
            const json_t *shape = json_object_get(t, "shape");
            assert_int_equal(json_array_size(shape), p->rank);
            for (int d = 0; d < p->rank; d++)
                assert_int_equal(json_integer_value(json_array_get(shape, (size_t)d)), p->dims[d]);
            if (p->init != INIT_UNIFORM) {
                assert_near(json_number_value(json_object_get(t, "mean")), p->init == INIT_ONES, 0);
                continue;
            }
            assert_near(json_number_value(json_object_get(t, "bound")), p->scale, 1e-12);
            check_moments(g, j, p->scale);
        }
        graph_free(g);
    }
    json_decref(wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_index), cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_exact_values), cmocka_unit_test(test_constants_and_padding),
        cmocka_unit_test(test_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
