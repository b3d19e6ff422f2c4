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
    const struct op_attr none = {.eps = 1e-5f, .momentum = 0.1f, .p = 0.5f, .out_features = 7};
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
    refused(OP_BATCH_NORM, (struct op_attr){.eps = 0, .momentum = 0.1f}, image, "eps 0");
    refused(OP_BATCH_NORM, (struct op_attr){.eps = NAN, .momentum = 0.1f}, image, "eps nan");
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

    const struct op_attr bn = {.eps = 1e-5f, .momentum = 0.1f};
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

static void test_macs(void **state)
{
    (void)state;
    const struct shape image = shape_image(8, 8, 6), out = shape_image(6, 6, 4);
    const struct op_attr conv = window(4, 3, 1, 0, 1, 2);
    assert_true(op_infos[OP_CONV2D].macs(&conv, &image, &out) == 6 * 6 * 4 * 9 * 3);
    const struct shape in = shape_vector(25), seven = shape_vector(7);
    const struct op_attr linear = {.out_features = 7, .bias = 1};
    assert_true(op_infos[OP_LINEAR].macs(&linear, &in, &seven) == 175);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),    cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_params),
        cmocka_unit_test(test_macs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
