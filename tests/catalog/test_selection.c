/* The grammar of --exp. */
#include "helper_catalog.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TOKENS 4

/* Ids chosen, joined by blanks, or the error's text. */
static char *chosen(const char *const *tokens)
{
    struct registry r;
    struct error err = ERROR_INIT;
    const struct experiment **list;
    int32_t n;
    int n_tokens = 0;
    while (n_tokens < MAX_TOKENS && tokens[n_tokens])
        n_tokens++;
    struct text out;
    text_init(&out);
    load_builtins_only(&r);
    if (registry_select(&r, tokens, n_tokens, &list, &n, &err)) {
        for (int32_t i = 0; i < n; i++)
            text_addf(&out, "%s%s", i ? " " : "", list[i]->id);
        free(list);
    } else {
        assert_int_equal(err.class_, ERROR_USAGE);
        text_add(&out, err.text);
    }
    registry_release(&r);
    char *text = text_take(&out);
    text_release(&out);
    return text;
}

#define ALL "E01 E02 E03 E04 E05 E06 E07 E08 E09 E10 E11 E12 E13 E14 E15 E16 E17 D01 D02 D03 D04"

static const struct {
    const char *tokens[MAX_TOKENS + 1], *ids;
} cases[] = {
    {{NULL}, ALL},
    {{"all"}, ALL},
    {{"ALL"}, ALL},
    {{":"}, ALL},
    {{"E05"}, "E05"},
    {{"e05"}, "E05"},
    {{"5"}, "E05"},
    {{"e5"}, "E05"},
    {{"05"}, "E05"},
    {{"17"}, "E17"},
    {{"d1"}, "D01"},
    {{"D01", "E02"}, "D01 E02"},
    {{"D01,E02"}, "D01 E02"},
    {{"E02,E02", "2"}, "E02"},
    {{"E03,E01:E04"}, "E03 E01 E02 E04"},
    {{"15:D02"}, "E15 E16 E17 D01 D02"},
    {{":3"}, "E01 E02 E03"},
    {{"D03:"}, "D03 D04"},
    {{"E04:E04"}, "E04"},
    {{"E05:E03", "D01"}, "D01"},
};

static void test_grammar(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *ids = chosen(cases[i].tokens);
        assert_string_equal(ids, cases[i].ids);
        free(ids);
    }
}

static const struct {
    const char *tokens[MAX_TOKENS + 1], *error;
} errors[] = {
    {{"E99"}, "unknown experiment 'E99'"},
    {{"0"}, "unknown experiment '0'"},
    {{"nonsense"}, "unknown experiment 'nonsense'; 'fugue list' shows what there is"},
    {{"D0l"}, "unknown experiment 'D0l' (did you mean 'D01'?)"},
    {{""}, "cannot read '' as a selection"},
    {{"E01,"}, "cannot read '' as a selection"},
    {{"all", "E01"}, "cannot read 'all' as a selection"},
    {{"E01,all"}, "cannot read 'all' as a selection"},
    {{"E01:E02:E03"}, "cannot read 'E01:E02:E03' as a selection"},
    {{"E01:zz"}, "unknown experiment 'zz'"},
    {{"zz:"}, "unknown experiment 'zz'"},
    {{"E05:E03"}, "the selection is empty"},
    {{"99999999999999999999"}, "unknown experiment"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        char *text = chosen(errors[i].tokens);
        assert_contains(text, errors[i].error);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grammar),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
