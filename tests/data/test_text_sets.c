/* wikitext and sst2 on small files the tests write: layouts, arguments, and every way of being
 * broken. */
#include "data/dataset.h"
#include "data/text/tokenizer.h"
#include "helper_text.h"

static void put(void **state, const char *name, const char *text)
{
    write_file(state, name, text, strlen(text));
}

static struct dataset *load(void **state, const char *spec)
{
    struct error err = ERROR_INIT;
    struct dataset *d = data_load(spec, *state, false, &err);
    if (!d)
        fail_msg("%s: %s", spec, err.text);
    return d;
}

static void refused(void **state, const char *spec, enum error_class class_, const char *part)
{
    struct error err = ERROR_INIT;
    struct dataset *d = data_load(spec, *state, false, &err);
    if (d)
        fail_msg("%s was accepted where '%s' is expected", spec, part);
    assert_contains(err.text, part);
    assert_int_equal(err.class_, class_);
}

#define assert_ids(got, ...)                                                                       \
    do {                                                                                           \
        const int32_t want_[] = {__VA_ARGS__};                                                     \
        assert_memory_equal(got, want_, sizeof want_);                                             \
    } while (0)

/* ---- wikitext ---- */

#define RAW    "wikitext-2-raw/wiki."
#define TOKENS "wikitext-2/wiki."
#define TORCH  "datasets/WikiText2/wikitext-2/wiki."

static void test_windows(void **state)
{
    /* the 3, cat 2, sat 1, on 1, mat 1, = 2, Head 1: ids the 2, = 3, cat 4, Head 5, sat 6, ... */
    put(state, RAW "train.raw", " \n = Head = \n \n the cat sat on the mat the cat \n");
    put(state, RAW "test.raw", " the cat \n \n barks = = the\n");
    struct dataset *d = load(state, "wikitext?seq=3&vocab=16");
    assert_string_equal(d->layout, "raw");
    assert_int_equal(d->train.n, 3); /* 11 words: three windows and a last target, one left */
    assert_int_equal(d->shape.rank, 1);
    assert_int_equal(d->shape.d[0], 3);
    assert_true(d->vocabulary == 16 && d->n_outputs == 16 && d->labels_per_sample == 3);
    assert_true(d->x_type == DATA_I32 && d->source == DATA_REAL && !d->test_is_train);
    assert_ids(d->train.x, 3, 5, 3, 2, 4, 6, 7, 2, 8);
    assert_ids(d->train.label, 5, 3, 2, 4, 6, 7, 2, 8, 2);
    assert_int_equal(d->test.n, 1);
    assert_ids(d->test.x, 2, 4, 1);
    assert_ids(d->test.label, 4, 1, 3);
    assert_int_equal(d->bytes, 4 * 3 * 4 * 2);
    data_free(d);
    d = load(state, "wikitext?seq=2&vocab=16&n_train=2&n_test=1");
    assert_true(d->train.n == 2 && d->test.n == 1);
    data_free(d);
}

/* A layout serves when it has the two files asked for; raw is preferred. */
static void test_wikitext_layouts(void **state)
{
    const char *text = "a <unk> b a <unk> <unk> c";
    put(state, RAW "test.raw", "x y z x y z");
    put(state, TORCH "test.tokens", text);
    write_gz(state, TORCH "valid.tokens.gz", text, strlen(text));
    refused(state, "wikitext?seq=2", ERROR_DATA, "wikitext-2-raw/wiki.train.raw' is not there");
    struct dataset *d = load(state, "wikitext?train=valid&seq=2");
    assert_string_equal(d->layout, "tokens, torchtext");
    assert_int_equal(d->vocabulary, 6500); /* as asked for, however few words there are */
    assert_ids(d->train.x, 2, 1, 3, 2, 1, 1);
    data_free(d);
    put(state, TOKENS "test.tokens", "c b c b c");
    put(state, TOKENS "valid.tokens", text);
    d = load(state, "wikitext?train=valid&seq=2");
    assert_string_equal(d->layout, "tokens");
    assert_ids(d->test.x, 4, 3, 4, 3);
    data_free(d);
    d = load(state, "wikitext?train=test&seq=2"); /* raw has this one */
    assert_string_equal(d->layout, "raw");
    assert_true(d->test_is_train && d->test.x == d->train.x && d->test.n == 2);
    assert_int_equal(d->bytes, 2 * 2 * 4 * 2);
    data_free(d);
    d = load(state, "wikitext?train=test&test=valid&seq=2");
    assert_string_equal(d->layout, "tokens");
    assert_ids(d->train.x, 2, 3, 2, 3);
    assert_ids(d->test.x, 1, 1, 3, 1, 1, 1);
    data_free(d);
}

