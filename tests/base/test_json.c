#include "base/json.h"
#include "helper_base.h"

#include <float.h>
#include <math.h>

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *value = json_read_text(text, strlen(text), "test", &err);
    if (!value)
        fail_msg("%s", err.text);
    return value;
}

static void test_errors_name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *start, *part;
    } cases[] = {
        {"{\n  \"a\": 1,\n  \"b\": }\n", "f.json:3:", "unexpected token"},
        {"{\"a\": 1, \"a\": 2}", "f.json:1:", "duplicate"},
        {"{\"a\": 1} x", "f.json:1:", "end of file expected"},
        {"{\"a\": 1}\n{\"b\": 2}", "f.json:2:", "end of file expected"},
        {"[\"\xff\"]", "f.json:1:", "unable to decode byte 0xff"},
        {"[1, 2", "f.json:1:", "expected"},
        {"[1e999]", "f.json:1:", "overflow"},
        {"[123456789012345678901234567890]", "f.json:1:", "too big integer"},
        {"[\"a\\u0000b\"]", "f.json:1:", "\\u0000"},
        {"[NaN]", "f.json:1:", "NaN"},
        {"", "f.json:1:1:", "empty"},
        {" \n", "f.json:1:1:", "empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        assert_null(json_read_text(cases[i].text, strlen(cases[i].text), "f.json", &err));
        assert_int_equal(err.class_, ERROR_DATA);
        assert_int_equal(strncmp(err.text, cases[i].start, strlen(cases[i].start)), 0);
        assert_contains(err.text, cases[i].part);
    }
}

/* As deep as an attacker likes: an error, not a stack overflow. */
static void test_absurd_depth_is_refused(void **state)
{
    (void)state;
    char *deep = malloc(1000001);
    memset(deep, '[', 1000000);
    deep[1000000] = '\0';
    struct error err = ERROR_INIT;
    assert_null(json_read_text(deep, 1000000, "deep", &err));
    assert_contains(err.text, "maximum parsing depth");
    free(deep);
}

static void test_read_file(void **state)
{
    struct error err = ERROR_INIT;
    char *good = folder_file(state, "good.json", "{\"k\": [1, 2.5]}\n");
    char *bad = folder_file(state, "bad.json", "{\"k\":\n[1,, 2]}\n");
    char *none = folder_file(state, "none.json", NULL);
    json_t *value = json_read_file(good, &err);
    assert_non_null(value);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(value, "k"), 0)), 1);
    json_decref(value);
    assert_null(json_read_file(bad, &err));
    assert_contains(err.text, "bad.json:2:");
    assert_null(json_read_file(none, &err));
    assert_contains(err.text, "none.json");
    assert_contains(err.text, "No such file");
    free(good);
    free(bad);
    free(none);
}

static void test_line_keeps_order_and_kinds(void **state)
{
    (void)state;
    json_t *value = parse("{\"z\": 1, \"a\": 1.0, \"m\": [true, null, \"x\\ny\"]}");
    char *line = json_line(value);
    assert_string_equal(line, "{\"z\":1,\"a\":1.0,\"m\":[true,null,\"x\\ny\"]}");
    free(line);
    json_decref(value);
    json_t *text = json_string("alone");
    line = json_line(text);
    assert_string_equal(line, "\"alone\"");
    free(line);
    json_decref(text);
}

static void test_reals_read_back_bit_equal(void **state)
{
    (void)state;
    static const double values[] = {
        0.1,    1.0 / 3, -0.0, 1e-300,     DBL_MAX,         DBL_MIN,
        5e-324, 1e22,    2.0,  123456.789, 1 - DBL_EPSILON, 1 + DBL_EPSILON};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *number = json_number(values[i]);
        char *line = json_line(number);
        json_t *back = parse(line);
        assert_true(json_is_real(back)); /* 2.0 stays a real */
        const double v = json_real_value(back);
        assert_memory_equal(&v, &values[i], sizeof v);
        json_decref(back);
        free(line);
        json_decref(number);
    }
    json_t *large = json_integer(INT64_MAX);
    char *line = json_line(large);
    assert_string_equal(line, "9223372036854775807");
    free(line);
    json_decref(large);
}

static void test_non_finite_numbers_are_strings(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *line;
    } cases[] = {{NAN, "\"nan\""}, {INFINITY, "\"inf\""}, {-INFINITY, "\"-inf\""}};
    for (size_t i = 0; i < 3; i++) {
        json_t *number = json_number(cases[i].value);
        char *line = json_line(number);
        assert_string_equal(line, cases[i].line);
        double v = 0;
        assert_true(json_to_number(number, &v));
        assert_true(isnan(cases[i].value) ? isnan(v) : v == cases[i].value);
        free(line);
        json_decref(number);
    }
    double v = 7;
    json_t *other = json_string("NaN");
    assert_false(json_to_number(other, &v));
    assert_false(json_to_number(json_true(), &v));
    assert_false(json_to_number(NULL, &v));
    assert_true(v == 7);
    json_decref(other);
}

