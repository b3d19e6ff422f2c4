/* Schedules and clipping against PyTorch's figures. */
#include "base/rng.h"
#include "helper_nn.h"
#include "nn/optim_rule.h"
#include "nn/schedule.h"

static struct schedule parsed(const char *text)
{
    struct schedule s;
    struct error err = ERROR_INIT;
    if (!schedule_parse(&s, text, &err))
        fail_msg("%s", err.text);
    return s;
}

/* The files' names of things, in this room's words. */
static const struct {
    const char *name, *text;
} golden_texts[] = {
    {"step", "step?step_size=5"},
    {"step_each", "step?step_size=1&gamma=0.95"},
    {"cosine", "cosine?t_max=20"},
    {"cosine_eta_min", "cosine?t_max=20&eta_min=0.001"},
    {"one_cycle", "one_cycle?cycle_momentum=false"},
    {"one_cycle_momentum", "one_cycle?max_lr=0.1"},
    {"one_cycle_linear",
     "one_cycle?anneal=linear&pct_start=0.25&div_factor=10&final_div_factor=100&"
     "cycle_momentum=false"},
    {"one_cycle_three_phase", "one_cycle?three_phase=true&cycle_momentum=false"},
    {"linear_warm_up", "linear"},
    {"linear_warm_up_long", "linear?start_factor=0.01&total_iters=20"},
};
#define N_GOLDEN (sizeof golden_texts / sizeof *golden_texts)

static void test_golden(void **state)
{
    (void)state;
    json_t *file = golden("schedules.json");
    const json_t *list = json_object_get(file, "schedules");
    const double base = json_number_value(json_object_get(file, "base_lr"));
    assert_int_equal(json_array_size(list), N_GOLDEN);
    for (size_t i = 0; i < N_GOLDEN; i++) {
        const json_t *want = json_array_get(list, i), *lr = json_object_get(want, "lr");
        const json_t *momentum = json_object_get(want, "momentum");
        assert_string_equal(json_string_value(json_object_get(want, "name")), golden_texts[i].name);
        const struct schedule s = parsed(golden_texts[i].text);
        const int64_t n = (int64_t)json_array_size(lr);
        for (int64_t t = 0; t < n; t++) {
            const struct optim_args args = {.lr = base, .momentum = 0.5, .beta1 = 0.6};
            const struct optim_args sgd = schedule_apply(&s, OPTIM_SGD, &args, t, n);
            const struct optim_args adam = schedule_apply(&s, OPTIM_ADAM, &args, t, n);
            assert_near(sgd.lr, json_number_value(json_array_get(lr, (size_t)t)), 1e-15);
            assert_true(schedule_lr(&s, base, t, n) == sgd.lr && adam.lr == sgd.lr);
            const double moved = json_number_value(json_array_get(momentum, (size_t)t));
            assert_near(sgd.momentum, momentum ? moved : 0.5, 1e-14);
            assert_near(adam.beta1, momentum ? moved : 0.6, 1e-14);
            assert_true(adam.momentum == 0.5 && sgd.beta1 == 0.6);
        }
    }
    json_decref(file);
}

static void test_defaults_and_totals(void **state)
{
    (void)state;
    struct schedule s = parsed(NULL);
    assert_int_equal(s.kind, SCHEDULE_CONSTANT);
    assert_true(schedule_lr(&s, 0.25, 17, 20) == 0.25);
    s = parsed("");
    assert_true(schedule_lr(&s, 0.25, 0, 1) == 0.25 && !s.per_update);
    s = parsed("cosine"); /* t_max: all of the job */
    assert_near(schedule_lr(&s, 1, 5, 10), 0.5, 1e-15);
    assert_true(schedule_lr(&s, 1, 0, 10) == 1 && schedule_lr(&s, 1, 0, 0) == 1);
    assert_true(parsed("one_cycle").per_update && !parsed("one_cycle?per=epoch").per_update);
    assert_true(parsed("cosine?per=update").per_update);
    s = parsed("one_cycle?max_lr=2"); /* base does not matter; beyond the end it stays */
    assert_true(schedule_lr(&s, 7, 30, 20) == schedule_lr(&s, 9, 19, 20));
    assert_near(schedule_lr(&s, 7, 19, 20), 2 / 25.0 / 1e4, 1e-18);
    assert_true(isfinite(schedule_lr(&s, 7, 0, 1)) && isfinite(schedule_lr(&s, 7, 1, 3)));
    s = parsed("step?step_size=2&gamma=0.5");
    assert_true(schedule_lr(&s, 1, 1, 9) == 1 && schedule_lr(&s, 1, 4, 9) == 0.25);
}

