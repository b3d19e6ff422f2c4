#include "base/error.h"
#include "helper_base.h"

#include <errno.h>

static void test_set_fills_and_returns_false(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_int_equal(err.class_, ERROR_NONE);
    assert_false(error_set(&err, ERROR_USAGE, "bad %s %d", "flag", 7));
    assert_int_equal(err.class_, ERROR_USAGE);
    assert_string_equal(err.text, "bad flag 7");
    assert_false(error_set(NULL, ERROR_RUN, "nobody listens"));
    assert_false(error_errno(NULL, EIO, "nobody listens"));
    assert_false(error_prefix(NULL, "nobody listens"));
    error_clear(NULL);
    error_clear(&err);
    assert_int_equal(err.class_, ERROR_NONE);
    assert_string_equal(err.text, "");
}

static void test_errno_says_the_cause(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_false(error_errno(&err, ENOENT, "cannot read '%s'", "x.csv"));
    assert_int_equal(err.class_, ERROR_SYSTEM);
    assert_string_equal(err.text, "cannot read 'x.csv': No such file or directory");
}

static void test_prefix_keeps_class_and_may_name_the_text(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_DATA, "line 3 is empty");
    assert_false(error_prefix(&err, "%s", "mnist"));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_string_equal(err.text, "mnist: line 3 is empty");
    error_set(&err, ERROR_RUN, "worker: %s", err.text);
    assert_string_equal(err.text, "worker: mnist: line 3 is empty");
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char many[4000];
    memset(many, 'a', sizeof many - 1);
    many[sizeof many - 1] = '\0';

    error_set(&err, ERROR_DATA, "%s", many);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 5, "a...");

    error_errno(&err, ENOSPC, "%s", many);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_contains(err.text, "a...: No space left on device");

    error_set(&err, ERROR_DATA, "%.*s", (int)sizeof err.text - 1, many);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_null(strstr(err.text, "...")); /* exactly full is not cut */
    error_prefix(&err, "where");
    assert_int_equal(strncmp(err.text, "where: aaa", 10), 0);
    assert_string_equal(err.text + strlen(err.text) - 4, "a...");
}

static void test_a_cut_never_splits_a_character(void **state)
{
    (void)state;
    for (int lead = 0; lead < 3; lead++) {
        struct error err = ERROR_INIT;
        char many[3001] = "";
        memset(many, 'x', (size_t)lead);
        for (size_t i = (size_t)lead; i + 3 < sizeof many; i += 3)
            memcpy(many + i, "\xe2\x82\xac", 4); /* the euro sign */
        error_set(&err, ERROR_DATA, "%s", many);
        const size_t kept = strlen(err.text) - 3;
        assert_string_equal(err.text + kept, "...");
        assert_int_equal((kept - (size_t)lead) % 3, 0);
        assert_true(kept > sizeof err.text - 8);
    }
}

static void test_exit_codes(void **state)
{
    (void)state;
    static const int code[] = {[ERROR_NONE] = 0,   [ERROR_USAGE] = 2, [ERROR_DATA] = 1,
                               [ERROR_SYSTEM] = 1, [ERROR_RUN] = 1,   [ERROR_INTERNAL] = 1};
    for (int i = 0; i <= ERROR_INTERNAL; i++) {
        const struct error err = {.class_ = (enum error_class)i};
        assert_int_equal(error_exit_code(&err), code[i]);
    }
    assert_int_equal(error_exit_code(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_fills_and_returns_false),
        cmocka_unit_test(test_errno_says_the_cause),
        cmocka_unit_test(test_prefix_keeps_class_and_may_name_the_text),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_a_cut_never_splits_a_character),
        cmocka_unit_test(test_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
