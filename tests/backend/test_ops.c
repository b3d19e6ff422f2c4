/* Every operation: the double reference against finite differences, then every set of kernels
 * against the double reference, over odd shapes, strides, pads, groups and partial batches.
 */
#include "helper_check.h"

/* op, attributes, input, batch, rows a shard, valid rows */
static const struct op_case cases[] = {
    {OP_LINEAR, LINEAR(3, 1), VECTOR(5), 7, 3, 7, .seed = 1},
    {OP_LINEAR, LINEAR(1, 1), VECTOR(64), 9, 4, 6, .seed = 2},
    {OP_LINEAR, LINEAR(1, 0), VECTOR(37), 5, 5, 5, .seed = 3},
    {OP_LINEAR, LINEAR(10, 1), VECTOR(33), 11, 8, 10, .seed = 4},
    {OP_LINEAR, LINEAR(33, 0), VECTOR(1), 3, 2, 3, .seed = 5},
    {OP_LINEAR, LINEAR(128, 1), VECTOR(8), 70, 64, 70, .seed = 6},
    {OP_LINEAR, LINEAR(64, 1), VECTOR(128), 64, 64, 64, .seed = 7, .add_dx = true},
    {OP_LINEAR, LINEAR(17, 1), VECTOR(19), 1, 1, 1, .seed = 8},
    {OP_LINEAR, LINEAR(2, 1), VECTOR(100), 21, 7, 15, .seed = 9},
    {OP_CONV2D, CONV(3, 3, 1, 1, 1, 1, 1), IMAGE(5, 4, 3), 4, 3, 4, .seed = 10},
    {OP_CONV2D, CONV(16, 3, 1, 1, 1, 1, 1), IMAGE(8, 8, 1), 5, 2, 4, .seed = 11},
    {OP_CONV2D, CONV(32, 3, 1, 1, 1, 1, 0), IMAGE(8, 8, 16), 3, 3, 3, .seed = 12},
    {OP_CONV2D, CONV(6, 5, 1, 0, 1, 1, 1), IMAGE(28, 28, 1), 3, 2, 3, .seed = 13},
    {OP_CONV2D, CONV(16, 5, 1, 0, 1, 1, 1), IMAGE(12, 12, 6), 3, 2, 3, .seed = 14},
    {OP_CONV2D, CONV(5, 3, 2, 1, 1, 1, 1), IMAGE(7, 6, 3), 3, 2, 3, .seed = 15},
    {OP_CONV2D, CONV(4, 3, 2, 0, 1, 1, 0), IMAGE(6, 7, 2), 2, 1, 2, .seed = 16},
    {OP_CONV2D, CONV(3, 3, 3, 2, 1, 1, 0), IMAGE(5, 6, 2), 2, 2, 1, .seed = 17},
    {OP_CONV2D, CONV(5, 1, 1, 0, 1, 1, 1), IMAGE(3, 3, 3), 4, 2, 4, .seed = 18, .add_dx = true},
    {OP_CONV2D, CONV(4, 1, 2, 0, 1, 1, 1), IMAGE(5, 5, 3), 2, 2, 2, .seed = 19},
    {OP_CONV2D, CONV(4, 1, 1, 1, 1, 1, 1), IMAGE(3, 4, 3), 2, 2, 2, .seed = 20},
    {OP_CONV2D, CONV(4, 3, 1, 2, 2, 1, 1), IMAGE(7, 8, 3), 2, 1, 2, .seed = 21},
    {OP_CONV2D, CONV(6, 3, 1, 1, 1, 2, 1), IMAGE(5, 5, 4), 3, 2, 3, .seed = 22},
    {OP_CONV2D, CONV(18, 3, 2, 1, 1, 18, 1), IMAGE(6, 5, 18), 3, 2, 3, .seed = 23},
    {OP_CONV2D, CONV(40, 3, 1, 1, 1, 2, 0), IMAGE(4, 4, 34), 2, 2, 2, .seed = 24},
    {OP_CONV2D, CONV(2, 3, 1, 1, 2, 2, 1), IMAGE(6, 6, 2), 2, 2, 2, .seed = 25},
    {OP_CONV2D, CONV(2, 4, 4, 0, 1, 1, 1), IMAGE(4, 4, 5), 2, 2, 2, .seed = 26},
    {OP_CONV2D,
     {.out_features = 3,
      .kernel_h = 2,
      .kernel_w = 3,
      .stride_h = 1,
      .stride_w = 2,
      .pad_h = 0,
      .pad_w = 1,
      .dilation_h = 2,
      .dilation_w = 1,
      .groups = 1,
      .bias = 1},
     IMAGE(6, 5, 2),
     3,
     2,
     3,
     .seed = 27},
    {OP_RELU, NOTHING, IMAGE(3, 5, 7), 5, 2, 4, .seed = 30},
    {OP_RELU, NOTHING, VECTOR(65), 3, 3, 3, .seed = 31, .add_dx = true},
    {OP_FLATTEN, NOTHING, IMAGE(3, 2, 5), 4, 3, 4, .seed = 32},
    {OP_FLATTEN, NOTHING, IMAGE(1, 1, 9), 3, 2, 3, .seed = 33},
    {OP_FLATTEN, NOTHING, IMAGE(4, 3, 1), 3, 2, 2, .seed = 34, .add_dx = true},
    {OP_DROPOUT, {.p = 0.25f}, IMAGE(3, 3, 5), 6, 4, 5, .seed = 35},
    {OP_DROPOUT, {.p = 0.5f}, VECTOR(131), 3, 2, 3, .seed = 36, .add_dx = true},
    {OP_DROPOUT, {.p = 0.0f}, VECTOR(3), 3, 2, 3, .seed = 37},
    {OP_DROPOUT, {.p = 0.3f}, VECTOR(6), 3, 2, 3, .seed = 38, .evaluation = true},
    {OP_MAX_POOL2D, POOL(2, 2, 0), IMAGE(6, 4, 3), 3, 2, 3, .seed = 40},
    {OP_MAX_POOL2D, POOL(2, 2, 0), IMAGE(7, 5, 17), 3, 2, 3, .seed = 41},
    {OP_MAX_POOL2D, POOL(3, 2, 1), IMAGE(7, 6, 4), 3, 2, 2, .seed = 42, .add_dx = true},
    {OP_MAX_POOL2D, POOL(3, 1, 1), IMAGE(5, 5, 2), 2, 2, 2, .seed = 43},
    {OP_MAX_POOL2D, POOL(2, 3, 0), IMAGE(8, 8, 2), 2, 2, 2, .seed = 44},
    {OP_MAX_POOL2D, POOL(2, 2, 0), IMAGE(4, 4, 6), 2, 2, 2, .seed = 45, .evaluation = true},
    {OP_BATCH_NORM, NORM, IMAGE(3, 4, 5), 7, 3, 7, .seed = 50},
    {OP_BATCH_NORM, NORM, IMAGE(8, 8, 16), 9, 2, 8, .seed = 51},
    {OP_BATCH_NORM, NORM, IMAGE(2, 2, 33), 4, 4, 3, .seed = 52, .add_dx = true},
    {OP_BATCH_NORM, NORM, VECTOR(21), 6, 4, 5, .seed = 53},
    {OP_BATCH_NORM, NORM, VECTOR(3), 4, 2, 1, .seed = 54},
    {OP_BATCH_NORM, NORM, IMAGE(20, 20, 2), 3, 2, 3, .seed = 55},
    {OP_BATCH_NORM, NORM, IMAGE(3, 3, 18), 3, 2, 3, .seed = 56, .evaluation = true},
    {OP_CROSS_ENTROPY, NOTHING, VECTOR(10), 9, 4, 7, .seed = 60},
    {OP_CROSS_ENTROPY, NOTHING, VECTOR(1), 3, 2, 3, .seed = 61},
    {OP_CROSS_ENTROPY, NOTHING, VECTOR(100), 5, 2, 5, .seed = 62},
    {OP_MSE, NOTHING, VECTOR(1), 11, 4, 9, .seed = 63},
    /* Images so large that a shard is done one after another. */
    {OP_CONV2D, CONV(2, 2, 1, 1, 1, 1, 1), IMAGE(30, 30, 20), 3, 3, 3, .seed = 70},
};
#define N_CASES (sizeof cases / sizeof *cases)

