/* XLM-R's ids: model files right and broken, and ids of a small unigram model by hand. */
#include "data/text/spm_model.h"
#include "data/text/tokenizer.h"
#include "helper_text.h"

/* ---- model files, read without the library ---- */

static void test_pieces(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct bytes b = small_model();
    int32_t n = 0;
    if (!spm_model_pieces((char *)b.data, b.len, "m", &n, &err))
        fail_msg("%s", err.text);
    assert_int_equal(n, SMALL_PIECES);
    /* Fields of other numbers are passed over: 2 a message, 3 a number, 4 and 5 of fixed size. */
    static const unsigned char more[] = {2 << 3 | 2, 2, 'a', 'b', 3 << 3, 0x96,       0x01,
                                         4 << 3 | 5, 1, 2,   3,   4,      5 << 3 | 1, 1,
                                         2,          3, 4,   5,   6,      7,          8};
    memcpy(b.data + b.len, more, sizeof more);
    assert_true(spm_model_pieces((char *)b.data, b.len + sizeof more, "m", &n, &err));
    assert_int_equal(n, SMALL_PIECES);
    /* Cut anywhere but between two fields it is damaged. */
    for (size_t len = 0; len < sizeof more; len++) {
        const bool whole = len == 0 || len == 4 || len == 7 || len == 12;
        assert_int_equal(spm_model_pieces((char *)b.data, b.len + len, "m", &n, NULL), whole);
    }
}

static void pieces_refused(const struct bytes *b, const char *part)
{
    struct error err = ERROR_INIT;
    int32_t n;
    if (spm_model_pieces((const char *)b->data, b->len, "dir/my.model", &n, &err))
        fail_msg("accepted where '%s' is expected", part);
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, part);
    assert_contains(err.text, "'dir/my.model'");
}

static struct bytes first_pieces(const char *a, int type_a, const char *b, const char *c)
{
    struct bytes m = {.len = 0};
    add_piece(&m, a, 0, type_a);
    add_piece(&m, b, 0, 3);
    add_piece(&m, c, 0, 3);
    add_piece(&m, "x", 0, 1);
    return m;
}

static void test_broken_models(void **state)
{
    (void)state;
    struct bytes b = {.len = 0};
    pieces_refused(&b, "no SentencePiece model, or damaged or cut");
    b = (struct bytes){.data = "not a model at all", .len = 18};
    pieces_refused(&b, "no SentencePiece model");
    b = (struct bytes){
        .data = {1 << 3 | 2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}, .len = 11};
    pieces_refused(&b, "no SentencePiece model");
    b = (struct bytes){.data = {1 << 3, 5}, .len = 2}; /* field 1 as a number */
    pieces_refused(&b, "no SentencePiece model");
    b = (struct bytes){.data = {1 << 3 | 3}, .len = 1}; /* a group */
    pieces_refused(&b, "no SentencePiece model");
    b = (struct bytes){.data = {1 << 3 | 2, 0}, .len = 2}; /* a piece without text */
    pieces_refused(&b, "no SentencePiece model");
    b = first_pieces("<unk>", 2, "<s>", "</s>");
    b.len -= 1;
    pieces_refused(&b, "damaged or cut");
    b = first_pieces("<unk>", 2, "<s>", "</s>");
    b.data[b.len - 8] = 0xFF; /* the text "x" of its last piece */
    pieces_refused(&b, "no SentencePiece model");
    b = first_pieces("<unk>", 2, "<s>", "</s>");
    b.len = 3 * 11 + 5 + 3 + 4; /* three pieces and no more */
    pieces_refused(&b, "no SentencePiece model");
    b = first_pieces("<unk>", 1, "<s>", "</s>");
    pieces_refused(&b, "piece 0 does not fit XLM-R's ids: pieces 0, 1 and 2 must be <unk>, <s>");
    b = first_pieces("<pad>", 2, "<s>", "</s>");
    pieces_refused(&b, "piece 0 does not fit");
    b = first_pieces("<unk>", 2, "</s>", "<s>");
    pieces_refused(&b, "piece 1 does not fit");
    b = first_pieces("<unk>", 2, "<s>", "</s>");
    add_piece(&b, "<unk2>", 0, 2);
    pieces_refused(&b, "piece 4 does not fit");
}

/* ---- ids ---- */

