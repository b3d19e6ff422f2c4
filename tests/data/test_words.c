/* UTF-8, words, vocabularies and labelled lines, on texts small enough to see through. */
#include "data/text/tsv.h"
#include "data/text/utf8.h"
#include "data/text/words.h"
#include "helper_data.h"

/* ---- UTF-8 ---- */

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len, valid;
    } cases[] = {
        {"", 0, 0},
        {"plain text of more than eight bytes", 35, 35},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, 9},
        {"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", 10, 10},
        {"ab\xFF", 3, 2},
        {"ab\x80", 3, 2},                       /* no start */
        {"\xC0\xAF", 2, 0},                     /* overlong, two bytes */
        {"\xC1\xBF", 2, 0},                     /* overlong, two bytes */
        {"a\xE0\x9F\xBF", 4, 1},                /* overlong, three */
        {"\xF0\x8F\xBF\xBF", 4, 0},             /* overlong, four */
        {"\xED\xA0\x80", 3, 0},                 /* a surrogate */
        {"\xF4\x90\x80\x80", 4, 0},             /* U+110000 */
        {"\xF5\x80\x80\x80", 4, 0},             /* no start */
        {"\xC3", 1, 0},                         /* cut */
        {"abcdefgh\xE2\x82", 10, 8},            /* cut */
        {"abcdefgh\xE2\x82xyzabcdefgh", 21, 8}, /* the third byte is none */
        {"\xF0\x9F\x98x", 4, 0},                /* the fourth byte is none */
        {"abcdefghi\xC3\xA9jklmnop\xC3(qrs", 22, 18},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (utf8_valid_len(cases[i].bytes, cases[i].len) != cases[i].valid)
            fail_msg("case %zu: %zu, not %zu", i, utf8_valid_len(cases[i].bytes, cases[i].len),
                     cases[i].valid);
    struct error err = ERROR_INIT;
    assert_false(utf8_check("one\ntwo\nthr\xE9"
                            "e\n",
                            14, "f.txt", &err));
    assert_string_equal(err.text, "f.txt:3: byte 0xe9 is not UTF-8; the file is damaged");
    assert_false(utf8_check("one\n\0two", 8, "f.txt", &err));
    assert_contains(err.text, "f.txt:2: a NUL byte");
    assert_true(utf8_check("", 0, "f.txt", &err));
}

