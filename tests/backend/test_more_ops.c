/* labels: quick; timeout: 180 */
/* The operations of images, sequences and attention as test_ops.c does those of the small networks:
 * odd shapes, a batch of one, masked rows, repeated inputs, gradients that are added to, gradients
 * of the batch by parts.
 */
#include "helper_check.h"

#define SEQ(l, d)                                                                                  \
    {                                                                                              \
        2,                                                                                         \
        {                                                                                          \
            l, d, 1                                                                                \
        }                                                                                          \
    }
#define AVG(k, s, p, pad)                                                                          \
    {                                                                                              \
        .kernel_h = k, .kernel_w = k, .stride_h = s, .stride_w = s, .pad_h = p, .pad_w = p,        \
        .dilation_h = 1, .dilation_w = 1, .count_include_pad = pad                                 \
    }
#define ADAPT(h, w)                                                                                \
    {                                                                                              \
        .out_h = h, .out_w = w                                                                     \
    }
#define TABLE(n, d, pad)                                                                           \
    {                                                                                              \
        .rows = n, .out_features = d, .pad_id = pad, .scale = 1.5f                                 \
    }
#define PLACES(n, kind, pad)                                                                       \
    {                                                                                              \
        .rows = n, .position = kind, .pad_id = pad                                                 \
    }
#define HEADS(n, c, m, drop)                                                                       \
    {                                                                                              \
        .heads = n, .causal = c, .masked = m, .pad_id = m ? 1 : -1, .p = drop                      \
    }
#define SMOOTH(s)                                                                                  \
    {                                                                                              \
        .label_smoothing = s                                                                       \
    }

