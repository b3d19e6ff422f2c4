/* The table, names and refusals; the embedded set. */
#include "base/text.h"
#include "data/dataset.h"
#include "helper_data.h"

static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int h, w, c, n_outputs;
        int64_t n_train, n_test;
        bool built, synthetic;
    } want[] = {
        {"digits", 8, 8, 1, 10, 1438, 359, true, true},
        {"cal_housing", 8, 1, 1, 1, 20640, 20640, true, true},
        {"mnist", 28, 28, 1, 10, 60000, 10000, true, true},
        {"cifar10", 32, 32, 3, 10, 50000, 10000, true, true},
        {"cifar100", 32, 32, 3, 100, 50000, 10000, true, true},
        {"flowers102", 224, 224, 3, 102, 1020, 1020, false, true},
        {"imagenette", 224, 224, 3, 10, 9469, 3925, false, true},
        {"wikitext", 128, 1, 1, 6500, 16030, 1884, true, true},
        {"sst2", 128, 1, 1, 2, 67349, 872, true, true},
        {"folder", 0, 0, 0, 0, 0, 0, false, false},
        {"csv", 0, 0, 0, 0, 0, 0, true, false},
        {"npz", 0, 0, 0, 0, 0, 0, false, false},
        {"idx", 0, 0, 0, 0, 0, 0, true, false},
    };
    size_t n = 0;
    for (; data_table[n]; n++) {
        const struct data_info *i = data_table[n];
        assert_string_equal(i->name, want[n].name);
        assert_true(i->shape.d[0] == want[n].h && i->shape.d[1] == want[n].w);
        assert_int_equal(i->shape.d[2], want[n].c);
        assert_int_equal(i->n_outputs, want[n].n_outputs);
        assert_true(i->n_train == want[n].n_train && i->n_test == want[n].n_test);
        assert_int_equal(i->built, want[n].built);
        assert_int_equal(i->synthetic, want[n].synthetic);
    }
    assert_int_equal(n, sizeof want / sizeof *want);
    assert_string_equal(data_find("cal_housing")->task, "regression");
    assert_string_equal(data_find("wikitext")->task, "language_modeling");
    assert_string_equal(data_find("sst2")->task, "classification");
    assert_int_equal(data_find("wikitext")->vocabulary, 6500);
    assert_int_equal(data_find("sst2")->vocabulary, 250002);
    assert_int_equal(data_find("mnist")->vocabulary, 0);
}

static void test_find(void **state)
{
    (void)state;
    assert_ptr_equal(data_find("MNIST"), data_find("mnist"));
    assert_ptr_equal(data_find("wikitext?train=valid"), data_find("wikitext"));
    assert_null(data_find("mnis"));
    assert_null(data_find(""));
    assert_ptr_equal(data_find("Folder:/data"), data_find("folder:x?transform=none"));
    assert_string_equal(data_find("csv:a:b.csv")->name, "csv");
    assert_null(data_find("folder"));
    assert_null(data_find("mnist:x"));
    assert_null(data_find("cs:x"));
}