/* All that Python's str.isspace() holds true of a single character, and neighbours it does not. */
static void test_space(void **state)
{
    (void)state;
    static const char *const spaces[] = {
        "\t",           "\n",           "\v",           "\f",           "\r",
        "\x1C",         "\x1D",         "\x1E",         "\x1F",         " ",
        "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
        "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86",
        "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
        "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
    static const char *const others[] = {
        "",  "a",        "\x08",         "\x0E",         "\x1B",
        "!", "\x7F",     "\xC2\x84",     "\xC2\xA1",     "\xE1\x9A\x81",
        "_", "\xC3\x85", "\xE2\x80\x8B", "\xE2\x80\xA7", "\xE3\x80\x81"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        const size_t n = strlen(spaces[i]);
        if (utf8_space_len(spaces[i], spaces[i] + n) != n)
            fail_msg("space %zu is none", i);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (utf8_space_len(others[i], others[i] + strlen(others[i])) != 0)
            fail_msg("character %zu is a space", i);
}

/* ---- words ---- */

static void test_words(void **state)
{
    (void)state;
    const char *text = " \n = Head = \n \n\n the\xC2\xA0"
                       "cat\t,\xE3\x80\x80the end";
    const char *want[] = {"=", "Head", "=", "the", "cat", ",", "the", "end"};
    const char *at = text, *end = text + strlen(text);
    struct word w;
    for (size_t i = 0; i < 8; i++) {
        assert_true(word_next(&at, end, &w));
        assert_int_equal(w.len, strlen(want[i]));
        assert_memory_equal(w.at, want[i], w.len);
    }
    assert_false(word_next(&at, end, &w));
    assert_int_equal(words_count(text, strlen(text)), 8);
    assert_int_equal(words_count("", 0), 0);
    assert_int_equal(words_count(" \n ", 3), 0);
}

static int32_t id_of(const struct vocabulary *v, const char *word)
{
    return vocabulary_id(v, (struct word){word, strlen(word)});
}

static void test_vocabulary(void **state)
{
    (void)state;
    /* b 3, a 3 (b is first), c 2, <unk> 4 (no place of its own), d 1, e 1 */
    const char *text = "b a <unk> c\nb a <unk>\n\nd a b <unk> c e <unk>";
    const size_t len = strlen(text);
    struct vocabulary *v = vocabulary_make(text, len, 6);
    int64_t count;
    assert_int_equal(vocabulary_size(v), 6);
    assert_int_equal(id_of(v, "b"), 2);
    assert_int_equal(id_of(v, "a"), 3);
    assert_int_equal(id_of(v, "c"), 4);
    assert_int_equal(id_of(v, "d"), 5);
    assert_int_equal(id_of(v, "e"), WORD_ID_UNKNOWN);
    assert_int_equal(id_of(v, "<unk>"), WORD_ID_UNKNOWN);
    assert_int_equal(id_of(v, "<pad>"), WORD_ID_UNKNOWN);
    assert_int_equal(id_of(v, "bb"), WORD_ID_UNKNOWN);
    assert_int_equal(id_of(v, ""), WORD_ID_UNKNOWN);
    assert_memory_equal(vocabulary_word(v, 4, &count).at, "c", 1);
    assert_int_equal(count, 2);
    int32_t ids[20];
    const int32_t want[] = {2, 3, 1, 4, 2, 3, 1, 5, 3, 2, 1, 4, 1, 1};
    assert_int_equal(vocabulary_encode(v, text, len, 20, ids), 14);
    assert_memory_equal(ids, want, sizeof want);
    assert_int_equal(vocabulary_encode(v, text, len, 3, ids), 3);
    assert_int_equal(vocabulary_encode(v, "a z", 3, 9, ids), 2);
    assert_true(ids[0] == 3 && ids[1] == WORD_ID_UNKNOWN);
    vocabulary_free(v);
    v = vocabulary_make(text, len, 100); /* fewer words than places */
    assert_int_equal(vocabulary_size(v), 7);
    vocabulary_free(v);
    v = vocabulary_make("", 0, 2);
    assert_int_equal(vocabulary_size(v), 2);
    assert_int_equal(id_of(v, "a"), WORD_ID_UNKNOWN);
    vocabulary_free(v);
}

/* Enough words to make the table grow many times. */
static void test_many_words(void **state)
{
    (void)state;
    enum { N = 30000 };
    char *text = malloc(N * 8);
    size_t len = 0;
    assert_non_null(text);
    for (int i = 0; i < N; i++)
        len += (size_t)sprintf(text + len, "w%d ", i % 20000);
    struct vocabulary *v = vocabulary_make(text, len, 15002);
    int32_t *ids = malloc(N * sizeof *ids);
    assert_non_null(ids);
    assert_int_equal(vocabulary_encode(v, text, len, N, ids), N);
    for (int i = 0; i < N; i++)
        assert_int_equal(ids[i], i % 20000 < 15000 ? 2 + i % 20000 : WORD_ID_UNKNOWN);
    vocabulary_free(v);
    free(ids);
    free(text);
}

/* ---- labelled lines ---- */

static void test_tsv(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct tsv t;
    const char *text = "sentence\tlabel\na fine film \t1\r\nna\xC3\xAFve\t0";
    if (!tsv_parse(text, strlen(text), "f.tsv", 2, &t, &err))
        fail_msg("%s", err.text);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.rows[0].len, 12); /* its last blank is kept */
    assert_memory_equal(t.rows[0].text, "a fine film ", 12);
    assert_int_equal(t.rows[0].label, 1);
    assert_int_equal(t.rows[1].len, 6);
    assert_int_equal(t.rows[1].label, 0);
    tsv_release(&t);
    assert_null(t.rows);
}

static void test_tsv_broken(void **state)
{
    (void)state;
#define H "sentence\tlabel\n"
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "f.tsv: the file is empty"},
        {"sentence\tlabel", "f.tsv: no rows after the header"},
        {H, "f.tsv: no rows after the header"},
        {"label\tsentence\n1\ta film\n", "f.tsv:1: the file begins with 'label?sentence'"},
        {"index\tsentence\n0\ta film\n", "f.tsv:1: the file begins with"},
        {"sentence\tlabel\tx\na\t1\n", "f.tsv:1:"},
        {"a film\t1\n", "f.tsv:1: the file begins with 'a film?1'"},
        {H "a film\t1\n\nb\t0\n", "f.tsv:3: 1 column; 2 are expected"},
        {H "a film\t1\t0\n", "f.tsv:2: 3 columns; 2 are expected"},
        {H "a film\t1\nanother fi", "f.tsv:3: 1 column"},
        {H "a film\t1\nanother film\t", "f.tsv:3: label ''; 0 to 1"},
        {H "a film\t2\n", "f.tsv:2: label '2'; 0 to 1"},
        {H "a film\t-1\n", "f.tsv:2: label '-1'"},
        {H "a film\t 1\n", "f.tsv:2: label ' 1'"},
        {H "a film\t01\n", "f.tsv:2: label '01'"},
        {H "a film\tpositive, they say, without end\n", "label 'positive, they say, '"},
        {H "\t1\n", "f.tsv:2: an empty sentence"},
        {H "a\t1\nb \xFF\t0\n", "f.tsv:3: byte 0xff is not UTF-8"},
        {"\x1F\x8B\x08", "f.tsv:1: byte 0x8b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        struct tsv t;
        if (tsv_parse(cases[i].text, strlen(cases[i].text), "f.tsv", 2, &t, &err))
            fail_msg("case %zu was accepted", i);
        assert_contains(err.text, cases[i].part);
        assert_int_equal(err.class_, ERROR_DATA);
        assert_null(t.rows);
    }
}

static void test_tsv_huge(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct tsv t;
    const size_t head = strlen(H), most = TSV_MAX_SENTENCE;
    char *text = malloc(head + most + 8);
    assert_non_null(text);
    memcpy(text, H, head);
    memset(text + head, 'x', most + 1);
    memcpy(text + head + most, "\t1\n", 3);
    assert_true(tsv_parse(text, head + most + 3, "f.tsv", 2, &t, &err));
    tsv_release(&t);
    memcpy(text + head + most, "x\t1\n", 4);
    assert_false(tsv_parse(text, head + most + 4, "f.tsv", 2, &t, &err));
    assert_contains(err.text, "f.tsv:2: a sentence of 65537 bytes");
    memset(text + head, '\n', most);
    assert_false(tsv_parse(text, head + most, "f.tsv", 2, &t, &err));
    assert_contains(err.text, "f.tsv:2: 1 column");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),       cmocka_unit_test(test_space),
        cmocka_unit_test(test_words),      cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_many_words), cmocka_unit_test(test_tsv),
        cmocka_unit_test(test_tsv_broken), cmocka_unit_test(test_tsv_huge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
