/* CIFAR-10 and -100 on small files of their true formats, right and broken. */
#include "data/cifar.h"
#include "data/dataset.h"
#include "helper_data.h"

#define RECORD (1 + CIFAR_PIXELS)

struct bytes {
    uint8_t *data;
    size_t n;
};

static void add(struct bytes *b, const void *data, size_t n)
{
    b->data = realloc(b->data, b->n + n);
    memcpy(b->data + b->n, data, n);
    b->n += n;
}
#define ADD(b, text) add(b, text, sizeof(text) - 1)

static uint8_t pixel(int image, int i)
{
    return (uint8_t)(image * 31 + i * 7 + i / 1024);
}

static void add_planes(struct bytes *b, int image)
{
    uint8_t planes[CIFAR_PIXELS];
    for (int i = 0; i < CIFAR_PIXELS; i++)
        planes[i] = pixel(image, i);
    add(b, planes, sizeof planes);
}

/* n images from number `first`; label = image mod 10 (coarse 3, fine image mod 100). */
static struct bytes binary(int first, int n, bool hundred)
{
    struct bytes b = {NULL, 0};
    for (int i = first; i < first + n; i++) {
        const uint8_t coarse = 3, label = (uint8_t)(i % (hundred ? 100 : 10));
        if (hundred)
            add(&b, &coarse, 1);
        add(&b, &label, 1);
        add_planes(&b, i);
    }
    return b;
}

/* As Python 2's cPickle writes a batch: every put there, or none (it leaves out what nobody else
 * refers to). */
static struct bytes pickle(int first, int n, bool hundred, bool puts)
{
    struct bytes b = {NULL, 0};
    const char *const put = puts ? "q\x05" : "";
    const size_t put_n = strlen(put);
    const uint8_t rows[3] = {'M', (uint8_t)n, (uint8_t)(n >> 8)};
    const uint32_t size = (uint32_t)n * CIFAR_PIXELS;
    ADD(&b, "\x80\x02}q\x01(U\x0b"
            "batch_labelq\x02U\x04"
            "testq\x03");
    if (hundred)
        ADD(&b, "U\x0b"
                "fine_labelsq\x04]q\x05(");
    else
        ADD(&b, "U\x06labelsq\x04]q\x05(");
    for (int i = first; i < first + n; i++) {
        const uint8_t item[2] = {'K', (uint8_t)(i % (hundred ? 100 : 10))};
        add(&b, item, 2);
    }
    ADD(&b, "e");
    if (hundred)
        ADD(&b, "U\x0d"
                "coarse_labelsq\x06]q\x07K\x03"
                "a");
    ADD(&b, "U\x04"
            "dataq\x06"
            "cnumpy.core.multiarray\n_reconstruct\n");
    add(&b, put, put_n);
    ADD(&b, "cnumpy\nndarray\n");
    add(&b, put, put_n);
    ADD(&b, "K\0\x85");
    add(&b, put, put_n);
    ADD(&b, "U\x01"
            "b\x87R");
    add(&b, put, put_n);
    ADD(&b, "(K\x01");
    add(&b, rows, 3);
    ADD(&b, "M\0\x0c\x86"
            "cnumpy\ndtype\nq\x0bU\x02u1K\0K\x01\x87R");
    add(&b, put, put_n);
    ADD(&b, "(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89T");
    add(&b, &size, 4);
    for (int i = first; i < first + n; i++)
        add_planes(&b, i);
    ADD(&b, "tbU\x09"
            "filenamesq\x0d]q\x0e(U\x05"
            "a.pngq\x0fU\x05"
            "b.pngeU\x05"
            "c.pngau.");
    return b;
}

static void check_images(const uint8_t *x, const int32_t *label, int first, int n, int classes)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(label[i], (first + i) % classes);
        for (int p = 0; p < 1024; p++)
            for (int c = 0; c < 3; c++)
                assert_int_equal(x[i * CIFAR_PIXELS + 3 * p + c], pixel(first + i, c * 1024 + p));
    }
}

static void put_file(void **state, const char *name, struct bytes b)
{
    write_file(state, name, b.data, b.n);
    free(b.data);
}

static void write_ten(void **state, bool python)
{
    for (int f = 0; f < 6; f++) {
        char name[64];
        if (f == 5)
            snprintf(name, sizeof name, "cifar-10-batches-%s",
                     python ? "py/test_batch" : "bin/test_batch.bin");
        else
            snprintf(name, sizeof name, "cifar-10-batches-%s/data_batch_%d%s",
                     python ? "py" : "bin", f + 1, python ? "" : ".bin");
        put_file(state, name, python ? pickle(3 * f, 3, false, f % 2) : binary(3 * f, 3, false));
    }
}

