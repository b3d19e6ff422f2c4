/* --search-space KEY=V1,V2 */
#include "helper_catalog.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void test_types(void **state)
{
    (void)state;
    static const char *const tokens[] = {"lr=1e-3,1",      "batch_size=8,16",    "epochs=2",
                                         "amp=true,False", "optimizer=sgd,adam", "task=regression",
                                         "momentum=0,0.9", "nesterov=false",     "betas.0=0.8"};
    struct error err = ERROR_INIT;
    json_t *space = search_space_parse(tokens, sizeof tokens / sizeof *tokens, &err);
    if (!space)
        fail_msg("%s", err.text);
    char *line = json_line(space);
    assert_string_equal(line,
                        "{\"lr\":[0.001,1.0],\"batch_size\":[8,16],\"epochs\":[2],\"amp\":[true,"
                        "false],\"optimizer\":[\"sgd\",\"adam\"],\"task\":[\"regression\"],"
                        "\"momentum\":[0.0,0.90000000000000002],\"nesterov\":[false],"
                        "\"betas.0\":[0.80000000000000004]}");
    free(line);
    json_decref(space);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {NULL, NULL, "at least one KEY=V1,V2 is needed"},
        {"lr", NULL, "'lr' must read KEY=V1,V2"},
        {"lr=", NULL, "'lr=' must read KEY=V1,V2"},
        {"=1", NULL, "'=1' must read KEY=V1,V2"},
        {"lr=nan", NULL, "lr must be a finite number, at least 0, not 'nan'"},
        {"lr=-1", NULL, "lr must be a finite number, at least 0, not -1"},
        {"lr=0.1,,0.2", NULL, "lr must be a finite number, at least 0, not ''"},
        {"lr=fast", NULL, "not 'fast'"},
        {"epochs=-2", NULL, "epochs must be a whole number from 1 to 1000000, not -2"},
        {"epochs=1.5", NULL, "epochs must be a whole number, not '1.5'"},
        {"batch_size=0", NULL, "batch_size must be a whole number from 1"},
        {"amp=maybe", NULL, "amp must be true or false, not 'maybe'"},
        {"optimizer=sgdd", NULL, "unknown optimizer 'sgdd' (did you mean 'sgd'?)"},
        {"momentum=-0.1", NULL, "at least 0"},
        {"betas=0.9", NULL, "betas is a pair: search over betas.0 or betas.1"},
        {"betas.1=1", NULL, "below 1"},
        {"batch=8", NULL, "a job has no 'batch' to search over (did you mean 'batch_size'?)"},
        {"model=mlp", NULL, "a job has no 'model' to search over"},
        {"k=1,2", NULL, "a job has no 'k' to search over"},
        {"optimizer_kwargs=1", NULL, "a job has no 'optimizer_kwargs' to search over"},
        {"lr=0.1", "lr=0.2", "lr is given twice: put all its values in one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        const int n = !cases[i][0] ? 0 : !cases[i][1] ? 1 : 2;
        assert_null(search_space_parse(cases[i], n, &err));
        assert_contains(err.text, "--search-space: ");
        assert_contains(err.text, cases[i][2]);
        assert_int_equal(err.class_, ERROR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
