/* The model table: counts, names, arguments, refusals. */
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

static void test_counts(void **state)
{
    (void)state;
    const struct {
        const char *model;
        struct shape in;
        int n_outputs;
        size_t parameters;
        double macs;
    } cases[] = {
        {"mlp", shape_vector(8), 1, 9473, 9280},
        {"mlp", shape_vector(64), 10, 17226, 17024},
        {"mlp", shape_image(8, 8, 1), 10, 17226, 17024},
        {"mlp?hidden1=256&hidden2=3", shape_vector(8), 1, 3079, 2819},
        {"lenet", shape_image(28, 28, 1), 10, 44426, 281640},
        {"simplecnn", shape_image(32, 32, 3), 10, 60362, 5644288},
        {"simplecnn?width=4", shape_image(8, 8, 1), 10, 40 + 296 + 330, 2304 + 4608 + 320},
        {"digits_cnn", shape_image(8, 8, 1), 10, 38378, 9216 + 294912 + 32768 + 640},
        {"Digits_CNN?dropout_pct=0", shape_image(8, 8, 1), 10, 38378, 337536},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct graph *g = built(cases[i].model, cases[i].in, cases[i].n_outputs);
        assert_int_equal(graph_parameter_count(g), cases[i].parameters);
        assert_near(graph_macs(g), cases[i].macs, 0);
        const struct shape out = g->nodes[g->output].out;
        assert_true(shape_equal(out, shape_vector(cases[i].n_outputs)));
        graph_free(g);
    }
}

static void test_digits_cnn_nodes(void **state)
{
    (void)state;
    struct graph *g = built("digits_cnn", shape_image(8, 8, 1), 10);
    static const enum op_kind ops[] = {
        OP_INPUT,      OP_CONV2D,  OP_BATCH_NORM, OP_RELU,   OP_CONV2D, OP_BATCH_NORM, OP_RELU,
        OP_MAX_POOL2D, OP_DROPOUT, OP_FLATTEN,    OP_LINEAR, OP_RELU,   OP_LINEAR};
    static const char *const params[] = {"conv1.weight", "conv1.bias", "bn1.weight", "bn1.bias",
                                         "conv2.weight", "conv2.bias", "bn2.weight", "bn2.bias",
                                         "fc1.weight",   "fc1.bias",   "fc2.weight", "fc2.bias"};
    assert_int_equal(g->n_nodes, sizeof ops / sizeof *ops);
    for (int i = 0; i < g->n_nodes; i++)
        assert_int_equal(g->nodes[i].op, ops[i]);
    assert_true(g->nodes[8].attr.p == 0.25f);
    assert_int_equal(g->n_params, 12);
    for (int i = 0; i < 12; i++)
        assert_string_equal(g->params[i].name, params[i]);
    assert_string_equal(g->buffers[3].name, "bn2.running_var");
    graph_free(g);
    g = built("digits_cnn?dropout_pct=0", shape_image(8, 8, 1), 10);
    assert_int_equal(g->n_nodes, sizeof ops / sizeof *ops - 1);
    for (int i = 0; i < g->n_nodes; i++)
        assert_int_not_equal(g->nodes[i].op, OP_DROPOUT);
    graph_free(g);
}

static void test_lookup(void **state)
{
    (void)state;
    assert_string_equal(model_find("LeNet")->name, "lenet");
    assert_null(model_find("lenet5"));
    int n = 0;
    for (; model_table[n]; n++) {
        const struct model_info *info = model_table[n];
        assert_ptr_equal(model_find(info->name), info);
        assert_true(info->n_args <= MODEL_MAX_ARGS);
        for (int i = 0; i < info->n_args; i++) {
            const struct model_arg *a = &info->args[i];
            assert_true(a->min <= a->fallback && a->fallback <= a->max);
            assert_true(strlen(a->meaning) > 0);
        }
    }
    assert_int_equal(n, 10);
}

/* Every model takes samples of its kind, and says whether they are token ids. */
static void test_samples(void **state)
{
    (void)state;
    for (int i = 0; model_table[i]; i++) {
        const struct model_info *info = model_table[i];
        const struct shape in = info->input_rank == 3 ? shape_image(64, 64, 3) : shape_vector(64);
        struct error err = ERROR_INIT;
        struct graph *g = model_build(info->name, in, 10, &err);
        if (!g)
            fail_msg("%s", err.text);
        assert_int_equal(graph_reads_tokens(g), info->tokens);
        graph_free(g);
    }
}

static void test_check(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_true(model_check("mlp", &err));
    assert_true(model_check("MLP?hidden1=1&hidden2=65536", &err));
    static const char *const cases[][2] = {
        {"", "the name is empty"},
        {"lenett", "unknown model 'lenett' (did you mean 'lenet'?); fugue has mlp, lenet"},
        {"resnet1", "unknown model 'resnet1' (did you mean 'resnet18'?)"},
        {"lenett", "networks of your own as files that end in .json"},
        {"mlp?hiden1=3", "mlp has no argument 'hiden1' (did you mean 'hidden1'?)"},
        {"mlp?hidden1=0", "hidden1=0 must be a whole number from 1 to 65536"},
        {"mlp?hidden1=many", "hidden1=many must be a whole number"},
        {"mlp?hidden1=1.5", "hidden1=1.5 must be a whole number"},
        {"mlp?hidden1=3&hidden1=4", "'hidden1' is given twice"},
        {"lenet?width=3", "lenet takes no arguments"},
        {"digits_cnn?dropout_pct=100", "from 0 to 99"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = ERROR_INIT;
        if (model_check(cases[i][0], &e))
            fail_msg("'%s' was accepted", cases[i][0]);
        assert_int_equal(e.class_, ERROR_USAGE);
        assert_contains(e.text, cases[i][1]);
        assert_null(model_build(cases[i][0], shape_vector(8), 1, &e));
    }
}

static void refused(const char *model, struct shape in, int n_outputs, const char *part)
{
    struct error err = ERROR_INIT;
    assert_null(model_build(model, in, n_outputs, &err));
    assert_int_equal(err.class_, ERROR_USAGE);
    assert_contains(err.text, part);
}

static void test_shapes_refused(void **state)
{
    (void)state;
    refused("lenet", shape_vector(8), 10, "model 'lenet' takes images");
    refused("lenet", shape_vector(8), 10, "not samples of shape 8");
    refused("lenet", shape_image(8, 8, 1), 10, "model 'lenet' cannot take samples of shape 8x8x1");
    refused("simplecnn", (struct shape){2, {2, 128, 1}}, 2, "shape 2x128");
    refused("simplecnn", shape_image(3, 3, 1), 10, "max_pool2d_2");
    refused("mlp", shape_vector(8), 0, "0 outputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),  cmocka_unit_test(test_digits_cnn_nodes),
        cmocka_unit_test(test_lookup),  cmocka_unit_test(test_check),
        cmocka_unit_test(test_samples), cmocka_unit_test(test_shapes_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
