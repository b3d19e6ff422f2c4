/* Reading definitions: every field, every error. */
#include "helper_catalog.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a)       (sizeof(a) / sizeof *(a))
#define BASE           "\"dataset\":\"digits\",\"model\":\"mlp\",\"batch_size\":64,\"epochs\":3,\"lr\":0.01"
#define ENSEMBLE(more) "{\"type\":\"ensemble\"," BASE ",\"committee_size\":4" more "}"
#define HPO(space)     "{\"type\":\"hpo\"," BASE ",\"search_space\":" space "}"
#define MULTI(models)  "{\"type\":\"multi_model\",\"models\":" models "}"
#define ENTRY          "\"name\":\"mlp\",\"dataset\":\"digits\",\"batch_size\":8,\"epochs\":2,\"lr\":1"

static void test_defaults(void **state)
{
    (void)state;
    struct experiment *e = experiment_of("X", ENSEMBLE(""));
    assert_string_equal(e->id, "X");
    assert_string_equal(e->source, "ad-hoc");
    assert_string_equal(e->workload->name, "ensemble");
    assert_int_equal(e->k, 4);
    assert_string_equal(e->net.optimizer, "adamw");
    assert_true(e->net.optim.weight_decay == 0.01);
    assert_true(e->net.optim.beta2 == 0.999);
    assert_string_equal(e->net.task, "classification");
    assert_false(e->net.amp);
    assert_null(e->size);
    assert_null(e->notes);
    experiment_free(e);
    experiment_free(NULL);
}

static void test_task_is_the_data_sets(void **state)
{
    (void)state;
    struct experiment *e =
        experiment_of("X", "{\"type\":\"cv\",\"folds\":2,\"dataset\":\"cal_housing\",\"model\":"
                           "\"mlp\",\"batch_size\":64,\"epochs\":3,\"lr\":0.01}");
    assert_string_equal(e->net.task, "regression");
    experiment_free(e);
}

static void test_all_fields(void **state)
{
    (void)state;
    struct experiment *e = experiment_of(
        "X", ENSEMBLE(",\"optimizer\":\"SGD\",\"optimizer_kwargs\":{\"momentum\":0.9,\"nesterov\":"
                      "true,\"weight_decay\":0.001},\"task\":\"regression\",\"amp\":true,\"size\":"
                      "\"small\",\"notes\":\"for the record\""));
    assert_string_equal(e->net.optimizer, "sgd");
    assert_true(e->net.optim.momentum == 0.9);
    assert_true(e->net.optim.weight_decay == 0.001);
    assert_true(e->net.optim.nesterov);
    assert_true(e->net.optim.lr == 0.01);
    assert_string_equal(e->net.task, "regression");
    assert_true(e->net.amp);
    assert_string_equal(e->size, "small");
    assert_string_equal(e->notes, "for the record");
    char *options = net_options_text(&e->net);
    assert_string_equal(options, "momentum=0.9 weight_decay=0.001 nesterov");
    free(options);
    experiment_free(e);

    e = experiment_of("X", ENSEMBLE(",\"optimizer\":\"adam\",\"optimizer_kwargs\":{\"betas\":[0.8,"
                                    "0.99],\"eps\":1e-6,\"amsgrad\":true}"));
    assert_true(e->net.optim.beta1 == 0.8 && e->net.optim.beta2 == 0.99);
    assert_true(e->net.optim.eps == 1e-6);
    assert_true(e->net.optim.amsgrad);
    options = net_options_text(&e->net);
    assert_string_equal(options, "betas=0.8,0.99 eps=1e-06 amsgrad");
    free(options);
    experiment_free(e);
    e = experiment_of("X", ENSEMBLE(",\"optimizer\":\"adam\",\"optimizer_kwargs\":{\"betas\":[0.9,"
                                    "0.99]}"));
    options = net_options_text(&e->net);
    assert_string_equal(options, "betas=0.9,0.99"); /* the pair, where one of it is changed */
    free(options);
    experiment_free(e);
}