static void test_typed_access(void **state)
{
    (void)state;
    json_t *o = parse("{\"s\": \"x\", \"i\": -3, \"r\": 0.5, \"b\": true, \"n\": \"inf\"}");
    const char *s = NULL;
    int64_t i = 0;
    double r = 0, n = 0, ri = 0;
    bool b = false;
    struct error err = ERROR_INIT;
    assert_true(json_get_string(o, "s", "w", &s, &err));
    assert_true(json_get_int(o, "i", "w", &i, &err));
    assert_true(json_get_number(o, "r", "w", &r, &err));
    assert_true(json_get_number(o, "i", "w", &ri, &err));
    assert_true(json_get_number(o, "n", "w", &n, &err));
    assert_true(json_get_bool(o, "b", "w", &b, &err));
    assert_string_equal(s, "x");
    assert_true(i == -3 && r == 0.5 && ri == -3 && n == INFINITY && b);
    assert_int_equal(err.class_, ERROR_NONE);

    assert_false(json_get_int(o, "q", "reg.json: E99", &i, &err));
    assert_string_equal(err.text, "reg.json: E99: the key 'q' is missing");
    assert_int_equal(err.class_, ERROR_DATA);
    assert_false(json_get_int(o, "r", "w", &i, &err));
    assert_string_equal(err.text, "w: 'r' must be an integer, not a real");
    assert_false(json_get_string(o, "i", "w", &s, &err));
    assert_string_equal(err.text, "w: 'i' must be a string, not an integer");
    assert_false(json_get_number(o, "s", "w", &r, &err));
    assert_string_equal(err.text, "w: 's' must be a number, not the string \"x\"");
    assert_false(json_get_bool(o, "i", "w", &b, &err));
    assert_string_equal(err.text, "w: 'i' must be true or false, not an integer");
    json_t *list = json_array();
    assert_false(json_get_bool(list, "i", "w", &b, &err));
    assert_string_equal(err.text, "w: an object was expected, found a list");
    assert_false(json_get_int_or(NULL, "i", "w", 4, &i, &err));
    assert_string_equal(err.text, "w: an object was expected, found nothing");
    assert_true(i == -3);
    json_decref(list);
    json_decref(o);
}

static void test_defaults(void **state)
{
    (void)state;
    json_t *o = parse("{\"s\": \"x\", \"i\": 3, \"r\": 0.5, \"b\": false, \"null\": null}");
    const char *s = NULL;
    int64_t i = 0;
    double r = 0;
    bool b = true;
    struct error err = ERROR_INIT;
    assert_true(json_get_string_or(o, "s", "w", "d", &s, &err));
    assert_true(json_get_int_or(o, "i", "w", 8, &i, &err));
    assert_true(json_get_number_or(o, "r", "w", 8, &r, &err));
    assert_true(json_get_bool_or(o, "b", "w", true, &b, &err));
    assert_string_equal(s, "x");
    assert_true(i == 3 && r == 0.5 && !b);
    assert_true(json_get_string_or(o, "-", "w", NULL, &s, &err));
    assert_true(json_get_int_or(o, "-", "w", 8, &i, &err));
    assert_true(json_get_number_or(o, "-", "w", 9, &r, &err));
    assert_true(json_get_bool_or(o, "-", "w", true, &b, &err));
    assert_true(s == NULL && i == 8 && r == 9 && b);
    assert_int_equal(err.class_, ERROR_NONE);
    /* null is there, and of the wrong type */
    assert_false(json_get_string_or(o, "null", "w", "d", &s, &err));
    assert_false(json_get_int_or(o, "s", "w", 1, &i, &err));
    assert_false(json_get_number_or(o, "b", "w", 1, &r, &err));
    assert_false(json_get_bool_or(o, "i", "w", true, &b, &err));
    json_decref(o);
}