static void test_warmup(void **state)
{
    (void)state;
    struct schedule s = parsed("cosine?warmup=4&warmup_factor=0.2");
    static const double first[] = {0.2, 0.4, 0.6, 0.8, 1};
    for (int t = 0; t < 5; t++)
        assert_near(schedule_lr(&s, 1, t, 24), first[t], 1e-15);
    assert_near(schedule_lr(&s, 1, 14, 24), 0.5, 1e-15); /* half of the 20 that are left */
    s = parsed("constant?warmup=3");
    assert_near(schedule_lr(&s, 3, 0, 9), 1, 1e-15);
    assert_true(schedule_lr(&s, 3, 3, 9) == 3 && schedule_lr(&s, 3, 8, 9) == 3);
    s = parsed("step?step_size=2&warmup=1&gamma=0.5");
    assert_true(schedule_lr(&s, 1, 2, 9) == 1 && schedule_lr(&s, 1, 3, 9) == 0.5);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"cosin", "unknown schedule 'cosin' (did you mean 'cosine'?)"},
        {"step", "step: step_size is needed"},
        {"step?step_size=0", "step_size=0 must be a whole number"},
        {"step?step_size=1.5", "step_size=1.5 must be a whole number"},
        {"step?step_size=5&gama=1", "no argument 'gama' (did you mean 'gamma'?)"},
        {"cosine?eta_min=-1", "eta_min=-1"},
        {"cosine?eta_min=nan", "eta_min=nan"},
        {"one_cycle?warmup=3", "no argument 'warmup'"},
        {"one_cycle?pct_start=1.5", "pct_start=1.5"},
        {"one_cycle?three_phase=yes", "three_phase=yes must be true or false"},
        {"one_cycle?anneal=sine", "anneal=sine must be linear or cos"},
        {"linear?start_factor=0", "start_factor=0"},
        {"cosine?per=step", "per=step must be update or epoch"},
        {"cosine?", "schedule"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schedule s;
        struct error err = ERROR_INIT;
        if (schedule_parse(&s, cases[i][0], &err))
            fail_msg("'%s' was accepted", cases[i][0]);
        assert_int_equal(err.class_, ERROR_USAGE);
        assert_contains(err.text, cases[i][1]);
        assert_contains(err.text, "schedule");
    }
    struct error err = ERROR_INIT;
    const struct schedule cycle = parsed("one_cycle"),
                          still = parsed("one_cycle?cycle_momentum=false");
    const struct optim_args none = {.lr = 1}, some = {.lr = 1, .momentum = 0.9};
    assert_false(schedule_check(&cycle, OPTIM_SGD, &none, &err));
    assert_contains(err.text, "cycle_momentum=false");
    assert_true(schedule_check(&cycle, OPTIM_SGD, &some, NULL));
    assert_true(schedule_check(&cycle, OPTIM_ADAM, &none, NULL));
    assert_true(schedule_check(&still, OPTIM_SGD, &none, NULL));
}

/* Both tensors of the file as one run of gradients, their norm and the clipped values. */
static void test_clipping(void **state)
{
    (void)state;
    json_t *file = golden("clipping.json");
    const double max_norm = json_number_value(json_object_get(file, "max_norm"));
    const json_t *scales = json_object_get(file, "gradient_scales");
    static const size_t counts[] = {10, 12};
    size_t i, step;
    json_t *variant, *want;
    json_array_foreach(json_object_get(file, "variants"), i, variant)
    {
        json_array_foreach(json_object_get(variant, "steps_f64"), step, want)
        {
            const double scale = json_number_value(json_array_get(scales, step));
            double squares = 0;
            float gradients[2][12];
            for (uint32_t t = 0; t < 2; t++)
                for (uint32_t j = 0; j < counts[t]; j++) {
                    const uint32_t word =
                        rng_u32_at(7, RNG_TEST, 2000 + 100 * t + (uint32_t)step, 0, 0, j);
                    gradients[t][j] = (float)((2 * (double)rng_unit(word) - 1) * scale);
                    squares += (double)gradients[t][j] * (double)gradients[t][j];
                }
            assert_near(sqrt(squares), json_number_value(json_object_get(want, "norm")), 1e-6);
            const float factor = optim_clip_factor(sqrt(squares), max_norm);
            assert_int_equal(factor<1, sqrt(squares)> max_norm);
            const json_t *clipped = json_object_get(want, "clipped_gradients");
            for (size_t t = 0; t < 2; t++)
                for (size_t j = 0; j < counts[t]; j++)
                    assert_near(gradients[t][j] * factor,
                                json_number_value(json_array_get(json_array_get(clipped, t), j)),
                                3e-7);
        }
    }
    assert_true(i > 0);
    assert_true(optim_clip_factor(1e9, 0) == 1.0f);
    assert_true(optim_clip_factor(0, 1) == 1.0f);
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),   cmocka_unit_test(test_defaults_and_totals),
        cmocka_unit_test(test_warmup),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_clipping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
