/* Shape rules, parameters and costs of every operation. */
#include "helper_nn.h"
#include "nn/op.h"

static struct op_attr window(int out, int kernel, int stride, int pad, int dilation, int groups)
{
    return (struct op_attr){.out_features = out,
                            .kernel_h = kernel,
                            .kernel_w = kernel,
                            .stride_h = stride,
                            .stride_w = stride,
                            .pad_h = pad,
                            .pad_w = pad,
                            .dilation_h = dilation,
                            .dilation_w = dilation,
                            .groups = groups,
                            .bias = 1};
}

static struct shape inferred(enum op_kind op, struct op_attr attr, struct shape in)
{
    struct error err = ERROR_INIT;
    struct shape out = {0};
    if (!op_infos[op].infer(&attr, &in, 1, &out, &err))
        fail_msg("%s: %s", op_infos[op].name, err.text);
    return out;
}

#define assert_shape(got, want) assert_true(shape_equal((got), (want)))

static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int least, most; /* inputs */
        bool has_params, has_macs;
    } want[] = {
        [OP_INPUT] = {"input", 0, 0, false, false},
        [OP_CONV2D] = {"conv2d", 1, 1, true, true},
        [OP_LINEAR] = {"linear", 1, 1, true, true},
        [OP_BATCH_NORM] = {"batch_norm", 1, 1, true, false},
        [OP_RELU] = {"relu", 1, 1, false, false},
        [OP_MAX_POOL2D] = {"max_pool2d", 1, 1, false, false},
        [OP_FLATTEN] = {"flatten", 1, 1, false, false},
        [OP_DROPOUT] = {"dropout", 1, 1, false, false},
        [OP_CROSS_ENTROPY] = {"cross_entropy", 1, 1, false, false},
        [OP_MSE] = {"mse", 1, 1, false, false},
        [OP_GELU] = {"gelu", 1, 1, false, false},
        [OP_HARDSWISH] = {"hardswish", 1, 1, false, false},
        [OP_HARDSIGMOID] = {"hardsigmoid", 1, 1, false, false},
        [OP_SIGMOID] = {"sigmoid", 1, 1, false, false},
        [OP_TANH] = {"tanh", 1, 1, false, false},
        [OP_LAYER_NORM] = {"layer_norm", 1, 1, true, false},
        [OP_AVG_POOL2D] = {"avg_pool2d", 1, 1, false, false},
        [OP_ADAPTIVE_AVG_POOL2D] = {"adaptive_avg_pool2d", 1, 1, false, false},
        [OP_ADAPTIVE_MAX_POOL2D] = {"adaptive_max_pool2d", 1, 1, false, false},
        [OP_ADD] = {"add", 2, 2, false, false},
        [OP_MULTIPLY] = {"multiply", 2, 2, false, false},
        [OP_CONCATENATE] = {"concatenate", 2, 4, false, false},
        [OP_CHANNEL_MEAN_MAX] = {"channel_mean_max", 1, 1, false, false},
        [OP_EMBEDDING] = {"embedding", 1, 1, true, false},
        [OP_POSITIONS] = {"positions", 1, 2, true, false},
        [OP_ATTENTION] = {"attention", 1, 4, false, true},
        [OP_FIRST_TOKEN] = {"first_token", 1, 1, false, false},
        [OP_TIED_LINEAR] = {"tied_linear", 1, 1, true, true},
    };
    assert_int_equal(sizeof want / sizeof *want, OP_COUNT);
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op_info *info = &op_infos[i];
        assert_string_equal(info->name, want[i].name);
        assert_int_equal(info->n_inputs, want[i].least);
        assert_int_equal(info->max_inputs ? info->max_inputs : info->n_inputs, want[i].most);
        assert_non_null(info->infer);
        assert_int_equal(info->is_loss, i == OP_CROSS_ENTROPY || i == OP_MSE);
        assert_int_equal(info->params != NULL, want[i].has_params);
        assert_int_equal(info->macs != NULL, want[i].has_macs);
    }
}

