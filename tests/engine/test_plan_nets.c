/* Plans of networks whose values and parameters are used several times, of large tensors, of tokens
 * and of clipping; the nine models at awkward batch sizes. */
#include "engine/plan_build.h"
#include "helper_engine.h"

#include "nn/model.h"

static struct plan *plan_of(struct graph *g, int batch, int rows_per_shard, const char *task,
                            bool clips)
{
    struct error err = ERROR_INIT;
    const struct plan_request request = {.batch = batch,
                                         .rows_per_shard = rows_per_shard,
                                         .task = task_find(task),
                                         .optim = OPTIM_SGD,
                                         .n_slots = 1,
                                         .clips = clips};
    struct plan *p = plan_build(g, &request, &err);
    if (!p || !plan_check(p, &err))
        fail_msg("%s", err.text);
    return p;
}

static void finish(struct graph *g, int x)
{
    struct error err = ERROR_INIT;
    if (!graph_finish(g, x, &err))
        fail_msg("%s", err.text);
}

/* Number i of the steps of a kind (and operation), or NULL. */
static struct plan_step *find(const struct plan_program *p, enum step_kind kind, enum op_kind op,
                              int i)
{
    for (int32_t s = 0; s < p->n_steps; s++)
        if (p->steps[s].kind == kind && p->steps[s].op == op && i-- == 0)
            return &p->steps[s];
    return NULL;
}

/* x -> linear a -> (linear b -> linear c) + a -> linear out */
static struct graph *residual(void)
{
    struct graph *g = graph_new();
    const int x = graph_input(g, shape_vector(6));
    const int a = graph_linear(g, "a", x, 8);
    const int c = graph_linear(g, "c", graph_linear(g, "b", a, 8), 8);
    finish(g, graph_linear(g, "out", graph_add(g, c, a), 3));
    return g;
}

static void test_residual(void **state)
{
    (void)state;
    struct graph *g = residual();
    struct plan *p = plan_of(g, 16, 4, "classification", false);
    const struct plan_step *add = find(&p->train, STEP_FORWARD, OP_ADD, 0);
    assert_int_equal(add->x[0], add->y); /* nobody else reads c's output */
    assert_true(add->x[1] != add->y);
    const struct plan_step *back = find(&p->train, STEP_BACKWARD, OP_ADD, 0);
    assert_int_equal(back->dx[0], back->dy);
    assert_true(back->dx[1] != back->dy);
    assert_int_equal(back->accumulate_dx, 0); /* the first to give a's gradient */
    const struct plan_step *b = find(&p->train, STEP_BACKWARD, OP_LINEAR, 2);
    assert_int_equal(b->dx[0], back->dx[1]);
    assert_int_equal(b->accumulate_dx, 1); /* the second adds */
    const struct plan_step *a = find(&p->train, STEP_BACKWARD, OP_LINEAR, 3);
    assert_int_equal(a->dy, back->dx[1]);
    assert_int_equal(a->dx[0], -1);
    plan_free(p);
    graph_free(g);
}

/* A value added to itself must not be written over while it is read. */
static void test_value_twice_in_one_step(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    const int a = graph_linear(g, "a", graph_input(g, shape_vector(6)), 8);
    finish(g, graph_linear(g, "out", graph_multiply(g, a, a), 3));
    struct plan *p = plan_of(g, 16, 4, "classification", false);
    const struct plan_step *forward = find(&p->train, STEP_FORWARD, OP_MULTIPLY, 0);
    assert_true(forward->x[0] == forward->x[1] && forward->y != forward->x[0]);
    const struct plan_step *back = find(&p->train, STEP_BACKWARD, OP_MULTIPLY, 0);
    assert_true(back->dx[0] != back->dy && back->dx[0] == back->dx[1]);
    assert_int_equal(back->accumulate_dx, 2);
    plan_free(p);
    graph_free(g);
}

static void test_shared_parameters(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    const int x = graph_input(g, shape_vector(8));
    const int a = graph_linear(g, "a", x, 8);
    const int b = graph_linear_shared(g, graph_relu(g, a), a);
    finish(g, graph_linear(g, "out", graph_add(g, a, b), 3));
    struct plan *p = plan_of(g, 16, 4, "classification", false);
    /* In the order of the steps: the later node's gradient first. */
    const struct plan_step *second = find(&p->train, STEP_BACKWARD, OP_LINEAR, 1);
    const struct plan_step *first = find(&p->train, STEP_BACKWARD, OP_LINEAR, 2);
    assert_int_equal(second->param[0], first->param[0]);
    assert_int_equal(second->accumulate_grad, 0);
    assert_int_equal(first->accumulate_grad, 3);
    plan_free(p);
    graph_free(g);
}

