/* Words into option values: every type of option, every way of writing and of getting it wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/parse.h"

#include <string.h>

#define MAX_WORDS 8

enum {
    OPT_SWITCH,
    OPT_TEXT,
    OPT_INT,
    OPT_ANY_INT,
    OPT_BIG,
    OPT_NUMBER,
    OPT_CHOICE,
    OPT_LIST,
    OPT_SET,
    OPT_REFUSED,
    N_OPTIONS
};

static const char *const colours[] = {"red", "green", NULL};
static const struct option options[N_OPTIONS] = {
    [OPT_SWITCH] = {.name = "--quiet", .type = OPTION_SWITCH, .help = "h"},
    [OPT_TEXT] = {.name = "--name", .type = OPTION_TEXT, .arg = "ID", .help = "h"},
    [OPT_INT] = {.name = "--k", .type = OPTION_INT, .arg = "N", .help = "h", .min = 1, .max = 9},
    [OPT_ANY_INT] = {.name = "--offset", .type = OPTION_INT, .arg = "N", .help = "h"},
    [OPT_BIG] = {.name = "--seed", .type = OPTION_INT, .help = "h", .min = 0, .max = INT64_MAX},
    [OPT_NUMBER] = {.name = "--lr", .type = OPTION_NUMBER, .arg = "X", .help = "h"},
    [OPT_CHOICE] = {.name = "--colour", .type = OPTION_CHOICE, .help = "h", .choices = colours},
    [OPT_LIST] = {.name = "--exp", .type = OPTION_LIST, .arg = "ID ...", .help = "h"},
    [OPT_SET] = {.name = "--paint", .type = OPTION_LIST, .help = "h", .choices = colours},
    [OPT_REFUSED] = {.name = "--compile", .type = OPTION_REFUSED, .help = "would change nothing"},
};
static const struct command strict = {.name = "strict", .options = options, .n_options = N_OPTIONS};
static const struct command words = {
    .name = "words", .options = options, .n_options = N_OPTIONS, .takes_words = true};

static bool parse(const struct command *c, const char *const *argv, struct parsed *p,
                  struct error *err)
{
    int n = 0;
    while (n < MAX_WORDS && argv[n])
        n++;
    return parse_words(c, n, (char *const *)argv, p, err);
}

static void parse_ok(const struct command *c, const char *const *argv, struct parsed *p)
{
    struct error err = ERROR_INIT;
    if (!parse(c, argv, p, &err))
        fail_msg("%s", err.text);
}

static void test_types(void **state)
{
    (void)state;
    struct parsed p;
    parse_ok(&strict,
             (const char *const[]){"--quiet", "--name", "x", "--k=9", "--offset", "-7", "--lr=-.5",
                                   NULL},
             &p);
    assert_true(p.values[OPT_SWITCH].given);
    assert_string_equal(p.values[OPT_TEXT].text, "x");
    assert_int_equal(p.values[OPT_INT].integer, 9);
    assert_int_equal(p.values[OPT_ANY_INT].integer, -7);
    assert_true(p.values[OPT_NUMBER].number == -0.5);
    assert_false(p.values[OPT_CHOICE].given);
    assert_false(p.values[OPT_LIST].given);
    assert_int_equal(p.values[OPT_LIST].list.n, 0);
    parsed_release(&strict, &p);

    parse_ok(&strict,
             (const char *const[]){"--colour", "green", "--lr", "1e-3",
                                   "--seed=9223372036854775807", "--name=a=b", NULL},
             &p);
    assert_string_equal(p.values[OPT_CHOICE].text, "green");
    assert_true(p.values[OPT_NUMBER].number == 1e-3);
    assert_true(p.values[OPT_BIG].integer == INT64_MAX);
    assert_string_equal(p.values[OPT_TEXT].text, "a=b");
    parsed_release(&strict, &p);
}

static void test_lists(void **state)
{
    (void)state;
    struct parsed p;
    parse_ok(&strict,
             (const char *const[]){"--exp", "A", "-1", "--quiet", "--exp=B,C", "--paint", "red",
                                   "green", NULL},
             &p);
    const struct text_list *l = &p.values[OPT_LIST].list;
    assert_int_equal(l->n, 3);
    assert_string_equal(l->items[1], "-1");
    assert_string_equal(l->items[2], "B,C");
    assert_int_equal(p.values[OPT_SET].list.n, 2);
    parsed_release(&strict, &p);

    parse_ok(&words, (const char *const[]){"--exp", "A", "--", "--quiet", "w", "--", NULL}, &p);
    assert_int_equal(p.values[OPT_LIST].list.n, 1);
    assert_false(p.values[OPT_SWITCH].given);
    assert_int_equal(p.words.n, 3);
    assert_string_equal(p.words.items[0], "--quiet");
    assert_string_equal(p.words.items[2], "--");
    parsed_release(&words, &p);
}

static void test_help_wins(void **state)
{
    (void)state;
    struct parsed p;
    parse_ok(&strict, (const char *const[]){"--nonsense", "--k", "0", "-h", NULL}, &p);
    assert_true(p.help);
    parsed_release(&strict, &p);
    parse_ok(&words, (const char *const[]){"--", "--help", NULL}, &p);
    assert_false(p.help);
    parsed_release(&words, &p);
    parse_ok(&strict, (const char *const[]){NULL}, &p);
    assert_false(p.help);
    parsed_release(&strict, &p);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *argv[4], *error;
    } cases[] = {
        {{"--nmae", "x"}, "unknown option '--nmae' (did you mean '--name'?)"},
        {{"--na=x"}, "unknown option '--na' (did you mean '--name'?)"},
        {{"-q"}, "unknown option '-q'"},
        {{"word"}, "'word' is not expected here: 'strict' takes options only"},
        {{"-"}, "'-' is not expected here"},
        {{"--name"}, "--name needs a value: --name ID"},
        {{"--name", "--quiet"}, "--name needs a value: --name ID"},
        {{"--name", "--"}, "--name needs a value: --name ID"},
        {{"--name="}, "--name needs a value: --name ID"},
        {{"--seed"}, "--seed needs a value: --seed VALUE"},
        {{"--name", "a", "--name=b"}, "--name is given twice: keep one"},
        {{"--k", "0"}, "--k must be a whole number from 1 to 9, not '0'"},
        {{"--k", "10"}, "--k must be a whole number from 1 to 9, not '10'"},
        {{"--k", "3x"}, "--k must be a whole number from 1 to 9, not '3x'"},
        {{"--k="}, "--k must be a whole number from 1 to 9, not ''"},
        {{"--seed", "-1"}, "--seed must be a whole number, at least 0, not '-1'"},
        {{"--seed", "9223372036854775808"}, "--seed must be a whole number, at least 0"},
        {{"--offset", "1.5"}, "--offset must be a whole number, not '1.5'"},
        {{"--lr", "nan"}, "--lr must be a finite number, not 'nan'"},
        {{"--lr", "inf"}, "--lr must be a finite number, not 'inf'"},
        {{"--lr", "1,5"}, "--lr must be a finite number, not '1,5'"},
        {{"--colour"}, "--colour needs a value: --colour red|green"},
        {{"--colour", "gren"}, "--colour: 'gren' is none of red, green (did you mean 'green'?)"},
        {{"--exp"}, "--exp needs a value: --exp ID ..."},
        {{"--exp", "--quiet"}, "--exp needs a value: --exp ID ..."},
        {{"--paint", "red", "blue"}, "--paint: 'blue' is none of red, green"},
        {{"--paint=blue"}, "--paint: 'blue' is none of red, green"},
        {{"--exp", "A", "-exp"}, "unknown option '-exp'"},
        {{"--quiet=1"}, "--quiet takes no value"},
        {{"--compile"}, "--compile: would change nothing"},
        {{"--compile=on"}, "--compile: would change nothing"},
        {{"--compil"}, "unknown option '--compil'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed p;
        struct error err = ERROR_INIT;
        assert_false(parse(&strict, cases[i].argv, &p, &err));
        assert_int_equal(err.class_, ERROR_USAGE);
        if (!strstr(err.text, cases[i].error))
            fail_msg("'%s' does not hold '%s'", err.text, cases[i].error);
    }
}

static void test_index(void **state)
{
    (void)state;
    assert_int_equal(option_index(options, N_OPTIONS, "--lr"), OPT_NUMBER);
    assert_int_equal(option_index(options, N_OPTIONS, "--nothing"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),   cmocka_unit_test(test_lists),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_help_wins),
        cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
