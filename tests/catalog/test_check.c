/* Do model, data set and task fit? */
#include "helper_catalog.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* NULL when usable, else the error's text (static buffer). */
static const char *checked(const char *model, const char *dataset, const char *task)
{
    static struct error err;
    char *json =
        xasprintf("{\"type\":\"ensemble\",\"committee_size\":2,\"model\":\"%s\","
                  "\"dataset\":\"%s\",\"batch_size\":8,\"epochs\":1,\"lr\":0.1%s%s%s}",
                  model, dataset, task ? ",\"task\":\"" : "", task ? task : "", task ? "\"" : "");
    struct experiment *e = experiment_of("X", json);
    error_clear(&err);
    const bool ok = experiment_check(e, false, &err);
    const char *state = experiment_state(e, false);
    if (ok)
        assert_string_equal(state, "built");
    else
        assert_true(strcmp(state, "built") != 0);
    experiment_free(e);
    free(json);
    return ok ? NULL : err.text;
}

static void test_fits(void **state)
{
    (void)state;
    assert_null(checked("mlp", "digits", NULL));
    assert_null(checked("MLP", "Digits", NULL));
    assert_null(checked("digits_cnn", "digits", "classification"));
    assert_null(checked("mlp", "cal_housing", NULL));
    assert_null(checked("lenet", "mnist", NULL));
}

static void test_misfits(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"mpl", "digits", NULL, "X: unknown model 'mpl' (did you mean 'mlp'?)"},
        {"mlp?hiden=3", "digits", NULL, "model: "},
        {"mlp", "digit", NULL, "unknown data set 'digit' (did you mean 'digits'?)"},
        {"mlp", "digits", "clasification",
         "unknown task 'clasification' (did you mean 'classification'?)"},
        {"mlp", "digits", "regression",
         "task regression needs real numbers as targets, but data set digits is for "
         "classification: use task classification, or another data set"},
        {"mlp", "cal_housing", "classification",
         "task classification needs class numbers as targets, but data set cal_housing is for "
         "regression: use task regression, or another data set"},
        {"lenet", "cal_housing", NULL, "data set cal_housing: model 'lenet' takes images"},
        {"resnet18", "digits", NULL, "not built yet in this version of fugue: model resnet18"},
        {"mlp", "digits", "language_modeling", "task language_modeling"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = checked(cases[i][0], cases[i][1], cases[i][2]);
        assert_non_null(text);
        assert_contains(text, cases[i][3]);
    }
}

static void test_searched_tasks(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct experiment *e = experiment_of(
        "X",
        "{\"type\":\"hpo\",\"model\":\"mlp\",\"dataset\":\"digits\",\"batch_size\":8,\"epochs\":"
        "1,\"lr\":0.1,\"search_space\":{\"task\":[\"classification\",\"regression\"]}}");
    assert_false(experiment_check(e, false, &err));
    assert_contains(err.text, "task regression needs real numbers");
    assert_string_equal(experiment_state(e, false), "not usable: see 'fugue validate'");
    experiment_free(e);
}

static void test_every_entry(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct experiment *e = experiment_of(
        "X", "{\"type\":\"multi_model\",\"batch_size\":8,\"epochs\":1,\"lr\":0.1,\"models\":[{"
             "\"name\":\"mlp\",\"dataset\":\"digits\"},{\"name\":\"mlp\",\"dataset\":\"digit\"}]}");
    assert_false(experiment_check(e, false, &err));
    assert_contains(err.text, "unknown data set 'digit'");
    experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fits), cmocka_unit_test(test_misfits),
                                       cmocka_unit_test(test_searched_tasks),
                                       cmocka_unit_test(test_every_entry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
