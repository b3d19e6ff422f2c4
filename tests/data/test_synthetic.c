/* Synthetic content: exact shapes, the same every time, and learnable. */
#include "data/dataset.h"
#include "helper_data.h"

static struct dataset *loaded(const char *name)
{
    struct error err = ERROR_INIT;
    struct dataset *d = data_load(name, "/nonexistent", true, &err);
    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static void test_shapes(void **state)
{
    (void)state;
    static const char *const names[] = {"digits",  "mnist",    "cal_housing",
                                        "cifar10", "cifar100", "flowers102"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dataset *d = loaded(names[i]);
        const struct data_info *info = data_find(names[i]);
        assert_int_equal(d->source, DATA_SYNTHETIC);
        assert_true(shape_equal(d->shape, info->shape));
        assert_true(d->train.n == info->n_train && d->test.n == info->n_test);
        assert_int_equal(d->n_outputs, info->n_outputs);
        assert_int_equal(d->augment == AUGMENT_CROP_FLIP, strncmp(names[i], "cifar", 5) == 0);
        assert_int_equal(d->test_is_train, strcmp(names[i], "cal_housing") == 0);
        assert_int_equal(d->train.label != NULL, strcmp(d->task, "classification") == 0);
        assert_int_equal(d->train.value != NULL, strcmp(d->task, "regression") == 0);
        data_free(d);
    }
}

static void test_same_every_time(void **state)
{
    (void)state;
    static const char *const names[] = {"digits", "cal_housing", "mnist"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dataset *a = loaded(names[i]), *b = loaded(names[i]);
        const size_t n = (size_t)a->train.n, m = (size_t)a->test.n;
        const size_t sample = shape_count(a->shape) * (a->x_type == DATA_U8 ? 1 : 4);
        assert_memory_equal(a->train.x, b->train.x, n * sample);
        assert_memory_equal(a->test.x, b->test.x, m * sample);
        if (a->train.label)
            assert_memory_equal(a->train.label, b->train.label, n * 4);
        else
            assert_memory_equal(a->train.value, b->train.value, n * 4);
        data_free(a);
        data_free(b);
    }
}

/* The content itself is recorded: figures of synthetic runs stay comparable. */
static void test_recorded_content(void **state)
{
    (void)state;
    struct dataset *d = loaded("cifar10");
    const uint8_t *x = d->train.x;
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < 100 * 3072; i++)
        h = (h ^ x[i]) * 0x100000001B3u;
    for (size_t i = 0; i < 100; i++)
        h = (h ^ (uint64_t)d->train.label[i]) * 0x100000001B3u;
    if (h != UINT64_C(0xE8B05FDE80BAD075))
        fail_msg("the content's hash has become 0x%llX", (unsigned long long)h);
    data_free(d);
}

/* The class whose training mean is nearest: far better than chance when labels depend on the
 * content, on test samples as well. */
static double nearest_mean_accuracy(const struct dataset *d)
{
    const size_t pixels = shape_count(d->shape), classes = (size_t)d->n_outputs;
    const int64_t n_train = d->train.n < 3000 ? d->train.n : 3000;
    const int64_t n_test = d->test.n < 100 ? d->test.n : 100;
    double *mean = calloc(classes * pixels, sizeof *mean);
    int64_t *count = calloc(classes, sizeof *count);
    for (int64_t i = 0; i < n_train; i++) {
        const size_t c = (size_t)d->train.label[i];
        count[c]++;
        for (size_t j = 0; j < pixels; j++)
            mean[c * pixels + j] += ((const uint8_t *)d->train.x)[(size_t)i * pixels + j];
    }
    int64_t hits = 0;
    for (int64_t i = 0; i < n_test; i++) {
        size_t best = 0;
        double least = INFINITY;
        for (size_t c = 0; c < classes; c++) {
            double distance = count[c] ? 0 : INFINITY;
            for (size_t j = 0; j < pixels && count[c]; j++) {
                const double v = ((const uint8_t *)d->test.x)[(size_t)i * pixels + j] -
                                 mean[c * pixels + j] / (double)count[c];
                distance += v * v;
            }
            if (distance < least) {
                least = distance;
                best = c;
            }
        }
        hits += best == (size_t)d->test.label[i];
    }
    free(mean);
    free(count);
    return (double)hits / (double)n_test;
}

static void test_learnable_classes(void **state)
{
    (void)state;
    static const char *const names[] = {"digits", "cifar100"};
    for (size_t i = 0; i < 2; i++) {
        struct dataset *d = loaded(names[i]);
        const double accuracy = nearest_mean_accuracy(d);
        if (accuracy < 0.9)
            fail_msg("%s: nearest mean is right for %g of the test samples", names[i], accuracy);
        /* No two samples are the same, and no pixel leaves the range. */
        const uint8_t *x = d->train.x;
        const size_t pixels = shape_count(d->shape);
        for (size_t j = 0; j < 1000 * pixels; j++)
            assert_true((float)x[j] <= d->divisor);
        for (size_t j = 1; j < 1000; j++)
            assert_memory_not_equal(x, x + j * pixels, pixels);
        int count[100] = {0};
        for (int64_t j = 0; j < d->train.n; j++)
            count[d->train.label[j]]++;
        for (int c = 0; c < d->n_outputs; c++)
            assert_true(count[c] > d->train.n / d->n_outputs / 2);
        data_free(d);
    }
}

static void test_learnable_regression(void **state)
{
    (void)state;
    struct dataset *d = loaded("cal_housing");
    const float *x = d->train.x, *y = d->train.value;
    double sum = 0, squares = 0, product = 0, least = INFINITY, largest = -INFINITY;
    const double n = (double)d->train.n;
    for (int64_t i = 0; i < d->train.n; i++) {
        sum += (double)y[i];
        squares += (double)y[i] * (double)y[i];
        product += (double)x[i * 8] * (double)y[i];
        least = fmin(least, (double)x[i * 8 + 5]);
        largest = fmax(largest, (double)x[i * 8 + 5]);
    }
    const double variance = squares / n - sum / n * sum / n;
    /* 0.8^2 + 0.5^2 + 0.4^2 + 0.3^2 / 4 (|x| has variance 1/4) + 0.3^2. */
    assert_near(variance, 0.64 + 0.25 + 0.16 + 0.0225 + 0.09, 0.05);
    assert_near(product / n, 0.8, 0.03);
    assert_near(least, -sqrt(3), 1e-3);
    assert_near(largest, sqrt(3), 1e-3);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_same_every_time),
        cmocka_unit_test(test_recorded_content),
        cmocka_unit_test(test_learnable_classes),
        cmocka_unit_test(test_learnable_regression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
