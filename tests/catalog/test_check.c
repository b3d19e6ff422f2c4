/* Do model, data set and task fit? */
#include "helper_catalog.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* NULL when usable, else the error's text (static buffer). */
static const char *checked_as(const char *model, const char *dataset, const char *task,
                              bool synthetic)
{
    static struct error err;
    char *json =
        xasprintf("{\"type\":\"ensemble\",\"committee_size\":2,\"model\":\"%s\","
                  "\"dataset\":\"%s\",\"batch_size\":8,\"epochs\":1,\"lr\":0.1%s%s%s}",
                  model, dataset, task ? ",\"task\":\"" : "", task ? task : "", task ? "\"" : "");
    struct experiment *e = experiment_of("X", json);
    error_clear(&err);
    const bool ok = experiment_check(e, synthetic, &err);
    const char *state = experiment_state(e, synthetic);
    if (ok)
        assert_string_equal(state, "built");
    else
        assert_true(strcmp(state, "built") != 0);
    experiment_free(e);
    free(json);
    return ok ? NULL : err.text;
}

static const char *checked(const char *model, const char *dataset, const char *task)
{
    return checked_as(model, dataset, task, false);
}

static void test_fits(void **state)
{
    (void)state;
    assert_null(checked("mlp", "digits", NULL));
    assert_null(checked("MLP", "Digits", NULL));
    assert_null(checked("digits_cnn", "digits", "classification"));
    assert_null(checked("mlp", "cal_housing", NULL));
    assert_null(checked("lenet", "mnist", NULL));
    assert_null(checked_as("resnet18", "cifar10", NULL, true));
    assert_null(checked_as("transformer?layers=1", "wikitext?seq=16&vocab=200", NULL, true));
    assert_null(checked_as("transformer", "wikitext", "language_modeling", true));
    assert_null(checked_as("xlm_roberta?layers=1&vocab=1000", "sst2?vocab=1000", NULL, true));
}

/* Sequences: who reads token ids, and who predicts a word at every place. */
static void test_token_misfits(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"mlp", "sst2", NULL,
         "model 'mlp', data set sst2: the network reads numbers, the samples are token ids"},
        {"transformer", "cal_housing", NULL,
         "model 'transformer', data set cal_housing: the network reads token ids, the samples are "
         "numbers"},
        {"xlm_roberta?layers=1&vocab=1000", "sst2", NULL,
         "has 1000 rows, too few for token ids up to 250001"},
        {"xlm_roberta?layers=1", "wikitext", NULL, "task language_modeling needs a vector a token"},
        {"transformer?layers=1", "sst2?vocab=2000", NULL, "too few for token ids up to 1999"},
        {"transformer", "wikitext", "classification",
         "task classification needs class numbers as targets, but data set wikitext is for "
         "language_modeling: use task language_modeling, or another data set"},
        {"resnet18", "wikitext", NULL, "model 'resnet18' takes images"},
        {"transformer", "wikitext?sec=16", NULL, "'sec'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = checked_as(cases[i][0], cases[i][1], cases[i][2], true);
        assert_non_null(text);
        assert_contains(text, cases[i][3]);
    }
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
        {"vgg16_cbam", "imagenette", NULL,
         "X: not built yet in this version of fugue: data set imagenette (--data synthetic"},
        {"mlp", "digits", "language_modeling",
         "task language_modeling needs a word for every place as targets, but data set digits is "
         "for classification"},
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
                                       cmocka_unit_test(test_token_misfits),
                                       cmocka_unit_test(test_searched_tasks),
                                       cmocka_unit_test(test_every_entry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
