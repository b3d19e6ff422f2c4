/* Building graphs: names, blocks, errors that stick, hashes. */
#include "helper_nn.h"
#include "nn/graph.h"

/* A small network with everything in it. */
static struct graph *small(struct shape in, int channels, double p, const char *first)
{
    struct graph *g = graph_new();
    int x = graph_input(g, in);
    x = graph_conv2d(g, first, x, channels, (struct conv_args){.kernel = 3, .pad = 1});
    x = graph_batch_norm(g, "bn", x, 0, 0);
    x = graph_relu(g, x);
    x = graph_max_pool2d(g, x, 2, 2, 0);
    x = graph_dropout(g, x, p);
    x = graph_flatten(g, x);
    x = graph_linear(g, "fc1", x, 5);
    x = graph_relu(g, x);
    x = graph_linear(g, "fc2", x, 3);
    struct error err = ERROR_INIT;
    if (!graph_finish(g, x, &err))
        fail_msg("%s", err.text);
    return g;
}

static void test_nodes(void **state)
{
    (void)state;
    struct graph *g = small(shape_image(6, 4, 2), 8, 0.5, "conv");
    static const char *const names[] = {"input",     "conv",      "bn",  "relu_1", "max_pool2d_1",
                                        "dropout_1", "flatten_1", "fc1", "relu_2", "fc2"};
    assert_int_equal(g->n_nodes, 10);
    assert_int_equal(g->output, 9);
    for (int i = 0; i < 10; i++) {
        assert_string_equal(g->nodes[i].name, names[i]);
        assert_int_equal(g->nodes[i].ordinal, i);
        assert_int_equal(g->nodes[i].input[0], i - 1);
        assert_int_equal(g->nodes[i].input[1], -1);
        if (i > 0)
            assert_true(shape_equal(g->nodes[i].in[0], g->nodes[i - 1].out));
    }
    assert_true(shape_equal(g->nodes[4].out, shape_image(3, 2, 8)));
    assert_true(g->nodes[2].attr.eps == 1e-5f && g->nodes[2].attr.momentum == 0.1f);
    assert_true(g->nodes[1].attr.stride_h == 1 && g->nodes[1].attr.dilation_w == 1);
    assert_int_equal(g->nodes[1].attr.groups, 1);
    assert_int_equal(g->nodes[1].n_params, 2);
    assert_int_equal(g->nodes[2].param[0], 2);
    assert_int_equal(g->nodes[2].buffer[1], 1);
    assert_int_equal(g->nodes[3].n_params, 0);
    /* 6*4*2 + 2*(6*4*8) more + pool 48 + dropout 48 + flatten 48 + 5 + 5 + 3. */
    assert_int_equal(graph_activations(g), 48 + 3 * 192 + 3 * 48 + 13);
    assert_true(graph_macs(g) == 6 * 4 * 8 * 9 * 2 + 48 * 5 + 5 * 3);
    graph_free(g);
}

static void test_blocks(void **state)
{
    (void)state;
    struct graph *g = small(shape_image(6, 4, 2), 8, 0.5, "conv");
    static const struct {
        const char *name;
        size_t count, offset;
    } want[] = {
        {"conv.weight", 144, 0}, {"conv.bias", 8, 144},    {"bn.weight", 8, 160},
        {"bn.bias", 8, 176},     {"fc1.weight", 240, 192}, {"fc1.bias", 5, 432},
        {"fc2.weight", 15, 448}, {"fc2.bias", 3, 464},
    };
    assert_int_equal(g->n_params, 8);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(g->params[i].name, want[i].name);
        assert_int_equal(g->params[i].count, want[i].count);
        assert_int_equal(g->params[i].offset, want[i].offset);
        assert_int_equal(g->params[i].offset % PARAM_ALIGN, 0);
        assert_int_equal(g->params[i].ordinal, i);
    }
    assert_int_equal(g->param_floats, 480);
    assert_int_equal(graph_parameter_count(g), 144 + 8 + 8 + 8 + 240 + 5 + 15 + 3);
    assert_int_equal(g->n_buffers, 2);
    assert_string_equal(g->buffers[0].name, "bn.running_mean");
    assert_string_equal(g->buffers[1].name, "bn.running_var");
    assert_int_equal(g->buffers[1].offset, 16);
    assert_int_equal(g->buffer_floats, 32);
    graph_free(g);
}

