/* labels: full; timeout: 120 */
/* Every operation in small networks of awkward shapes, one training step: loss, each parameter's
 * gradient and running statistics on the GPU against the CPU's reference of the same plan, with a
 * batch that is full and one that is not.
 */
#include "base/rng.h"
#include "helper_gpu.h"

#define ROWS 5

struct subject {
    const char *name, *task;
    int tokens; /* length; 0: an image of 9 x 7 x 6 */
    int (*build)(struct graph *g, int x);
};

static int head(struct graph *g, int x)
{
    return graph_linear(g, "head", graph_flatten(g, x), 3);
}

static int conv(struct graph *g, const char *name, int x, int out, struct conv_args args)
{
    return graph_conv2d(g, name, x, out, args);
}

static int convs(struct graph *g, int x)
{
    x = conv(g, "a", x, 8, (struct conv_args){.kernel = 3, .stride = 2, .pad = 1});
    x = conv(g, "b", graph_relu(g, x), 12,
             (struct conv_args){.kernel = 3, .pad = 2, .dilation = 2});
    x = conv(g, "c", graph_tanh(g, x), 8, (struct conv_args){.kernel = 3, .pad = 1, .groups = 4});
    x = conv(g, "d", x, 8, (struct conv_args){.kernel = 5, .pad = 2, .groups = 8, .no_bias = true});
    return head(g, conv(g, "e", x, 70, (struct conv_args){.kernel = 1}));
}

static int norms(struct graph *g, int x)
{
    x = graph_batch_norm(g, "n1", conv(g, "a", x, 40, (struct conv_args){.kernel = 3}), 0, 0);
    x = graph_relu(g, x);
    x = graph_batch_norm(g, "n2", graph_linear(g, "l", graph_flatten(g, x), 9), 1e-3, 0.3);
    return head(g, graph_layer_norm(g, "n3", graph_gelu(g, x), 0));
}

static int pools(struct graph *g, int x)
{
    x = conv(g, "a", x, 6, (struct conv_args){.kernel = 3, .pad = 1});
    int parts[3] = {graph_max_pool2d(g, x, 3, 2, 1), graph_avg_pool2d(g, x, 3, 2, 1),
                    graph_adaptive_avg_pool2d(g, x, 5, 4)};
    const int y = graph_concatenate(g, parts, 3);
    const int z =
        graph_adaptive_max_pool2d(g, conv(g, "b", y, 5, (struct conv_args){.kernel = 1}), 3, 3);
    return head(g, graph_adaptive_avg_pool2d(g, z, 4, 5));
}

/* Channel and pixel attention, a value used twice, sums and products of equals. */
static int combined(struct graph *g, int x)
{
    x = graph_hardswish(g, conv(g, "a", x, 6, (struct conv_args){.kernel = 3, .pad = 1}));
    const int pooled = graph_adaptive_avg_pool2d(g, x, 1, 1);
    const int gate = graph_hardsigmoid(g, conv(g, "b", pooled, 6, (struct conv_args){.kernel = 1}));
    const int scaled = graph_multiply(g, x, gate);
    const int map = graph_sigmoid(g, conv(g, "c", graph_channel_mean_max(g, scaled), 1,
                                          (struct conv_args){.kernel = 3, .pad = 1}));
    const int both = graph_multiply(g, scaled, map);
    return head(g, graph_add(g, graph_multiply(g, both, both), graph_add(g, both, x)));
}

static int dropped(struct graph *g, int x)
{
    x = graph_dropout(g, conv(g, "a", x, 6, (struct conv_args){.kernel = 3}), 0.3);
    return head(g, graph_dropout(g, graph_linear(g, "l", graph_flatten(g, x), 33), 0.5));
}

#define VOCABULARY 11

static int sequences(struct graph *g, int tokens)
{
    int x =
        graph_embedding(g, "embed", tokens,
                        (struct embedding_args){.rows = VOCABULARY, .features = 8, .scale = 1.5});
    x = graph_positions(g, "place", x, (struct position_args){.rows = 9, .kind = POSITION_INDEX});
    const struct attention_args causal = {.heads = 2, .causal = true, .dropout = 0.2};
    x = graph_add(g, x, graph_attention_packed(g, graph_linear(g, "qkv", x, 24), causal));
    x = graph_layer_norm(g, "n", x, 0);
    const struct attention_args masked = {
        .heads = 4, .masked = true, .tokens = tokens, .pad_id = 1};
    const int y = graph_attention(g, graph_linear(g, "q", x, 8), graph_linear(g, "k", x, 8),
                                  graph_linear(g, "v", x, 8), masked);
    return graph_linear(g, "head", graph_first_token(g, graph_add(g, x, y)), 3);
}

static int padded(struct graph *g, int tokens)
{
    int x = graph_embedding(
        g, "embed", tokens,
        (struct embedding_args){.rows = VOCABULARY, .features = 40, .has_pad = true, .pad_id = 1});
    x = graph_positions(g, "place", x,
                        (struct position_args){
                            .rows = 12, .kind = POSITION_OF_TOKENS, .tokens = tokens, .pad_id = 1});
    x = graph_positions(g, "type", x, (struct position_args){.rows = 2, .kind = POSITION_FIRST});
    return graph_linear(g, "head", graph_first_token(g, graph_linear(g, "l", x, 5)), 3);
}

