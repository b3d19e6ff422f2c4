/* Plans: the steps and stages of each network, shards, memory, the hash, and that the checker
 * catches what it is for. */
#include "engine/plan_build.h"

#include "nn/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct plan *build(const struct graph *g, int batch, const char *task, enum optim_kind optim,
                          int n_slots, struct error *err)
{
    const struct plan_request request = {
        .batch = batch, .task = task_find(task), .optim = optim, .n_slots = n_slots};
    return plan_build(g, &request, err);
}

static struct plan *make(const char *model, struct shape in, int n_outputs, int batch)
{
    struct error err = ERROR_INIT;
    struct graph *g = model_build(model, in, n_outputs, &err);
    if (!g)
        fail_msg("%s", err.text);
    const char *task = n_outputs == 1 ? "regression" : "classification";
    struct plan *p = build(g, batch, task, OPTIM_ADAM, 2, &err);
    graph_free(g);
    if (!p)
        fail_msg("%s", err.text);
    if (!plan_check(p, &err))
        fail_msg("%s", err.text);
    return p;
}

/* "gather conv2d | bn_stats ...": stages parted by bars; forward and backward steps by operation.
 */
static void describe(const struct plan_program *p, char *out, size_t size)
{
    size_t len = 0;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        const bool starts = i > 0 && p->stages[plan_stage_of(p, i)].first_step == i;
        const bool plain = s->kind == STEP_FORWARD || s->kind == STEP_BACKWARD;
        len += (size_t)snprintf(out + len, size - len, "%s%s%s%s", i ? " " : "", starts ? "| " : "",
                                s->kind == STEP_BACKWARD ? "-" : "",
                                plain ? op_infos[s->op].name : plan_step_name(s->kind));
        assert_true(len < size);
    }
}

static void check_programs(const struct plan *p, const char *train, const char *eval)
{
    char text[1000];
    describe(&p->train, text, sizeof text);
    assert_string_equal(text, train);
    describe(&p->eval, text, sizeof text);
    assert_string_equal(text, eval);
}

static void test_mlp(void **state)
{
    (void)state;
    struct plan *p = make("mlp", shape_vector(8), 1, 256);
    check_programs(p,
                   "gather linear relu linear relu linear loss "
                   "-linear -relu -linear -relu -linear | update",
                   "gather linear relu linear relu linear loss");
    assert_int_equal(p->rows_per_shard, 64);
    assert_int_equal(p->n_shards, 4);
    assert_int_equal(p->param_floats, 8 * 128 + 128 + 128 * 64 + 64 + 64 + 16);
    assert_int_equal(p->slice_floats, 3 * p->param_floats);
    assert_int_equal(p->n_chunks, 3);
    const struct plan_step *first_back = &p->train.steps[p->train.n_steps - 2];
    assert_int_equal(first_back->op, OP_LINEAR);
    assert_int_equal(first_back->dx[0], -1); /* nobody wants the gradient of the samples */
    assert_true(p->train.steps[2].x[0] == p->train.steps[2].y); /* relu over linear's output */
    assert_int_equal(p->train.stages[1].unit, UNIT_CHUNK);
    plan_free(p);
}

static void test_digits_cnn(void **state)
{
    (void)state;
    struct plan *p = make("digits_cnn", shape_image(8, 8, 1), 10, 64);
    check_programs(p,
                   "gather conv2d bn_stats | bn_apply relu conv2d bn_stats | bn_apply relu "
                   "max_pool2d dropout flatten linear relu linear loss "
                   "-linear -relu -linear -flatten -dropout -max_pool2d -relu bn_back_reduce "
                   "| bn_back_apply -conv2d -relu bn_back_reduce | bn_back_apply -conv2d | update",
                   "gather conv2d bn_apply relu conv2d bn_apply relu max_pool2d flatten linear "
                   "relu linear loss");
    assert_int_equal(p->rows_per_shard, 8);
    assert_int_equal(p->n_shards, 8);
    assert_true(p->buffer_floats > 0);
    plan_free(p);
}

static void test_lenet_and_simplecnn(void **state)
{
    (void)state;
    struct plan *p = make("lenet", shape_image(28, 28, 1), 10, 256);
    check_programs(p,
                   "gather conv2d relu max_pool2d conv2d relu max_pool2d flatten linear relu "
                   "linear relu linear loss -linear -relu -linear -relu -linear -flatten "
                   "-max_pool2d -relu -conv2d -max_pool2d -relu -conv2d | update",
                   "gather conv2d relu max_pool2d conv2d relu max_pool2d flatten linear relu "
                   "linear relu linear loss");
    assert_int_equal(p->n_shards, PLAN_MAX_SHARDS);
    plan_free(p);
    p = make("simplecnn", shape_image(32, 32, 3), 10, 100);
    assert_int_equal(p->rows_per_shard, 8);
    assert_int_equal(p->n_shards, 13);
    plan_free(p);
}