static void test_ten(void **state)
{
    for (int python = 1; python >= 0; python--) { /* the binary release is preferred */
        struct error err = ERROR_INIT;
        write_ten(state, python);
        struct dataset *d = data_load("cifar10", *state, false, &err);
        if (!d)
            fail_msg("%s", err.text);
        assert_true(d->train.n == 15 && d->test.n == 3 && d->augment == AUGMENT_CROP_FLIP);
        check_images(d->train.x, d->train.label, 0, 15, 10);
        check_images(d->test.x, d->test.label, 15, 3, 10);
        data_free(d);
    }
}

static void test_hundred(void **state)
{
    for (int python = 1; python >= 0; python--) {
        struct error err = ERROR_INIT;
        put_file(state, python ? "cifar-100-python/train" : "cifar-100-binary/train.bin",
                 python ? pickle(95, 9, true, true) : binary(95, 9, true));
        put_file(state, python ? "cifar-100-python/test" : "cifar-100-binary/test.bin",
                 python ? pickle(40, 2, true, false) : binary(40, 2, true));
        struct dataset *d = data_load("CIFAR100", *state, false, &err);
        if (!d)
            fail_msg("%s", err.text);
        assert_true(d->train.n == 9 && d->test.n == 2);
        check_images(d->train.x, d->train.label, 95, 9, 100);
        check_images(d->test.x, d->test.label, 40, 2, 100);
        data_free(d);
    }
}

typedef bool parser(const void *, size_t, int, const char *, struct cifar *, struct error *);

static void refused(parser *parse, struct bytes b, int classes, const char *part)
{
    struct cifar c;
    struct error err = ERROR_INIT;
    if (parse(b.data, b.n, classes, "the file", &c, &err))
        fail_msg("accepted where '%s' is expected", part);
    assert_contains(err.text, part);
    assert_contains(err.text, "the file");
    assert_null(c.pixels);
}

static void test_broken_binary(void **state)
{
    (void)state;
    struct bytes b = binary(0, 3, false);
    b.n--;
    refused(cifar_bin_parse, b, 10, "no whole number of records of 3073 bytes");
    b.n = 0;
    refused(cifar_bin_parse, b, 10, "has 0 bytes");
    b.n = 3 * RECORD;
    b.data[RECORD] = 10;
    refused(cifar_bin_parse, b, 10, "the label of image 1 is 10; 0 to 9");
    refused(cifar_bin_parse, b, 100, "records of 3074 bytes");
    free(b.data);
}

static void test_broken_pickle(void **state)
{
    (void)state;
    struct bytes b = pickle(0, 2, false, true);
    const size_t n = b.n;
    struct cifar c;
    /* Cut anywhere: refused, never read beyond.  Inside the pixels a few places stand for all. */
    for (b.n = 0; b.n<n; b.n += b.n> 300 && b.n + 400 < n ? 200 : 1) {
        struct bytes part = {malloc(b.n ? b.n : 1), b.n};
        memcpy(part.data, b.data, b.n);
        struct error err = ERROR_INIT;
        assert_false(cifar_pickle_parse(part.data, part.n, 10, "f", &c, &err));
        assert_int_equal(err.class_, ERROR_DATA);
        free(part.data);
    }
    b.n = n;
    refused(cifar_pickle_parse, b, 100, "has no \"fine_labels\"");
    ADD(&b, "x");
    refused(cifar_pickle_parse, b, 10, "bytes behind the pickle");
    b.n = n;
    uint8_t *labels = memmem(b.data, b.n, "]q\x05(K", 5);
    labels[5] = 10;
    refused(cifar_pickle_parse, b, 10, "the label of image 0 is 10");
    labels[4] = 'c'; /* a global where a number should be: never looked up */
    refused(cifar_pickle_parse, b, 10, "a whole number was expected");
    free(b.data);
    b = pickle(0, 2, false, true);
    uint8_t *shape = memmem(b.data, b.n, "(K\x01M\x02", 5);
    shape[4] = 3;
    refused(cifar_pickle_parse, b, 10, "size and its bytes do not agree");
    shape[4] = 2;
    ((uint8_t *)memmem(b.data, b.n, "u1", 2))[0] = 'O';
    refused(cifar_pickle_parse, b, 10, "an array of bytes was expected");
    b.data[1] = 4;
    refused(cifar_pickle_parse, b, 10, "written again by Python 3");
    free(b.data);
    /* Protocol 2 from Python 3: keys are text. */
    b = (struct bytes){NULL, 0};
    ADD(&b, "\x80\x02}q\0(X\x06\0\0\0labelsq\x01]q\x02");
    refused(cifar_pickle_parse, b, 10, "written again by Python 3");
    b.n = 0;
    ADD(&b, "cos\nsystem\n(S'true'\ntR.");
    refused(cifar_pickle_parse, b, 10, "no pickle of CIFAR");
    free(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ten, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_hundred, folder_setup, folder_teardown),
        cmocka_unit_test(test_broken_binary),
        cmocka_unit_test(test_broken_pickle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