static void test_wikitext_broken(void **state)
{
    put(state, RAW "test.raw", "a b c d");
    put(state, RAW "train.raw", "a b\nc \xC3(");
    refused(state, "wikitext?seq=2", ERROR_DATA, "wiki.train.raw:2: byte 0xc3 is not UTF-8");
    put(state, RAW "train.raw", "");
    refused(state, "wikitext?seq=2", ERROR_DATA, "wiki.train.raw' has 0 words; a window of 2");
    put(state, RAW "train.raw", "a b");
    refused(state, "wikitext?seq=2", ERROR_DATA,
            "has 2 words; a window of 2 and its last target need 3");
    write_file(state, RAW "train.raw", "a b\0c d e", 9);
    refused(state, "wikitext?seq=2", ERROR_DATA, "a NUL byte");
    put(state, RAW "train.raw", "a b c d");
    refused(state, "wikitext", ERROR_DATA, "wiki.train.raw' has 4 words");
    remove_file(state, RAW "test.raw");
    write_file(state, RAW "test.raw.gz", "\x1F\x8B\x08 no gzip", 11);
    refused(state, "wikitext?seq=2", ERROR_DATA, "wiki.test.raw.gz");
}

static void test_wikitext_args(void **state)
{
    put(state, RAW "test.raw", "a b c d");
    refused(state, "wikitext?train=validation", ERROR_USAGE, "train, valid or test");
    refused(state, "wikitext?test=train", ERROR_USAGE, "test or valid");
    refused(state, "wikitext?seq=1", ERROR_USAGE, "seq");
    refused(state, "wikitext?vocab=15", ERROR_USAGE, "vocab");
    refused(state, "wikitext?words=9", ERROR_USAGE, "words");
    refused(state, "wikitext?train=test&seq=2&n_test=1", ERROR_USAGE, "leave n_test out");
    struct data_info info;
    struct error err = ERROR_INIT;
    assert_true(data_describe("wikitext", false, &info, &err));
    assert_true(info.n_train == 16030 && info.n_test == 1884 && info.n_outputs == 6500);
    assert_true(data_describe("wikitext?train=valid&seq=64&vocab=900", false, &info, &err));
    assert_true(info.n_train == 3341 && info.n_test == 3768);
    assert_true(info.n_outputs == 900 && info.vocabulary == 900 && info.shape.d[0] == 64);
    assert_true(data_describe("wikitext?train=valid&test=valid&n_train=7", false, &info, &err));
    assert_true(info.n_train == 7 && info.n_test == 7);
}

/* ---- sst2 ---- */

#define HEAD    "sentence\tlabel\n"
#define SMALL   "sst2?tokenizer=small.model"
#define SMALL_8 SMALL "&seq=8"

static void put_small(void **state)
{
    const struct bytes b = small_model();
    write_file(state, "small.model", b.data, b.len);
    put(state, "SST-2/train.tsv",
        HEAD "good film \t1\nbad films \t0\ngood good good good bad bad film\t1\n");
    put(state, "SST-2/dev.tsv", HEAD "bad\t0\n");
}

static bool library_here(void **state)
{
    struct error err = ERROR_INIT;
    char *path = text_path(state, "small.model");
    struct tokenizer *t = tokenizer_open(path, &err);
    free(path);
    tokenizer_close(t);
    return t != NULL;
}