static void test_shard_rule(void **state)
{
    (void)state;
    static const struct {
        double macs, weights;
        int32_t batch, rows;
    } cases[] = {
        {9280, 9280, 256, 64},  {9280, 9280, 64, 64},       {9280, 9280, 50, 50},
        {9280, 9280, 1, 1},     {9280, 9280, 100000, 6256}, {337000, 38000, 64, 8},
        {337000, 38000, 7, 7},  {337000, 38000, 129, 16},   {0, 0, 32, 32},
        {1e9, 0, 300, 24},      {1e9, 1e8, 8, 4}, /* 4 rows use each weight 40 times */
        {1e9, 1e6, 8, 1},                         /* one row is enough work */
        {1e9, 1e6, 40, 3},                        /* least number for 16 shards, below 8 as it is */
        {111e6, 11e6, 128, 8},                    /* resnet18 at 32x32 */
        {313e6, 138e6, 128, 16}                   /* vgg16 at 32x32: large weights, long shards */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t rows = plan_rows_per_shard(cases[i].macs, cases[i].weights, cases[i].batch);
        assert_int_equal(rows, cases[i].rows);
        assert_true((cases[i].batch + rows - 1) / rows <= PLAN_MAX_SHARDS);
    }
}

/* Every model at awkward batch sizes: the checker agrees and buffers share memory. */
static void test_all_sizes(void **state)
{
    (void)state;
    static const int batches[] = {1, 2, 7, 8, 9, 31, 64, 65, 100, 256, 333};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        plan_free(make("mlp", shape_vector(64), 10, batches[i]));
        plan_free(make("digits_cnn", shape_image(8, 8, 1), 10, batches[i]));
        plan_free(make("lenet", shape_image(28, 28, 1), 10, batches[i]));
    }
    struct plan *p = make("digits_cnn", shape_image(8, 8, 1), 10, 64);
    size_t sum = 0;
    for (int32_t i = 0; i < p->train.n_buffers; i++)
        sum += plan_buffer_size(p, &p->train.buffers[i]);
    assert_true(p->train.lane_floats < sum * 7 / 8);
    assert_true(p->eval.lane_floats < p->train.lane_floats / 2);
    plan_free(p);
}

static void test_hash(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct plan *a = make("mlp", shape_vector(8), 1, 256),
                *b = make("mlp", shape_vector(8), 1, 256);
    assert_true(a->hash == b->hash && a->hash != 0);
    plan_free(b);
    b = make("mlp", shape_vector(8), 1, 255);
    assert_true(a->hash != b->hash);
    plan_free(b);
    struct graph *g = model_build("mlp", shape_vector(8), 1, &err);
    b = build(g, 256, "regression", OPTIM_SGD, 0, &err);
    assert_true(a->hash != b->hash);
    struct plan *c = build(g, 256, "regression", OPTIM_SGD, 1, &err);
    assert_true(b->hash == c->hash); /* a neighbour's momentum slot changes no bit */
    plan_free(c);
    plan_free(b);
    plan_free(a);
    graph_free(g);
}

static void test_refusals(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct graph *g = model_build("mlp", shape_vector(8), 3, &err);
    assert_null(build(g, 16, "regression", OPTIM_SGD, 0, &err));
    assert_non_null(strstr(err.text, "needs 1 output, the network has 3"));
    assert_null(build(g, 0, "classification", OPTIM_SGD, 0, &err));
    assert_non_null(strstr(err.text, "batch size 0"));
    graph_free(g);
    g = graph_new();
    assert_true(graph_finish(g, graph_relu(g, graph_input(g, shape_vector(4))), &err));
    assert_null(build(g, 8, "classification", OPTIM_SGD, 0, &err));
    assert_non_null(strstr(err.text, "no parameters"));
    graph_free(g);
}

/* In place only where nobody misses the old value: relu after relu must keep the first one's
 * output, dropout after relu too; dropout after a linear layer need not. */
static void test_in_place(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct graph *g = graph_new();
    int x = graph_input(g, shape_vector(4));
    x = graph_linear(g, "a", x, 4);
    x = graph_dropout(g, x, 0.5);
    x = graph_relu(g, x);
    x = graph_dropout(g, x, 0.5);
    x = graph_linear(g, "b", x, 3);
    assert_true(graph_finish(g, x, &err));
    struct plan *p = build(g, 8, "classification", OPTIM_SGD, 0, &err);
    assert_non_null(p);
    assert_true(plan_check(p, &err));
    const struct plan_step *s = p->train.steps;
    assert_true(s[2].op == OP_DROPOUT && s[2].y == s[2].x[0]);
    assert_true(s[3].op == OP_RELU && s[3].y == s[3].x[0]);
    assert_true(s[4].op == OP_DROPOUT && s[4].y != s[4].x[0]);
    plan_free(p);
    graph_free(g);
}

/* A batch norm or an activation on the samples themselves: no gradient below the first parameters,
 * and the samples stay as gathered. */