static void test_check(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_true(data_check("digits", false, &err));
    assert_true(data_check("Cal_Housing", false, &err));
    assert_true(data_check("cifar10", true, &err));
    static const struct {
        const char *spec;
        bool synthetic;
        const char *part;
    } cases[] = {
        {"", false, "the name is empty"},
        {"minst", false, "unknown data set 'minst' (did you mean 'mnist'?); fugue knows digits"},
        {"digits?size=3", false, "digits takes no arguments, but has 'size'"},
        {"flowers102", false, "cannot read its files yet; use --data synthetic"},
        {"imagenette", false, "cannot read its files yet"},
        {"wikitext?words=16", false, "words"},
        {"wikitext?train=dev", false, "train, valid or test"},
        {"sst2?seq=7", false, "seq"},
        {"mnist?n_train=16", false, "mnist takes no arguments, but has 'n_train'"},
        {"wikitext?train=valid", true, "'train'"},
        {"wikitext?vocab=15", true, "vocab"},
        {"wikitext?seq=1", true, "seq"},
        {"sst2?seq=7", true, "seq"},
        {"sst2?n_train=0", true, "n_train"},
        {"sst2?n_test=x", true, "n_test"},
        {"cifar10?seq=16", true, "'seq'"},
        {"cal_housing?n_test=16", true, "'n_test'"},
        {"folder:/tmp/x", false, "cannot read its files yet"},
        {"folder:", false, "no path behind the colon; write folder:FOLDER"},
        {"csv:/tmp/x.csv", true, "not for files of your own"},
        {"csv", false,
         "unknown data set 'csv'; for a table of your own, comma-separated write csv:FILE"},
        {"a/b.csv", false, "write csv:a/b.csv"},
        {"cvs:x.csv", false, "unknown data set 'cvs:x.csv' (did you mean 'csv'?)"},
        {"elsewhere", false, "sst2, folder:FOLDER, csv:FILE, npz:FILE, idx:PATH"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = ERROR_INIT;
        if (data_check(cases[i].spec, cases[i].synthetic, &e))
            fail_msg("'%s' was accepted", cases[i].spec);
        assert_int_equal(e.class_, ERROR_USAGE);
        assert_contains(e.text, cases[i].part);
        assert_null(data_load(cases[i].spec, "/nonexistent", cases[i].synthetic, &e));
        assert_int_equal(e.class_, ERROR_USAGE);
    }
}

/* Arguments of synthetic content show in the description; the table stays as it is. */
static void test_describe(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct data_info i;
    assert_true(data_describe("wikitext?seq=16&vocab=200&n_train=512&n_test=7", true, &i, &err));
    assert_true(shape_equal(i.shape, shape_vector(16)));
    assert_true(i.n_outputs == 200 && i.vocabulary == 200);
    assert_true(i.n_train == 512 && i.n_test == 7);
    assert_true(data_describe("SST2?vocab=1000", true, &i, &err));
    assert_string_equal(i.name, "sst2");
    assert_true(shape_equal(i.shape, shape_vector(128)));
    assert_true(i.n_outputs == 2 && i.vocabulary == 1000);
    assert_true(i.n_train == 67349 && i.n_test == 872);
    assert_true(data_describe("cal_housing?n_train=10", true, &i, &err));
    assert_true(i.n_train == 10 && i.n_test == 10);
    assert_true(data_describe("mnist", false, &i, &err));
    assert_true(i.n_train == 60000 && i.vocabulary == 0);
    assert_int_equal(data_find("wikitext?seq=16")->shape.d[0], 128);
    assert_false(data_describe("imagenette", false, &i, &err));
    assert_int_equal(err.class_, ERROR_USAGE);
}

static void test_missing_files_name_path_and_source(void **state)
{
    struct error err = ERROR_INIT;
    assert_true(data_present("digits", *state, &err));
    assert_false(data_present("mnist", *state, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, (const char *)*state);
    assert_contains(err.text, "/MNIST/raw/train-images-idx3-ubyte");
    assert_contains(err.text,
                    "https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz");
    assert_contains(err.text, "--data synthetic");
    assert_null(data_load("cal_housing", *state, false, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, "/CaliforniaHousing/cal_housing.data");
    assert_contains(err.text, "https://ndownloader.figshare.com/files/5976036");
    /* One of four files is not enough; the message then names the next. */
    write_gz(state, "MNIST/raw/train-images-idx3-ubyte.gz", "x", 1);
    assert_false(data_present("mnist", *state, &err));
    assert_contains(err.text, "train-labels-idx1-ubyte");
    write_file(state, "MNIST/raw/train-labels-idx1-ubyte", "x", 1);
    write_file(state, "MNIST/raw/t10k-images-idx3-ubyte", "x", 1);
    write_file(state, "MNIST/raw/t10k-labels-idx1-ubyte", "x", 1);
    assert_true(data_present("mnist", *state, &err)); /* quick: contents are not read */
    assert_null(data_load("mnist", *state, false, &err));
    assert_contains(err.text, "train-images-idx3-ubyte.gz");
}

/* Sums of the original table: per class, over all pixels, and a few single values. */
static void test_digits(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct dataset *d = data_load("digits", "/nonexistent", false, &err);
    assert_non_null(d);
    assert_string_equal(d->name, "digits");
    assert_int_equal(d->source, DATA_REAL);
    assert_true(shape_equal(d->shape, shape_image(8, 8, 1)));
    assert_int_equal(d->x_type, DATA_U8);
    assert_true(d->divisor == 16.0f);
    assert_int_equal(d->augment, AUGMENT_NONE);
    assert_int_equal(d->n_outputs, 10);
    assert_int_equal(d->labels_per_sample, 1);
    assert_int_equal(d->vocabulary, 0);
    assert_string_equal(d->task, "classification");
    assert_true(d->train.n == 1438 && d->test.n == 359);
    assert_false(d->test_is_train);
    assert_null(d->train.value);
    assert_int_equal(d->bytes, 1797 * (64 + 4));
    static const int per_class[10] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    int count[10] = {0};
    long sum = 0;
    int largest = 0;
    const struct data_part *parts[] = {&d->train, &d->test};
    for (int p = 0; p < 2; p++)
        for (int64_t i = 0; i < parts[p]->n; i++) {
            count[parts[p]->label[i]]++;
            for (int j = 0; j < 64; j++) {
                const int v = ((const uint8_t *)parts[p]->x)[i * 64 + j];
                sum += v;
                largest = v > largest ? v : largest;
            }
        }
    assert_memory_equal(count, per_class, sizeof count);
    assert_int_equal(largest, 16);
    assert_int_equal(sum, 561718);
    /* Samples 0 and 4 of the file are the first of each part. */
    static const uint8_t first[16] = {0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0};
    static const uint8_t fifth[16] = {0, 0, 0, 1, 11, 0, 0, 0, 0, 0, 0, 7, 8, 0, 0, 0};
    assert_memory_equal(d->train.x, first, sizeof first);
    assert_memory_equal(d->test.x, fifth, sizeof fifth);
    static const int32_t train_labels[] = {0, 1, 2, 3, 5, 6, 7, 8, 0, 1},
                         test_labels[] = {4, 9, 4, 9, 4, 9};
    assert_memory_equal(d->train.label, train_labels, sizeof train_labels);
    assert_memory_equal(d->test.label, test_labels, sizeof test_labels);
    data_free(d);
    data_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_describe),
        cmocka_unit_test_setup_teardown(test_missing_files_name_path_and_source, folder_setup,
                                        folder_teardown),
        cmocka_unit_test(test_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