static void test_sentences(void **state)
{
    put_small(state);
    if (!library_here(state)) {
        printf("no SentencePiece library here: sst2 cannot be loaded\n");
        skip();
    }
    struct dataset *d = load(state, SMALL_8);
    assert_string_equal(d->layout, "GLUE");
    assert_true(d->train.n == 3 && d->test.n == 1);
    assert_true(d->vocabulary == SMALL_VOCABULARY && d->n_outputs == 2 &&
                d->labels_per_sample == 1);
    assert_ids(d->train.x, 0, 4, 6, 2, 1, 1, 1, 1, 0, 5, 6, 7, 2, 1, 1, 1, 0, 4, 4, 4, 4, 5, 5, 2);
    assert_ids(d->train.label, 1, 0, 1);
    assert_ids(d->test.x, 0, 5, 2, 1, 1, 1, 1, 1);
    assert_ids(d->test.label, 0);
    data_free(d);
    d = load(state, SMALL "&n_train=2");
    assert_true(d->train.n == 2 && d->shape.d[0] == 128);
    data_free(d);
    /* torchtext's folders */
    remove_file(state, "SST-2/dev.tsv");
    refused(state, SMALL_8, ERROR_DATA,
            "SST-2/dev.tsv' is not there; 'fugue prefetch sst2' fetches it");
    write_gz(state, "datasets/SST2/SST-2/dev.tsv.gz", HEAD "good\t1\nfilm\t0\n", 28);
    put(state, "datasets/SST2/SST-2/train.tsv", HEAD "good\t1\nbad\t0");
    d = load(state, SMALL_8);
    assert_string_equal(d->layout, "torchtext");
    assert_true(d->train.n == 2 && d->test.n == 2);
    data_free(d);
}

static void test_sst2_broken(void **state)
{
    put_small(state);
    if (!library_here(state)) {
        printf("no SentencePiece library here: sst2 cannot be loaded\n");
        skip();
    }
    put(state, "SST-2/dev.tsv", HEAD "bad\t0\ngood\t2\n");
    refused(state, SMALL_8, ERROR_DATA, "SST-2/dev.tsv:3: label '2'; 0 to 1 are expected");
    put(state, "SST-2/dev.tsv", "");
    refused(state, SMALL_8, ERROR_DATA, "SST-2/dev.tsv: the file is empty");
    put(state, "SST-2/dev.tsv", HEAD "ba");
    refused(state, SMALL_8, ERROR_DATA, "SST-2/dev.tsv:2: 1 column");
}

/* The tokenizer decides the vocabulary, and is looked for before anything is read. */
static void test_sst2_tokenizer(void **state)
{
    struct error err = ERROR_INIT;
    struct data_info info;
    put_small(state);
    char *path = text_path(state, "small.model");
    char *spec = xasprintf("sst2?tokenizer=%s&n_train=9", path);
    assert_true(data_describe(spec, false, &info, &err));
    assert_true(info.vocabulary == SMALL_VOCABULARY && info.n_train == 9 && info.n_test == 872);
    assert_true(data_describe("sst2", false, &info, &err));
    assert_true(info.vocabulary == 250002 && info.n_train == 67349 && info.n_test == 872);
    refused(state, "sst2", ERROR_DATA,
            "weights/xlm-roberta-base/sentencepiece.bpe.model' is not there");
    refused(state, "sst2", ERROR_DATA,
            "download https://huggingface.co/FacebookAI/xlm-roberta-base");
    refused(state, "sst2", ERROR_DATA, "tokenizer=FILE");
    refused(state, "sst2?tokenizer=none.model", ERROR_DATA, "there is no tokenizer 'none.model'");
    assert_false(data_describe("sst2?tokenizer=none.model", false, &info, &err));
    assert_contains(err.text, "none.model");
    /* A model of another size in the published one's place. */
    const struct bytes b = small_model();
    write_file(state, "weights/xlm-roberta-base/sentencepiece.bpe.model", b.data, b.len);
    refused(state, "sst2", ERROR_DATA, "has a vocabulary of 13; XLM-R's has 250002");
    put(state, "small.model", "rubbish");
    refused(state, SMALL_8, ERROR_DATA, "small.model' is no SentencePiece model");
    free(spec);
    free(path);
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_windows),         WITH_FOLDER(test_wikitext_layouts),
        WITH_FOLDER(test_wikitext_broken), WITH_FOLDER(test_wikitext_args),
        WITH_FOLDER(test_sentences),       WITH_FOLDER(test_sst2_broken),
        WITH_FOLDER(test_sst2_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
