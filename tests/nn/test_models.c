/* The nine models, tensor for tensor as PyTorch, torchvision and Hugging Face define them, their
 * costs, and what they refuse. */
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

/* The shapes of the catalogue and the multiply-adds of a forward pass, recorded once; the small
 * ones and the transformers are counted by hand in the tests. */
static const struct full {
    const char *model;
    struct shape in;
    int n_outputs;
    double macs;
} full[] = {
    {"mlp", {1, {8, 1, 1}}, 1, 9280},
    {"lenet", {3, {28, 28, 1}}, 10, 281640},
    {"simplecnn", {3, {32, 32, 3}}, 10, 5644288},
    {"resnet18", {3, {32, 32, 3}}, 10, 37016576},
    {"resnet50", {3, {32, 32, 3}}, 10, 83431424},
    {"mobilenet_v3_small", {3, {32, 32, 3}}, 10, 2169792},
    {"transformer", {1, {128, 1, 1}}, 6500, 1753939968},
    {"xlm_roberta", {1, {128, 1, 1}}, 2, 11174217216},
    {"vgg16_cbam", {3, {224, 224, 3}}, 10, 15467999338},
};
#define N_FULL (sizeof full / sizeof *full)

static void check_tensors(const char *model, const json_t *rows, const struct param *params, int n)
{
    if ((int)json_array_size(rows) != n)
        fail_msg("%s has %d tensors, not %zu", model, n, json_array_size(rows));
    for (int i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        const char *name = json_string_value(json_array_get(row, 0));
        if (strcmp(params[i].name, name) != 0)
            fail_msg("%s: tensor %d is %s, not %s", model, i, params[i].name, name);
        assert_int_equal(params[i].rank, json_array_size(row) - 1);
        for (int d = 0; d < params[i].rank; d++)
            if (params[i].dims[d] != json_integer_value(json_array_get(row, (size_t)d + 1)))
                fail_msg("%s: %s differs in dimension %d", model, name, d);
        assert_int_equal(params[i].ordinal, i);
    }
}

static void test_tensors(void **state)
{
    (void)state;
    json_t *file = golden("model_tensors.json"), *counts_file = golden("counts.json");
    const json_t *models = json_object_get(file, "models");
    const json_t *counts = json_object_get(counts_file, "parameters");
    for (size_t i = 0; i < N_FULL; i++) {
        const char *name = full[i].model;
        struct graph *g = built(name, full[i].in, full[i].n_outputs);
        const json_t *want = json_object_get(models, name);
        check_tensors(name, json_object_get(want, "parameters"), g->params, g->n_params);
        check_tensors(name, json_object_get(want, "buffers"), g->buffers, g->n_buffers);
        assert_int_equal(graph_parameter_count(g),
                         json_integer_value(json_object_get(counts, name)));
        assert_near(graph_macs(g), full[i].macs, 0);
        assert_true(graph_check_outputs(g, full[i].n_outputs, NULL));
        graph_free(g);
    }
    static const char *const hundred[] = {"resnet18", "resnet50", "mobilenet_v3_small"};
    for (size_t i = 0; i < 3; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s?classes=100", hundred[i]);
        struct graph *g = built(hundred[i], shape_image(32, 32, 3), 100);
        assert_int_equal(graph_parameter_count(g),
                         json_integer_value(json_object_get(counts, key)));
        graph_free(g);
    }
    json_decref(file);
    json_decref(counts_file);
}

/* Costs that can be counted by hand from the definitions. */
static void test_macs_by_hand(void **state)
{
    (void)state;
    struct graph *g = built("transformer", shape_vector(128), 6500);
    const double layer =
        128.0 * (3 * 384 * 384 + 384 * 384 + 2 * 384 * 1536) + 2 * 128.0 * 128 * 384;
    assert_near(graph_macs(g), 6 * layer + 128.0 * 384 * 6500, 0);
    graph_free(g);
    g = built("xlm_roberta", shape_vector(128), 2);
    const double wide = 128.0 * (4 * 768 * 768 + 2 * 768 * 3072) + 2 * 128.0 * 128 * 768;
    assert_near(graph_macs(g), 12 * wide + 768 * 768 + 768 * 2, 0);
    graph_free(g);
    g = built("resnet18?width=1&blocks1=1&blocks2=1&blocks3=1&blocks4=1", shape_image(32, 32, 3),
              5);
    /* Stem 7x7x3 at 16x16; stages at 8x8, 4x4, 2x2, 1x1: two 3x3 and, but for the first, a 1x1. */
    assert_near(graph_macs(g),
                256 * 147 + 64 * (9 + 9) + 16 * (18 + 36 + 2) + 4 * (72 + 144 + 8) +
                    (288 + 576 + 32) + 8 * 5,
                0);
    graph_free(g);
}

