/* The merged catalogue: experiments.json over the built-ins, ad-hoc names. */
#include "helper_catalog.h"

#include "base/file.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENSEMBLE                                                                                   \
    "{\"type\":\"ensemble\",\"committee_size\":2,\"model\":\"mlp\",\"dataset\":\"digits\","        \
    "\"batch_size\":8,\"epochs\":1,\"lr\":0.1}"

static char warned[512];

static void remember_warning(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    snprintf(warned, sizeof warned, "%s", text);
}

static void test_without_file(void **state)
{
    (void)state;
    char *dir = registry_folder(NULL);
    struct registry r;
    struct error err = ERROR_INIT;
    log_set_sink(remember_warning, NULL);
    warned[0] = '\0';
    assert_true(registry_load(&r, dir, &err));
    log_set_sink(NULL, NULL);
    assert_int_equal(r.n, 21);
    assert_string_equal(warned, ""); /* no file is nothing to speak of */
    assert_null(registry_find(&r, "e01"));
    registry_release(&r);
    assert_int_equal(r.n, 0);
    remove_registry_folder(dir);
}

static void test_merge(void **state)
{
    (void)state;
    char *dir = registry_folder("{\"X01\":" ENSEMBLE ",\n \"E05\":" ENSEMBLE "}");
    struct registry r;
    struct error err = ERROR_INIT;
    log_set_sink(remember_warning, NULL);
    warned[0] = '\0';
    if (!registry_load(&r, dir, &err))
        fail_msg("%s", err.text);
    log_set_sink(NULL, NULL);
    assert_int_equal(r.n, 22);
    assert_string_equal(r.items[4]->id, "E05"); /* in the place of the one it replaces */
    assert_string_equal(r.items[4]->source, "experiments.json");
    assert_int_equal(r.items[4]->k, 2);
    assert_string_equal(r.items[21]->id, "X01");
    assert_contains(warned, "E05 replaces the built-in experiment");
    registry_release(&r);
    remove_registry_folder(dir);
}

static const struct {
    const char *json, *error;
} broken[] = {
    {"", "experiments.json:1:1: the text is empty"},
    {"{\n  \"X01\": {,}\n}", "experiments.json:2:"},
    {"[]", "experiments.json:1:1: an object was expected"},
    {"{\"X01\":" ENSEMBLE ",\"X01\":" ENSEMBLE "}", "duplicate"},
    {"{\n  \"X01\": {\n    \"type\": \"ensembel\"\n  }\n}",
     "experiments.json:3:13: X01: unknown type 'ensembel'"},
    {"{\n  \"X01\": {\"type\": \"cv\", \"folds\": 1, \"model\": \"mlp\", \"dataset\": \"digits\",\n"
     "    \"batch_size\": 8, \"epochs\": 1, \"lr\": 1}\n}",
     "experiments.json:2:34: X01: folds must be at least 2"},
    {"{\n  \"X01\": {\"type\": \"cv\", \"folds\": 2, \"model\": \"mlp\", \"dataset\": \"digits\",\n"
     "    \"batch_size\": 8, \"epochs\": 0, \"lr\": 1}\n}",
     "experiments.json:3:32: X01: epochs must be a whole number"},
    {"{\n  \"X01\": {\"type\": \"cv\"}}", "experiments.json:2:10: X01: folds is missing"},
    {"{\"X01\": {\"type\": \"multi_model\",\n \"models\": [3]}}",
     "experiments.json:2:12: X01: models[0]: an object"},
    {"{\"X01\": {\"type\": \"hpo\", \"model\": \"mlp\", \"dataset\": \"digits\",\n"
     "\"search_space\": {\"lr\": [1], \"batch_size\": [0], \"epochs\": [1]}}}",
     "experiments.json:2:17: X01: batch_size must be"},
    {"{\n \"a,b\": " ENSEMBLE "}", "experiments.json:2:9: a,b: name 'a,b' holds a comma"},
    {"{\"X01\": 3}", "experiments.json:1:9: X01: a definition is an object"},
    {"{\"X01\": 3, \"X02\": 4}", "(and 1 more: see 'fugue validate')"},
};

static void test_errors_name_the_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char *dir = registry_folder(broken[i].json);
        struct registry r;
        struct error err = ERROR_INIT;
        assert_false(registry_load(&r, dir, &err));
        assert_contains(err.text, broken[i].error);
        assert_contains(err.text, dir);
        remove_registry_folder(dir);
    }
}

static void test_all_problems(void **state)
{
    (void)state;
    char *dir = registry_folder("{\"X01\": 3, \"X02\": " ENSEMBLE ", \"X03\": {}}");
    struct registry r;
    struct text_list problems;
    struct error err = ERROR_INIT;
    text_list_init(&problems);
    assert_true(registry_load_all(&r, dir, &problems, &err));
    assert_int_equal(problems.n, 2);
    assert_contains(problems.items[0], "X01: a definition is an object");
    assert_contains(problems.items[1], "X03: type is missing");
    assert_non_null(registry_find(&r, "X02"));
    registry_release(&r);
    text_list_release(&problems);
    remove_registry_folder(dir);
}

static void test_not_a_file(void **state)
{
    (void)state;
    char *dir = registry_folder(NULL), *path = path_join(dir, "experiments.json");
    struct registry r;
    struct error err = ERROR_INIT;
    assert_int_equal(mkdir(path, 0700), 0);
    const bool ok = registry_load(&r, dir, &err);
    rmdir(path);
    free(path);
    remove_registry_folder(dir);
    assert_false(ok);
    assert_contains(err.text, "experiments.json");
}

static bool add(struct registry *r, const char *name, struct error *err)
{
    struct experiment *e = experiment_of("OK", ENSEMBLE);
    free(e->id);
    e->id = xstrdup(name);
    return registry_add(r, e, err);
}

static void test_adhoc_names(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"all", "selects every experiment"},
        {"a,b", "comma"},
        {"1:2", "colon"},
        {"", "1 to 64 bytes"},
        {"E05", "taken"},
        {"e05", "taken by an experiment of"},
    };
    struct registry r;
    struct error err = ERROR_INIT;
    load_builtins_only(&r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error_clear(&err);
        assert_false(add(&r, bad[i][0], &err));
        assert_contains(err.text, bad[i][1]);
    }
    error_clear(&err);
    assert_true(add(&r, "mine.v2", &err));
    assert_int_equal(r.n, 22);
    assert_false(add(&r, "mine.v2", &err));
    registry_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_file),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_all_problems),
        cmocka_unit_test(test_not_a_file),
        cmocka_unit_test(test_adhoc_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
