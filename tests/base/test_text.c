#include "base/text.h"
#include "helper_base.h"

#include <float.h>
#include <math.h>

static void test_growing(void **state)
{
    (void)state;
    struct text t;
    text_init(&t);
    assert_string_equal(t.data, "");
    for (int i = 0; i < 1000; i++)
        text_addf(&t, "%d,", i);
    assert_int_equal(t.len, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(t.data), t.len);
    assert_memory_equal(t.data, "0,1,2,3,", 8);
    assert_string_equal(t.data + t.len - 8, "998,999,");
    text_clear(&t);
    text_add_n(&t, "a\0b", 3);
    text_add_n(&t, "", 0);
    text_add(&t, "c");
    assert_int_equal(t.len, 4);
    assert_memory_equal(t.data, "a\0bc", 5);
    char *taken = text_take(&t);
    assert_memory_equal(taken, "a\0bc", 5);
    assert_int_equal(t.len, 0);
    assert_string_equal(t.data, "");
    free(taken);
    text_release(&t);
    assert_null(t.data);
}

/* Lengths around each doubling: an off-by-one there shows under the sanitizer or in the NUL. */
static void test_growing_byte_by_byte(void **state)
{
    (void)state;
    for (size_t n = 0; n < 300; n++) {
        struct text t;
        char part[300];
        text_init(&t);
        memset(part, 'x', sizeof part);
        text_add_n(&t, part, n);
        text_addf(&t, "%s", "yz");
        assert_int_equal(t.len, n + 2);
        assert_string_equal(t.data + n, "yz");
        text_release(&t);
    }
}

static void test_allocation(void **state)
{
    (void)state;
    char *s = xasprintf("%s-%03d", "job", 7);
    assert_string_equal(s, "job-007");
    char *copy = xstrdup(s);
    assert_string_equal(copy, s);
    assert_ptr_not_equal(copy, s);
    copy = xrealloc(copy, 100);
    assert_string_equal(copy, "job-007");
    int *zeros = xcalloc(4, sizeof *zeros);
    assert_int_equal(zeros[0] | zeros[1] | zeros[2] | zeros[3], 0);
    void *nothing = xmalloc(0);
    assert_non_null(nothing);
    free(nothing);
    free(zeros);
    free(copy);
    free(s);
}

static void test_split(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        const char *parts[5];
    } cases[] = {
        {"", 1, {""}},
        {"a", 1, {"a"}},
        {"a,b", 2, {"a", "b"}},
        {",", 2, {"", ""}},
        {"a,,b,", 4, {"a", "", "b", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_list l;
        text_list_init(&l);
        text_split(&l, cases[i].text, ',');
        assert_int_equal(l.n, cases[i].n);
        for (size_t j = 0; j < l.n; j++)
            assert_string_equal(l.items[j], cases[i].parts[j]);
        text_list_release(&l);
    }
}

static void test_list(void **state)
{
    (void)state;
    struct text_list l;
    text_list_init(&l);
    assert_false(text_list_has(&l, "a"));
    for (int i = 0; i < 50; i++) {
        char *s = xasprintf("item%d", i);
        text_list_add(&l, s);
        free(s);
    }
    assert_int_equal(l.n, 50);
    assert_string_equal(l.items[49], "item49");
    assert_true(text_list_has(&l, "item0"));
    assert_false(text_list_has(&l, "item"));
    text_list_release(&l);
    assert_int_equal(l.n, 0);
}

static void test_int64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"-0", 0},
        {"+5", 5},
        {"-42", -42},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    static const char *const bad[] = {"",    " 1",  "1 ",
                                      "1.0", "1e3", "0x10",
                                      "--1", "+-1", "+",
                                      "-",   "1_0", "abc",
                                      "1a",  "\t1", "9223372036854775808",
                                      "1\n", "nan", "-9223372036854775809"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t v = 99;
        assert_true(text_to_int64(good[i].text, &v));
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t v = 99;
        if (text_to_int64(bad[i], &v))
            fail_msg("'%s' was taken as an integer", bad[i]);
        assert_true(v == 99);
    }
    int64_t v;
    assert_false(text_to_int64(NULL, &v));
}