static void test_scaled(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        struct shape in;
        int n_outputs;
        size_t parameters;
    } cases[] = {
        /* d 64, ff 128: 16640 attention, 16576 feed-forward, 256 norms a layer. */
        {"transformer?layers=2&d_model=64&heads=4&ff=128",
         {1, {16, 1, 1}},
         200,
         200 * 64 + 16 * 64 + 2 * (16640 + 16576 + 256) + 128},
        {"transformer?layers=1&d_model=8&heads=2&ff=16&max_positions=50&dropout_pct=0",
         {1, {16, 1, 1}},
         20,
         20 * 8 + 50 * 8 + 4 * 72 + (8 * 16 + 16 + 16 * 8 + 8) + 32 + 16},
        {"xlm_roberta?layers=2&d_model=64&heads=4&ff=256&vocab=1000&max_positions=40",
         {1, {24, 1, 1}},
         2,
         1000 * 64 + 40 * 64 + 64 + 128 +
             2 * (4 * 4160 + 128 + 64 * 256 + 256 + 256 * 64 + 64 + 128) + 4160 + 130},
        /* Channels 16, 32, 64, 128, 128; hidden 1024; reduced to 1, 2, 4, 8, 8. */
        {"vgg16_cbam?width_div=4",
         {3, {64, 64, 3}},
         10,
         (432 + 16 + 2304 + 16) + (4608 + 32 + 9216 + 32) + (18432 + 64 + 2 * (36864 + 64)) +
             (73728 + 128 + 2 * (147456 + 128)) + 3 * (147456 + 128) +
             2 * (16 * 1 + 32 * 2 + 64 * 4 + 128 * 8 + 128 * 8) + 5 * 98 +
             (128 * 49 * 1024 + 1024) + (1024 * 1024 + 1024) + 10250},
        {"resnet50?width=2&blocks1=1&blocks2=1&blocks3=1&blocks4=1",
         {3, {32, 32, 3}},
         3,
         294 + 4 + (4 + 4 + 36 + 4 + 16 + 16 + 16 + 16) + (32 + 8 + 144 + 8 + 64 + 32 + 128 + 32) +
             (128 + 16 + 576 + 16 + 256 + 64 + 512 + 64) +
             (512 + 32 + 2304 + 32 + 1024 + 128 + 2048 + 128) + 64 * 3 + 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct graph *g = built(cases[i].model, cases[i].in, cases[i].n_outputs);
        if (graph_parameter_count(g) != cases[i].parameters)
            fail_msg("%s: %zu parameters, not %zu", cases[i].model, graph_parameter_count(g),
                     cases[i].parameters);
        graph_free(g);
    }
}

static const struct node *find(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].name, name) == 0)
            return &g->nodes[i];
    fail_msg("there is no node '%s'", name);
    return NULL;
}

static int count_ops(const struct graph *g, enum op_kind op)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op == op;
    return n;
}

