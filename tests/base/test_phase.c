#include "base/phase.h"
#include "helper_base.h"

static void test_names(void **state)
{
    (void)state;
    /* Columns of the result files and the order of precedence hang on these. */
    static const char *const names[] = {"train", "eval",     "compile", "build",
                                        "data",  "teardown", "setup"};
    assert_int_equal(PHASE_COUNT, 7);
    for (int i = 0; i < PHASE_COUNT; i++) {
        enum phase p = PHASE_COUNT;
        assert_string_equal(phase_name((enum phase)i), names[i]);
        assert_true(phase_parse(names[i], &p));
        assert_int_equal(p, i);
    }
    assert_string_equal(phase_name(PHASE_COUNT), "unknown");
}

static void test_unknown_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "Train", "training", "trai", "unknown", NULL};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum phase p = PHASE_DATA;
        assert_false(phase_parse(bad[i], &p));
        assert_int_equal(p, PHASE_DATA);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
