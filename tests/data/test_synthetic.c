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
    static const char *const names[] = {"digits",   "mnist",      "cal_housing", "cifar10",
                                        "cifar100", "flowers102", "wikitext",    "sst2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dataset *d = loaded(names[i]);
        const struct data_info *info = data_find(names[i]);
        assert_int_equal(d->source, DATA_SYNTHETIC);
        assert_true(shape_equal(d->shape, info->shape));
        assert_true(d->train.n == info->n_train && d->test.n == info->n_test);
        assert_int_equal(d->n_outputs, info->n_outputs);
        assert_int_equal(d->augment == AUGMENT_CROP_FLIP, strncmp(names[i], "cifar", 5) == 0);
        assert_int_equal(d->test_is_train, strcmp(names[i], "cal_housing") == 0);
        assert_int_equal(d->train.label != NULL, strcmp(d->task, "regression") != 0);
        const bool words = strcmp(d->task, "language_modeling") == 0;
        assert_int_equal(d->labels_per_sample, words ? 128 : 1);
        assert_int_equal(d->vocabulary, info->vocabulary);
        assert_int_equal(d->x_type == DATA_I32, d->vocabulary > 0);
        assert_int_equal(d->train.value != NULL, strcmp(d->task, "regression") == 0);
        data_free(d);
    }
}