static void test_locate(void **state)
{
    (void)state;
    static const char text[] = "{\n"
                               "  \"odd \\\"{[,: key\": {\"E1\": [1, {\"E2\": 2}]},\n"
                               "  \"text\": \"E2: { [ \\\\\",\n"
                               "  \"\xc3\xa9\xc3\xa9\": 1, \"E1\":\n"
                               "    {\"k\": -1.5e3,\n"
                               "\t\"lr\" : \"x\"},\n"
                               "  \"E\\u0032\": {\"lr\": [ ], \"e\": {} }\n"
                               "}\n";
    static const struct {
        const char *key, *member;
        int line, column;
    } found[] = {
        {"odd \"{[,: key", NULL, 2, 21},
        {"text", NULL, 3, 11},
        {"\xc3\xa9\xc3\xa9", NULL, 4, 9},
        {"E1", NULL, 5, 5},
        {"E1", "k", 5, 11},
        {"E1", "lr", 6, 9},
        {"E2", NULL, 7, 14},
        {"E2", "e", 7, 31},
    };
    static const struct {
        const char *key, *member;
    } missing[] = {{"E3", NULL}, {"E1", "x"}, {"text", "x"}, {"k", NULL}, {"E", NULL}, {"", NULL}};
    json_decref(parse(text));
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        int line = 0, column = 0;
        assert_true(json_locate(text, found[i].key, found[i].member, &line, &column));
        assert_int_equal(line, found[i].line);
        assert_int_equal(column, found[i].column);
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        int line = -1, column = -1;
        assert_false(json_locate(text, missing[i].key, missing[i].member, &line, &column));
        assert_int_equal(line, -1);
    }
}

static void test_locate_path(void **state)
{
    (void)state;
    static const char text[] = "{\"layers\": [\n"
                               "  {\"op\": \"relu\"},\n"
                               "  [1, [2,\n"
                               "   3], \"]\"] ] }\n";
    static const struct {
        const char *path[4];
        int n, line, column;
    } found[] = {
        {{NULL}, 0, 1, 1},
        {{"layers"}, 1, 1, 12},
        {{"layers", "0"}, 2, 2, 3},
        {{"layers", "0", "op"}, 3, 2, 10},
        {{"layers", "1", "1", "1"}, 4, 4, 4},
        {{"layers", "1", "2"}, 3, 4, 8},
    };
    static const struct {
        const char *path[4];
        int n;
    } missing[] = {
        {{"layers", "2"}, 2},
        {{"layers", "-1"}, 2},
        {{"layers", "op"}, 2},
        {{"layers", "0", "x"}, 3},
        {{"0"}, 1},
        {{"layers", "1", "0", "0"}, 4},
    };
    json_decref(parse(text));
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        int line = 0, column = 0;
        assert_true(json_locate_path(text, found[i].path, found[i].n, &line, &column));
        assert_int_equal(line, found[i].line);
        assert_int_equal(column, found[i].column);
    }
    int line, column;
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        assert_false(json_locate_path(text, missing[i].path, missing[i].n, &line, &column));
    assert_false(json_locate_path("[]", (const char *const[]){"0"}, 1, &line, &column));
    assert_false(json_locate_path("[1", (const char *const[]){"1"}, 1, &line, &column));
}

/* Every beginning of a valid text: never a crash, never a find beyond the end. */
static void test_locate_in_broken_texts(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\": [1, {\"b\\\\\": \"c\\\"\"}], \"k\": {\"m\": 1}}";
    int line, column;
    for (size_t n = 0; n < sizeof whole; n++) {
        char *part = malloc(n + 1);
        memcpy(part, whole, n);
        part[n] = '\0';
        const char *value = strstr(whole, "\"m\": ") + 5;
        const bool there = n > (size_t)(value - whole);
        assert_int_equal(json_locate(part, "k", "m", &line, &column), there);
        free(part);
    }
    static const char *const broken[] = {
        "",         "[]",   "{]", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{\"a\":1 \"k\":2}",
        "{\"a\":]", "{\"\\"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_false(json_locate(broken[i], "k", NULL, &line, &column));
}

/* jansson alone would read these. */
static void test_nul_bytes_are_refused(void **state)
{
    (void)state;
    static const char after[] = "{\"a\": 1,\n\0\"b\": 2}", last[] = "{}\0";
    struct error err = ERROR_INIT;
    assert_null(json_read_text(after, sizeof after - 1, "f.json", &err));
    assert_non_null(strstr(err.text, "f.json:2:1: a NUL byte"));
    assert_null(json_read_text(last, sizeof last - 1, "f.json", &err));
    assert_non_null(strstr(err.text, "f.json:1:3: "));
    /* Blanks up to the end of what is not a string. */
    const char blanks[3] = {' ', '\n', '\t'};
    assert_null(json_read_text(blanks, sizeof blanks, "f.json", &err));
    assert_non_null(strstr(err.text, "is empty"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nul_bytes_are_refused),
        cmocka_unit_test(test_errors_name_line_and_column),
        cmocka_unit_test(test_absurd_depth_is_refused),
        cmocka_unit_test_setup_teardown(test_read_file, folder_setup, folder_teardown),
        cmocka_unit_test(test_line_keeps_order_and_kinds),
        cmocka_unit_test(test_reals_read_back_bit_equal),
        cmocka_unit_test(test_non_finite_numbers_are_strings),
        cmocka_unit_test(test_typed_access),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_locate),
        cmocka_unit_test(test_locate_path),
        cmocka_unit_test(test_locate_in_broken_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
