/* --set KEY=V */
#include "helper_catalog.h"

#include <stdlib.h>
#include <string.h>

static void set(struct experiment *e, const char *key, const char *value)
{
    struct error err = ERROR_INIT;
    if (!experiment_set(e, key, value, &err))
        fail_msg("%s", err.text);
}

static const char *refused(struct experiment *e, const char *key, const char *value)
{
    static struct error err;
    error_clear(&err);
    assert_false(experiment_set(e, key, value, &err));
    assert_int_equal(err.class_, ERROR_USAGE);
    return err.text;
}

static void test_values(void **state)
{
    (void)state;
    struct experiment *e = builtin_copy("D01");
    char before[17], after[17];
    experiment_hash(e, before);
    set(e, "epochs", "2");
    set(e, "k", "3");
    set(e, "batch_size", "16");
    set(e, "lr", "0.5");
    set(e, "amp", "true");
    set(e, "model", "mlp");
    set(e, "optimizer", "SGD");
    set(e, "momentum", "0.8");
    set(e, "nesterov", "True");
    set(e, "train_size", "100");
    assert_int_equal(e->net.epochs, 2);
    assert_int_equal(e->k, 3);
    assert_int_equal(e->net.batch_size, 16);
    assert_true(e->net.optim.lr == 0.5);
    assert_true(e->net.amp);
    assert_string_equal(e->net.model, "mlp");
    assert_string_equal(e->net.optimizer, "sgd");
    assert_true(e->net.optim.momentum == 0.8);
    assert_true(e->net.optim.nesterov);
    assert_true(e->net.optim.weight_decay == 0); /* sgd's own default */
    assert_int_equal(e->train_size, 100);
    assert_string_equal(e->overrides,
                        "epochs=2,k=3,batch_size=16,lr=0.5,amp=true,model=mlp,optimizer=SGD,"
                        "momentum=0.8,nesterov=True,train_size=100");
    experiment_hash(e, after);
    assert_string_not_equal(before, after);

    /* What a cell is sent comes back whole. */
    struct error err = ERROR_INIT;
    json_t *def = experiment_to_json(e);
    struct experiment *back = experiment_from_json("D01", def, "built-in", "D01", &err);
    assert_non_null(back);
    assert_int_equal(back->train_size, 100);
    assert_string_equal(back->overrides, e->overrides);
    json_decref(def);
    experiment_free(back);

    struct job *jobs;
    int32_t n;
    assert_true(experiment_jobs(e, 42, 0, &jobs, &n, &err));
    assert_int_equal(n, 3);
    assert_int_equal(jobs[2].train_size, 100);
    jobs_free(jobs, n);
    experiment_free(e);
}

static void test_betas(void **state)
{
    (void)state;
    struct experiment *e = builtin_copy("D01");
    set(e, "betas", "0.8,0.95");
    assert_true(e->net.optim.beta1 == 0.8 && e->net.optim.beta2 == 0.95);
    assert_contains(refused(e, "optimizer", "adam"), "set optimizer before its option betas");
    experiment_free(e);
}

static void test_another_optimizer(void **state)
{
    (void)state;
    struct experiment *e = builtin_copy("E01"); /* sgd, momentum 0.9, which adam has no use for */
    set(e, "optimizer", "adam");
    assert_string_equal(e->net.optimizer, "adam");
    assert_true(e->net.optim.beta2 == 0.999);
    assert_true(e->net.optim.lr == 0.01);
    assert_contains(refused(e, "momentum", "0.5"), "adam has no option 'momentum'");
    experiment_free(e);
}

static void test_task_follows_data_set(void **state)
{
    (void)state;
    struct experiment *e = builtin_copy("E05");
    set(e, "dataset", "digits");
    assert_string_equal(e->net.task, "classification");
    experiment_free(e);
    e = builtin_copy("E05");
    set(e, "task", "regression");
    assert_string_equal(e->net.task, "regression");
    experiment_free(e);
}

static void test_search(void **state)
{
    (void)state;
    struct experiment *e = builtin_copy("D03");
    set(e, "batch_size", "100");
    assert_int_equal(e->workload->job_count(e), 3);
    set(e, "epochs", "1");
    set(e, "weight_decay", "0.5");
    struct job *jobs;
    int32_t n;
    struct error err = ERROR_INIT;
    assert_true(experiment_jobs(e, 0, 0, &jobs, &n, &err));
    assert_int_equal(n, 3);
    for (int32_t i = 0; i < n; i++) {
        assert_int_equal(jobs[i].net.batch_size, 100);
        assert_int_equal(jobs[i].net.epochs, 1);
        assert_true(jobs[i].net.optim.weight_decay == 0.5);
    }
    jobs_free(jobs, n);
    assert_contains(refused(e, "k", "3"), "k of a hpo is its number of combinations");
    experiment_free(e);
}

static void test_every_entry(void **state)
{
    (void)state;
    struct experiment *e = builtin_copy("D04");
    set(e, "epochs", "1");
    assert_int_equal(e->models[0].epochs, 1);
    assert_int_equal(e->models[1].epochs, 1);
    assert_contains(refused(e, "k", "3"), "number of models");
    assert_contains(refused(e, "momentum", "0.9"), "models[0]: adam has no option 'momentum'");
    experiment_free(e);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"epochs", "0", "epochs must be a whole number from 1 to 1000000, not 0"},
        {"epochs", "2.5", "epochs must be a whole number, not '2.5'"},
        {"epochs", "", "epochs must be a whole number, not ''"},
        {"batch_size", "-1", "batch_size must be a whole number"},
        {"lr", "nan", "lr must be a finite number, at least 0, not 'nan'"},
        {"lr", "-1", "lr must be a finite number, at least 0, not -1"},
        {"amp", "1", "amp must be true or false, not '1'"},
        {"model", "", "model must be a name"},
        {"optimizer", "lion", "unknown optimizer 'lion'"},
        {"optimizer_kwargs", "{}", "cannot be given as text"},
        {"betas", "0.9", "betas must be two numbers"},
        {"eps", "tiny", "eps must be a number, not 'tiny'"},
        {"amsgrad", "yes", "amsgrad must be true or false"},
        {"momentum", "0.9", "adamw has no option 'momentum'"},
        {"weight_decay", "-1", "at least 0"},
        {"k", "0", "k must be a whole number from 1 to 100000, not '0'"},
        {"k", "many", "k must be a whole number"},
        {"train_size", "0", "train_size must be a whole number, at least 1"},
        {"epoch", "3", "an experiment has no 'epoch' to set (did you mean 'epochs'?)"},
        {"folds", "3", "an experiment has no 'folds' to set"},
    };
    struct experiment *e = builtin_copy("D01");
    char before[17], after[17];
    experiment_hash(e, before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = refused(e, cases[i][0], cases[i][1]);
        assert_contains(text, cases[i][2]);
        assert_contains(text, "--set ");
    }
    experiment_hash(e, after);
    assert_string_equal(before, after); /* a refused value changes nothing */
    assert_null(e->overrides);
    set(e, "lr", "0.1");
    assert_contains(refused(e, "lr", "0.2"), "lr is set twice");
    experiment_free(e);
    e = builtin_copy("D02");
    assert_contains(refused(e, "k", "1"), "folds must be at least 2");
    assert_int_equal(e->k, 5);
    experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_betas),
        cmocka_unit_test(test_another_optimizer),
        cmocka_unit_test(test_task_follows_data_set),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_every_entry),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
