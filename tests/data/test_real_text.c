/* The real text sets, where a data root is given, against what Python makes of them. */
#include "base/file.h"
#include "data/dataset.h"
#include "data/text/words.h"
#include "helper_text.h"

#include <stdlib.h>

static const char *root;

static struct dataset *load(const char *spec)
{
    struct error err = ERROR_INIT;
    struct dataset *d = data_load(spec, root, false, &err);
    if (!d)
        fail_msg("%s: %s", spec, err.text);
    return d;
}

static void same_first(const int32_t *got, const json_t *want)
{
    for (size_t i = 0; i < json_array_size(want); i++)
        if (got[i] != json_integer_value(json_array_get(want, i)))
            fail_msg("id %zu is %d", i, (int)got[i]);
}

/* ---- WikiText-2 ---- */

static void same_part(const struct data_part *p, const json_t *want)
{
    const size_t n = (size_t)json_int(want, "windows") * 128;
    assert_int_equal(p->n, json_int(want, "windows"));
    same_first(p->x, json_object_get(want, "first"));
    assert_int_equal(crc_of(p->x, n), json_int(want, "crc_inputs"));
    assert_int_equal(crc_of(p->label, n), json_int(want, "crc_targets"));
}

static void same_stream(const struct vocabulary *v, const char *text, size_t len,
                        const json_t *want)
{
    const int64_t n = words_count(text, len);
    int32_t *ids = malloc((size_t)n * sizeof *ids);
    int64_t unknown = 0;
    assert_int_equal(n, json_int(want, "words"));
    assert_int_equal(vocabulary_encode(v, text, len, n, ids), n);
    for (int64_t i = 0; i < n; i++)
        unknown += ids[i] == WORD_ID_UNKNOWN;
    assert_int_equal(unknown, json_int(want, "unknown"));
    assert_int_equal(crc_of(ids, (size_t)n), json_int(want, "crc"));
    free(ids);
}

static char *read_text(const char *name, size_t *len)
{
    struct error err = ERROR_INIT;
    char *path = path_join(root, name), *text = NULL;
    if (!file_read_maybe_gz(path, 1 << 24, &text, len, NULL, &err))
        fail_msg("%s", err.text);
    free(path);
    return text;
}

static void same_vocabulary(const struct vocabulary *v, const json_t *want)
{
    size_t i;
    const json_t *row;
    assert_int_equal(vocabulary_size(v), 6500);
    json_array_foreach(want, i, row)
    {
        int64_t count;
        const struct word w =
            vocabulary_word(v, (int32_t)json_integer_value(json_array_get(row, 0)), &count);
        const char *text = json_string_value(json_array_get(row, 1));
        assert_int_equal(w.len, strlen(text));
        assert_memory_equal(w.at, text, w.len);
        assert_int_equal(count, json_integer_value(json_array_get(row, 2)));
    }
    assert_int_equal(i, 18);
}

static void check_words(const json_t *c, const char *spec, const char *layout)
{
    size_t len, test_len;
    char *text = read_text(json_text(c, "train"), &len);
    char *test = read_text(json_text(c, "test"), &test_len);
    struct vocabulary *all = vocabulary_make(text, len, 1 << 24);
    struct vocabulary *v = vocabulary_make(text, len, 6500);
    /* "<unk>" is a distinct word to Python and none of the vocabulary's. */
    const bool marked = strcmp(layout, "raw") != 0;
    assert_int_equal(vocabulary_size(all) - WORD_ID_FIRST + marked, json_int(c, "distinct"));
    same_vocabulary(v, json_object_get(c, "vocabulary"));
    same_stream(v, text, len, json_object_get(c, "train_stream"));
    same_stream(v, test, test_len, json_object_get(c, "test_stream"));
    struct dataset *d = load(spec);
    assert_string_equal(d->layout, layout);
    same_part(&d->train, json_object_get(c, "train_stream"));
    same_part(&d->test, json_object_get(c, "test_stream"));
    data_free(d);
    vocabulary_free(v);
    vocabulary_free(all);
    free(test);
    free(text);
}

static void test_wikitext(void **state)
{
    (void)state;
    json_t *json = golden_text("words.json");
    const json_t *cases = json_object_get(json, "cases");
    assert_int_equal(json_array_size(cases), 2);
    check_words(json_array_get(cases, 0), "wikitext?train=valid", "tokens");
    check_words(json_array_get(cases, 1), "wikitext?train=test", "raw");
    json_decref(json);
}

static void test_wikitext_lines(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t lines, words, bytes;
    } files[] = {{"wikitext-2/wiki.valid.tokens", 3760, 213886, -1},
                 {"wikitext-2/wiki.test.tokens", 4358, 241211, -1},
                 {"wikitext-2-raw/wiki.test.raw", 4358, 241211, 1290590}};
    for (size_t i = 0; i < 3; i++) {
        size_t len;
        char *text = read_text(files[i].name, &len);
        int64_t lines = 0;
        for (size_t k = 0; k < len; k++)
            lines += text[k] == '\n';
        assert_int_equal(lines, files[i].lines);
        assert_int_equal(words_count(text, len), files[i].words);
        assert_true(files[i].bytes < 0 || (int64_t)len == files[i].bytes);
        free(text);
    }
}

/* ---- SST-2 ---- */

static void check_tokens(const json_t *c, const struct data_part *p)
{
    const size_t length = (size_t)json_int(c, "length");
    const int32_t *x = p->x;
    int64_t tokens = 0, unknown = 0, full = 0, positive = 0;
    assert_int_equal(p->n, json_int(c, "rows"));
    for (int64_t i = 0; i < p->n; i++) {
        const int32_t *row = x + (size_t)i * length;
        for (size_t k = 0; k < length; k++) {
            tokens += row[k] != 1;
            unknown += row[k] == 3;
        }
        full += row[length - 1] != 1;
        positive += p->label[i];
    }
    assert_int_equal(tokens, json_int(c, "tokens"));
    assert_int_equal(unknown, json_int(c, "unknown"));
    assert_int_equal(full, json_int(c, "full"));
    assert_int_equal(positive, json_int(c, "positive"));
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(c, "shown"), i, row) same_first(
        x + (size_t)json_integer_value(json_array_get(row, 0)) * length, json_array_get(row, 1));
    assert_int_equal(crc_of(x, (size_t)p->n * length), json_int(c, "crc"));
    assert_int_equal(crc_of(p->label, (size_t)p->n), json_int(c, "crc_labels"));
}

static void test_sst2(void **state)
{
    (void)state;
    json_t *json = golden_text("tokens.json");
    const json_t *cases = json_object_get(json, "cases");
    struct dataset *d = load("sst2?tokenizer=tokenizer/spm_wt2valid_unigram2k.model");
    assert_int_equal(d->vocabulary, json_int(json, "vocabulary"));
    assert_true(d->train.n == 67349 && d->test.n == 872);
    check_tokens(json_array_get(cases, 0), &d->train);
    check_tokens(json_array_get(cases, 1), &d->test);
    data_free(d);
    d = load("sst2?tokenizer=tokenizer/spm_wt2valid_unigram2k.model&n_train=5&seq=16");
    assert_int_equal(d->train.n, 5);
    check_tokens(json_array_get(cases, 2), &d->test);
    data_free(d);
    json_decref(json);
}

int main(void)
{
    root = real_root();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wikitext),
        cmocka_unit_test(test_wikitext_lines),
        cmocka_unit_test(test_sst2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