/* A transformer large enough for whole gradients: the tied table's comes from two steps. */
static struct graph *transformer(void)
{
    struct error err = ERROR_INIT;
    struct graph *g =
        model_build("transformer?layers=1&d_model=32&heads=2&ff=64", shape_vector(12), 4096, &err);
    if (!g)
        fail_msg("%s", err.text);
    return g;
}

static void test_large_tensors(void **state)
{
    (void)state;
    struct graph *g = transformer();
    struct plan *p = plan_of(g, 16, 4, "language_modeling", false);
    assert_int_equal(p->n_grads, 2);
    assert_true(p->grads[0].whole && !p->grads[1].whole);
    assert_int_equal(p->grads[0].count, 4096 * 32);
    assert_int_equal(p->grads[1].first, 4096 * 32);
    assert_int_equal(p->grads[1].count, p->param_floats - 4096 * 32);
    assert_int_equal(p->lane_floats, p->shard_grads + 4 * p->grads[1].count + p->grads[0].count);
    const struct plan_step *head = find(&p->train, STEP_BACKWARD_PARAMS, OP_TIED_LINEAR, 0);
    const struct plan_step *table = find(&p->train, STEP_BACKWARD_PARAMS, OP_EMBEDDING, 0);
    assert_int_equal(head->param[0], table->param[0]);
    assert_int_equal(head->accumulate_grad, 0);
    assert_int_equal(table->accumulate_grad, 1);
    assert_int_equal(table->x[0], p->train.input);
    assert_null(find(&p->train, STEP_BACKWARD, OP_EMBEDDING, 0)); /* nothing left to do */
    const struct plan_step *rest = find(&p->train, STEP_BACKWARD, OP_TIED_LINEAR, 0);
    assert_true(rest->dx[0] >= 0 && rest->accumulate_grad == 0);
    for (int32_t i = 0; i < p->train.n_stages; i++) {
        const struct plan_stage *s = &p->train.stages[i];
        const bool parts = p->train.steps[s->first_step].kind == STEP_BACKWARD_PARAMS;
        assert_int_equal(s->unit == UNIT_PART, parts);
    }
    plan_free(p);
    graph_free(g);
}

static void test_tokens(void **state)
{
    (void)state;
    struct graph *g = transformer();
    struct plan *p = plan_of(g, 5, 2, "language_modeling", false);
    assert_int_equal(p->train.buffers[p->train.input].floats, 12);
    assert_int_equal(p->train.buffers[p->train.target].floats, 12);
    assert_int_equal(p->n_outputs, 4096);
    assert_true(p->train.steps[0].attr.is_tokens);
    const struct plan_step *loss = find(&p->train, STEP_LOSS, OP_CROSS_ENTROPY, 0);
    assert_int_equal(loss->in[0].rank, 2);
    plan_free(p);

    struct error err = ERROR_INIT;
    const struct plan_request request = {.batch = 5, .task = task_find("classification")};
    assert_null(plan_build(g, &request, &err));
    assert_contains(err.text, "needs a vector a sample");
    graph_free(g);
}

static void test_clipping(void **state)
{
    (void)state;
    struct graph *g = residual();
    struct plan *p = plan_of(g, 16, 4, "classification", true);
    const int32_t n = p->train.n_steps;
    const struct plan_step *squares = &p->train.steps[n - 3], *scale = &p->train.steps[n - 2],
                           *update = &p->train.steps[n - 1];
    assert_int_equal(squares->kind, STEP_GRAD_SQUARES);
    assert_int_equal(scale->kind, STEP_GRAD_SCALE);
    assert_int_equal(update->kind, STEP_UPDATE);
    assert_int_equal(scale->partial, squares->partial);
    assert_int_equal(update->x[0], scale->y);
    const struct plan_stage *stages = &p->train.stages[p->train.n_stages - 3];
    assert_int_equal(stages[0].unit, UNIT_CHUNK);
    assert_int_equal(stages[1].unit, UNIT_ONE);
    assert_int_equal(stages[2].unit, UNIT_CHUNK);
    assert_int_equal(p->train.buffers[squares->partial].floats % 16, 0);
    assert_true(p->train.buffers[squares->partial].floats >= 2 * (size_t)p->n_chunks);
    /* A model that does not clip is computed as without these steps. */
    struct plan *without = plan_of(g, 16, 4, "classification", false);
    assert_true(without->hash == p->hash);
    assert_int_equal(without->train.n_steps, n - 2);
    assert_int_equal(without->train.steps[n - 3].x[0], -1);
    plan_free(without);
    plan_free(p);
    graph_free(g);
}

