/* Networks from JSON files: what they build, and every mistake with its place. */
#include "helper_nn.h"

#include "base/file.h"
#include "base/text.h"
#include "nn/json_net.h"
#include "nn/json_op.h"
#include "nn/model.h"

#include <unistd.h>

/* The text as a file, ' standing for "; the caller discards it. */
static char *written(const char *text)
{
    char *path = xstrdup("/tmp/fugue-net-XXXXXX.json"), *quoted = xstrdup(text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    const int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_true(write(fd, quoted, strlen(quoted)) == (ssize_t)strlen(quoted));
    close(fd);
    free(quoted);
    return path;
}

static void discard(char *path)
{
    unlink(path);
    free(path);
}

static struct graph *built(const char *text, struct shape in, int n_outputs)
{
    char *path = written(text);
    struct error err = ERROR_INIT;
    struct graph *g = model_build(path, in, n_outputs, &err);
    if (!g)
        fail_msg("%s", err.text);
    discard(path);
    return g;
}

static char *in_source(const char *name)
{
    const char *source = getenv("FUGUE_TEST_SOURCE");
    if (!source)
        fail_msg("FUGUE_TEST_SOURCE is not set: run the tests through ctest");
    return xasprintf("%s/%s", source, name);
}

/* The same network in both ways is the same graph, names of its tensors included. */
static void test_equals_built_in(void **state)
{
    (void)state;
    struct graph *a =
        built("{'layers': ["
              "{'op': 'conv2d', 'name': 'conv1', 'out': 16, 'kernel': 3, 'pad': [1, 1]},"
              "{'op': 'batch_norm', 'name': 'bn1'}, {'op': 'relu'},"
              "{'op': 'conv2d', 'name': 'conv2', 'out': 32, 'kernel': [3, 3], 'pad': 1},"
              "{'op': 'batch_norm', 'name': 'bn2'}, {'op': 'relu'},"
              "{'op': 'max_pool2d', 'kernel': 2}, {'op': 'dropout', 'p': 0.25},"
              "{'op': 'flatten'}, {'op': 'linear', 'name': 'fc1', 'out': 64},"
              "{'op': 'relu'}, {'op': 'linear', 'name': 'fc2', 'out': 'outputs'}]}",
              shape_image(8, 8, 1), 10);
    struct graph *b = model_build("digits_cnn", shape_image(8, 8, 1), 10, NULL);
    assert_true(graph_hash(a) == graph_hash(b));
    assert_int_equal(a->n_params, b->n_params);
    for (int i = 0; i < a->n_params; i++)
        assert_string_equal(a->params[i].name, b->params[i].name);
    graph_free(a);
    graph_free(b);
}

static void test_examples(void **state)
{
    (void)state;
    char *resnet = in_source("examples/small_resnet.json");
    char *mlp = in_source("examples/mlp_gelu.json");
    struct error err = ERROR_INIT;
    struct graph *g = model_build(resnet, shape_image(8, 8, 1), 10, &err);
    if (!g)
        fail_msg("%s", err.text);
    /* Convolutions 144 + 2 x 2304 + 4608 + 9216 + 512, norms 3 x 32 + 3 x 64, head 330. */
    assert_int_equal(graph_parameter_count(g), 144 + 4608 + 4608 + 9216 + 512 + 288 + 330);
    graph_free(g);
    g = model_build(mlp, shape_image(8, 8, 1), 10, &err);
    if (!g)
        fail_msg("%s", err.text);
    assert_int_equal(graph_parameter_count(g), 65 * 128 + 256 + 129 * 128 + 1290);
    graph_free(g);
    g = model_build(mlp, shape_vector(5), 1, &err);
    assert_non_null(g);
    graph_free(g);
    free(resnet);
    free(mlp);
}

/* Arguments arrive where they belong, and what is not said is PyTorch's default. */
static void test_arguments(void **state)
{
    (void)state;
    struct graph *g =
        built("{'summary': 'all kinds', 'output': 'last', 'input': 'values', 'layers': ["
              "{'op': 'conv2d', 'out': 4, 'kernel': [3, 5], 'stride': [2, 1], 'pad': [0, 2],"
              " 'dilation': [1, 2], 'groups': 2, 'bias': false},"
              "{'op': 'avg_pool2d', 'kernel': 2, 'stride': 1, 'count_include_pad': false},"
              "{'op': 'avg_pool2d', 'kernel': [1, 2], 'pad': [0, 1]},"
              "{'op': 'batch_norm', 'eps': 0.5, 'momentum': 0.25, 'name': 'bn'},"
              "{'op': 'concatenate', 'input': ['bn', 'bn', 'bn']},"
              "{'op': 'conv2d', 'out': 2, 'kernel': 1, 'name': 'c'},"
              "{'op': 'adaptive_max_pool2d', 'size': [1, 2], 'input': 'c'}, {'op': 'flatten'},"
              "{'op': 'layer_norm', 'eps': 0.125}, {'op': 'linear', 'out': 4, 'name': 'a'},"
              "{'op': 'linear', 'out': 4, 'like': 'a'}, {'op': 'tanh'},"
              "{'op': 'linear', 'out': 'outputs', 'bias': false, 'name': 'last'}]}",
              shape_image(9, 9, 2), 3);
    const struct node *n = g->nodes;
    const struct op_attr *conv = &n[1].attr;
    assert_true(conv->out_features == 4 && conv->kernel_h == 3 && conv->kernel_w == 5);
    assert_true(conv->stride_h == 2 && conv->stride_w == 1 && conv->pad_h == 0 && conv->pad_w == 2);
    assert_true(conv->dilation_h == 1 && conv->dilation_w == 2 && conv->groups == 2);
    assert_int_equal(conv->bias, 0);
    assert_true(n[2].attr.stride_h == 1 && n[2].attr.count_include_pad == 0);
    assert_true(n[3].attr.kernel_w == 2 && n[3].attr.stride_h == 1 && n[3].attr.stride_w == 2);
    assert_true(n[3].attr.pad_w == 1 && n[3].attr.count_include_pad == 1);
    assert_true(n[4].attr.eps == 0.5 && n[4].attr.momentum == 0.25);
    assert_int_equal(n[5].n_inputs, 3);
    assert_int_equal(n[5].out.d[2], 12);
    const struct op_attr *one = &n[6].attr;
    assert_true(one->stride_h == 1 && one->dilation_w == 1 && one->groups == 1 && one->bias == 1);
    assert_true(n[7].attr.out_h == 1 && n[7].attr.out_w == 2);
    assert_true(n[9].attr.eps == 0.125);
    assert_true(n[11].shares_params && n[11].param[1] == n[10].param[1]);
    assert_int_equal(n[13].n_params, 1);
    assert_int_equal(g->output, 13);
    graph_free(g);
}

/* The language model of docs/networks.md, and the two other ways of attention and positions. */
static void test_sequences(void **state)
{
    (void)state;
    char *path = in_source("docs/networks.md"), *text = NULL;
    size_t len = 0;
    struct error err = ERROR_INIT;
    assert_true(file_read(path, 1 << 20, &text, &len, &err));
    char *from = strstr(text, "## A language model");
    assert_non_null(from);
    from = strchr(from, '{');
    *strstr(from, "```") = '\0';
    struct graph *g = built(from, shape_vector(128), 6500);
    assert_true(graph_reads_tokens(g));
    assert_int_equal(g->nodes[2].attr.position, POSITION_INDEX);
    assert_string_equal(g->params[2].name, "attn.in_proj_weight");
    assert_true(g->nodes[g->output].shares_params);
    graph_free(g);
    free(text);
    free(path);
    g = built("{'input': 'tokens', 'layers': ["
              "{'op': 'embedding', 'name': 'e', 'rows': 50, 'out': 6, 'pad_id': 1},"
              "{'op': 'positions', 'rows': 20, 'pad_id': 1, 'input': ['e', 'input'], 'name': 'p'},"
              "{'op': 'attention', 'heads': 2, 'pad_id': 1, 'p': 0.5,"
              " 'input': ['p', 'p', 'p', 'input']}, {'op': 'first_token'},"
              "{'op': 'linear', 'out': 'outputs'}]}",
              shape_vector(9), 2);
    assert_int_equal(g->nodes[2].attr.position, POSITION_OF_TOKENS);
    assert_true(g->nodes[3].attr.masked && g->nodes[3].attr.p == 0.5f);
    assert_int_equal(g->params[0].zero_row, 1);
    graph_free(g);
}

#define NET(layers) "{'layers': [\n" layers "\n]}"
#define LAST        ", {'op': 'linear', 'out': 'outputs'}"

/* Found without knowing samples' shapes. */
static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } cases[] = {
        {"", ":1:1: ", "the text is empty"},
        {"{'layers': [}", ":1:13: ", ""},
        {"[1]", ":1:1: ", "a network is an object"},
        {"{}", ":1:1: ", "'layers' must be a list"},
        {"{'layers': []}", ":1:12: ", "at least one layer"},
        {"{'layers': {}}", ":1:12: ", "'layers' must be a list"},
        {"{'layer': []}", ":1:11: ", "a network has no 'layer' (did you mean 'layers'?)"},
        {"{'summary': 3, 'layers': []}", ":1:13: ", "'summary' must be a text"},
        {"{'input': 'words', 'layers': []}", ":1:11: ", "\"values\" or \"tokens\", not \"words\""},
        {NET("3"), ":2:1: ", "a layer is an object"},
        {NET("{'out': 3}"), ":2:1: ", "a layer needs 'op'"},
        {NET("{'op': 3}"), ":2:8: ", "a layer needs 'op'"},
        {NET("{'op': 'rellu'}"), ":2:8: ", "no operation 'rellu' (did you mean 'relu'?)"},
        {NET("{'op': 'mse'}"), ":2:8: ", "no operation 'mse'"},
        {NET("{'op': 'input'}"), ":2:8: ", "no operation 'input'"},
        {NET("{'op': 'relu', 'p': 1}"), ":2:21: ", "relu has no argument 'p'"},
        {NET("{'op': 'conv2d', 'out': 3, 'kernal': 1}"), ":2:38: ", "did you mean 'kernel'?"},
        {NET("{'op': 'relu'},\n {'op': 'conv2d', 'out': 3}"), ":3:2: ", "conv2d needs 'kernel'"},
        {NET("{'op': 'linear', 'out': 2.5}"), ":2:25: ", "'out' must be a whole number or \"out"},
        {NET("{'op': 'linear', 'out': 'output'}"), ":2:25: ", "'out' must be a whole number"},
        {NET("{'op': 'linear', 'out': 99999999999}"), ":2:25: ", "'out' must be a whole number"},
        {NET("{'op': 'linear', 'out': 2, 'bias': 1}"), ":2:36: ", "'bias' must be true or false"},
        {NET("{'op': 'max_pool2d', 'kernel': [2]}"), ":2:32: ", "two in a list, [height, width]"},
        {NET("{'op': 'max_pool2d', 'kernel': [2, 2, 2]}"), ":2:32: ", "two in a list"},
        {NET("{'op': 'max_pool2d', 'kernel': '2'}"), ":2:32: ", "'kernel' must be a whole number"},
        {NET("{'op': 'dropout', 'p': 'half'}"), ":2:24: ", "'p' must be a number"},
        {NET("{'op': 'batch_norm', 'eps': 1e99}"), ":2:29: ", "'eps' must be a number"},
        {NET("{'op': 'relu', 'name': ''}"), ":2:24: ", "'name' must be a text"},
        {NET("{'op': 'relu', 'name': 'input'}"), ":2:24: ", "'input' is the name of an earlier"},
        {NET("{'op': 'relu', 'name': 'a'}, {'op': 'relu',\n'name': 'a'}"),
         ":3:9: ", "'a' is the name of an earlier layer"},
        {NET("{'op': 'relu', 'name': 'stem'}, {'op': 'relu', 'input': 'sten'}"),
         ":2:57: ", "no earlier layer is named 'sten' (did you mean 'stem'?)"},
        {NET("{'op': 'relu', 'input': 'a'}, {'op': 'relu', 'name': 'a'}"),
         ":2:25: ", "no earlier layer is named 'a'"},
        {NET("{'op': 'relu', 'input': 3}"), ":2:25: ", "a link is the name"},
        {NET("{'op': 'relu', 'input': ['input', 'input']}"),
         ":2:25: ", "relu takes 1 input, not 2"},
        {NET("{'op': 'linear', 'out': 3, 'like': 'input'}"), ":2:36: ", "of operation linear"},
        {"{'layers': [{'op': 'relu'}], 'output': 'x'}", ":1:40: ", "no layer is named 'x'"},
        {"{'layers': [{'op': 'relu'}], 'layers': []}", ":1:", "duplicate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        char *path = written(cases[i].text);
        if (json_net_check(path, &err))
            fail_msg("accepted: %s", cases[i].text);
        char *start = xasprintf("%s%s", path, cases[i].where);
        if (!text_starts_with(err.text, start) || !strstr(err.text, cases[i].what))
            fail_msg("%s\n'%s' does not begin with '%s' and say '%s'", cases[i].text, err.text,
                     start, cases[i].what);
        assert_null(model_build(path, shape_vector(4), 3, NULL));
        free(start);
        discard(path);
    }
}