static void test_shapes(void **state)
{
    (void)state;
    const struct shape image = shape_image(28, 20, 4);
    assert_shape(inferred(OP_CONV2D, window(6, 5, 1, 0, 1, 1), image), shape_image(24, 16, 6));
    assert_shape(inferred(OP_CONV2D, window(6, 3, 1, 1, 1, 1), image), shape_image(28, 20, 6));
    /* Floor of (28 + 2 - 3) / 2 + 1 and (20 + 2 - 3) / 2 + 1. */
    assert_shape(inferred(OP_CONV2D, window(8, 3, 2, 1, 1, 2), image), shape_image(14, 10, 8));
    assert_shape(inferred(OP_CONV2D, window(8, 3, 1, 0, 4, 4), image), shape_image(20, 12, 8));
    struct op_attr uneven = window(2, 3, 1, 0, 1, 1);
    uneven.kernel_w = 1;
    uneven.stride_h = 3;
    uneven.pad_w = 2;
    assert_shape(inferred(OP_CONV2D, uneven, image), shape_image(9, 24, 2));
    assert_shape(inferred(OP_MAX_POOL2D, window(0, 2, 2, 0, 1, 1), image), shape_image(14, 10, 4));
    assert_shape(inferred(OP_MAX_POOL2D, window(0, 3, 2, 1, 1, 1), image), shape_image(14, 10, 4));
    assert_shape(inferred(OP_MAX_POOL2D, window(0, 3, 2, 0, 1, 1), image), shape_image(13, 9, 4));
    const struct op_attr none = {.eps = 1e-5, .momentum = 0.1, .p = 0.5f, .out_features = 7};
    assert_shape(inferred(OP_INPUT, none, image), image);
    assert_shape(inferred(OP_INPUT, none, (struct shape){2, {5, 6, 1}}),
                 ((struct shape){2, {5, 6, 1}}));
    assert_shape(inferred(OP_BATCH_NORM, none, image), image);
    assert_shape(inferred(OP_BATCH_NORM, none, shape_vector(9)), shape_vector(9));
    assert_shape(inferred(OP_RELU, none, image), image);
    assert_shape(inferred(OP_DROPOUT, none, image), image);
    assert_shape(inferred(OP_FLATTEN, none, image), shape_vector(28 * 20 * 4));
    assert_shape(inferred(OP_LINEAR, none, shape_vector(3)), shape_vector(7));
    assert_shape(inferred(OP_CROSS_ENTROPY, none, shape_vector(10)), shape_vector(1));
    assert_shape(inferred(OP_MSE, none, shape_vector(1)), shape_vector(1));
}

static void refused(enum op_kind op, struct op_attr attr, struct shape in, const char *part)
{
    struct error err = ERROR_INIT;
    struct shape out;
    if (op_infos[op].infer(&attr, &in, 1, &out, &err))
        fail_msg("%s was accepted where '%s' is expected", op_infos[op].name, part);
    assert_int_equal(err.class_, ERROR_USAGE);
    assert_contains(err.text, part);
}