static struct tokenizer *open_small(void **state)
{
    struct error err = ERROR_INIT;
    const struct bytes b = small_model();
    write_file(state, "small.model", b.data, b.len);
    char *path = text_path(state, "small.model");
    int32_t vocabulary = 0;
    if (!tokenizer_vocabulary(path, &vocabulary, &err))
        fail_msg("%s", err.text);
    assert_int_equal(vocabulary, SMALL_VOCABULARY);
    struct tokenizer *t = tokenizer_open(path, &err);
    free(path);
    if (!t && strstr(err.text, "sub-word tokens need the SentencePiece library")) {
        printf("no SentencePiece library here: ids are not tested\n");
        skip();
    }
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

static void test_ids(void **state)
{
    struct tokenizer *t = open_small(state);
    static const struct {
        const char *text;
        int32_t length, ids[12];
    } cases[] = {
        {"", 4, {0, 2, 1, 1}},
        {"   ", 4, {0, 2, 1, 1}},
        {"good film", 8, {0, 4, 6, 2, 1, 1, 1, 1}},
        {"  good   films ", 8, {0, 4, 6, 7, 2, 1, 1, 1}},
        {"good film", 4, {0, 4, 6, 2}},     /* just fits */
        {"good film bad", 4, {0, 4, 6, 2}}, /* cut, </s> kept */
        {"good film bad", 3, {0, 4, 2}},
        {"good film bad", 2, {0, 2}},
        {"dog", 8, {0, 8, 11, 10, 9, 2, 1, 1}},         /* _ d o g */
        {"film \xC3\xA9", 8, {0, 6, 8, 3, 2, 1, 1, 1}}, /* _ and <unk> */
        {"<s>", 8, {0, 8, 3, 7, 3, 2, 1, 1}},           /* text, not a mark */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        int32_t ids[13];
        ids[cases[i].length] = -7;
        if (!tokenizer_encode(t, cases[i].text, strlen(cases[i].text), cases[i].length, ids, &err))
            fail_msg("%s", err.text);
        for (int32_t k = 0; k < cases[i].length; k++)
            if (ids[k] != cases[i].ids[k])
                fail_msg("'%s', %d tokens: id %d is %d, not %d", cases[i].text,
                         (int)cases[i].length, (int)k, (int)ids[k], (int)cases[i].ids[k]);
        assert_int_equal(ids[cases[i].length], -7);
    }
    tokenizer_close(t);
    tokenizer_close(NULL);
}

/* What our own reading lets through the library may still refuse: an error, no end of the process.
 */
static void test_library_refuses(void **state)
{
    struct error err = ERROR_INIT;
    tokenizer_close(open_small(state));
    struct bytes b = small_model();
    b.data[b.len++] = 2 << 3 | 2; /* a trainer_spec of rubbish */
    b.data[b.len++] = 3;
    memcpy(b.data + b.len, "\xFF\xFF\xFF", 3);
    b.len += 3;
    write_file(state, "rubbish.model", b.data, b.len);
    char *path = text_path(state, "rubbish.model");
    assert_null(tokenizer_open(path, &err));
    assert_contains(err.text, "SentencePiece cannot read this model");
    assert_contains(err.text, path);
    free(path);
    path = text_path(state, "none.model");
    assert_null(tokenizer_open(path, &err));
    assert_contains(err.text, path);
    free(path);
}

/* ---- the golden ids ---- */

static void test_golden_texts(void **state)
{
    (void)state;
    const char *root = getenv("FUGUE_DATA_DIR");
    struct error err = ERROR_INIT;
    if (!root || !*root) {
        printf("FUGUE_DATA_DIR is not set: no real model to read\n");
        skip();
    }
    json_t *json = golden_text("tokens.json");
    char *path = path_join(root, json_text(json, "model"));
    struct tokenizer *t = tokenizer_open(path, &err);
    if (!t)
        fail_msg("%s", err.text);
    size_t i;
    const json_t *text;
    json_array_foreach(json_object_get(json, "texts"), i, text)
    {
        const char *s = json_string_value(json_array_get(text, 1));
        const json_t *want = json_array_get(text, 2);
        int32_t ids[64];
        assert_true(tokenizer_encode(t, s, strlen(s), 64, ids, &err));
        for (size_t k = 0; k < 64; k++) {
            const json_t *w = json_array_get(want, k);
            if (ids[k] != (w ? json_integer_value(w) : TOKEN_PAD))
                fail_msg("'%s': id %zu is %d", s, k, (int)ids[k]);
        }
    }
    assert_int_equal(i, 7);
    tokenizer_close(t);
    free(path);
    json_decref(json);
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_broken_models),
        WITH_FOLDER(test_ids),
        WITH_FOLDER(test_library_refuses),
        cmocka_unit_test(test_golden_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