static void test_first_layers(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct graph *g = graph_new();
    int x = graph_input(g, shape_image(4, 4, 2));
    x = graph_relu(g, x);
    x = graph_batch_norm(g, "bn", x, 0, 0);
    x = graph_flatten(g, x);
    x = graph_linear(g, "fc", x, 3);
    assert_true(graph_finish(g, x, &err));
    struct plan *p = build(g, 8, "classification", OPTIM_SGD, 0, &err);
    assert_non_null(p);
    assert_true(plan_check(p, &err));
    check_programs(p,
                   "gather relu bn_stats | bn_apply flatten linear loss -linear -flatten "
                   "bn_back_reduce | update",
                   "gather relu bn_apply flatten linear loss");
    assert_true(p->train.steps[1].y != p->train.input);
    plan_free(p);
    graph_free(g);
}

/* ---- planted faults ---- */

static void expect_caught(struct plan *p, const char *words)
{
    struct error err = ERROR_INIT;
    assert_false(plan_check(p, &err));
    assert_int_equal(err.class_, ERROR_INTERNAL);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not speak of '%s'", err.text, words);
    plan_free(p);
}

static struct plan_step *find(struct plan *p, enum step_kind kind)
{
    for (int32_t i = 0; i < p->train.n_steps; i++)
        if (p->train.steps[i].kind == kind)
            return &p->train.steps[i];
    fail_msg("no such step");
    return NULL;
}

static struct plan *cnn(void)
{
    return make("digits_cnn", shape_image(8, 8, 1), 10, 64);
}

static void test_catches_conflicts(void **state)
{
    (void)state;
    /* Combined statistics in one place for all shards: every shard writes them. */
    struct plan *p = cnn();
    p->train.buffers[find(p, STEP_BN_APPLY)->whole[0]].kind = BUFFER_LANE;
    expect_caught(p, "another shard may be using");

    /* Statistics and their use in one stage: a shard would read what others have not written. */
    p = cnn();
    find(p, STEP_BN_APPLY)->reads_all_shards = false;
    p->train.stages[0].n_steps += p->train.stages[1].n_steps;
    memmove(&p->train.stages[1], &p->train.stages[2],
            (size_t)(p->train.n_stages - 2) * sizeof *p->train.stages);
    p->train.n_stages--;
    find(p, STEP_BN_APPLY)->reads_all_shards = true;
    expect_caught(p, "in the middle of stage 0");

    /* Two buffers of one stage with other row sizes: shard 0's rows of the one are shard 1's of the
     * other. */
    p = make("mlp", shape_vector(8), 1, 256);
    p->train.buffers[p->train.steps[5].y].offset = p->train.buffers[p->train.input].offset;
    p->train.buffers[p->train.input].last_step = 4;
    p->train.steps[p->train.n_steps - 2].n_reads = 1;
    p->train.steps[p->train.n_steps - 2].x[0] = -1;
    expect_caught(p, "another shard may be using");
}

static void test_catches_memory_faults(void **state)
{
    (void)state;
    struct plan *p = cnn();
    p->train.buffers[p->train.steps[1].y].offset = p->train.buffers[p->train.input].offset;
    expect_caught(p, "overlap while both are live");

    p = cnn();
    p->train.buffers[p->train.logits].offset = p->train.lane_floats;
    expect_caught(p, "ends outside the lane");

    p = cnn();
    p->shard_grads += 16;
    expect_caught(p, "shard gradients");

    p = cnn();
    p->eval.steps[1].param[0] = p->param_floats;
    expect_caught(p, "parameter outside the block");
}

static void test_catches_lost_values(void **state)
{
    (void)state;
    /* Read before written. */
    struct plan *p = cnn();
    struct plan_step *loss = find(p, STEP_LOSS);
    loss->n_writes = 1; /* no longer the gradient */
    expect_caught(p, "does not hold what was written");

    /* Relu written over what a later layer's backward still needs. */
    p = make("mlp", shape_vector(8), 1, 64);
    struct plan_step *relu = &p->train.steps[2], *next = &p->train.steps[3];
    next->write[next->n_writes++] = relu->y;
    expect_caught(p, "was overwritten");

    p = cnn();
    p->train.n_steps--;
    expect_caught(p, "stages cover");
}

static void test_print(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    struct plan *p = cnn();
    FILE *out = open_memstream(&text, &len);
    plan_print(p, out);
    fclose(out);
    assert_non_null(strstr(text, "batch 64 in 8 shards of 8 rows"));
    assert_non_null(strstr(text, "bn_back_reduce"));
    assert_non_null(strstr(text, "chunks of parameters"));
    free(text);
    plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),
        cmocka_unit_test(test_digits_cnn),
        cmocka_unit_test(test_lenet_and_simplecnn),
        cmocka_unit_test(test_shard_rule),
        cmocka_unit_test(test_all_sizes),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_first_layers),
        cmocka_unit_test(test_catches_conflicts),
        cmocka_unit_test(test_catches_memory_faults),
        cmocka_unit_test(test_catches_lost_values),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
