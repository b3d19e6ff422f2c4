#include "base/spec.h"
#include "helper_base.h"

static void test_parts(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct spec s;
    assert_true(spec_parse(&s, "mlp", &err));
    assert_string_equal(s.name, "mlp");
    assert_int_equal(s.n_args, 0);
    assert_null(spec_get(&s, "layers"));
    spec_release(&s);
    assert_null(s.name);

    assert_true(spec_parse(&s, "transformer?layers=2&d_model=128&lr=1e-3", &err));
    assert_string_equal(s.name, "transformer");
    assert_int_equal(s.n_args, 3);
    assert_string_equal(spec_get(&s, "layers"), "2");
    assert_string_equal(spec_get(&s, "d_model"), "128");
    assert_null(spec_get(&s, "layer"));
    spec_release(&s);

    /* A path and a value may hold what looks like syntax elsewhere. */
    assert_true(spec_parse(&s, "folder:/data/a=b&c?transform=x=y", &err));
    assert_string_equal(s.name, "folder:/data/a=b&c");
    assert_string_equal(spec_get(&s, "transform"), "x=y");
    spec_release(&s);
    assert_int_equal(err.class_, ERROR_NONE);
}

static void test_malformed(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "the name is empty"},
        {"?a=1", "the name is empty"},
        {"m?", "an empty argument"},
        {"m?a", "'a' has no value"},
        {"m?=1", "'=1' lacks its key"},
        {"m?a=", "'a=' lacks its value"},
        {"m?a=1&", "an empty argument"},
        {"m?a=1&&b=2", "an empty argument"},
        {"m?a=1&b=2&a=3", "argument 'a' is given twice"},
        {"m?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1&m=1&n=1&o=1&p=1&q=1",
         "more than 16 arguments"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        struct spec s;
        if (spec_parse(&s, cases[i][0], &err))
            fail_msg("'%s' was taken", cases[i][0]);
        assert_int_equal(err.class_, ERROR_USAGE);
        assert_contains(err.text, cases[i][1]);
        assert_null(s.name); /* nothing is left to release */
        assert_int_equal(s.n_args, 0);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct spec s;
    int64_t i = 0;
    double d = 0;
    assert_true(spec_parse(&s, "m?layers=12&rate=0.25&word=x", &err));
    assert_true(spec_get_int(&s, "layers", 2, 1, 12, &i, &err));
    assert_true(i == 12);
    assert_true(spec_get_int(&s, "heads", 4, 1, 8, &i, &err));
    assert_true(i == 4);
    assert_true(spec_get_number(&s, "rate", 0, 0, 1, &d, &err));
    assert_true(d == 0.25);
    assert_true(spec_get_number(&s, "other", 0.5, 0, 1, &d, &err));
    assert_true(d == 0.5);
    assert_false(spec_get_int(&s, "layers", 2, 1, 11, &i, &err));
    assert_string_equal(err.text, "m: argument layers=12 must be a whole number from 1 to 11");
    assert_false(spec_get_int(&s, "rate", 2, 0, 8, &i, &err));
    assert_false(spec_get_number(&s, "rate", 0, 0.5, 1, &d, &err));
    assert_string_equal(err.text, "m: argument rate=0.25 must be a number from 0.5 to 1");
    assert_false(spec_get_number(&s, "word", 0, 0, 1, &d, &err));
    assert_int_equal(err.class_, ERROR_USAGE);
    assert_true(i == 4 && d == 0.5);
    spec_release(&s);
}

static void test_only_known_arguments(void **state)
{
    (void)state;
    static const char *const known[] = {"layers", "heads"};
    struct error err = ERROR_INIT;
    struct spec s;
    assert_true(spec_parse(&s, "m?heads=1&layers=2", &err));
    assert_true(spec_only(&s, known, 2, &err));
    assert_false(spec_only(&s, NULL, 0, &err));
    assert_string_equal(err.text, "m takes no arguments, but has 'heads'");
    spec_release(&s);
    assert_true(spec_parse(&s, "m?heads=1&layer=2", &err));
    assert_false(spec_only(&s, known, 2, &err));
    assert_string_equal(err.text, "m has no argument 'layer' (did you mean 'layers'?); it takes "
                                  "layers, heads");
    spec_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_only_known_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