static void test_refusals(void **state)
{
    (void)state;
    const struct shape image = shape_image(8, 8, 6), vector = shape_vector(8);
    refused(OP_CONV2D, window(4, 3, 1, 0, 1, 1), vector, "takes an image");
    refused(OP_CONV2D, window(0, 3, 1, 0, 1, 1), image, "0 output channels");
    refused(OP_CONV2D, window(4, 3, 1, 0, 1, 0), image, "in 0 groups");
    refused(OP_CONV2D, window(8, 3, 1, 0, 1, 4), image, "4 groups");
    refused(OP_CONV2D, window(4, 3, 1, 0, 1, 3), image, "3 groups");
    refused(OP_CONV2D, window(4, 0, 1, 0, 1, 1), image, "kernel 0");
    refused(OP_CONV2D, window(4, 3, 0, 0, 1, 1), image, "stride 0");
    refused(OP_CONV2D, window(4, 3, 1, -1, 1, 1), image, "pad -1");
    refused(OP_CONV2D, window(4, 3, 1, 0, 0, 1), image, "dilation 0");
    refused(OP_CONV2D, window(4, 9, 1, 0, 1, 1), image, "does not fit an input of height 8");
    refused(OP_CONV2D, window(4, 3, 1, 0, 4, 1), image, "spanning 9");
    struct op_attr tall = window(4, 3, 1, 0, 1, 1);
    tall.kernel_w = 11;
    refused(OP_CONV2D, tall, image, "input of width 8");
    refused(OP_CONV2D, window(1 << 30, 1, 1, 0, 1, 1), image, "too large");
    refused(OP_CONV2D, window(1, 1, 1, INT32_MAX, 1, 1), image, "too large");
    refused(OP_CONV2D, window(4, INT32_MAX, 1, 0, INT32_MAX, 1), image, "does not fit");
    refused(OP_MAX_POOL2D, window(0, 2, 2, 0, 1, 1), vector, "takes an image");
    refused(OP_MAX_POOL2D, window(0, 2, 2, 2, 1, 1), image, "more than half");
    refused(OP_MAX_POOL2D, window(0, 2, 2, 0, 2, 1), image, "dilation must be 1");
    refused(OP_MAX_POOL2D, window(0, 9, 2, 0, 1, 1), image, "does not fit");
    refused(OP_LINEAR, (struct op_attr){.out_features = 4}, image, "flatten first");
    refused(OP_LINEAR, (struct op_attr){.out_features = 0}, vector, "0 output features");
    refused(OP_BATCH_NORM, (struct op_attr){.eps = 1, .momentum = 1}, (struct shape){2, {4, 4, 1}},
            "not a sequence");
    refused(OP_BATCH_NORM, (struct op_attr){.eps = 0, .momentum = 0.1}, image, "eps 0");
    refused(OP_BATCH_NORM, (struct op_attr){.eps = NAN, .momentum = 0.1}, image, "eps nan");
    refused(OP_BATCH_NORM, (struct op_attr){.eps = 1, .momentum = 0}, image, "momentum 0");
    refused(OP_BATCH_NORM, (struct op_attr){.eps = 1, .momentum = 1.5f}, image, "momentum 1.5");
    refused(OP_DROPOUT, (struct op_attr){.p = 1}, image, "p 1");
    refused(OP_DROPOUT, (struct op_attr){.p = -0.1f}, image, "p -0.1");
    refused(OP_DROPOUT, (struct op_attr){.p = NAN}, image, "p nan");
    refused(OP_CROSS_ENTROPY, (struct op_attr){0}, image, "vector of logits");
    refused(OP_MSE, (struct op_attr){0}, vector, "one output value, not 8");
    refused(OP_INPUT, (struct op_attr){0}, (struct shape){0, {1, 1, 1}}, "1 to 3 dimensions");
    refused(OP_INPUT, (struct op_attr){0}, (struct shape){4, {1, 1, 1}}, "1 to 3 dimensions");
    refused(OP_INPUT, (struct op_attr){0}, shape_image(8, 0, 1), "dimension 1 of the sample is 0");
    refused(OP_INPUT, (struct op_attr){0}, (struct shape){1, {8, 2, 1}}, "dimension 1");
    refused(OP_INPUT, (struct op_attr){0}, shape_image(65536, 65536, 65536), "too large");
}