static void test_entries_inherit(void **state)
{
    (void)state;
    struct experiment *e = experiment_of(
        "X", "{\"type\":\"multi_model\",\"batch_size\":8,\"epochs\":2,\"lr\":0.5,\"optimizer\":"
             "\"sgd\",\"optimizer_kwargs\":{\"momentum\":0.9},\"amp\":true,\"models\":[{\"name\":"
             "\"mlp\",\"dataset\":\"digits\"},{\"name\":\"lenet\",\"dataset\":\"mnist\",\"lr\":0,"
             "\"epochs\":7,\"amp\":false,\"optimizer_kwargs\":{}}]}");
    assert_int_equal(e->n_models, 2);
    assert_int_equal(e->workload->job_count(e), 2);
    assert_true(e->models[0].optim.momentum == 0.9 && e->models[0].optim.lr == 0.5);
    assert_true(e->models[0].amp);
    assert_int_equal(e->models[0].epochs, 2);
    assert_true(e->models[1].optim.momentum == 0 && e->models[1].optim.lr == 0);
    assert_false(e->models[1].amp);
    assert_int_equal(e->models[1].epochs, 7);
    assert_int_equal(e->models[1].batch_size, 8);
    experiment_free(e);
}

static const struct {
    const char *json, *error;
} errors[] = {
    {"3", "here: a definition is an object"},
    {"{}", "here: type is missing"},
    {"{\"type\":3}", "type must be ensemble, cv, multi_model or hpo"},
    {"{\"type\":\"ensembel\"}", "unknown type 'ensembel' (did you mean 'ensemble'?)"},
    {"{\"type\":\"ensemble\"," BASE "}", "committee_size is missing: type ensemble needs it"},
    {"{\"type\":\"cv\"," BASE "}", "folds is missing"},
    {"{\"type\":\"hpo\"," BASE "}", "search_space is missing"},
    {"{\"type\":\"multi_model\"}", "models is missing"},
    {"{\"type\":\"ensemble\"," BASE ",\"committee_size\":0}",
     "committee_size must be a whole number from 1 to 100000, not 0"},
    {"{\"type\":\"ensemble\"," BASE ",\"committee_size\":2.5}", "not 2.5"},
    {"{\"type\":\"ensemble\"," BASE ",\"committee_size\":100001}", "not 100001"},
    {"{\"type\":\"cv\"," BASE ",\"folds\":1}", "folds must be at least 2, not 1"},
    {ENSEMBLE(",\"folds\":3"), "'folds' belongs to type cv, not to ensemble"},
    {ENSEMBLE(",\"epocs\":3"), "unknown key 'epocs' (did you mean 'epochs'?)"},
    {ENSEMBLE(",\"momentum\":0.9"), "an optimizer's option stands in optimizer_kwargs"},
    {ENSEMBLE(",\"scheduler\":\"fifo\""), "'scheduler' has no effect"},
    {ENSEMBLE(",\"train_size\":10"), "unknown key 'train_size'"},
    {ENSEMBLE(",\"overrides\":\"k=2\""), "unknown key 'overrides'"},
    {ENSEMBLE(",\"size\":3"), "size must be a text"},
    {ENSEMBLE(",\"notes\":[]"), "notes must be a text"},
    {ENSEMBLE(",\"amp\":\"yes\""), "amp must be true or false, not \"yes\""},
    {ENSEMBLE(",\"task\":7"), "task must be a name, not 7"},
    {ENSEMBLE(",\"optimizer\":1"), "optimizer must be the name of an optimizer, not 1"},
    {ENSEMBLE(",\"optimizer\":\"adan\""), "unknown optimizer 'adan' (did you mean 'adam'?)"},
    {ENSEMBLE(",\"optimizer_kwargs\":[1]"), "optimizer_kwargs must be an object of options"},
    {ENSEMBLE(",\"optimizer_kwargs\":{\"momentum\":0.9}"), "adamw has no option 'momentum'"},
    {ENSEMBLE(",\"optimizer_kwargs\":{\"eps\":\"small\"}"), "adamw: eps must be a number"},
    {ENSEMBLE(",\"optimizer_kwargs\":{\"amsgrad\":1}"), "adamw: amsgrad must be true or false"},
    {ENSEMBLE(",\"optimizer_kwargs\":{\"betas\":0.9}"), "betas must be a list of two numbers"},
    {ENSEMBLE(",\"optimizer_kwargs\":{\"betas\":[0.9,1]}"), "below 1"},
    {ENSEMBLE(",\"optimizer_kwargs\":{\"weight_decay\":-1}"), "at least 0"},
    {ENSEMBLE(",\"optimizer\":\"sgd\",\"optimizer_kwargs\":{\"nesterov\":true}"),
     "nesterov needs a momentum above 0"},
    {"{\"type\":\"ensemble\",\"committee_size\":2}", "model is missing"},
    {"{\"type\":\"ensemble\",\"committee_size\":2,\"model\":\"mlp\"}", "dataset is missing"},
    {"{\"type\":\"ensemble\",\"committee_size\":2,\"model\":\"\",\"dataset\":\"digits\"}",
     "model must be a name, not \"\""},
    {"{\"type\":\"ensemble\",\"committee_size\":2,\"model\":\"mlp\",\"dataset\":\"digits\"}",
     "batch_size is missing: add it (a whole number)"},
    {"{\"type\":\"cv\",\"folds\":2,\"model\":\"mlp\",\"dataset\":\"digits\",\"batch_size\":0}",
     "batch_size must be a whole number from 1 to 1048576, not 0"},
    {"{\"type\":\"cv\",\"folds\":2,\"model\":\"mlp\",\"dataset\":\"digits\",\"batch_size\":8,"
     "\"epochs\":-2}",
     "epochs must be a whole number from 1 to 1000000, not -2"},
    {"{\"type\":\"cv\",\"folds\":2,\"model\":\"mlp\",\"dataset\":\"digits\",\"batch_size\":8,"
     "\"epochs\":1,\"lr\":-0.1}",
     "lr must be a finite number, at least 0, not -0.1"},
    {"{\"type\":\"cv\",\"folds\":2,\"model\":\"mlp\",\"dataset\":\"digits\",\"batch_size\":8,"
     "\"epochs\":1,\"lr\":\"nan\"}",
     "lr must be a finite number, at least 0, not \"nan\""},
    {HPO("[]"), "search_space must be an object of lists"},
    {HPO("{}"), "search_space must be an object of lists"},
    {HPO("{\"lr\":0.1}"), "search_space: lr must be a list of at least one value"},
    {HPO("{\"lr\":[]}"), "search_space: lr must be a list of at least one value"},
    {HPO("{\"lrr\":[1]}"), "a job has no 'lrr' to search over (did you mean 'lr'?)"},
    {HPO("{\"model\":[\"mlp\"]}"), "a job has no 'model' to search over"},
    {HPO("{\"lr\":[0.1,-1]}"), "search_space, trial 1: lr must be a finite number"},
    {HPO("{\"epochs\":[1,0]}"), "search_space, trial 1: epochs must be a whole number"},
    {HPO("{\"momentum\":[0.5]}"), "search_space, trial 0: adamw has no option 'momentum'"},
    {HPO("{\"optimizer\":[\"sgd\",\"x\"]}"), "search_space, trial 1: unknown optimizer 'x'"},
    {MULTI("[]"), "models must be a list of 1 to 100000 objects"},
    {MULTI("{}"), "models must be a list of 1 to 100000 objects"},
    {MULTI("[3]"), "models[0]: an object with name and dataset was expected"},
    {MULTI("[{" ENTRY "},{\"name\":\"mlp\"}]"), "models[1]: dataset is missing"},
    {MULTI("[{\"dataset\":\"digits\"}]"), "models[0]: name is missing"},
    {MULTI("[{" ENTRY ",\"priority\":1}]"), "models[0]: 'priority' has no effect"},
    {MULTI("[{" ENTRY ",\"folds\":1}]"), "models[0]: unknown key 'folds'"},
    {MULTI("[{" ENTRY ",\"task\":\"\"}]"), "models[0]: task must be a name"},
    {"{\"type\":\"multi_model\",\"model\":\"mlp\",\"models\":[]}",
     "'model' of a multi_model experiment stands in each entry of 'models'"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(errors); i++)
        assert_contains(definition_error(errors[i].json), errors[i].error);
}