static void test_finite_differences(void **state)
{
    (void)state;
    int n = 0;
    for (size_t i = 0; i < N_CASES; i++)
        if (!cases[i].evaluation) {
            check_differences(&cases[i]);
            n++;
        }
    assert_true(n > 40);
}

static void test_kernels(void **state)
{
    (void)state;
    check_kernels(cases, N_CASES, 4e-6);
}

/* A fused relu gives the bits of the two steps. */
static void test_fused_relu(void **state)
{
    (void)state;
    for (int s = 0; cpu_isas[s]; s++)
        for (size_t i = 0; i < N_CASES && cpu_isas[s]->usable(); i++) {
            const struct cpu_kernel *k = cpu_kernel_find(cpu_isas[s], STEP_FORWARD, cases[i].op);
            if (cases[i].op == OP_BATCH_NORM)
                k = cpu_kernel_find(cpu_isas[s], STEP_BN_APPLY, cases[i].op);
            if (!k || !k->fuses_relu)
                continue;
            struct op_case fused = cases[i];
            fused.relu = true;
            struct op_values a, b;
            values_init(&a, &fused);
            values_init(&b, &fused);
            case_run(&fused, cpu_isas[s], &a);
            case_run(&cases[i], cpu_isas[s], &b);
            bool any = false;
            for (size_t e = 0; e < a.n_y; e++) {
                assert_true(a.y[e] == (b.y[e] < 0 ? 0 : b.y[e]));
                any |= b.y[e] < 0;
            }
            assert_true(any || a.n_y < 10);
            values_release(&a);
            values_release(&b);
        }
}

/* Values that are not numbers come out as such, not as zeros. */
static void test_not_a_number(void **state)
{
    (void)state;
    static const int checked[] = {0, 9, 27, 29, 36, 42, 49};
    for (int s = 0; cpu_isas[s]; s++)
        for (size_t i = 0; i < sizeof checked / sizeof *checked && cpu_isas[s]->usable(); i++) {
            const struct op_case *c = &cases[checked[i]];
            struct op_values v;
            values_init(&v, c);
            v.x[1] = NAN;
            case_run(c, cpu_isas[s], &v);
            bool found = isnan(v.sums.loss_sum);
            for (size_t e = 0; e < v.n_y; e++)
                found |= isnan(v.y[e]);
            if (!found)
                fail_msg("%s %s swallows what is not a number", cpu_isas[s]->name, case_name(c));
            values_release(&v);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_fused_relu),
        cmocka_unit_test(test_not_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
