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
    assert_true(g->nodes[2].attr.eps == 1e-5 && g->nodes[2].attr.momentum == 0.1);
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

/* One tensor, two nodes: stored once; and nothing but tables of the right size is shared. */
static void test_shared_parameters(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    int x = graph_input(g, shape_vector(4));
    const int a = graph_linear(g, "a", x, 4);
    x = graph_linear_shared(g, graph_relu(g, a), a);
    x = graph_linear(g, "b", x, 2);
    assert_true(graph_finish(g, x, NULL));
    const struct node *again = &g->nodes[3];
    assert_true(again->shares_params && !g->nodes[a].shares_params);
    assert_int_equal(again->n_params, 2);
    assert_int_equal(again->param[1], g->nodes[a].param[1]);
    assert_int_equal(g->n_params, 4);
    assert_int_equal(graph_parameter_count(g), 20 + 10);
    const uint64_t shared = graph_hash(g);
    graph_free(g);

    g = graph_new();
    x = graph_linear(g, "a", graph_input(g, shape_vector(4)), 4);
    x = graph_linear(g, "a2", graph_relu(g, x), 4);
    x = graph_linear(g, "b", x, 2);
    assert_true(graph_finish(g, x, NULL));
    assert_true(graph_hash(g) != shared);
    graph_free(g);

    g = graph_new();
    x = graph_linear(g, "a", graph_input(g, shape_vector(4)), 3);
    fails(g, graph_linear_shared(g, x, x), ERROR_USAGE,
          "linear_2 (linear): the parameters of 'a' do not fit it");
    g = graph_new();
    fails(g, graph_linear_shared(g, graph_input(g, shape_vector(4)), -1), ERROR_INTERNAL, "output");
}

static struct graph *token_net(int *embedding)
{
    struct graph *g = graph_new();
    const int tokens = graph_tokens(g, 6);
    *embedding =
        graph_embedding(g, "tok", tokens, (struct embedding_args){.rows = 9, .features = 4});
    return g;
}

static void test_tokens(void **state)
{
    (void)state;
    int e;
    struct graph *g = token_net(&e);
    const int tied = graph_tied_linear(g, graph_layer_norm(g, "n", e, 0), e);
    assert_true(graph_finish(g, tied, NULL));
    assert_true(graph_reads_tokens(g));
    assert_true(g->nodes[e].attr.scale == 1.0f && g->nodes[e].attr.pad_id == -1);
    assert_true(g->nodes[2].attr.eps == 1e-5);
    assert_true(shape_equal(g->nodes[tied].out, (struct shape){2, {6, 9, 1}}));
    assert_true(graph_check_outputs(g, 9, NULL));
    assert_false(graph_check_outputs(g, 6, NULL));
    assert_int_equal(graph_parameter_count(g), 36 + 8);
    graph_free(g);

    g = graph_new();
    fails(g, graph_relu(g, graph_tokens(g, 6)), ERROR_USAGE,
          "relu_1 (relu): reads values, but 'input' holds tokens: embed them first");
    g = graph_new();
    fails(g, graph_tokens(g, 6), ERROR_USAGE, "not the tokens");
    g = token_net(&e);
    fails(g, graph_embedding(g, "again", e, (struct embedding_args){.rows = 9, .features = 4}),
          ERROR_USAGE, "reads tokens, but 'tok' holds values");
    g = token_net(&e);
    const struct position_args of_tokens = {
        .rows = 9, .kind = POSITION_OF_TOKENS, .tokens = 1, .pad_id = 1};
    fails(g, graph_positions(g, "pos", e, of_tokens), ERROR_USAGE, "reads tokens, but 'tok'");
    g = token_net(&e);
    fails(g, graph_concatenate(g, (const int[]){e, e, e, e, e}, 5), ERROR_USAGE,
          "concatenate: takes 2 to 4 inputs, not 5");
    g = token_net(&e);
    fails(g, graph_add(g, e, 7), ERROR_INTERNAL, "node 7 does not exist");
}

/* Moving a node's tensors renumbers and lays out all, and every node still finds its own. */
static void test_params_last(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    const int a = graph_linear(g, "a", graph_input(g, shape_vector(5)), 3);
    const int b = graph_linear_no_bias(g, "b", a, 20);
    const int c = graph_linear(g, "c", b, 2);
    graph_params_last(g, a);
    assert_true(graph_finish(g, c, NULL));
    static const char *const names[] = {"b.weight", "c.weight", "c.bias", "a.weight", "a.bias"};
    static const size_t offsets[] = {0, 64, 112, 128, 144};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(g->params[i].name, names[i]);
        assert_int_equal(g->params[i].offset, offsets[i]);
        assert_int_equal(g->params[i].ordinal, i);
    }
    assert_int_equal(g->param_floats, 160);
    assert_true(g->nodes[a].param[0] == 3 && g->nodes[a].param[1] == 4);
    assert_true(g->nodes[b].param[0] == 0 && g->nodes[c].param[0] == 1 &&
                g->nodes[c].param[1] == 2);
    graph_free(g);
}

static void test_names_without_dot(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    const int x = graph_linear(g, "attn.in_proj_", graph_input(g, shape_vector(5)), 3);
    graph_init(g, x, 1, INIT_ZEROS, 0);
    assert_true(graph_finish(g, x, NULL));
    assert_string_equal(g->params[0].name, "attn.in_proj_weight");
    assert_string_equal(g->params[1].name, "attn.in_proj_bias");
    assert_true(g->params[0].init == INIT_UNIFORM && g->params[1].init == INIT_ZEROS);
    graph_free(g);
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
        cmocka_unit_test(test_shared_parameters),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_params_last),
        cmocka_unit_test(test_names_without_dot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
