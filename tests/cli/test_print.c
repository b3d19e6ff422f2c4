/* What is printed: JSON in the fewest digits, tables, wrapped help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/help.h"
#include "cli/print.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* A stream into memory. */
struct sheet {
    FILE *f;
    char *text;
    size_t len;
};

static void sheet_open(struct sheet *s)
{
    s->f = open_memstream(&s->text, &s->len);
    assert_non_null(s->f);
}

static const char *sheet_text(struct sheet *s)
{
    fflush(s->f);
    return s->text;
}

static void sheet_close(struct sheet *s)
{
    fclose(s->f);
    free(s->text);
}

static void test_json(void **state)
{
    (void)state;
    struct sheet s;
    json_t *v = json_pack("{s:f,s:[f,f],s:i,s:b,s:n,s:s,s:{},s:[],s:[{s:i}]}", "a", 0.0003, "b",
                          1.0, 1e-5, "c", 3, "d", 1, "e", "f", "x\"y\n", "g", "h", "i", "j", 1);
    sheet_open(&s);
    print_json(s.f, v);
    assert_string_equal(sheet_text(&s),
                        "{\n  \"a\": 0.0003,\n  \"b\": [1.0, 1e-05],\n  \"c\": 3,\n"
                        "  \"d\": true,\n  \"e\": null,\n  \"f\": \"x\\\"y\\n\",\n"
                        "  \"g\": {},\n  \"h\": [],\n  \"i\": [\n    {\n      \"j\": "
                        "1\n    }\n  ]\n}\n");
    sheet_close(&s);
    json_decref(v);
}

static void test_long_lists(void **state)
{
    (void)state;
    struct sheet s;
    json_t *v = json_pack("[s]", "a sentence that is long enough to want a line of its own, as the "
                                 "errors of validate are");
    sheet_open(&s);
    print_json(s.f, v);
    assert_string_equal(sheet_text(&s),
                        "[\n  \"a sentence that is long enough to want a line of its "
                        "own, as the errors of validate are\"\n]\n");
    sheet_close(&s);
    json_decref(v);
}

/* Whatever the value, it reads back bit for bit, and as a real. */
static void test_reals_read_back(void **state)
{
    (void)state;
    static const double values[] = {0.1,     1.0 / 3,      1e300, -2.5e-300, DBL_MAX,
                                    DBL_MIN, DBL_TRUE_MIN, 5,     -0.0001,   0.0002999999999999999,
                                    1e17};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct sheet s;
        json_t *v = json_real(values[i]);
        sheet_open(&s);
        print_json(s.f, v);
        json_t *back = json_loads(sheet_text(&s), JSON_DECODE_ANY, NULL);
        assert_true(json_is_real(back));
        assert_true(json_real_value(back) == values[i]);
        json_decref(v);
        json_decref(back);
        sheet_close(&s);
    }
}

static void test_table(void **state)
{
    (void)state;
    static const char *const cells[] = {"A", ">N", "C", "long", "7", "", "\xc3\xa9", "12345", "z"};
    struct table t;
    struct sheet s;
    print_table_init(&t, 3);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        print_table_add(&t, cells[i]);
    assert_int_equal(print_table_width(&t), 4 + 2 + 5 + 2 + 1);
    sheet_open(&s);
    print_table_show(&t, s.f);
    assert_string_equal(sheet_text(&s), "A         N  C\nlong      7\n\xc3\xa9     12345  z\n");
    assert_int_equal(terminal_width(s.f), 0);
    sheet_close(&s);
    print_table_release(&t);
}

static void test_wrap(void **state)
{
    (void)state;
    struct sheet s;
    sheet_open(&s);
    help_wrap(s.f, "one two three four", 2, 0, 11);
    assert_string_equal(sheet_text(&s), "  one two\n  three\n  four\n");
    sheet_close(&s);
    sheet_open(&s);
    fprintf(s.f, "--k");
    help_wrap(s.f, "aa bb cc", 5, 3, 10);
    assert_string_equal(sheet_text(&s), "--k  aa bb\n     cc\n");
    sheet_close(&s);
    sheet_open(&s); /* examples stay as they are, blank lines too */
    help_wrap(s.f, "a b\n\n  x   --long-example-line\nc", 0, 0, 8);
    assert_string_equal(sheet_text(&s), "a b\n\n  x   --long-example-line\nc\n");
    sheet_close(&s);
    sheet_open(&s); /* a word longer than the line gets a line */
    help_wrap(s.f, "a incomprehensible b", 1, 0, 8);
    assert_string_equal(sheet_text(&s), " a\n incomprehensible\n b\n");
    sheet_close(&s);
}

static void test_command_help(void **state)
{
    (void)state;
    static const char *const modes[] = {"slow", "fast", NULL};
    static const struct option options[] = {
        {.name = "--b",
         .type = OPTION_INT,
         .arg = "N",
         .fallback = "3",
         .help = "how many",
         .group = "Later"},
        {.name = "--a", .type = OPTION_SWITCH, .help = "do it"},
        {.name = "--mode",
         .type = OPTION_CHOICE,
         .help = "speed",
         .choices = modes,
         .group = "Later"},
        {.name = "--gone", .type = OPTION_REFUSED, .help = "not in this version"},
        {.name = "--a-very-long-option-name", .type = OPTION_TEXT, .arg = "TEXT", .help = "long"},
    };
    static const struct command c = {.name = "x",
                                     .summary = "Does x.",
                                     .usage = "fugue x",
                                     .options = options,
                                     .n_options = 5,
                                     .details = "Example:\n  fugue x --a"};
    struct sheet s;
    sheet_open(&s);
    help_command(s.f, &c);
    assert_string_equal(sheet_text(&s), "Does x.\n\nUsage:\n  fugue x\n\n"
                                        "Later:\n"
                                        "  --b N                     how many (default: 3)\n"
                                        "  --mode                    speed; one of: slow, fast\n\n"
                                        "Options:\n"
                                        "  --a                       do it\n"
                                        "  --a-very-long-option-name TEXT\n"
                                        "                            long\n\n"
                                        "Example:\n  fugue x --a\n");
    sheet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_command_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
