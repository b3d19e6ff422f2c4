/* Options and their errors; update rules against PyTorch's numbers. */
#include "helper_nn.h"
#include "nn/optim_rule.h"

static void test_table(void **state)
{
    (void)state;
    for (int i = 0; i < OPTIM_COUNT; i++)
        assert_int_equal(optim_infos[i].kind, i);
    assert_ptr_equal(optim_find("SGD"), &optim_infos[OPTIM_SGD]);
    assert_ptr_equal(optim_find("AdamW"), &optim_infos[OPTIM_ADAMW]);
    assert_null(optim_find("adamax"));
    const struct optim_args *sgd = &optim_infos[OPTIM_SGD].defaults;
    assert_true(sgd->momentum == 0 && sgd->dampening == 0 && sgd->weight_decay == 0);
    assert_false(sgd->nesterov);
    const struct optim_args *adam = &optim_infos[OPTIM_ADAM].defaults;
    assert_true(adam->beta1 == 0.9 && adam->beta2 == 0.999 && adam->eps == 1e-8);
    assert_true(adam->weight_decay == 0 && !adam->amsgrad);
    assert_true(optim_infos[OPTIM_ADAMW].defaults.weight_decay == 0.01);
}

static void test_set(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    const struct optim_info *sgd = optim_find("sgd"), *adam = optim_find("adam");
    struct optim_args a = sgd->defaults;
    assert_true(optim_set(sgd, &a, "momentum", "0.9", &err));
    assert_true(optim_set(sgd, &a, "dampening", "0.25", &err));
    assert_true(optim_set(sgd, &a, "weight_decay", "5e-4", &err));
    assert_true(optim_set(sgd, &a, "nesterov", "True", &err));
    assert_true(a.momentum == 0.9 && a.dampening == 0.25 && a.weight_decay == 5e-4 && a.nesterov);
    assert_true(optim_set(sgd, &a, "nesterov", "false", &err));
    assert_false(a.nesterov);
    a = adam->defaults;
    assert_true(optim_set(adam, &a, "betas", "0.8,0", &err));
    assert_true(a.beta1 == 0.8 && a.beta2 == 0);
    assert_true(optim_set(adam, &a, "betas.1", "0.95", &err));
    assert_true(optim_set(adam, &a, "eps", "1e-6", &err));
    assert_true(optim_set(adam, &a, "amsgrad", "true", &err));
    assert_true(a.beta2 == 0.95 && a.eps == 1e-6 && a.amsgrad);
}

static void test_set_errors(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"sgd", "momentun", "0.9", "sgd has no option 'momentun' (did you mean 'momentum'?)"},
        {"sgd", "betas", "0.9,0.999", "sgd has no option 'betas'"},
        {"adam", "momentum", "0.9", "it takes eps, weight_decay, amsgrad, betas"},
        {"adam", "beta", "0.9,0.9", "did you mean 'betas'?"},
        {"sgd", "lr", "0.1", "the job's own lr"},
        {"sgd", "momentum", "", "momentum= must be a finite number"},
        {"sgd", "momentum", "0.9x", "momentum=0.9x must be a finite number, at least 0"},
        {"sgd", "momentum", "-0.1", "at least 0"},
        {"sgd", "momentum", "nan", "finite"},
        {"sgd", "momentum", "inf", "finite"},
        {"sgd", "dampening", "1.5", "at least 0 and at most 1"},
        {"sgd", "weight_decay", "-1", "at least 0"},
        {"sgd", "nesterov", "1", "must be true or false"},
        {"adam", "betas", "0.9", "must be two numbers"},
        {"adam", "betas", "0.9,0.99,0.999", "must be two numbers"},
        {"adam", "betas", "0.9,1", "betas.1=1 must be a number, at least 0 and below 1"},
        {"adamw", "betas", "x,0.9", "betas.0=x must be a number"},
        {"adam", "eps", "-1e-8", "eps=-1e-8 must be a finite number, at least 0"},
        {"adamw", "amsgrad", "yes", "must be true or false"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        const struct optim_info *info = optim_find(cases[i][0]);
        struct optim_args a = info->defaults;
        if (optim_set(info, &a, cases[i][1], cases[i][2], &err))
            fail_msg("%s %s=%s was accepted", cases[i][0], cases[i][1], cases[i][2]);
        assert_int_equal(err.class_, ERROR_USAGE);
        assert_contains(err.text, cases[i][3]);
        assert_true(a.beta1 == info->defaults.beta1 && a.momentum == info->defaults.momentum);
    }
}

static void check(const char *name, struct optim_args a, const char *part)
{
    struct error err = ERROR_INIT;
    const bool ok = optim_check(optim_find(name), &a, &err);
    if (ok != !part)
        fail_msg("%s: %s", name, ok ? "accepted" : err.text);
    if (part)
        assert_contains(err.text, part);
}