static void test_ids(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "1 to 64 bytes"},
        {"all", "selects every experiment"},
        {"ALL", "selects every experiment"},
        {"a,b", "comma, colon"},
        {"a:b", "comma, colon"},
        {"a/b", "comma, colon"},
        {"a b", "comma, colon"},
        {"a\tb", "comma, colon"},
        {"a\x01", "comma, colon"},
        {"--x", "read as an option"},
        {"12345678901234567890123456789012345678901234567890123456789012345", "1 to 64 bytes"},
    };
    json_t *def = json_loads(ENSEMBLE(""), 0, NULL);
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct error err = ERROR_INIT;
        assert_null(experiment_from_json(bad[i][0], def, "ad-hoc", NULL, &err));
        assert_contains(err.text, bad[i][1]);
    }
    json_decref(def);
}

static void test_grid_limit(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    json_t *def = json_loads(HPO("{}"), 0, NULL), *space = json_object_get(def, "search_space");
    const char *const keys[] = {"lr", "batch_size", "epochs"};
    for (int k = 0; k < 3; k++) {
        json_t *values = json_array();
        for (int i = 1; i <= 50; i++)
            json_array_append_new(values, json_integer(i));
        json_object_set_new(space, keys[k], values);
    }
    assert_null(experiment_from_json("X", def, "ad-hoc", "X", &err));
    assert_contains(err.text, "the grid has more than 100000 trials");
    json_decref(def);
}