static void test_params(void **state)
{
    (void)state;
    struct op_param p[OP_MAX_PARAMS] = {0}, b[OP_MAX_BUFFERS] = {0};
    int n_params = -1, n_buffers = -1;
    const struct shape image = shape_image(8, 8, 6);
    struct op_attr conv = window(4, 3, 1, 0, 1, 2);
    conv.kernel_w = 5;
    op_infos[OP_CONV2D].params(&conv, &image, p, &n_params, b, &n_buffers);
    assert_int_equal(n_params, 2);
    assert_int_equal(n_buffers, 0);
    assert_string_equal(p[0].suffix, "weight");
    assert_string_equal(p[1].suffix, "bias");
    assert_int_equal(p[0].layout, LAYOUT_CONV);
    assert_int_equal(p[1].layout, LAYOUT_PLAIN);
    assert_int_equal(p[0].rank, 4);
    const int32_t conv_dims[] = {4, 3, 3, 5};
    assert_memory_equal(p[0].dims, conv_dims, sizeof conv_dims);
    assert_int_equal(p[1].rank, 1);
    assert_int_equal(p[1].dims[0], 4);
    assert_near(p[0].scale, 1 / sqrt(3 * 3 * 5), 1e-15);
    assert_near(p[1].scale, 1 / sqrt(3 * 3 * 5), 1e-15);
    conv.bias = 0;
    op_infos[OP_CONV2D].params(&conv, &image, p, &n_params, b, &n_buffers);
    assert_int_equal(n_params, 1);

    const struct op_attr linear = {.out_features = 7, .bias = 1};
    const struct shape vector = shape_vector(25);
    op_infos[OP_LINEAR].params(&linear, &vector, p, &n_params, b, &n_buffers);
    assert_int_equal(n_params, 2);
    assert_int_equal(p[0].layout, LAYOUT_LINEAR);
    assert_int_equal(p[0].dims[0], 7);
    assert_int_equal(p[0].dims[1], 25);
    assert_near(p[0].scale, 0.2, 1e-15);
    assert_int_equal(p[1].dims[0], 7);
    assert_int_equal(p[1].init, INIT_UNIFORM);

    const struct op_attr bn = {.eps = 1e-5, .momentum = 0.1};
    op_infos[OP_BATCH_NORM].params(&bn, &image, p, &n_params, b, &n_buffers);
    assert_int_equal(n_params, 2);
    assert_int_equal(n_buffers, 2);
    static const char *const suffix[] = {"weight", "bias", "running_mean", "running_var"};
    static const enum init_kind init[] = {INIT_ONES, INIT_ZEROS, INIT_ZEROS, INIT_ONES};
    for (int i = 0; i < 4; i++) {
        const struct op_param *q = i < 2 ? &p[i] : &b[i - 2];
        assert_string_equal(q->suffix, suffix[i]);
        assert_int_equal(q->init, init[i]);
        assert_int_equal(q->rank, 1);
        assert_int_equal(q->dims[0], 6);
    }
}

static struct shape sequence(int length, int features)
{
    return (struct shape){2, {length, features, 1}};
}

static struct shape inferred_of(enum op_kind op, struct op_attr attr, const struct shape *in, int n)
{
    struct error err = ERROR_INIT;
    struct shape out = {0};
    if (!op_infos[op].infer(&attr, in, n, &out, &err))
        fail_msg("%s: %s", op_infos[op].name, err.text);
    return out;
}

static void refused_of(enum op_kind op, struct op_attr attr, const struct shape *in, int n,
                       const char *part)
{
    struct error err = ERROR_INIT;
    struct shape out;
    if (op_infos[op].infer(&attr, in, n, &out, &err))
        fail_msg("%s was accepted where '%s' is expected", op_infos[op].name, part);
    assert_int_equal(err.class_, ERROR_USAGE);
    assert_contains(err.text, part);
}

static void test_elementwise_and_pooling(void **state)
{
    (void)state;
    const struct shape image = shape_image(7, 5, 3);
    static const enum op_kind same[] = {OP_GELU, OP_HARDSWISH, OP_HARDSIGMOID, OP_SIGMOID, OP_TANH};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_shape(inferred(same[i], (struct op_attr){0}, image), image);
        assert_shape(inferred(same[i], (struct op_attr){0}, sequence(4, 6)), sequence(4, 6));
        assert_shape(inferred(same[i], (struct op_attr){0}, shape_vector(9)), shape_vector(9));
    }
    assert_shape(inferred(OP_AVG_POOL2D, window(0, 3, 2, 1, 1, 1), image), shape_image(4, 3, 3));
    refused(OP_AVG_POOL2D, window(0, 2, 2, 2, 1, 1), image, "more than half");
    refused(OP_AVG_POOL2D, window(0, 2, 2, 0, 1, 1), shape_vector(4), "takes an image");
    const struct op_attr size = {.out_h = 9, .out_w = 2};
    assert_shape(inferred(OP_ADAPTIVE_AVG_POOL2D, size, image), shape_image(9, 2, 3));
    assert_shape(inferred(OP_ADAPTIVE_MAX_POOL2D, size, image), shape_image(9, 2, 3));
    refused(OP_ADAPTIVE_AVG_POOL2D, (struct op_attr){.out_h = 1}, image, "an output of 1x0");
    refused(OP_ADAPTIVE_MAX_POOL2D, size, sequence(4, 4), "takes an image");
    refused(OP_ADAPTIVE_MAX_POOL2D, (struct op_attr){.out_h = 1 << 20, .out_w = 1 << 20}, image,
            "too large");
    assert_shape(inferred(OP_CHANNEL_MEAN_MAX, size, image), shape_image(7, 5, 2));
    refused(OP_CHANNEL_MEAN_MAX, size, shape_vector(4), "takes an image");
}

