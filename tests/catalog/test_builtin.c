/* E01-E17 held against the reference's table, D01-D04 against the design: written out here a second
 * time, in another form, so that a slip in either shows. */
#include "helper_catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct expected {
    const char *id, *type, *model, *dataset, *task, *optimizer, *size;
    int64_t k;
    int batch, epochs;
    double lr, momentum;
    bool amp;
};

#define C "classification"
static const struct expected singles[] = {
    {"E01", "ensemble", "resnet18", "cifar10", C, "sgd", "medium", 3, 128, 10, 0.01, 0.9, true},
    {"E02", "ensemble", "resnet18", "cifar10", C, "sgd", "medium", 7, 128, 10, 0.01, 0.9, true},
    {"E03", "ensemble", "resnet50", "cifar100", C, "sgd", "large", 2, 64, 15, 0.01, 0.9, true},
    {"E04", "ensemble", "resnet50", "cifar100", C, "sgd", "large", 5, 64, 15, 0.01, 0.9, true},
    {"E05", "ensemble", "mlp", "cal_housing", "regression", "adam", "small", 5, 256, 20, 0.001, 0,
     false},
    {"E06", "ensemble", "mlp", "cal_housing", "regression", "adam", "small", 15, 256, 20, 0.001, 0,
     false},
    {"E07", "cv", "mobilenet_v3_small", "cifar10", C, "adamw", "small", 3, 256, 5, 0.001, 0, true},
    {"E08", "cv", "resnet18", "cifar100", C, "adamw", "medium", 3, 128, 5, 0.001, 0, true},
    {"E09", "cv", "mobilenet_v3_small", "cifar100", C, "adamw", "small", 5, 64, 8, 0.001, 0, true},
    {"E10", "cv", "resnet18", "cifar10", C, "adamw", "medium", 5, 32, 8, 0.001, 0, true},
    {"E11", "cv", "resnet50", "cifar100", C, "adamw", "large", 5, 16, 5, 0.001, 0, true},
    {"D01", "ensemble", "digits_cnn", "digits", C, "adamw", "small", 16, 64, 10, 0.002, 0, false},
    {"D02", "cv", "digits_cnn", "digits", C, "adamw", "small", 5, 32, 8, 0.002, 0, false},
};

static void check_net(const struct net_def *net, const struct expected *x)
{
    assert_string_equal(net->model, x->model);
    assert_string_equal(net->dataset, x->dataset);
    assert_string_equal(net->task, x->task);
    assert_string_equal(net->optimizer, x->optimizer);
    assert_int_equal(net->batch_size, x->batch);
    assert_int_equal(net->epochs, x->epochs);
    assert_true(net->optim.lr == x->lr);
    assert_true(net->optim.momentum == x->momentum);
    assert_int_equal(net->amp, x->amp);
}

static void test_order(void **state)
{
    (void)state;
    struct registry r;
    load_builtins_only(&r);
    assert_int_equal(r.n, 21);
    for (int i = 0; i < r.n; i++) {
        char id[16];
        snprintf(id, sizeof id, i < 17 ? "E%02d" : "D%02d", i < 17 ? i + 1 : i - 16);
        assert_string_equal(r.items[i]->id, id);
        assert_string_equal(r.items[i]->source, "built-in");
        assert_null(r.items[i]->overrides);
        assert_int_equal(r.items[i]->train_size, 0);
    }
    registry_release(&r);
}

static void test_singles(void **state)
{
    (void)state;
    struct registry r;
    load_builtins_only(&r);
    for (size_t i = 0; i < COUNT(singles); i++) {
        const struct expected *x = &singles[i];
        const struct experiment *e = registry_find(&r, x->id);
        assert_non_null(e);
        assert_string_equal(e->workload->name, x->type);
        assert_string_equal(e->size, x->size);
        assert_int_equal(e->k, x->k);
        assert_int_equal(e->workload->job_count(e), x->k);
        check_net(&e->net, x);
    }
    registry_release(&r);
}

static const struct {
    const char *id, *model, *dataset, *size;
    int64_t k;
    double lr[5];
    int batch[4];
    int epochs;
    bool amp;
} searches[] = {
    {"E12", "resnet18", "cifar10", "medium", 6, {1e-4, 3e-4, 1e-3}, {64, 128}, 5, true},
    {"E13", "resnet50", "cifar10", "large", 6, {1e-4, 3e-4, 1e-3}, {32, 64}, 5, true},
    {"E14", "simplecnn", "cifar10", "small", 8, {1e-4, 5e-4, 1e-3, 3e-3}, {32, 64}, 10, true},
    {"E15",
     "mobilenet_v3_small",
     "cifar100",
     "small",
     9,
     {1e-4, 3e-4, 1e-3},
     {32, 64, 128},
     10,
     true},
    {"D03", "digits_cnn", "digits", "small", 9, {3e-4, 1e-3, 3e-3}, {32, 64, 128}, 9, false},
};