/* Written back and read again, an experiment is the same; so is its copy. */
static void test_round_trip(void **state)
{
    (void)state;
    struct registry r;
    struct error err = ERROR_INIT;
    load_builtins_only(&r);
    for (int32_t i = 0; i < r.n; i++) {
        const struct experiment *e = r.items[i];
        json_t *def = experiment_to_json(e);
        struct experiment *again = experiment_from_json(e->id, def, "built-in", e->id, &err);
        struct experiment *copy = experiment_copy(e);
        assert_non_null(again);
        json_t *def2 = experiment_to_json(again), *def3 = experiment_to_json(copy);
        assert_true(json_equal(def, def2));
        assert_true(json_equal(def, def3));
        assert_string_equal(again->source, "built-in");
        char h1[17], h2[17];
        experiment_hash(e, h1);
        experiment_hash(again, h2);
        assert_string_equal(h1, h2);
        assert_int_equal(strlen(h1), 16);
        json_decref(def);
        json_decref(def2);
        json_decref(def3);
        experiment_free(again);
        experiment_free(copy);
    }
    registry_release(&r);
}

static void test_written_fields(void **state)
{
    (void)state;
    struct experiment *e = builtin_copy("E01");
    json_t *def = experiment_to_json(e);
    char *line = json_line(def);
    assert_string_equal(
        line,
        "{\"type\":\"ensemble\",\"model\":\"resnet18\",\"dataset\":\"cifar10\",\"batch_size\":128,"
        "\"epochs\":10,\"lr\":0.01,\"optimizer\":\"sgd\",\"optimizer_kwargs\":{\"momentum\":"
        "0.90000000000000002,\"dampening\":0.0,\"weight_decay\":0.0,\"nesterov\":false},\"task\":"
        "\"classification\",\"amp\":true,\"committee_size\":3,\"size\":\"medium\"}");
    assert_true(kwarg(def, "momentum") == 0.9);
    free(line);
    json_decref(def);
    experiment_free(e);

    e = builtin_copy("D03");
    def = experiment_to_json(e);
    assert_null(json_object_get(def, "lr")); /* the axis says it */
    assert_null(json_object_get(def, "epochs"));
    line = json_line(json_object_get(def, "search_space"));
    assert_contains(line, "\"batch_size\":[32,64,128],\"epochs\":[9]}");
    free(line);
    json_decref(def);
    experiment_free(e);
}

/* Rows name a definition by this hash: a change here would cut every result off from its
 * experiment, so it may only change with the definition. */
static void test_hash_is_stable(void **state)
{
    (void)state;
    static const char *const known[][2] = {{"D01", "fb916b620386d610"},
                                           {"D02", "3ad368b39e2b5ad7"},
                                           {"D03", "461b7e060395e30e"},
                                           {"D04", "7c62e429de3ac3d8"},
                                           {"E05", "fd8535866a08d6d9"}};
    char hash[17], other[17];
    for (size_t i = 0; i < COUNT(known); i++) {
        struct experiment *e = builtin_copy(known[i][0]);
        experiment_hash(e, hash);
        assert_string_equal(hash, known[i][1]);
        experiment_free(e);
    }
    /* Labels and the id do not matter, whatever trains does. */
    struct experiment *a = experiment_of("A", ENSEMBLE(",\"notes\":\"x\",\"size\":\"s\""));
    struct experiment *b = experiment_of("B", ENSEMBLE(""));
    struct experiment *c = experiment_of("B", ENSEMBLE(",\"amp\":true"));
    experiment_hash(a, hash);
    experiment_hash(b, other);
    assert_string_equal(hash, other);
    experiment_hash(c, other);
    assert_string_not_equal(hash, other);
    experiment_free(a);
    experiment_free(b);
    experiment_free(c);
    /* 1 and 1.0 are the same rate. */
    a = experiment_of("A", HPO("{\"lr\":[1,2]}"));
    b = experiment_of("A", HPO("{\"lr\":[1.0,2.0]}"));
    experiment_hash(a, hash);
    experiment_hash(b, other);
    assert_string_equal(hash, other);
    experiment_free(a);
    experiment_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_task_is_the_data_sets),
        cmocka_unit_test(test_all_fields),     cmocka_unit_test(test_entries_inherit),
        cmocka_unit_test(test_errors),         cmocka_unit_test(test_ids),
        cmocka_unit_test(test_grid_limit),     cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_written_fields), cmocka_unit_test(test_hash_is_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