static const struct {
    const char *model;
    struct shape in;
    int n_outputs;
    const char *task;
} nets[] = {
    {"mlp", {1, {8, 1, 1}}, 1, "regression"},
    {"lenet", {3, {28, 28, 1}}, 10, "classification"},
    {"simplecnn", {3, {32, 32, 3}}, 10, "classification"},
    {"resnet18", {3, {32, 32, 3}}, 10, "classification"},
    {"resnet50", {3, {32, 32, 3}}, 10, "classification"},
    {"mobilenet_v3_small", {3, {32, 32, 3}}, 10, "classification"},
    {"transformer", {1, {128, 1, 1}}, 6500, "language_modeling"},
    {"xlm_roberta", {1, {64, 1, 1}}, 2, "classification"},
    {"vgg16_cbam", {3, {32, 32, 3}}, 10, "classification"},
};

/* The checker agrees, and memory is shared: far less than all buffers side by side. */
static void test_nine_models(void **state)
{
    (void)state;
    static const int batches[] = {1, 7, 64};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct error err = ERROR_INIT;
        struct graph *g = model_build(nets[i].model, nets[i].in, nets[i].n_outputs, &err);
        if (!g)
            fail_msg("%s", err.text);
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            struct plan *p = plan_of(g, batches[b], 0, nets[i].task, true);
            size_t all = 0;
            for (int32_t k = 0; k < p->train.n_buffers; k++)
                all += plan_buffer_size(p, &p->train.buffers[k]);
            assert_true(p->train.lane_floats < all);
            assert_true(p->eval.lane_floats <= p->train.lane_floats);
            plan_free(p);
        }
        graph_free(g);
    }
}

static void expect_caught(struct plan *p, const char *part)
{
    struct error err = ERROR_INIT;
    assert_false(plan_check(p, &err));
    assert_contains(err.text, part);
    plan_free(p);
}

static void test_catches_gradient_faults(void **state)
{
    (void)state;
    struct graph *g = transformer();
    struct plan *p = plan_of(g, 16, 4, "language_modeling", false);
    find(&p->train, STEP_BACKWARD_PARAMS, OP_EMBEDDING, 0)->accumulate_grad = 0;
    expect_caught(p, "which an earlier step has begun");

    p = plan_of(g, 16, 4, "language_modeling", false);
    find(&p->train, STEP_BACKWARD_PARAMS, OP_TIED_LINEAR, 0)->accumulate_grad = 1;
    expect_caught(p, "which nothing has begun");

    p = plan_of(g, 16, 4, "language_modeling", false);
    find(&p->train, STEP_BACKWARD, OP_LAYER_NORM, 0)->n_params = 1;
    expect_caught(p, "nothing gives the gradient");

    p = plan_of(g, 16, 4, "language_modeling", false);
    p->grads[1].first += 16;
    expect_caught(p, "range 1 does not fit");

    p = plan_of(g, 16, 4, "language_modeling", false);
    p->grads[1].offset = p->grads[0].offset;
    expect_caught(p, "gradient range");

    p = plan_of(g, 16, 4, "language_modeling", false);
    p->grads[1].stride -= 16;
    expect_caught(p, "range 1 does not fit");
    graph_free(g);
}

static void test_print(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    struct graph *g = transformer();
    struct plan *p = plan_of(g, 16, 4, "language_modeling", true);
    FILE *out = open_memstream(&text, &len);
    plan_print(p, out);
    fclose(out);
    assert_contains(text, "gradients of floats 0 to 131072: one for the batch");
    assert_contains(text, "16 parts of tensors");
    assert_contains(text, "1 alone");
    assert_contains(text, "grad_squares");
    assert_contains(text, "attention");
    free(text);
    plan_free(p);
    graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_value_twice_in_one_step),
        cmocka_unit_test(test_shared_parameters),
        cmocka_unit_test(test_large_tensors),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_clipping),
        cmocka_unit_test(test_nine_models),
        cmocka_unit_test(test_catches_gradient_faults),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