static void test_combining(void **state)
{
    (void)state;
    const struct shape image = shape_image(7, 5, 3);
    const struct op_attr none = {0};
    const struct shape seconds[] = {image, shape_image(1, 1, 3), shape_vector(3),
                                    shape_image(7, 5, 1)};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        const struct shape in[] = {image, seconds[i]};
        assert_shape(inferred_of(OP_ADD, none, in, 2), image);
        assert_shape(inferred_of(OP_MULTIPLY, none, in, 2), image);
    }
    const struct shape wrong[][2] = {
        {image, shape_image(5, 7, 3)},     {image, shape_image(1, 1, 1)},
        {image, shape_vector(5)},          {image, shape_image(7, 1, 1)},
        {shape_vector(3), image},          {sequence(4, 3), shape_vector(3)},
        {shape_vector(4), shape_vector(1)}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused_of(OP_MULTIPLY, none, wrong[i], 2, "neither of the first one's shape");
    const struct shape three[] = {image, shape_image(7, 5, 1), shape_image(7, 5, 6)};
    assert_shape(inferred_of(OP_CONCATENATE, none, three, 3), shape_image(7, 5, 10));
    const struct shape rows[] = {sequence(4, 2), sequence(4, 5)};
    assert_shape(inferred_of(OP_CONCATENATE, none, rows, 2), sequence(4, 7));
    const struct shape vectors[] = {shape_vector(4), shape_vector(5)};
    assert_shape(inferred_of(OP_CONCATENATE, none, vectors, 2), shape_vector(9));
    const struct shape mixed[] = {sequence(4, 2), shape_vector(4)},
                       longer[] = {sequence(4, 2), sequence(5, 2)},
                       huge[] = {shape_vector(INT32_MAX), shape_vector(INT32_MAX)};
    refused_of(OP_CONCATENATE, none, mixed, 2, "input 2 (4x1x1) differs from the first");
    refused_of(OP_CONCATENATE, none, longer, 2, "more than the last dimension");
    refused_of(OP_CONCATENATE, none, huge, 2, "too large");
}

static void test_sequences(void **state)
{
    (void)state;
    const struct shape tokens = shape_vector(12), x = sequence(12, 8);
    assert_shape(inferred(OP_LINEAR, (struct op_attr){.out_features = 5}, x), sequence(12, 5));
    assert_shape(inferred(OP_TIED_LINEAR, (struct op_attr){.out_features = 50}, x),
                 sequence(12, 50));
    assert_shape(inferred(OP_LAYER_NORM, (struct op_attr){.eps = 1e-5}, x), x);
    refused(OP_LAYER_NORM, (struct op_attr){.eps = 0}, x, "eps 0");
    refused(OP_LAYER_NORM, (struct op_attr){.eps = 1}, shape_image(2, 2, 2), "not an image");
    assert_shape(inferred(OP_FIRST_TOKEN, (struct op_attr){0}, x), shape_vector(8));
    refused(OP_FIRST_TOKEN, (struct op_attr){0}, shape_vector(8), "takes a sequence");
    assert_shape(inferred(OP_CROSS_ENTROPY, (struct op_attr){0}, x), shape_vector(1));
    refused(OP_CROSS_ENTROPY, (struct op_attr){.label_smoothing = 1}, x, "label smoothing 1");

    struct op_attr table = {.rows = 50, .out_features = 8, .scale = 1, .pad_id = -1};
    assert_shape(inferred(OP_EMBEDDING, table, tokens), x);
    refused(OP_EMBEDDING, table, x, "takes tokens");
    table.pad_id = 50;
    refused(OP_EMBEDDING, table, tokens, "padding id 50 lies outside the table of 50 rows");
    table.pad_id = 49;
    assert_shape(inferred(OP_EMBEDDING, table, tokens), x);
    table.scale = 0;
    refused(OP_EMBEDDING, table, tokens, "scale 0");
    refused(OP_EMBEDDING, (struct op_attr){.scale = 1, .out_features = 1}, tokens, "of 0 rows");
    refused(OP_EMBEDDING, (struct op_attr){.scale = 1, .rows = 1}, tokens, "0 features");
}