static void test_generated_names_avoid_given_ones(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    int x = graph_input(g, shape_vector(4));
    x = graph_linear(g, "relu_1", x, 4);
    x = graph_relu(g, x);
    assert_string_equal(g->nodes[x].name, "relu_2");
    assert_true(graph_finish(g, x, NULL));
    graph_free(g);
}

/* Finishing must fail with `part` in the sentence; frees g. */
static void fails(struct graph *g, int x, enum error_class class_, const char *part)
{
    struct error err = ERROR_INIT;
    if (graph_finish(g, x, &err))
        fail_msg("the graph was accepted where '%s' is expected", part);
    assert_int_equal(err.class_, class_);
    assert_contains(err.text, part);
    assert_int_equal(g->output, -1);
    graph_free(g);
}

static void test_errors_stick(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    int x = graph_input(g, shape_image(4, 4, 1));
    x = graph_conv2d(g, "conv1", x, 4, (struct conv_args){.kernel = 5});
    assert_int_equal(x, -1);
    x = graph_relu(g, x);
    assert_int_equal(x, -1);
    x = graph_linear(g, "fc", 0, 3); /* a good call, too late */
    assert_int_equal(x, -1);
    fails(g, x, ERROR_USAGE,
          "conv1 (conv2d): a kernel spanning 5 does not fit an input of height 4");
}

static void test_misuse(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    fails(g, graph_relu(g, 0), ERROR_INTERNAL, "node 0 does not exist");
    g = graph_new();
    fails(g, 0, ERROR_INTERNAL, "the output, node 0, does not exist");
    g = graph_new();
    graph_input(g, shape_vector(3));
    fails(g, graph_relu(g, 1), ERROR_INTERNAL, "node 1 does not exist");
    g = graph_new();
    graph_input(g, shape_vector(3));
    fails(g, graph_input(g, shape_vector(3)), ERROR_INTERNAL, "one input");
    g = graph_new();
    fails(g, graph_input(g, shape_image(4, 4, 1)), ERROR_USAGE,
          "must be a vector, or a vector a token, not an image");
    g = graph_new();
    fails(g, graph_input(g, shape_vector(0)), ERROR_USAGE, "dimension 0");
    g = graph_new();
    int x = graph_linear(g, "fc", graph_input(g, shape_vector(3)), 3);
    fails(g, graph_linear(g, "fc", x, 3), ERROR_USAGE, "two layers are named 'fc'");
    g = graph_new();
    fails(g, graph_linear(g, "", graph_input(g, shape_vector(3)), 3), ERROR_USAGE, "1 to 63 bytes");
    g = graph_new();
    char longest[65];
    memset(longest, 'a', 64);
    longest[64] = '\0';
    fails(g, graph_linear(g, longest, graph_input(g, shape_vector(3)), 3), ERROR_USAGE,
          "1 to 63 bytes");
    g = graph_new();
    x = graph_linear(g, "used", graph_input(g, shape_vector(3)), 3);
    graph_linear(g, "idle", x, 3);
    fails(g, x, ERROR_INTERNAL, "layer 'idle' does not lead to the output 'used'");
    g = graph_new();
    x = graph_input(g, shape_vector(1 << 20));
    fails(g, graph_linear(g, "fc", x, 1 << 20), ERROR_USAGE,
          "fc.weight has 1099511627776 elements");
}

/* Values recorded once: a hash is part of plan_hash in recorded rows, so it may not change by
 * accident. */
static void test_hash(void **state)
{
    (void)state;
    struct graph *a = small(shape_image(6, 4, 2), 8, 0.5, "conv");
    struct graph *b = small(shape_image(6, 4, 2), 8, 0.5, "other_name");
    struct graph *changed[] = {small(shape_image(4, 6, 2), 8, 0.5, "conv"),
                               small(shape_image(6, 4, 2), 7, 0.5, "conv"),
                               small(shape_image(6, 4, 2), 8, 0.25, "conv")};
    assert_true(graph_hash(a) == graph_hash(b));
    for (int i = 0; i < 3; i++) {
        assert_true(graph_hash(a) != graph_hash(changed[i]));
        graph_free(changed[i]);
    }
    if (graph_hash(a) != UINT64_C(0xCCDF66FC6D56A5D1))
        fail_msg("the hash has become 0x%llX", (unsigned long long)graph_hash(a));
    graph_free(a);
    graph_free(b);
    graph_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_generated_names_avoid_given_ones),
        cmocka_unit_test(test_errors_stick),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