/* Found when the network is built. */
static void test_mistakes_of_shape(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
        struct shape in;
    } cases[] = {
        {NET("{'op': 'relu'},\n  {'op': 'conv2d', 'out': 1, 'kernel': 9}" LAST),
         ":3:3: ",
         "does not fit an input of height 8",
         {3, {8, 8, 1}}},
        {NET("{'op': 'linear', 'out': 2}"), ":2:1: ", "3 outputs are needed", {1, {4, 1, 1}}},
        {NET("{'op': 'relu'}"), ":2:1: ", "must be a vector", {3, {4, 4, 1}}},
        {NET("{'op': 'relu', 'name': 'idle'},\n{'op': 'relu', 'name': 'b', 'input': 'input'}" LAST),
         ":3:48: ",
         "layer 'idle' does not lead to the output",
         {1, {4, 1, 1}}},
        {"{'input': 'tokens', 'layers': [{'op': 'relu'}]}",
         ":1:32: ",
         "embed them first",
         {1, {4, 1, 1}}},
        {"{'input': 'tokens', 'layers': [{'op': 'relu'}]}",
         ":1:11: ",
         "not samples of 3 dimensions",
         {3, {4, 4, 1}}},
        {NET("{'op': 'embedding', 'rows': 4, 'out': 2}"),
         ":2:1: ",
         "'input' holds values",
         {1, {4, 1, 1}}},
        {NET("{'op': 'linear', 'out': 4, 'name': 'a'}, {'op': 'linear', 'out': 3},"
             "\n{'op': 'linear', 'out': 5, 'like': 'a'}" LAST),
         ":3:1: ",
         "the parameters of 'a' do not fit it",
         {1, {4, 1, 1}}},
        {NET("{'op': 'add', 'input': ['input', 'input']}, {'op': 'dropout', 'p': 1}"),
         ":2:45: ",
         "p 1 must be",
         {1, {4, 1, 1}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        char *path = written(cases[i].text);
        if (!json_net_check(path, &err))
            fail_msg("refused without a shape: %s", err.text);
        if (model_build(path, cases[i].in, 3, &err))
            fail_msg("accepted: %s", cases[i].text);
        char *start = xasprintf("%s%s", path, cases[i].where);
        if (!text_starts_with(err.text, start) || !strstr(err.text, cases[i].what))
            fail_msg("%s\n'%s' does not begin with '%s' and say '%s'", cases[i].text, err.text,
                     start, cases[i].what);
        assert_int_equal(err.class_, ERROR_USAGE);
        free(start);
        discard(path);
    }
}

static void test_by_name(void **state)
{
    (void)state;
    assert_true(json_net_is("a.json") && json_net_is("/x/y.JSON"));
    assert_false(json_net_is(".json") || json_net_is("json") || json_net_is("a.json5"));
    struct error err = ERROR_INIT;
    assert_false(model_check("/nowhere/net.json", &err));
    assert_contains(err.text, "/nowhere/net.json");
    char *path = written(NET("{'op': 'flatten'}" LAST));
    assert_true(model_check(path, &err));
    char *argued = xasprintf("%s?width=3", path);
    assert_false(model_check(argued, &err));
    assert_contains(err.text, "takes no arguments");
    free(argued);
    struct graph *g = model_build(path, shape_image(3, 3, 2), 4, &err);
    assert_int_equal(graph_parameter_count(g), 18 * 4 + 4);
    graph_free(g);
    discard(path);
}

/* The manual speaks of every operation and of every argument, in the operation's row. */
static void test_manual(void **state)
{
    (void)state;
    char *path = in_source("docs/networks.md"), *text = NULL;
    size_t len = 0;
    assert_true(file_read(path, 1 << 20, &text, &len, NULL));
    for (int i = 0; i < json_op_count; i++) {
        const struct json_op *op = &json_ops[i];
        char *name = xasprintf("`%s`", op_infos[op->op].name);
        const char *row = strstr(strstr(text, "## Operations"), name);
        if (!row)
            fail_msg("docs/networks.md does not speak of %s", name);
        const char *end = strchr(row, '\n');
        for (int j = 0; j <= op->n_args; j++) {
            if (j == op->n_args && !op->shares)
                continue;
            char *arg = xasprintf("`%s`", j < op->n_args ? op->args[j].name : "like");
            const char *at = strstr(row, arg);
            if (!at || at > end)
                fail_msg("docs/networks.md does not speak of %s of %s", arg, name);
            free(arg);
        }
        free(name);
    }
    /* All operations but the input and the losses can be used. */
    for (int i = 0; i < OP_COUNT; i++)
        assert_int_equal(json_op_find(op_infos[i].name) != NULL,
                         i != OP_INPUT && !op_infos[i].is_loss);
    free(text);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_built_in), cmocka_unit_test(test_examples),
        cmocka_unit_test(test_arguments),       cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_mistakes),        cmocka_unit_test(test_mistakes_of_shape),
        cmocka_unit_test(test_by_name),         cmocka_unit_test(test_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