static void test_positions(void **state)
{
    (void)state;
    const struct shape x = sequence(12, 8), both[] = {x, shape_vector(12)},
                       other[] = {x, shape_vector(11)};
    struct op_attr a = {.rows = 12, .pad_id = -1};
    assert_shape(inferred(OP_POSITIONS, a, x), x);
    a.rows = 11;
    refused(OP_POSITIONS, a, x, "a sequence of 12 needs 12 positions, there are 11");
    a = (struct op_attr){.rows = 1, .pad_id = -1, .position = POSITION_FIRST};
    assert_shape(inferred(OP_POSITIONS, a, x), x);
    a = (struct op_attr){.rows = 14, .pad_id = 1, .position = POSITION_OF_TOKENS};
    assert_shape(inferred_of(OP_POSITIONS, a, both, 2), x);
    refused(OP_POSITIONS, a, x, "need those of x");
    refused_of(OP_POSITIONS, a, other, 2, "need those of x");
    a.rows = 13;
    refused_of(OP_POSITIONS, a, both, 2, "needs 14 positions, there are 13");
    a.pad_id = -1;
    refused_of(OP_POSITIONS, a, both, 2, "need a padding id");
    a.position = POSITION_INDEX;
    refused_of(OP_POSITIONS, a, both, 2, "need those of x");
    refused(OP_POSITIONS, a, shape_vector(4), "takes a sequence");
}

static void test_attention(void **state)
{
    (void)state;
    const struct shape q = sequence(12, 24), tokens = shape_vector(12);
    const struct shape apart[] = {q, q, q, tokens}, packed[] = {q, tokens};
    struct op_attr a = {.heads = 2, .pad_id = -1};
    assert_shape(inferred_of(OP_ATTENTION, a, packed, 1), sequence(12, 8));
    assert_shape(inferred_of(OP_ATTENTION, a, apart, 3), q);
    refused_of(OP_ATTENTION, a, packed, 2, "side by side in one input or as three");
    refused_of(OP_ATTENTION, a, apart, 4, "side by side in one input or as three");
    assert_true(op_infos[OP_ATTENTION].macs(&a, &q, &q) == 2 * 12 * 12 * 24);
    assert_false(op_reads_tokens(OP_ATTENTION, &a, 3, 2));
    a.masked = 1;
    refused_of(OP_ATTENTION, a, packed, 2, "a mask needs a padding id");
    a.pad_id = 1;
    assert_shape(inferred_of(OP_ATTENTION, a, packed, 2), sequence(12, 8));
    assert_shape(inferred_of(OP_ATTENTION, a, apart, 4), q);
    assert_true(op_reads_tokens(OP_ATTENTION, &a, 4, 3) && op_reads_tokens(OP_ATTENTION, &a, 2, 1));
    assert_false(op_reads_tokens(OP_ATTENTION, &a, 4, 2));
    const struct shape odd[] = {sequence(12, 25)}, differ[] = {q, q, sequence(12, 12)};
    a = (struct op_attr){.heads = 5};
    refused_of(OP_ATTENTION, a, odd, 1, "25 features are not queries, keys and values");
    refused_of(OP_ATTENTION, a, differ, 3, "one shape");
    refused_of(OP_ATTENTION, a, apart, 3, "5 heads do not divide 24 features");
    a.heads = 0;
    refused_of(OP_ATTENTION, a, apart, 3, "0 heads");
    refused_of(OP_ATTENTION, (struct op_attr){.heads = 2, .p = 1}, apart, 3, "p 1");
    refused_of(OP_ATTENTION, a, &tokens, 1, "takes a sequence");
    const struct shape endless = sequence(65536, 3);
    refused_of(OP_ATTENTION, (struct op_attr){.heads = 1}, &endless, 1, "too large");
}