static void test_same_every_time(void **state)
{
    (void)state;
    static const char *const names[] = {"digits", "cal_housing", "mnist", "wikitext?n_train=99",
                                        "sst2?n_train=99"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dataset *a = loaded(names[i]), *b = loaded(names[i]);
        const size_t n = (size_t)a->train.n, m = (size_t)a->test.n;
        const size_t sample = shape_count(a->shape) * (a->x_type == DATA_U8 ? 1 : 4);
        assert_memory_equal(a->train.x, b->train.x, n * sample);
        assert_memory_equal(a->test.x, b->test.x, m * sample);
        if (a->train.label)
            assert_memory_equal(a->train.label, b->train.label,
                                n * 4 * (size_t)a->labels_per_sample);
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

static const char *const texts[] = {"wikitext?n_train=100", "sst2?n_train=100"};

static void test_recorded_texts(void **state)
{
    (void)state;
    static const uint64_t want[] = {UINT64_C(0x3873149E69A5F6C0), UINT64_C(0xF284CF38DB63A2B8)};
    for (size_t i = 0; i < 2; i++) {
        struct dataset *d = loaded(texts[i]);
        const int32_t *x = d->train.x, *label = d->train.label;
        const int64_t n_labels = 100 * d->labels_per_sample;
        uint64_t h = 0xCBF29CE484222325u;
        for (int64_t j = 0; j < 100 * 128 + n_labels; j++)
            h = (h ^ (uint64_t)(j < 12800 ? x[j] : label[j - 12800])) * 0x100000001B3u;
        if (h != want[i])
            fail_msg("%s: the content's hash has become 0x%llX", texts[i], (unsigned long long)h);
        data_free(d);
    }
}

/* A smaller set is the beginning of a larger one. */
static void test_sizes(void **state)
{
    (void)state;
    static const char *const small[] = {"mnist?n_train=50&n_test=3", "wikitext?n_train=50&n_test=3",
                                        "sst2?n_train=50&n_test=3", "cal_housing?n_train=50"};
    for (size_t i = 0; i < 4; i++) {
        char name[16] = "";
        memcpy(name, small[i], strcspn(small[i], "?"));
        struct dataset *a = loaded(small[i]), *b = loaded(name);
        const size_t sample = shape_count(a->shape) * (a->x_type == DATA_U8 ? 1 : 4);
        assert_int_equal(a->train.n, 50);
        assert_int_equal(a->test.n, a->test_is_train ? 50 : 3);
        assert_memory_equal(a->train.x, b->train.x, 50 * sample);
        if (a->train.label)
            assert_memory_equal(a->train.label, b->train.label,
                                50 * 4 * (size_t)a->labels_per_sample);
        if (!a->test_is_train)
            assert_memory_not_equal(a->train.x, a->test.x, 3 * sample);
        data_free(a);
        data_free(b);
    }
}

/* The next word follows from the two before it, 255 times of 256, by rules the whole set shares:
 * after the first word one successor, later one of two neighbours, which the word before chooses.
 */
static void test_grammar(void **state)
{
    (void)state;
    struct dataset *d = loaded("wikitext?seq=64&vocab=200");
    assert_int_equal(d->bytes, (16030 + 1884) * (64 + 64) * 4);
    static int32_t rule[200][200]; /* of the word before (0: none) and the word */
    static int32_t count[200];
    int64_t broken = 0, far = 0, n = 0;
    for (int64_t i = 0; i < d->train.n; i++) {
        const int32_t *x = (const int32_t *)d->train.x + i * 64;
        const int32_t *next = d->train.label + i * 64;
        for (int t = 0; t < 64; t++, n++) {
            assert_true(x[t] >= 2 && x[t] < 200 && next[t] >= 2 && next[t] < 200);
            assert_true(t == 63 || x[t + 1] == next[t]);
            int32_t *known = &rule[t ? x[t - 1] : 0][x[t]];
            if (*known == 0)
                *known = next[t];
            broken += next[t] != *known;
            far += t > 0 && rule[0][x[t]] > 0 && (next[t] ^ rule[0][x[t]]) > 1;
            count[x[t]]++;
        }
    }
    /* The exceptions, and what first came as one. */
    assert_true((double)broken / (double)n > 0.003 && (double)broken / (double)n < 0.02);
    assert_true((double)far / (double)n > 0.003 && (double)far / (double)n < 0.02);
    int both = 0;
    for (int w = 2; w < 200; w++) {
        assert_true(count[w] > n / 200 / 4);
        bool same = false, other = false;
        for (int u = 2; u < 200; u++) {
            same |= rule[u][w] == rule[0][w];
            other |= rule[u][w] == (rule[0][w] ^ 1);
        }
        both += same && other;
    }
    if (both < 190)
        fail_msg("%d of 198 words have both successors", both);
    data_free(d);
}

/* A text's class is the one whose words it has; these are few, the others many. */
static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t length, vocabulary, own;
    } cases[] = {{"sst2", 128, 250002, 32}, {"sst2?seq=8&vocab=16", 8, 16, 2}};
    for (size_t c = 0; c < 2; c++) {
        struct dataset *d = loaded(cases[c].name);
        const int32_t length = cases[c].length, own = cases[c].own;
        int64_t count[2] = {0}, words = 0;
        for (int64_t i = 0; i < d->train.n; i++) {
            const int32_t *x = (const int32_t *)d->train.x + i * length, label = d->train.label[i];
            int32_t end = 1, tells = 0;
            assert_int_equal(x[0], 0);
            for (; x[end] != 2; end++) {
                assert_true(end < length - 1 && x[end] >= 4 && x[end] < cases[c].vocabulary - 1);
                if (x[end] < 4 + 2 * own) {
                    assert_int_equal((x[end] - 4) / own, label);
                    tells++;
                }
            }
            assert_true(tells >= 1 && tells <= 3);
            assert_true(end - 1 >= 4 && end - 1 <= 32);
            for (int32_t j = end + 1; j < length; j++)
                assert_int_equal(x[j], 1);
            count[label]++;
            words += end - 1;
        }
        assert_true(count[0] > d->train.n * 49 / 100 && count[1] > d->train.n * 49 / 100);
        const double mean = (double)words / (double)d->train.n;
        assert_near(mean, c == 0 ? 18 : 5, 0.1);
        data_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_same_every_time),
        cmocka_unit_test(test_recorded_content),
        cmocka_unit_test(test_recorded_texts),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_learnable_classes),
        cmocka_unit_test(test_learnable_regression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
