/* Expansion: ids, seeds, splits, what each job trains with; jobs as messages. */
#include "helper_catalog.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

struct list {
    struct experiment *e;
    struct job *jobs;
    int32_t n;
};

static void expand(struct list *l, struct experiment *e, uint64_t seed, uint64_t split_seed)
{
    struct error err = ERROR_INIT;
    l->e = e;
    if (!experiment_jobs(e, seed, split_seed, &l->jobs, &l->n, &err))
        fail_msg("%s", err.text);
    for (int32_t i = 0; i < l->n; i++) {
        assert_string_equal(l->jobs[i].exp_id, e->id);
        assert_int_equal(l->jobs[i].index, i);
        assert_true(l->jobs[i].seed == seed + (uint64_t)i);
    }
}

static void list_release(struct list *l)
{
    jobs_free(l->jobs, l->n);
    experiment_free(l->e);
}

static void test_ensemble(void **state)
{
    (void)state;
    struct list l;
    expand(&l, builtin_copy("E05"), 42, 7);
    assert_int_equal(l.n, 5);
    assert_string_equal(l.jobs[0].job_id, "E05_ens_s0");
    assert_string_equal(l.jobs[4].job_id, "E05_ens_s4");
    for (int32_t i = 0; i < l.n; i++) {
        assert_int_equal(l.jobs[i].split.kind, SPLIT_FIXED);
        assert_false(l.jobs[i].eval_each_epoch);
        assert_string_equal(l.jobs[i].net.model, "mlp");
        assert_int_equal(l.jobs[i].net.epochs, 20);
    }
    list_release(&l);
}

static void test_cv(void **state)
{
    (void)state;
    struct list l;
    expand(&l, builtin_copy("D02"), 1, 9);
    assert_int_equal(l.n, 5);
    assert_string_equal(l.jobs[3].job_id, "D02_fold3");
    for (int32_t i = 0; i < l.n; i++) {
        assert_int_equal(l.jobs[i].split.kind, SPLIT_KFOLD);
        assert_int_equal(l.jobs[i].split.split_id, i);
        assert_int_equal(l.jobs[i].split.k, 5);
        assert_true(l.jobs[i].split.seed == 9);
        assert_false(l.jobs[i].eval_each_epoch);
    }
    list_release(&l);
}

static void test_hpo(void **state)
{
    (void)state;
    struct list l;
    expand(&l, builtin_copy("D03"), 42, 3);
    assert_int_equal(l.n, 9);
    assert_string_equal(l.jobs[0].job_id, "D03_t0");
    assert_string_equal(l.jobs[8].job_id, "D03_t8");
    assert_int_equal(l.jobs[1].net.batch_size, 64); /* last of the keys that vary is fastest */
    assert_true(l.jobs[1].net.optim.lr == 0.0003);
    assert_true(l.jobs[3].net.optim.lr == 0.001);
    for (int32_t i = 0; i < l.n; i++) {
        assert_int_equal(l.jobs[i].split.kind, SPLIT_HOLDOUT);
        assert_int_equal(l.jobs[i].split.split_id, i);
        assert_true(l.jobs[i].split.fraction == 0.2);
        assert_true(l.jobs[i].split.seed == 3);
        assert_true(l.jobs[i].eval_each_epoch);
    }
    assert_true(l.e->workload->uses_trial_scheduler);
    list_release(&l);
}

/* Optimisers and their options may be searched over, in any order of the keys. */
static void test_hpo_options(void **state)
{
    (void)state;
    struct list l;
    expand(&l,
           experiment_of("X",
                         "{\"type\":\"hpo\",\"model\":\"mlp\",\"dataset\":\"digits\",\"epochs\":"
                         "2,\"batch_size\":8,\"lr\":1,\"search_space\":{\"weight_decay\":[0,"
                         "0.1],\"amp\":[false,true],\"optimizer\":[\"sgd\",\"adam\"]}}"),
           0, 0);
    assert_int_equal(l.n, 8);
    for (int32_t i = 0; i < 8; i++) {
        assert_string_equal(l.jobs[i].net.optimizer, i % 2 ? "adam" : "sgd");
        assert_int_equal(l.jobs[i].net.amp, i / 2 % 2);
        assert_true(l.jobs[i].net.optim.weight_decay == (i < 4 ? 0 : 0.1));
        assert_true(l.jobs[i].net.optim.beta1 == (i % 2 ? 0.9 : 0));
        assert_true(l.jobs[i].net.optim.lr == 1);
    }
    list_release(&l);

    expand(&l,
           experiment_of("X",
                         "{\"type\":\"hpo\",\"model\":\"mlp\",\"dataset\":\"digits\",\"epochs\":"
                         "2,\"batch_size\":8,\"lr\":1,\"optimizer\":\"sgd\",\"search_space\":"
                         "{\"optimizer_kwargs\":[{},{\"momentum\":0.9}],\"task\":"
                         "[\"classification\"]}}"),
           0, 0);
    assert_int_equal(l.n, 2);
    assert_true(l.jobs[0].net.optim.momentum == 0);
    assert_true(l.jobs[1].net.optim.momentum == 0.9);
    list_release(&l);
}