static void test_check(void **state)
{
    (void)state;
    const struct optim_args adam = optim_infos[OPTIM_ADAM].defaults;
    check("sgd", (struct optim_args){.lr = 0.1, .momentum = 0.9, .nesterov = true}, NULL);
    check("sgd", (struct optim_args){.lr = 0}, NULL);
    check("adam", adam, NULL);
    check("sgd", (struct optim_args){.lr = -0.1}, "lr=-0.1");
    check("sgd", (struct optim_args){.lr = NAN}, "lr=nan");
    check("adam", (struct optim_args){.lr = INFINITY}, "lr=inf");
    check("sgd", (struct optim_args){.lr = 1, .nesterov = true}, "nesterov needs a momentum");
    check("sgd", (struct optim_args){.lr = 1, .momentum = 0.9, .dampening = 0.1, .nesterov = true},
          "no dampening");
    check("sgd", (struct optim_args){.lr = 1, .momentum = NAN}, "momentum=nan");
    struct optim_args bad = adam;
    bad.beta2 = 1;
    check("adam", bad, "betas.1=1");
    bad = adam;
    bad.eps = -1;
    check("adamw", bad, "eps=-1");
}

static void test_slots(void **state)
{
    (void)state;
    assert_int_equal(optim_slots(OPTIM_SGD, &(struct optim_args){.lr = 1}), 0);
    assert_int_equal(optim_slots(OPTIM_SGD, &(struct optim_args){.momentum = 0.9}), 1);
    assert_int_equal(optim_slots(OPTIM_ADAM, &(struct optim_args){.momentum = 0.9}), 2);
    assert_int_equal(optim_slots(OPTIM_ADAMW, &(struct optim_args){.amsgrad = true}), 3);
    assert_string_equal(optim_slot_name(OPTIM_SGD, 0), "momentum_buffer");
    assert_null(optim_slot_name(OPTIM_SGD, 1));
    assert_string_equal(optim_slot_name(OPTIM_ADAM, 0), "exp_avg");
    assert_string_equal(optim_slot_name(OPTIM_ADAMW, 1), "exp_avg_sq");
    assert_string_equal(optim_slot_name(OPTIM_ADAMW, 2), "max_exp_avg_sq");
    assert_null(optim_slot_name(OPTIM_ADAM, 3));
    assert_null(optim_slot_name(OPTIM_ADAM, -1));
}

/* ---- rules ------------------------------------------------------------------------------------
 */

#define MAX_ELEMENTS 64
struct vectors {
    float p[MAX_ELEMENTS], slot[3][MAX_ELEMENTS];
};

static void update(struct vectors *v, const struct optim_info *info, const struct optim_args *args,
                   int64_t t, const json_t *gradient)
{
    const struct optim_step step = optim_step_prepare(info->kind, args, t);
    for (size_t i = 0; i < json_array_size(gradient); i++) {
        const float g = (float)json_number_value(json_array_get(gradient, i));
        if (info->kind == OPTIM_SGD)
            v->p[i] = optim_sgd(&step, v->p[i], g, &v->slot[0][i]);
        else
            v->p[i] = optim_adam(&step, v->p[i], g, &v->slot[0][i], &v->slot[1][i], &v->slot[2][i]);
    }
}

static struct optim_args args_of(const json_t *variant, const struct optim_info *info)
{
    struct optim_args a = info->defaults;
    const json_t *betas = json_object_get(variant, "betas");
    a.lr = json_number_value(json_object_get(variant, "lr"));
    a.weight_decay = json_number_value(json_object_get(variant, "weight_decay"));
    a.momentum = json_number_value(json_object_get(variant, "momentum"));
    a.dampening = json_number_value(json_object_get(variant, "dampening"));
    a.nesterov = json_is_true(json_object_get(variant, "nesterov"));
    a.amsgrad = json_is_true(json_object_get(variant, "amsgrad"));
    if (betas) {
        a.beta1 = json_number_value(json_array_get(betas, 0));
        a.beta2 = json_number_value(json_array_get(betas, 1));
        a.eps = json_number_value(json_object_get(variant, "eps"));
    }
    return a;
}

static void follow(const json_t *file, const json_t *variant)
{
    const char *name = json_string_value(json_object_get(variant, "name"));
    const struct optim_info *info =
        optim_find(json_string_value(json_object_get(variant, "optimiser")));
    const struct optim_args args = args_of(variant, info);
    const json_t *start = json_object_get(file, "start"),
                 *gradients = json_object_get(file, "gradients"),
                 *after = json_object_get(variant, "after");
    struct vectors v = {0};
    const size_t n = json_array_size(start), steps = json_array_size(gradients);
    assert_true(n > 0 && n <= MAX_ELEMENTS && steps > 0);
    assert_int_equal(json_array_size(after), steps);
    for (size_t i = 0; i < n; i++)
        v.p[i] = (float)json_number_value(json_array_get(start, i));
    for (size_t t = 0; t < steps; t++) {
        update(&v, info, &args, (int64_t)t + 1, json_array_get(gradients, t));
        for (size_t i = 0; i < n; i++) {
            const double want = json_number_value(json_array_get(json_array_get(after, t), i));
            /* A few units in the last place of float: PyTorch's vector code fuses some steps. */
            if (fabs((double)v.p[i] - want) > 3e-7 * fmax(1, fabs(want)))
                fail_msg("%s, step %zu, element %zu: %.9g, PyTorch has %.9g", name, t + 1, i,
                         (double)v.p[i], want);
        }
    }
}

static void test_rules(void **state)
{
    (void)state;
    json_t *file = golden("optimisers.json");
    const json_t *variants = json_object_get(file, "variants");
    assert_true(json_array_size(variants) >= 18);
    for (size_t i = 0; i < json_array_size(variants); i++)
        follow(file, json_array_get(variants, i));
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_set),
        cmocka_unit_test(test_set_errors), cmocka_unit_test(test_check),
        cmocka_unit_test(test_slots),      cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