static void test_transformer_nodes(void **state)
{
    (void)state;
    struct graph *g = built("transformer", shape_vector(128), 6500);
    assert_true(graph_reads_tokens(g));
    const struct node *embedding = find(g, "tok"), *head = &g->nodes[g->output];
    assert_true(embedding->attr.scale == sqrt(384) && embedding->attr.pad_id == -1);
    assert_int_equal(head->op, OP_TIED_LINEAR);
    assert_true(head->shares_params && head->param[0] == embedding->param[0]);
    assert_true(shape_equal(head->out, (struct shape){2, {128, 6500, 1}}));
    const struct node *attention = find(g, "attention_3");
    assert_true(attention->attr.causal && !attention->attr.masked && attention->attr.heads == 8);
    assert_true(attention->attr.p == 0.1f);
    assert_int_equal(count_ops(g, OP_DROPOUT), 18);
    /* Moved behind the linear layers, with their nodes. */
    const struct node *norm1 = find(g, "enc.layers.0.norm1");
    assert_string_equal(g->params[norm1->param[0]].name, "enc.layers.0.norm1.weight");
    const struct node *linear2 = find(g, "enc.layers.0.linear2");
    assert_string_equal(g->params[linear2->param[1]].name, "enc.layers.0.linear2.bias");
    size_t offset = 0;
    for (int i = 0; i < g->n_params; i++) {
        assert_int_equal(g->params[i].offset, offset);
        offset += (g->params[i].count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
    }
    assert_int_equal(g->param_floats, offset);
    graph_free(g);
    g = built("transformer?dropout_pct=0", shape_vector(128), 6500);
    assert_int_equal(count_ops(g, OP_DROPOUT), 0);
    graph_free(g);
}

static void test_xlm_roberta_nodes(void **state)
{
    (void)state;
    struct graph *g = built("xlm_roberta?layers=2", shape_vector(128), 2);
    const struct node *words = find(g, "roberta.embeddings.word_embeddings");
    assert_int_equal(words->attr.pad_id, 1);
    assert_int_equal(g->params[words->param[0]].zero_row, 1);
    const struct node *places = find(g, "roberta.embeddings.position_embeddings");
    assert_int_equal(places->attr.position, POSITION_OF_TOKENS);
    assert_int_equal(g->params[places->param[0]].zero_row, 1);
    assert_int_equal(places->input[1], 0);
    const struct node *types = find(g, "roberta.embeddings.token_type_embeddings");
    assert_int_equal(types->attr.position, POSITION_FIRST);
    assert_int_equal(g->params[types->param[0]].zero_row, -1);
    const struct node *attention = find(g, "attention_1");
    assert_int_equal(attention->n_inputs, 4);
    assert_int_equal(attention->input[3], 0);
    assert_true(attention->attr.masked && attention->attr.pad_id == 1 && !attention->attr.causal);
    /* One after the embeddings, two and the attention's a layer, two in the head. */
    assert_int_equal(count_ops(g, OP_DROPOUT), 1 + 2 * 2 + 2);
    graph_free(g);
}

static void test_vision_nodes(void **state)
{
    (void)state;
    struct graph *g = built("mobilenet_v3_small", shape_image(32, 32, 3), 10);
    assert_true(find(g, "features.0.1")->attr.eps == 0.001);
    assert_true(find(g, "features.0.1")->attr.momentum == 0.01);
    assert_int_equal(find(g, "features.4.block.1.0")->attr.groups, 96);
    assert_int_equal(find(g, "features.4.block.2.fc1")->attr.out_features, 24);
    assert_true(g->nodes[g->output - 1].attr.p == 0.2f);
    assert_int_equal(count_ops(g, OP_ADD), 6);
    assert_int_equal(count_ops(g, OP_HARDSIGMOID), 9);
    assert_int_equal(count_ops(g, OP_HARDSWISH), 2 + 8 * 2 + 1);
    graph_free(g);
    g = built("vgg16_cbam", shape_image(224, 224, 3), 10);
    int shared = 0;
    for (int i = 0; i < g->n_nodes; i++)
        shared += g->nodes[i].shares_params;
    assert_int_equal(shared, 10);
    assert_int_equal(count_ops(g, OP_CHANNEL_MEAN_MAX), 5);
    assert_int_equal(count_ops(g, OP_MULTIPLY), 10);
    graph_free(g);
    g = built("resnet50", shape_image(32, 32, 3), 10);
    assert_int_equal(find(g, "layer2.0.conv2")->attr.stride_h, 2);
    assert_int_equal(find(g, "layer2.0.conv1")->attr.stride_h, 1);
    assert_int_equal(count_ops(g, OP_ADD), 16);
    graph_free(g);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        struct shape in;
        int n_outputs;
        const char *part;
    } cases[] = {
        {"resnet18", {1, {8, 1, 1}}, 10, "takes images"},
        {"transformer",
         {3, {8, 8, 1}},
         10,
         "takes sequences of token ids, not samples of shape 8x8x1"},
        {"transformer?heads=7", {1, {8, 1, 1}}, 10, "7 heads do not divide 384 features"},
        {"transformer?max_positions=4", {1, {8, 1, 1}}, 10, "needs 8 positions, there are 4"},
        {"xlm_roberta?max_positions=9", {1, {8, 1, 1}}, 2, "a sequence of 8 needs 10 positions"},
        {"vgg16_cbam", {3, {16, 16, 3}}, 10, "max_pool2d_5"},
        {"vgg16_cbam?width_div=5", {3, {64, 64, 3}}, 10, "from 1 to 4"},
        {"mobilenet_v3_small?width_pct=9", {3, {32, 32, 3}}, 10, "from 10 to 1000"},
        {"resnet18?depth=3", {3, {32, 32, 3}}, 10, "resnet18 has no argument 'depth'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        if (model_build(cases[i].model, cases[i].in, cases[i].n_outputs, &err))
            fail_msg("%s was accepted", cases[i].model);
        assert_int_equal(err.class_, ERROR_USAGE);
        assert_contains(err.text, cases[i].part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_macs_by_hand),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_transformer_nodes),
        cmocka_unit_test(test_xlm_roberta_nodes),
        cmocka_unit_test(test_vision_nodes),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