static void test_table_params(void **state)
{
    (void)state;
    struct op_param p[OP_MAX_PARAMS] = {0}, b[OP_MAX_BUFFERS] = {0};
    int n_params = -1, n_buffers = -1;
    const struct shape tokens = shape_vector(12), x = sequence(12, 8);
    struct op_attr a = {.rows = 50, .out_features = 8, .scale = 1, .pad_id = 3};
    op_infos[OP_EMBEDDING].params(&a, &tokens, p, &n_params, b, &n_buffers);
    assert_true(n_params == 1 && n_buffers == 0 && p[0].layout == LAYOUT_PLAIN && p[0].rank == 2);
    assert_true(p[0].dims[0] == 50 && p[0].dims[1] == 8 && p[0].init == INIT_NORMAL);
    assert_true(p[0].has_zero_row && p[0].zero_row == 3);
    assert_near(p[0].scale, 1, 0);
    a.pad_id = -1;
    op_infos[OP_EMBEDDING].params(&a, &tokens, p, &n_params, b, &n_buffers);
    assert_false(p[0].has_zero_row);
    a = (struct op_attr){.rows = 20, .pad_id = 1, .position = POSITION_OF_TOKENS};
    op_infos[OP_POSITIONS].params(&a, &x, p, &n_params, b, &n_buffers);
    assert_true(n_params == 1 && p[0].dims[0] == 20 && p[0].dims[1] == 8 && p[0].zero_row == 1);
    a.position = POSITION_INDEX;
    op_infos[OP_POSITIONS].params(&a, &x, p, &n_params, b, &n_buffers);
    assert_false(p[0].has_zero_row);
    op_infos[OP_LAYER_NORM].params(&a, &x, p, &n_params, b, &n_buffers);
    assert_true(n_params == 2 && p[0].init == INIT_ONES && p[1].init == INIT_ZEROS);
    assert_true(p[0].dims[0] == 8 && p[1].rank == 1);
    a = (struct op_attr){.out_features = 50};
    op_infos[OP_TIED_LINEAR].params(&a, &x, p, &n_params, b, &n_buffers);
    assert_true(n_params == 1 && p[0].layout == LAYOUT_PLAIN && p[0].dims[0] == 50);
    a = (struct op_attr){.out_features = 7, .bias = 1};
    op_infos[OP_LINEAR].params(&a, &x, p, &n_params, b, &n_buffers);
    assert_true(n_params == 2 && p[0].dims[1] == 8);
    assert_near(p[0].scale, 1 / sqrt(8), 1e-15);
}

static void test_macs(void **state)
{
    (void)state;
    const struct shape image = shape_image(8, 8, 6), out = shape_image(6, 6, 4);
    const struct op_attr conv = window(4, 3, 1, 0, 1, 2);
    assert_true(op_infos[OP_CONV2D].macs(&conv, &image, &out) == 6 * 6 * 4 * 9 * 3);
    const struct shape in = shape_vector(25), seven = shape_vector(7);
    const struct op_attr linear = {.out_features = 7, .bias = 1};
    assert_true(op_infos[OP_LINEAR].macs(&linear, &in, &seven) == 175);
    const struct shape rows = sequence(3, 25), rows_out = sequence(3, 7);
    assert_true(op_infos[OP_LINEAR].macs(&linear, &rows, &rows_out) == 525);
    assert_true(op_infos[OP_TIED_LINEAR].macs(&linear, &rows, &rows_out) == 525);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_elementwise_and_pooling),
        cmocka_unit_test(test_combining),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_table_params),
        cmocka_unit_test(test_macs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