/* op, attributes, input, batch, rows a shard, valid rows, further inputs */
static const struct op_case cases[] = {
    {OP_GELU, NOTHING, IMAGE(3, 5, 7), 5, 2, 4, .seed = 1},
    {OP_GELU, NOTHING, SEQ(7, 33), 1, 1, 1, .seed = 2, .add_dx = true},
    {OP_HARDSWISH, NOTHING, IMAGE(3, 5, 7), 5, 2, 4, .seed = 3},
    {OP_HARDSWISH, NOTHING, VECTOR(65), 3, 3, 3, .seed = 4, .add_dx = true},
    {OP_HARDSIGMOID, NOTHING, IMAGE(1, 1, 7), 5, 2, 4, .seed = 5},
    {OP_HARDSIGMOID, NOTHING, VECTOR(65), 3, 3, 3, .seed = 6, .add_dx = true},
    {OP_SIGMOID, NOTHING, IMAGE(5, 3, 1), 5, 2, 4, .seed = 7},
    {OP_SIGMOID, NOTHING, VECTOR(65), 3, 3, 3, .seed = 8, .add_dx = true},
    {OP_TANH, NOTHING, VECTOR(37), 5, 2, 4, .seed = 9},
    {OP_TANH, NOTHING, SEQ(3, 17), 3, 3, 3, .seed = 10, .add_dx = true},
    {OP_LAYER_NORM, {.eps = 1e-5f}, VECTOR(21), 6, 4, 5, .seed = 11},
    {OP_LAYER_NORM, {.eps = 1e-5f}, SEQ(5, 48), 3, 2, 3, .seed = 12},
    {OP_LAYER_NORM, {.eps = 1e-3f}, SEQ(3, 130), 4, 4, 3, .seed = 13, .add_dx = true},
    {OP_LAYER_NORM, {.eps = 1e-5f}, SEQ(3, 16), 1, 1, 1, .seed = 14, .add_grad = true},
    {OP_LAYER_NORM, {.eps = 1e-5f}, SEQ(3, 1), 2, 1, 2, .seed = 15},
    {OP_AVG_POOL2D, AVG(2, 2, 0, 1), IMAGE(6, 4, 3), 3, 2, 3, .seed = 20},
    {OP_AVG_POOL2D, AVG(3, 2, 1, 1), IMAGE(7, 6, 17), 3, 2, 2, .seed = 21, .add_dx = true},
    {OP_AVG_POOL2D, AVG(3, 1, 1, 0), IMAGE(5, 5, 2), 2, 2, 2, .seed = 22},
    {OP_AVG_POOL2D, AVG(2, 3, 0, 1), IMAGE(8, 8, 33), 1, 1, 1, .seed = 23},
    {OP_ADAPTIVE_AVG_POOL2D, ADAPT(1, 1), IMAGE(4, 4, 37), 3, 2, 3, .seed = 24},
    {OP_ADAPTIVE_AVG_POOL2D, ADAPT(3, 5), IMAGE(7, 8, 3), 3, 2, 2, .seed = 25, .add_dx = true},
    {OP_ADAPTIVE_AVG_POOL2D, ADAPT(7, 7), IMAGE(2, 2, 5), 2, 2, 2, .seed = 26},
    {OP_ADAPTIVE_AVG_POOL2D, ADAPT(4, 3), IMAGE(4, 3, 16), 2, 2, 2, .seed = 27},
    {OP_ADAPTIVE_MAX_POOL2D, ADAPT(1, 1), IMAGE(4, 4, 37), 3, 2, 3, .seed = 28},
    {OP_ADAPTIVE_MAX_POOL2D, ADAPT(3, 5), IMAGE(7, 8, 3), 3, 2, 2, .seed = 29, .add_dx = true},
    {OP_ADAPTIVE_MAX_POOL2D, ADAPT(7, 7), IMAGE(2, 2, 5), 2, 2, 2, .seed = 30},
    {OP_ADAPTIVE_MAX_POOL2D, ADAPT(1, 2), IMAGE(3, 3, 6), 2, 2, 2, .seed = 31, .evaluation = true},
    {OP_ADD, NOTHING, IMAGE(3, 4, 5), 5, 2, 4, {IMAGE(3, 4, 5)}, .seed = 40},
    {OP_ADD, NOTHING, SEQ(5, 33), 3, 2, 3, {SEQ(5, 33)}, .seed = 41, .add_dx = true},
    {OP_ADD, NOTHING, IMAGE(3, 4, 18), 5, 2, 4, {IMAGE(1, 1, 18)}, .seed = 42},
    {OP_ADD, NOTHING, IMAGE(3, 4, 18), 5, 2, 4, {VECTOR(18)}, .seed = 43, .add_dx = true},
    {OP_ADD, NOTHING, IMAGE(3, 4, 18), 5, 2, 4, {IMAGE(3, 4, 1)}, .seed = 44},
    {OP_MULTIPLY, NOTHING, IMAGE(3, 4, 5), 5, 2, 4, {IMAGE(3, 4, 5)}, .seed = 45},
    {OP_MULTIPLY, NOTHING, IMAGE(3, 4, 33), 5, 2, 4, {IMAGE(1, 1, 33)}, .seed = 46},
    {OP_MULTIPLY, NOTHING, IMAGE(3, 4, 16), 5, 2, 4, {VECTOR(16)}, .seed = 47, .add_dx = true},
    {OP_MULTIPLY, NOTHING, IMAGE(3, 4, 18), 5, 2, 4, {IMAGE(3, 4, 1)}, .seed = 48},
    {OP_MULTIPLY, NOTHING, IMAGE(2, 3, 40), 1, 1, 1, {IMAGE(2, 3, 1)}, .seed = 49, .add_dx = true},
    {OP_MULTIPLY, NOTHING, IMAGE(1, 1, 4), 2, 1, 2, {IMAGE(1, 1, 1)}, .seed = 50},
    {OP_MULTIPLY, NOTHING, IMAGE(3, 4, 1), 2, 1, 2, {VECTOR(1)}, .seed = 51},
    {OP_CONCATENATE, NOTHING, IMAGE(3, 4, 5), 5, 2, 4, {IMAGE(3, 4, 7)}, .seed = 52},
    {OP_CONCATENATE,
     NOTHING,
     IMAGE(2, 2, 16),
     3,
     2,
     3,
     {IMAGE(2, 2, 1), IMAGE(2, 2, 3), IMAGE(2, 2, 17)},
     .seed = 53,
     .add_dx = true},
    {OP_CONCATENATE, NOTHING, VECTOR(9), 1, 1, 1, {VECTOR(4), VECTOR(1)}, .seed = 54},
    {OP_CHANNEL_MEAN_MAX, NOTHING, IMAGE(3, 4, 37), 5, 2, 4, .seed = 55},
    {OP_CHANNEL_MEAN_MAX, NOTHING, IMAGE(3, 4, 1), 2, 2, 2, .seed = 56, .add_dx = true},
    {OP_CHANNEL_MEAN_MAX, NOTHING, IMAGE(2, 3, 16), 1, 1, 1, .seed = 57},
    {OP_EMBEDDING, TABLE(11, 5, -1), VECTOR(7), 4, 2, 3, .seed = 60},
    {OP_EMBEDDING, TABLE(40, 33, 1), VECTOR(9), 5, 2, 5, .seed = 61},
    {OP_EMBEDDING, TABLE(40, 16, 1), VECTOR(9), 5, 2, 5, .seed = 62, .by_parts = true},
    {OP_EMBEDDING, TABLE(5, 16, 0), VECTOR(6), 5, 2, 5, .seed = 63, .add_grad = true},
    {OP_EMBEDDING, TABLE(50, 3, 0), VECTOR(6), 5, 2, 5, .seed = 64, .add_grad = true,
     .by_parts = true},
    {OP_POSITIONS, PLACES(9, POSITION_INDEX, -1), SEQ(7, 5), 4, 2, 3, .seed = 65},
    {OP_POSITIONS,
     PLACES(12, POSITION_OF_TOKENS, 1),
     SEQ(7, 18),
     6,
     2,
     5,
     {VECTOR(7)},
     .seed = 66,
     .add_dx = true},
    {OP_POSITIONS, PLACES(1, POSITION_FIRST, -1), SEQ(7, 5), 4, 2, 3, .seed = 67},
    {OP_FIRST_TOKEN, NOTHING, SEQ(7, 5), 4, 2, 3, .seed = 68},
    {OP_FIRST_TOKEN, NOTHING, SEQ(1, 18), 4, 2, 3, .seed = 69, .add_dx = true},
    {OP_ATTENTION, HEADS(1, 0, 0, 0), SEQ(5, 12), 3, 2, 3, .seed = 70},
    {OP_ATTENTION, HEADS(2, 1, 0, 0), SEQ(9, 24), 3, 2, 2, .seed = 71, .add_dx = true},
    {OP_ATTENTION, HEADS(3, 0, 1, 0), SEQ(6, 27), 6, 2, 5, {VECTOR(6)}, .seed = 72},
    {OP_ATTENTION, HEADS(3, 1, 1, 0), SEQ(37, 27), 6, 2, 5, {VECTOR(37)}, .seed = 73},
    {OP_ATTENTION, HEADS(2, 0, 0, 0), SEQ(5, 8), 2, 1, 2, {SEQ(5, 8), SEQ(5, 8)}, .seed = 74},
    {OP_ATTENTION,
     HEADS(4, 1, 1, 0),
     SEQ(4, 8),
     5,
     2,
     5,
     {SEQ(4, 8), SEQ(4, 8), VECTOR(4)},
     .seed = 75,
     .add_dx = true},
    {OP_ATTENTION, HEADS(2, 0, 0, 0.2f), SEQ(7, 24), 3, 2, 3, .seed = 76},
    {OP_ATTENTION, HEADS(2, 1, 1, 0.3f), SEQ(18, 24), 3, 2, 3, {VECTOR(18)}, .seed = 77},
    {OP_ATTENTION, HEADS(2, 0, 0, 0.2f), SEQ(7, 24), 3, 2, 3, .seed = 78, .evaluation = true},
    {OP_ATTENTION, HEADS(2, 0, 0, 0), SEQ(1, 96), 1, 1, 1, .seed = 79},
    {OP_ATTENTION, HEADS(2, 1, 0, 0), SEQ(70, 192), 2, 1, 2, .seed = 80},
    {OP_LINEAR, LINEAR(10, 1), SEQ(5, 7), 4, 2, 3, .seed = 90},
    {OP_LINEAR, LINEAR(40, 0), SEQ(3, 33), 3, 2, 3, .seed = 91, .add_dx = true},
    {OP_LINEAR, LINEAR(17, 1), SEQ(5, 40), 3, 2, 3, .seed = 92, .by_parts = true},
    {OP_LINEAR, LINEAR(17, 1), VECTOR(40), 30, 9, 28, .seed = 93, .by_parts = true},
    {OP_LINEAR, LINEAR(5, 1), VECTOR(6), 9, 4, 7, .seed = 94, .add_grad = true},
    {OP_LINEAR, LINEAR(1, 1), SEQ(4, 6), 3, 2, 3, .seed = 95, .add_grad = true, .by_parts = true},
    {OP_LINEAR, LINEAR(300, 1), VECTOR(260), 11, 8, 11, .seed = 96, .relu = false},
    {OP_LINEAR, LINEAR(40, 1), VECTOR(2100), 12, 10, 11, .seed = 97},
    {OP_TIED_LINEAR, LINEAR(10, 0), SEQ(5, 7), 4, 2, 3, .seed = 98},
    {OP_TIED_LINEAR, LINEAR(70, 0), SEQ(5, 33), 3, 2, 3, .seed = 99, .add_dx = true},
    {OP_TIED_LINEAR, LINEAR(50, 0), SEQ(3, 16), 3, 2, 3, .seed = 100, .add_grad = true,
     .by_parts = true},
    {OP_TIED_LINEAR, LINEAR(5, 0), VECTOR(9), 3, 2, 3, .seed = 101, .add_grad = true},
    {OP_CONV2D, CONV(6, 3, 1, 1, 1, 1, 1), IMAGE(5, 4, 3), 4, 3, 4, .seed = 110, .add_grad = true},
    {OP_CONV2D, CONV(6, 3, 2, 1, 1, 1, 1), IMAGE(5, 4, 20), 4, 3, 4, .seed = 111, .by_parts = true},
    {OP_CONV2D, CONV(20, 3, 1, 1, 1, 2, 1), IMAGE(5, 4, 4), 4, 3, 4, .seed = 112, .by_parts = true,
     .add_grad = true},
    {OP_CONV2D, CONV(24, 3, 2, 1, 1, 1, 1), IMAGE(7, 6, 20), 4, 3, 4, .seed = 130},
    {OP_CONV2D, CONV(40, 3, 1, 1, 1, 1, 0), IMAGE(1, 1, 34), 5, 3, 4, .seed = 131, .add_dx = true},
    {OP_CONV2D, CONV(33, 3, 1, 1, 1, 1, 1), IMAGE(2, 2, 33), 5, 3, 4, .seed = 132},
    {OP_CONV2D, CONV(18, 3, 1, 2, 2, 1, 1), IMAGE(7, 8, 35), 2, 1, 2, .seed = 133},
    {OP_CONV2D, CONV(18, 3, 3, 2, 2, 1, 1), IMAGE(9, 8, 17), 2, 2, 2, .seed = 134, .add_dx = true},
    {OP_CONV2D, CONV(17, 1, 2, 0, 1, 1, 1), IMAGE(5, 5, 40), 3, 2, 3, .seed = 135},
    {OP_CONV2D, CONV(20, 5, 4, 0, 1, 1, 1), IMAGE(9, 9, 32), 3, 2, 3, .seed = 136},
    {OP_CONV2D, CONV(40, 3, 1, 1, 1, 2, 1), IMAGE(4, 5, 66), 3, 2, 3, .seed = 137},
    {OP_CONV2D, CONV(34, 4, 2, 1, 1, 1, 1), IMAGE(9, 7, 32), 3, 2, 3, .seed = 138,
     .by_parts = true},
    {OP_CONV2D, CONV(20, 3, 1, 1, 1, 1, 1), IMAGE(3, 3, 48), 9, 4, 8, .seed = 139, .add_grad = true,
     .by_parts = true},
    {OP_CONV2D, CONV(16, 3, 1, 1, 1, 1, 1), IMAGE(40, 60, 32), 2, 1, 2, .seed = 140},
    {OP_CONV2D, CONV(32, 2, 1, 3, 1, 1, 1), IMAGE(3, 3, 32), 2, 2, 2, .seed = 141},
    {OP_CONV2D, CONV(20, 1, 1, 0, 1, 1, 1), IMAGE(5, 3, 70), 5, 2, 4, .seed = 142, .add_dx = true},
    {OP_CONV2D, CONV(70, 1, 1, 0, 1, 1, 0), IMAGE(5, 3, 20), 5, 2, 4, .seed = 143,
     .by_parts = true},
    {OP_CONV2D, CONV(3, 1, 1, 0, 1, 1, 1), IMAGE(40, 60, 40), 2, 1, 2, .seed = 144,
     .add_grad = true},
    {OP_CONV2D, CONV(37, 3, 1, 1, 1, 37, 1), IMAGE(6, 5, 37), 3, 2, 3, .seed = 150},
    {OP_CONV2D, CONV(40, 5, 2, 2, 1, 40, 0), IMAGE(7, 9, 40), 3, 2, 3, .seed = 151, .add_dx = true},
    {OP_CONV2D, CONV(16, 3, 2, 1, 1, 16, 1), IMAGE(1, 1, 16), 3, 2, 3, .seed = 152,
     .add_grad = true},
    {OP_CONV2D, CONV(20, 3, 1, 2, 2, 20, 1), IMAGE(8, 4, 20), 3, 2, 3, .seed = 153,
     .by_parts = true},
    {OP_CONV2D, CONV(5, 7, 3, 3, 1, 5, 1), IMAGE(10, 11, 5), 3, 2, 3, .seed = 154},
    {OP_CROSS_ENTROPY, SMOOTH(0.1f), VECTOR(10), 9, 4, 7, .seed = 120},
    {OP_CROSS_ENTROPY, SMOOTH(0), SEQ(5, 33), 5, 2, 4, .seed = 121},
    {OP_CROSS_ENTROPY, SMOOTH(0.2f), SEQ(3, 5000), 2, 1, 2, .seed = 122},
    {OP_CROSS_ENTROPY, SMOOTH(0), SEQ(1, 2), 1, 1, 1, .seed = 123},
};
#define N_CASES (sizeof cases / sizeof *cases)

/* Large ones are here for the tuned kernels' blocks alone. */
static bool is_large(const struct op_case *c)
{
    return (size_t)c->batch * shape_count(c->in) > 6000;
}

static void test_finite_differences(void **state)
{
    (void)state;
    int n = 0;
    for (size_t i = 0; i < N_CASES; i++)
        if (!cases[i].evaluation && !is_large(&cases[i])) {
            check_differences(&cases[i]);
            n++;
        }
    assert_true(n > 80);
}

static void test_kernels(void **state)
{
    (void)state;
    check_kernels(cases, N_CASES, 4e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