static void test_multi_model(void **state)
{
    (void)state;
    struct list l;
    expand(&l, builtin_copy("D04"), 5, 0);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.jobs[0].job_id, "D04_m0_mlp");
    assert_string_equal(l.jobs[1].job_id, "D04_m1_digits_cnn");
    assert_string_equal(l.jobs[0].net.optimizer, "adam");
    assert_int_equal(l.jobs[1].net.batch_size, 32);
    assert_int_equal(l.jobs[0].split.kind, SPLIT_FIXED);
    list_release(&l);

    expand(&l,
           experiment_of("X", "{\"type\":\"multi_model\",\"epochs\":2,\"batch_size\":8,\"lr\":1,"
                              "\"models\":[{\"name\":\"mlp?hidden=9\",\"dataset\":\"digits\"}]}"),
           0, 0);
    assert_string_equal(l.jobs[0].job_id, "X_m0_mlp");
    assert_string_equal(l.jobs[0].net.model, "mlp?hidden=9");
    list_release(&l);
}

static void test_table(void **state)
{
    (void)state;
    static const char *const names[] = {"ensemble", "cv", "multi_model", "hpo"};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(workload_table[i]->name, names[i]);
        assert_ptr_equal(workload_find(names[i]), workload_table[i]);
        assert_true(strlen(workload_table[i]->summary) > 0);
        assert_int_equal(workload_table[i]->uses_trial_scheduler, i == 3);
    }
    assert_null(workload_table[4]);
    assert_null(workload_find("Ensemble"));
}

static void test_message(void **state)
{
    (void)state;
    static const char *const ids[] = {"E01", "E05", "E17", "D01", "D02", "D03", "D04"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct list l;
        struct error err = ERROR_INIT;
        expand(&l, builtin_copy(ids[i]), UINT64_MAX - 1, UINT64_MAX); /* seeds wrap, and travel */
        for (int32_t k = 0; k < l.n; k++) {
            struct job back;
            json_t *msg = job_to_json(&l.jobs[k]);
            char *line = json_line(msg);
            json_t *read = json_read_text(line, strlen(line), "line", &err);
            if (!job_from_json(read, &back, &err))
                fail_msg("%s", err.text);
            json_t *again = job_to_json(&back);
            assert_true(json_equal(msg, again));
            assert_true(back.seed == l.jobs[k].seed);
            assert_true(back.split.seed == l.jobs[k].split.seed);
            assert_string_equal(back.job_id, l.jobs[k].job_id);
            assert_true(back.net.optim.lr == l.jobs[k].net.optim.lr);
            json_decref(msg);
            json_decref(read);
            json_decref(again);
            free(line);
            job_release(&back);
        }
        list_release(&l);
    }
}

/* Each member missing, and each of the wrong type, is an error; nothing crashes or leaks. */
static void test_broken_messages(void **state)
{
    (void)state;
    struct list l;
    expand(&l, builtin_copy("D02"), 42, 0);
    json_t *msg = job_to_json(&l.jobs[1]);
    const char *key;
    json_t *value;
    json_object_foreach(msg, key, value)
    {
        struct job out;
        struct error err = ERROR_INIT;
        json_t *broken = json_deep_copy(msg);
        json_object_set_new(broken, key, json_pack("[i]", 1));
        assert_false(job_from_json(broken, &out, &err));
        assert_true(strlen(err.text) > 0);
        /* optimizer, its options, task and amp have defaults */
        static const char *const optional[] = {"optimizer", "optimizer_kwargs", "task", "amp"};
        bool has_default = false;
        for (int i = 0; i < 4; i++)
            has_default = has_default || strcmp(key, optional[i]) == 0;
        json_object_del(broken, key);
        const bool ok = job_from_json(broken, &out, &err);
        assert_int_equal(ok, has_default);
        if (ok)
            job_release(&out);
        json_decref(broken);
    }
    struct job out;
    struct error err = ERROR_INIT;
    json_object_set_new(json_object_get(msg, "split"), "kind", json_string("loo"));
    assert_false(job_from_json(msg, &out, &err));
    assert_contains(err.text, "unknown kind of split 'loo'");
    json_object_set_new(msg, "index", json_integer(-1));
    assert_false(job_from_json(msg, &out, &err));
    assert_contains(err.text, "index=-1 is out of range");
    assert_false(job_from_json(NULL, &out, &err));
    json_decref(msg);
    list_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ensemble),    cmocka_unit_test(test_cv),
        cmocka_unit_test(test_hpo),         cmocka_unit_test(test_hpo_options),
        cmocka_unit_test(test_multi_model), cmocka_unit_test(test_table),
        cmocka_unit_test(test_message),     cmocka_unit_test(test_broken_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