static void test_uint64(void **state)
{
    (void)state;
    uint64_t v = 99;
    assert_true(text_to_uint64("18446744073709551615", &v));
    assert_true(v == UINT64_MAX);
    assert_true(text_to_uint64("+0", &v));
    assert_true(v == 0);
    v = 99;
    static const char *const bad[] = {"-1", "-0", "18446744073709551616", "", " 1", "1.5", "+"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (text_to_uint64(bad[i], &v))
            fail_msg("'%s' was taken as an integer", bad[i]);
        assert_true(v == 99);
    }
    assert_false(text_to_uint64(NULL, &v));
}

static void test_double(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0.001", 0.001},
        {"-1e-3", -1e-3},
        {"+2.5E2", 250},
        {".5", 0.5},
        {"5.", 5},
        {"42", 42},
        {"1.7976931348623157e308", DBL_MAX},
        {"4.9406564584124654e-324", 4.9406564584124654e-324},
        {"0.10000000000000001", 0.1},
    };
    static const char *const bad[] = {"",    " 1",   "1 ",    "1,5",    "0x1p3",    "nan",
                                      "inf", "-inf", "1e400", "1e",     "e5",       ".",
                                      "1..", "1-2",  "--1",   "-1e400", "infinity", "1f"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double v = 99;
        assert_true(text_to_double(good[i].text, &v));
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double v = 99;
        if (text_to_double(bad[i], &v))
            fail_msg("'%s' was taken as a number", bad[i]);
        assert_true(v == 99);
    }
    double v;
    assert_false(text_to_double(NULL, &v));
}

static void test_real_takes_non_finite_names(void **state)
{
    (void)state;
    double v = 0;
    assert_true(text_to_real("nan", &v));
    assert_true(isnan(v));
    assert_true(text_to_real("NaN", &v));
    assert_true(isnan(v));
    assert_true(text_to_real("inf", &v));
    assert_true(v == INFINITY);
    assert_true(text_to_real("-inf", &v));
    assert_true(v == -INFINITY);
    assert_true(text_to_real("1.5", &v));
    assert_true(v == 1.5);
    assert_false(text_to_real("infinity", &v));
    assert_false(text_to_real("nan(1)", &v));
    assert_false(text_to_real(" nan", &v));
    assert_false(text_to_real("1e400", &v));
    assert_false(text_to_real("", &v));
    assert_false(text_to_real(NULL, &v));
    assert_true(v == 1.5);
}

static void test_small_predicates(void **state)
{
    (void)state;
    assert_true(text_equal_nocase("AdamW", "adamw"));
    assert_false(text_equal_nocase("adam", "adamw"));
    assert_true(text_starts_with("--exec", "--"));
    assert_true(text_starts_with("x", ""));
    assert_false(text_starts_with("-", "--"));
}

static void test_distance(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"same", "SAME", 0},
        {"kitten", "sitting", 3},
        {"exce", "exec", 1},
        {"ca", "abc", 2},
        {"ab", "ba", 1},
        {"mnist", "mnst", 1},
        {"lenet", "lennet", 1},
        {"abcdef", "badcfe", 3},
        {"a", "b", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(text_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(text_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void test_closest(void **state)
{
    (void)state;
    static const char *const names[] = {"seq",           "mp",       "ray",
                                        "unified_model", "resnet18", "resnet50"};
    const size_t n = sizeof names / sizeof *names;
    assert_string_equal(text_closest("sqe", names, n), "seq");
    assert_string_equal(text_closest("SEQ", names, n), "seq");
    assert_string_equal(text_closest("unifiedmodel", names, n), "unified_model");
    assert_string_equal(text_closest("uni", names, n), "unified_model"); /* the only prefix */
    assert_string_equal(text_closest("resnet19", names, n), "resnet18");
    assert_null(text_closest("res", names, n)); /* a prefix of two */
    assert_null(text_closest("tensorflow", names, n));
    assert_null(text_closest("", names, n));
    assert_null(text_closest("x", names, n));
    assert_null(text_closest("seq", names, 0));
    char absurd[20001];
    memset(absurd, 'q', sizeof absurd - 1);
    absurd[sizeof absurd - 1] = '\0';
    assert_null(text_closest(absurd, names, n));
    assert_string_equal(text_did_you_mean("rya", names, n), " (did you mean 'ray'?)");
    assert_string_equal(text_did_you_mean("tensorflow", names, n), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_growing_byte_by_byte),
        cmocka_unit_test(test_allocation),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_int64),
        cmocka_unit_test(test_uint64),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_real_takes_non_finite_names),
        cmocka_unit_test(test_small_predicates),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_closest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
