/* MNIST on small IDX files the tests write: good ones, and every way of being broken. */
#include "data/dataset.h"
#include "helper_data.h"

#define DIR          "MNIST/raw/"
#define TRAIN_IMAGES DIR "train-images-idx3-ubyte"
#define TRAIN_LABELS DIR "train-labels-idx1-ubyte"
#define TEST_IMAGES  DIR "t10k-images-idx3-ubyte"
#define TEST_LABELS  DIR "t10k-labels-idx1-ubyte"
#define IMAGE        784
#define MAX_FILE     (16 + 8 * IMAGE)

struct file {
    uint8_t data[MAX_FILE];
    size_t len;
};

static void add_u32(struct file *f, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        f->data[f->len++] = (uint8_t)(v >> shift);
}

static struct file images(uint32_t n)
{
    struct file f = {.len = 0};
    add_u32(&f, 0x803);
    add_u32(&f, n);
    add_u32(&f, 28);
    add_u32(&f, 28);
    for (uint32_t i = 0; i < n * IMAGE; i++)
        f.data[f.len++] = (uint8_t)(i * 7 + i / IMAGE);
    return f;
}

static struct file labels(uint32_t n)
{
    struct file f = {.len = 0};
    add_u32(&f, 0x801);
    add_u32(&f, n);
    for (uint32_t i = 0; i < n; i++)
        f.data[f.len++] = (uint8_t)((i * 3 + 1) % 10);
    return f;
}

static void put(void **state, const char *name, struct file f)
{
    write_file(state, name, f.data, f.len);
}

static void write_good(void **state)
{
    put(state, TRAIN_IMAGES, images(5));
    put(state, TRAIN_LABELS, labels(5));
    put(state, TEST_IMAGES, images(2));
    put(state, TEST_LABELS, labels(2));
}

static void test_good(void **state)
{
    struct error err = ERROR_INIT;
    write_good(state);
    /* One of the four packed, as the download leaves it. */
    remove_file(state, TEST_IMAGES);
    const struct file packed = images(2);
    write_gz(state, TEST_IMAGES ".gz", packed.data, packed.len);
    struct dataset *d = data_load("mnist", *state, false, &err);
    if (!d)
        fail_msg("%s", err.text);
    assert_true(shape_equal(d->shape, shape_image(28, 28, 1)));
    assert_true(d->train.n == 5 && d->test.n == 2 && !d->test_is_train);
    assert_true(d->divisor == 255.0f && d->x_type == DATA_U8 && d->augment == AUGMENT_NONE);
    assert_int_equal(d->bytes, 7 * (IMAGE + 4));
    const struct file want = images(5);
    assert_memory_equal(d->train.x, want.data + 16, 5 * IMAGE);
    assert_memory_equal(d->test.x, want.data + 16, 2 * IMAGE);
    const int32_t want_labels[] = {1, 4, 7, 0, 3};
    assert_memory_equal(d->train.label, want_labels, sizeof want_labels);
    assert_memory_equal(d->test.label, want_labels, 2 * sizeof *want_labels);
    data_free(d);
}

/* Loading must fail with `part` in the sentence and the broken file's name. */
static void refused(void **state, const char *name, struct file f, const char *part)
{
    struct error err = ERROR_INIT;
    write_good(state);
    put(state, name, f);
    if (data_load("mnist", *state, false, &err))
        fail_msg("accepted where '%s' is expected", part);
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, part);
    assert_contains(err.text, name);
}

static struct file with_u32(struct file f, size_t at, uint32_t v)
{
    const size_t len = f.len;
    f.len = at;
    add_u32(&f, v);
    f.len = len;
    return f;
}

static struct file with_len(struct file f, size_t len)
{
    f.len = len;
    return f;
}

static void test_broken_images(void **state)
{
    const struct file good = images(5);
    refused(state, TRAIN_IMAGES, with_len(good, 0), "truncated: 0 bytes, its head alone has 16");
    refused(state, TRAIN_IMAGES, with_len(good, 15), "its head alone has 16");
    refused(state, TRAIN_IMAGES, with_len(good, 16), "truncated: 16 bytes, but 5 items of 784");
    refused(state, TRAIN_IMAGES, with_len(good, good.len - 1), "is truncated: 3935 bytes");
    refused(state, TRAIN_IMAGES, with_len(good, good.len + 1), "is too long: 3937 bytes");
    refused(state, TRAIN_IMAGES, with_u32(good, 0, 0x801), "magic 0x00000801, expected 0x00000803");
    refused(state, TRAIN_IMAGES, with_u32(good, 0, 0x03080000), "no IDX file of images");
    refused(state, TRAIN_IMAGES, with_u32(good, 0, 0x00000d03), "no IDX file of images");
    refused(state, TRAIN_IMAGES, with_u32(good, 4, 0), "0 items; 1 to 60000");
    refused(state, TRAIN_IMAGES, with_u32(good, 4, 60001), "60001 items");
    refused(state, TRAIN_IMAGES, with_u32(good, 4, 0xFFFFFFFF), "4294967295 items");
    refused(state, TRAIN_IMAGES, with_u32(good, 4, 60000), "truncated");
    refused(state, TRAIN_IMAGES, with_u32(good, 8, 27), "images of 27x28; 28x28");
    refused(state, TRAIN_IMAGES, with_u32(good, 12, 0xFFFFFFFF), "images of 28x4294967295");
    refused(state, TRAIN_IMAGES, images(4), "holds 4 images, but");
    refused(state, TEST_IMAGES, with_u32(images(2), 4, 10001), "1 to 10000");
}

static void test_broken_labels(void **state)
{
    const struct file good = labels(5);
    struct file ten = good;
    ten.data[8 + 3] = 10;
    refused(state, TRAIN_LABELS, ten, "label 3 is 10; 0 to 9");
    ten.data[8 + 3] = 255;
    refused(state, TRAIN_LABELS, ten, "label 3 is 255");
    refused(state, TRAIN_LABELS, with_len(good, 7), "its head alone has 8");
    refused(state, TRAIN_LABELS, with_len(good, good.len - 1), "truncated: 12 bytes");
    refused(state, TRAIN_LABELS, with_len(good, good.len + 3), "too long: 16 bytes");
    refused(state, TRAIN_LABELS, with_u32(good, 0, 0x803), "no IDX file of labels");
    refused(state, TRAIN_LABELS, labels(6), "holds 6 labels");
    refused(state, TEST_LABELS, labels(1), "holds 2 images, but");
    refused(state, TEST_LABELS, with_u32(labels(2), 4, 0), "0 items");
}

static void test_folder_in_the_way(void **state)
{
    struct error err = ERROR_INIT;
    write_good(state);
    remove_file(state, TEST_LABELS);
    write_file(state, TEST_LABELS "/inside", "x", 1);
    assert_null(data_load("mnist", *state, false, &err));
    assert_contains(err.text, "is a folder");
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_good),
        WITH_FOLDER(test_broken_images),
        WITH_FOLDER(test_broken_labels),
        WITH_FOLDER(test_folder_in_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
