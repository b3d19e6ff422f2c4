/* idx:PATH: IDX files of the user's own, as a folder with MNIST's names or file by file. */
#include "base/text.h"
#include "data/dataset.h"
#include "helper_data.h"

#define SIDE 2

/* n images of 2x2 (pixel p of image i is 10 i + p) and their labels, `label[i]`. */
static void put_images(void **state, const char *name, uint8_t n, bool gz)
{
    uint8_t bytes[16 + 255 * SIDE * SIDE] = {0, 0, 8, 3, 0, 0, 0, n, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
    for (int i = 0; i < n * SIDE * SIDE; i++)
        bytes[16 + i] = (uint8_t)(10 * (i / 4) + i % 4);
    (gz ? write_gz : write_file)(state, name, bytes, 16 + (size_t)n * SIDE * SIDE);
}

static void put_labels(void **state, const char *name, const uint8_t *label, uint8_t n)
{
    uint8_t bytes[8 + 255] = {0, 0, 8, 1, 0, 0, 0, n};
    memcpy(bytes + 8, label, n);
    write_file(state, name, bytes, 8 + (size_t)n);
}

static struct dataset *load(void **state, const char *format, struct error *err)
{
    /* Every @ stands for the folder. */
    struct text spec;
    text_init(&spec);
    for (const char *at = format; *at; at++)
        *at == '@' ? text_add(&spec, *state) : text_addf(&spec, "%c", *at);
    struct dataset *d = data_load(spec.data, "/nonexistent", false, err);
    text_release(&spec);
    return d;
}

static void a_folder_with_mnists_names(void **state)
{
    struct error err = ERROR_INIT;
    static const uint8_t train[] = {7, 3, 7}, test[] = {3};
    put_images(state, "train-images-idx3-ubyte.gz", 3, true);
    put_labels(state, "train-labels-idx1-ubyte", train, 3);
    put_images(state, "t10k-images.idx3-ubyte", 1, false);
    put_labels(state, "t10k-labels.idx1-ubyte", test, 1);
    struct dataset *d = load(state, "idx:@", &err);
    if (!d)
        fail_msg("%s", err.text);
    assert_int_equal(d->train.n, 3);
    assert_int_equal(d->test.n, 1);
    assert_int_equal(d->n_outputs, 2);
    assert_int_equal(d->shape.d[0], SIDE);
    assert_int_equal(d->x_type, DATA_U8);
    assert_near(d->divisor, 255, 0);
    static const int32_t label[] = {1, 0, 1};
    assert_memory_equal(d->train.label, label, sizeof label);
    assert_int_equal(d->test.label[0], 0);
    assert_int_equal(((const uint8_t *)d->train.x)[2 * 4 + 3], 23);
    data_free(d);
}

static void files_by_name(void **state)
{
    struct error err = ERROR_INIT;
    static const uint8_t label[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    put_images(state, "x", 10, false);
    put_labels(state, "y", label, 10);
    struct dataset *d = load(state, "idx:@/x?labels=@/y&test_fraction=0.3", &err);
    assert_non_null(d);
    assert_int_equal(d->train.n, 7);
    assert_int_equal(d->test.n, 3);
    /* Every image keeps its label. */
    for (int part = 0; part < 2; part++) {
        const struct data_part *p = part ? &d->test : &d->train;
        for (int64_t i = 0; i < p->n; i++)
            assert_int_equal(p->label[i], (((const uint8_t *)p->x)[4 * i] / 10) % 3);
    }
    data_free(d);
}

static void what_cannot_be_used_says_why(void **state)
{
    static const uint8_t label[] = {0, 1, 2}, unseen[] = {9};
    put_images(state, "x", 3, false);
    put_labels(state, "y", label, 3);
    put_labels(state, "y2", label, 2);
    put_images(state, "tx", 1, false);
    put_labels(state, "ty", unseen, 1);
    write_file(state, "cut", "\0\0\x8\x3\0\0\0\x3\0\0\0\x2\0\0\0\x2zz", 18);
    write_file(state, "magic", "\0\0\xD\x3\0\0\0\x1\0\0\0\x1\0\0\0\x1zzzz", 20);
    static const struct {
        const char *spec, *want;
    } cases[] = {
        {"idx:@/x", "name the file of the labels too: labels=FILE"},
        {"idx:@/x?labels=@/y2", "holds 3 images, but there are 2 labels"},
        {"idx:@/y?labels=@/y", "holds labels; images are expected"},
        {"idx:@/x?labels=@/x", "holds images; labels are expected"},
        {"idx:@/x?labels=@/y&test_images=@/tx", "test_images and test_labels go together"},
        {"idx:@/x?labels=@/y&test_images=@/tx&test_labels=@/ty",
         "test sample 1 is of class 9, which no training sample has"},
        {"idx:@/cut?labels=@/y", "/cut'"},
        {"idx:@/magic?labels=@/y", "/magic'"},
        {"idx:@/absent?labels=@/y", "absent"},
        {"idx:@?labels=@/y", "is a folder, whose four files have the names of MNIST's"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        assert_null(load(state, cases[i].spec, &err));
        assert_contains(err.text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_folder_with_mnists_names, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(files_by_name, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_used_says_why, folder_setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