static const struct subject subjects[] = {
    {"convolutions", "classification", 0, convs}, {"norms", "classification", 0, norms},
    {"pools", "classification", 0, pools},        {"combined", "classification", 0, combined},
    {"dropout", "classification", 0, dropped},    {"sequences", "classification", 7, sequences},
    {"padded", "classification", 7, padded},
};

static float draw(uint32_t purpose, size_t i)
{
    return 2 * rng_unit(rng_u32_at(11, RNG_TEST, purpose, 0, 0, (uint32_t)i)) - 1;
}

/* What a step leaves behind. */
struct outcome {
    float *slots, *params, *buffers;
    double loss, eval_loss;
    size_t n_params, n_buffers;
};

static struct outcome step(const struct backend *backend, const struct subject *s, int rows)
{
    struct error err = ERROR_INIT;
    struct graph *g = graph_new();
    const struct shape in = s->tokens ? shape_vector(s->tokens) : shape_image(9, 7, 6);
    const int x = s->tokens ? graph_tokens(g, s->tokens) : graph_input(g, in);
    if (!graph_finish(g, s->build(g, x), &err))
        fail_msg("%s: %s", s->name, err.text);
    struct net net;
    test_backend = backend;
    net_open(&net, g, s->task, ROWS, ROWS, 1);
    struct outcome o = {.n_params = net.plan->param_floats, .n_buffers = net.plan->buffer_floats};
    o.params = calloc(o.n_params + 1, sizeof *o.params);
    o.slots = calloc(o.n_params + 1, sizeof *o.slots);
    o.buffers = calloc(o.n_buffers + 1, sizeof *o.buffers);
    graph_init_model(g, 5, o.params, o.buffers);
    backend->model_write(net.bucket, 0, o.params, o.slots, o.buffers);
    float values[ROWS * 9 * 7 * 6];
    int32_t ids[ROWS * 7], labels[ROWS];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = draw(1, i);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        ids[i] = (int32_t)((draw(2, i) + 1) * 0.5f * VOCABULARY);
    for (int i = 0; i < ROWS; i++)
        labels[i] = i % 3;
    const struct source source = {.type = s->tokens ? SOURCE_I32 : SOURCE_F32,
                                  .x = s->tokens ? (const void *)ids : values,
                                  .sample_count = shape_count(in),
                                  .shape = in,
                                  .divisor = 1,
                                  .label = labels};
    o.loss = net_pass(&net, PASS_TRAIN, &source, rows, 0.05, 1).sums.loss_sum;
    o.eval_loss = net_pass(&net, PASS_EVAL, &source, rows, 0, 0).sums.loss_sum;
    backend->model_read(net.bucket, 0, o.params, o.slots, o.buffers);
    net_close(&net);
    return o;
}

static void assert_near(const char *name, const char *what, const float *a, const float *b,
                        size_t n)
{
    double diff = 0, scale = 0;
    for (size_t i = 0; i < n; i++) {
        diff += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        scale += (double)b[i] * (double)b[i];
    }
    if (!(sqrt(diff) <= 2e-5 * sqrt(scale)))
        fail_msg("%s: %s are off by %.3g of %.3g", name, what, sqrt(diff), sqrt(scale));
}

static void release(struct outcome *o)
{
    free(o->params);
    free(o->slots);
    free(o->buffers);
}

static const struct backend *gpu;

static void test_operations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        for (int rows = ROWS; rows >= 3; rows -= 2) {
            const char *name = subjects[i].name;
            struct outcome a = step(gpu, &subjects[i], rows);
            struct outcome b = step(&backend_cpu, &subjects[i], rows);
            if (!(fabs(a.loss - b.loss) <= 1e-5 * fabs(b.loss)) ||
                !(fabs(a.eval_loss - b.eval_loss) <= 1e-4 * fabs(b.eval_loss)))
                fail_msg("%s: losses %.9g, %.9g, not %.9g, %.9g", name, a.loss, a.eval_loss, b.loss,
                         b.eval_loss);
            assert_near(name, "gradients", a.slots, b.slots, b.n_params);
            assert_near(name, "weights", a.params, b.params, b.n_params);
            if (b.n_buffers > 0)
                assert_near(name, "running statistics", a.buffers, b.buffers, b.n_buffers);
            release(&a);
            release(&b);
        }
}

/* The table has a kernel for every step the planner can ask for. */
static void test_all_steps_have_kernels(void **state)
{
    (void)state;
    for (int op = OP_CONV2D; op < OP_COUNT; op++) {
        if (op == OP_BATCH_NORM || op_infos[op].is_loss)
            continue;
        assert_non_null(gpu->kernel_at(0, STEP_FORWARD, (enum op_kind)op));
        assert_non_null(gpu->kernel_at(0, STEP_BACKWARD, (enum op_kind)op));
    }
    assert_non_null(gpu->kernel_at(0, STEP_LOSS, OP_CROSS_ENTROPY));
    assert_non_null(gpu->kernel_at(0, STEP_LOSS, OP_MSE));
    assert_non_null(gpu->kernel_at(0, STEP_BN_BACK_APPLY, OP_BATCH_NORM));
}

int main(void)
{
    gpu = gpu_backend();
    if (!gpu)
        return GPU_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_all_steps_have_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
