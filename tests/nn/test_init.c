/* Initial values of the nine models: the moments of every tensor are those of PyTorch's. */
#include "base/rng.h"
#include "helper_nn.h"
#include "nn/model.h"

#define SEEDS    20
#define MOST     2000 /* elements of a tensor looked at, from each seed's own part of it */
#define PAD_RULE "normal_0.02_padding_row_zero"

static struct graph *built(const char *model, struct shape in, int n_outputs)
{
    struct error err = ERROR_INIT;
    struct graph *g = model_build(model, in, n_outputs, &err);
    if (!g)
        fail_msg("%s", err.text);
    return g;
}

/* What a rule of the golden file means here. */
static void check_rule(const struct param *p, const char *rule, double sd)
{
    static const struct {
        const char *rule;
        enum init_kind kind;
        double ratio; /* of scale to deviation */
    } rules[] = {
        {"zeros", INIT_ZEROS, 0},
        {"ones", INIT_ONES, 0},
        {"default_uniform", INIT_UNIFORM, 1.7320508075688772},
        {"xavier_uniform", INIT_UNIFORM, 1.7320508075688772},
        {"kaiming_normal_fan_out", INIT_NORMAL, 1},
        {"normal_0.01", INIT_NORMAL, 1},
        {"normal_0.02", INIT_NORMAL, 1},
        {PAD_RULE, INIT_NORMAL, 1},
        {"normal_1", INIT_NORMAL, 1},
    };
    assert_int_equal(p->zero_row, strcmp(rule, PAD_RULE) == 0 ? 1 : -1);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].rule, rule) == 0) {
            if (p->init != rules[i].kind)
                fail_msg("%s starts otherwise than by %s", p->name, rule);
            if (rules[i].ratio > 0)
                assert_near(p->scale / (sd * rules[i].ratio), 1, 1e-8);
            return;
        }
    fail_msg("%s: unknown rule %s", p->name, rule);
}

/* Mean and deviation over 20 seeds, within four standard errors: s / sqrt(n) of the mean,
 * s sqrt((kurtosis - 1) / 4n) of the deviation (kurtosis 9/5 uniform, 3 normal). */
static void check_moments(const struct param *p, double sd)
{
    const size_t from = p->zero_row < 0 ? 0 : (size_t)(p->zero_row + 1) * (size_t)p->dims[1];
    const size_t room = p->count - from, n = room < MOST ? room : MOST;
    float values[MOST];
    double sum = 0, squares = 0, largest = 0;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        param_init_values(p, seed, from + (room - n) * seed / (SEEDS - 1), n, values);
        for (size_t i = 0; i < n; i++) {
            const double v = (double)values[i];
            sum += v;
            squares += v * v;
            largest = fmax(largest, fabs(v));
        }
    }
    const double total = (double)(SEEDS * n), mean = sum / total;
    const double got = sqrt(squares / total - mean * mean);
    const double kurtosis = p->init == INIT_UNIFORM ? 1.8 : 3;
    if (fabs(mean) > 4 * sd / sqrt(total))
        fail_msg("%s: mean %g of deviation %g over %g values", p->name, mean, sd, total);
    if (fabs(got - sd) > 4 * sd * sqrt((kurtosis - 1) / (4 * total)))
        fail_msg("%s: deviation %g, expected %g, over %g values", p->name, got, sd, total);
    if (p->init == INIT_UNIFORM) /* rounding the bound to float may pass it by half a unit */
        assert_true(largest <= p->scale * (1 + 1e-7));
}

static void test_moments(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        struct shape in;
        int n_outputs;
    } nets[] = {
        {"mlp", {1, {8, 1, 1}}, 1},
        {"lenet", {3, {28, 28, 1}}, 10},
        {"simplecnn", {3, {32, 32, 3}}, 10},
        {"resnet18", {3, {32, 32, 3}}, 10},
        {"resnet50", {3, {32, 32, 3}}, 10},
        {"mobilenet_v3_small", {3, {32, 32, 3}}, 10},
        {"transformer", {1, {128, 1, 1}}, 6500},
        {"xlm_roberta", {1, {128, 1, 1}}, 2},
        {"vgg16_cbam", {3, {224, 224, 3}}, 10},
        {"digits_cnn", {3, {8, 8, 1}}, 10},
    };
    json_t *wanted = golden("init_moments_models.json");
    const json_t *list = json_object_get(wanted, "models");
    assert_int_equal(json_array_size(list), sizeof nets / sizeof *nets);
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        const json_t *net = json_array_get(list, i), *rows = json_object_get(net, "tensors");
        assert_string_equal(json_string_value(json_object_get(net, "model")), nets[i].model);
        struct graph *g = built(nets[i].model, nets[i].in, nets[i].n_outputs);
        assert_int_equal(json_array_size(rows), g->n_params);
        for (int j = 0; j < g->n_params; j++) {
            const json_t *row = json_array_get(rows, (size_t)j);
            const double sd = json_number_value(json_array_get(row, 2));
            assert_string_equal(json_string_value(json_array_get(row, 0)), g->params[j].name);
            check_rule(&g->params[j], json_string_value(json_array_get(row, 1)), sd);
            if (sd > 0)
                check_moments(&g->params[j], sd);
        }
        graph_free(g);
    }
    json_decref(wanted);
}

/* A whole model holds what the parts say, in memory order, its table's padding row zero. */
static void test_whole_and_parts(void **state)
{
    (void)state;
    struct graph *g =
        built("xlm_roberta?layers=1&d_model=36&heads=3&ff=50&vocab=33&max_positions=9",
              shape_vector(5), 3);
    float *params = malloc(g->param_floats * sizeof *params);
    graph_init_model(g, 11, params, NULL);
    for (int i = 0; i < g->n_params; i++) {
        const struct param *p = &g->params[i];
        float *values = malloc(p->count * sizeof *values);
        param_init_values(p, 11, 0, p->count, values);
        for (size_t j = 0; j < p->count; j++)
            assert_true(params[p->offset + param_memory_index(p, j)] == values[j]);
        for (size_t first = 0; first < p->count; first += 7) {
            float part[3];
            const size_t n = p->count - first < 3 ? p->count - first : 3;
            param_init_values(p, 11, first, n, part);
            assert_memory_equal(part, values + first, n * sizeof *part);
        }
        for (size_t j = 0; p->zero_row == 1 && j < 36; j++)
            assert_true(values[36 + j] == 0.0f && values[35] != 0.0f && values[72] != 0.0f);
        free(values);
    }
    free(params);
    graph_free(g);
}

/* The formula of nn/graph.h, written out once more. */
static void test_normal_formula(void **state)
{
    (void)state;
    const struct param p = {.rank = 1,
                            .dims = {9, 1, 1, 1},
                            .count = 9,
                            .init = INIT_NORMAL,
                            .scale = 0.5,
                            .zero_row = -1,
                            .ordinal = 3};
    float values[9];
    param_init_values(&p, 42, 0, 9, values);
    for (uint32_t i = 0; i < 9; i++) {
        const double a = rng_u32_at(42, RNG_INIT, 3, 0, 0, i & ~1u);
        const double b = rng_u32_at(42, RNG_INIT, 3, 0, 0, i | 1u);
        const double r = sqrt(-2 * log((a + 1) * 0x1p-32)), t = 2 * acos(-1) * b * 0x1p-32;
        assert_near(values[i], 0.5 * r * (i % 2 ? sin(t) : cos(t)), 1e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_whole_and_parts),
        cmocka_unit_test(test_normal_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