/* Trials in order: the learning rate slowest, the batch size fastest. */
static void check_trials(size_t s, const struct job *jobs, int32_t n)
{
    int32_t i = 0;
    for (int l = 0; searches[s].lr[l] > 0; l++)
        for (int b = 0; b < 4 && searches[s].batch[b] > 0; b++, i++) {
            assert_true(i < n);
            assert_true(jobs[i].net.optim.lr == searches[s].lr[l]);
            assert_int_equal(jobs[i].net.batch_size, searches[s].batch[b]);
            assert_int_equal(jobs[i].net.epochs, searches[s].epochs);
            assert_string_equal(jobs[i].net.model, searches[s].model);
            assert_string_equal(jobs[i].net.dataset, searches[s].dataset);
            assert_string_equal(jobs[i].net.optimizer, "adamw");
            assert_int_equal(jobs[i].net.amp, searches[s].amp);
        }
    assert_int_equal(i, n);
}

static void test_searches(void **state)
{
    (void)state;
    struct registry r;
    struct error err = ERROR_INIT;
    load_builtins_only(&r);
    for (size_t s = 0; s < COUNT(searches); s++) {
        const struct experiment *e = registry_find(&r, searches[s].id);
        assert_string_equal(e->workload->name, "hpo");
        assert_string_equal(e->size, searches[s].size);
        assert_int_equal(e->n_axes, 3);
        assert_string_equal(e->axes[0].key, "lr");
        assert_string_equal(e->axes[1].key, "batch_size");
        assert_string_equal(e->axes[2].key, "epochs");
        assert_int_equal(e->workload->job_count(e), searches[s].k);
        struct job *jobs;
        int32_t n;
        assert_true(experiment_jobs(e, 42, 0, &jobs, &n, &err));
        assert_int_equal(n, searches[s].k);
        check_trials(s, jobs, n);
        jobs_free(jobs, n);
    }
    registry_release(&r);
}

static const struct expected mixed[] = {
    {"E16", "0", "lenet", "mnist", C, "sgd", "mixed", 3, 256, 20, 0.01, 0.9, true},
    {"E16", "1", "resnet18", "cifar10", C, "sgd", "mixed", 3, 128, 100, 0.001, 0.9, true},
    {"E16", "2", "resnet50", "cifar100", C, "sgd", "mixed", 3, 64, 120, 0.002, 0.9, true},
    {"E17", "0", "transformer", "wikitext", "language_modeling", "sgd", "mixed", 3, 10, 10, 5.0,
     0.9, true},
    {"E17", "1", "xlm_roberta", "sst2", C, "adam", "mixed", 3, 16, 5, 1e-5, 0, true},
    {"E17", "2", "vgg16_cbam", "imagenette", C, "sgd", "mixed", 3, 64, 10, 0.002, 0.9, true},
    {"D04", "0", "mlp", "digits", C, "adam", "small", 2, 64, 10, 0.001, 0, false},
    {"D04", "1", "digits_cnn", "digits", C, "adamw", "small", 2, 32, 8, 0.002, 0, false},
};

static void test_mixed(void **state)
{
    (void)state;
    struct registry r;
    load_builtins_only(&r);
    for (size_t i = 0; i < COUNT(mixed); i++) {
        const struct experiment *e = registry_find(&r, mixed[i].id);
        assert_string_equal(e->workload->name, "multi_model");
        assert_string_equal(e->size, mixed[i].size);
        assert_int_equal(e->n_models, mixed[i].k);
        check_net(&e->models[atoi(mixed[i].type)], &mixed[i]);
    }
    registry_release(&r);
}

static void test_states(void **state)
{
    (void)state;
    static const struct {
        const char *id, *state, *synthetic;
    } cases[] = {
        {"E01", "built", "built"},
        {"E05", "built", "built"},
        {"E14", "built", "built"},
        {"E16", "built", "built"},
        {"E17", "data set not built yet", "built"},
        {"D01", "built", "built"},
        {"D02", "built", "built"},
        {"D03", "built", "built"},
        {"D04", "built", "built"},
    };
    struct registry r;
    load_builtins_only(&r);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct experiment *e = registry_find(&r, cases[i].id);
        assert_string_equal(experiment_state(e, false), cases[i].state);
        assert_string_equal(experiment_state(e, true), cases[i].synthetic);
    }
    /* Synthetic content does for every experiment. */
    for (int i = 0; i < r.n; i++)
        assert_true(experiment_check(r.items[i], true, NULL));
    registry_release(&r);
}

static void test_not_built_is_named(void **state)
{
    (void)state;
    struct registry r;
    struct error err = ERROR_INIT;
    load_builtins_only(&r);
    assert_true(experiment_check(registry_find(&r, "D01"), false, &err));
    assert_true(experiment_check(registry_find(&r, "E06"), false, &err));
    assert_true(experiment_check(registry_find(&r, "E14"), false, &err));
    assert_false(experiment_check(registry_find(&r, "E17"), false, &err));
    assert_string_equal(err.text,
                        "E17: not built yet in this version of fugue: data set imagenette "
                        "(--data synthetic generates its shape, for speed only)");
    assert_int_equal(error_exit_code(&err), 2);
    assert_true(experiment_check(registry_find(&r, "E17"), true, &err));
    registry_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),    cmocka_unit_test(test_singles),
        cmocka_unit_test(test_searches), cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_states),   cmocka_unit_test(test_not_built_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
