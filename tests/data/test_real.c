/* The real files, where a data root is given: the figures every copy of these sets has. */
#include "base/file.h"
#include "data/cal_housing.h"
#include "data/dataset.h"
#include "helper_data.h"

static const char *root;

/* Mean, deviation (ddof 1), least and largest of each column of scikit-learn's data frame. */
static const double columns[9][4] = {
    {3.870671, 1.899822, 0.4999, 15.0001},      {28.639486, 12.585558, 1, 52},
    {5.429000, 2.474173, 0.846154, 141.909091}, {1.096675, 0.473911, 0.333333, 34.066667},
    {1425.476744, 1132.462122, 3, 35682},       {3.070655, 10.386050, 0.692308, 1243.333333},
    {35.631861, 2.135952, 32.54, 41.95},        {-119.569704, 2.003532, -124.35, -114.31},
    {2.068558, 1.153956, 0.14999, 5.00001},
};

static void check_column(const struct cal_housing *h, int j)
{
    const double *want = columns[j];
    double sum = 0, squares = 0, least = INFINITY, largest = -INFINITY;
    for (int64_t i = 0; i < h->n; i++) {
        const double v = j < 8 ? h->feature[i][j] : h->target[i];
        sum += v;
        least = fmin(least, v);
        largest = fmax(largest, v);
    }
    const double mean = sum / (double)h->n;
    for (int64_t i = 0; i < h->n; i++) {
        const double v = (j < 8 ? h->feature[i][j] : h->target[i]) - mean;
        squares += v * v;
    }
    assert_near(mean, want[0], 6e-7);
    assert_near(sqrt(squares / (double)(h->n - 1)), want[1], 6e-7);
    assert_near(least, want[2], 6e-7);
    assert_near(largest, want[3], 6e-7);
    if (j < 8) {
        double m, sd;
        cal_housing_moments(h, j, &m, &sd);
        assert_near(m, want[0], 6e-7);
        assert_near(sd, want[1], 6e-7);
    }
}

static void test_cal_housing_columns(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char *path = path_join(root, "CaliforniaHousing/cal_housing.data"), *text, *used;
    size_t len;
    struct cal_housing h;
    if (!file_read_maybe_gz(path, 1 << 24, &text, &len, &used, &err) ||
        !cal_housing_parse(text, len, used, &h, &err))
        fail_msg("%s", err.text);
    assert_int_equal(h.n, 20640);
    for (int j = 0; j < 9; j++)
        check_column(&h, j);
    static const double first[8] = {8.3252, 41, 6.984127, 1.023810, 322, 2.555556, 37.88, -122.23};
    for (int j = 0; j < 8; j++)
        assert_near(h.feature[0][j], first[j], 6e-7);
    assert_near(h.target[0], 4.526, 1e-12);
    int censored = 0;
    for (int64_t i = 0; i < h.n; i++)
        censored += h.target[i] == 5.00001;
    assert_int_equal(censored, 965);
    cal_housing_release(&h);
    free(text);
    free(used);
    free(path);
}

static void test_cal_housing_standardised(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct dataset *d = data_load("cal_housing", root, false, &err);
    if (!d)
        fail_msg("%s", err.text);
    const float *x = d->train.x;
    const int64_t n = d->train.n;
    assert_int_equal(n, 20640);
    for (int j = 0; j < 8; j++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += (double)x[i * 8 + j];
            squares += (double)x[i * 8 + j] * (double)x[i * 8 + j];
        }
        assert_near(sum / (double)n, 0, 1e-6);
        assert_near(squares / (double)(n - 1), 1, 1e-6);
        assert_near(x[j],
                    (((double[]){8.3252, 41, 880.0 / 126, 129.0 / 126, 322, 322.0 / 126, 37.88,
                                 -122.23})[j] -
                     columns[j][0]) /
                        columns[j][1],
                    2e-6);
    }
    assert_true(d->train.value[0] == 4.526f);
    data_free(d);
}

static void test_mnist(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct dataset *d = data_load("mnist", root, false, &err);
    if (!d)
        fail_msg("%s", err.text);
    assert_true(d->train.n == 60000 && d->test.n == 10000);
    static const int train_counts[10] = {5923, 6742, 5958, 6131, 5842,
                                         5421, 5918, 6265, 5851, 5949};
    static const int test_counts[10] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
    int count[2][10] = {{0}};
    for (int64_t i = 0; i < 60000; i++)
        count[0][d->train.label[i]]++;
    for (int64_t i = 0; i < 10000; i++)
        count[1][d->test.label[i]]++;
    assert_memory_equal(count[0], train_counts, sizeof train_counts);
    assert_memory_equal(count[1], test_counts, sizeof test_counts);
    const uint8_t *x = d->train.x;
    const int64_t pixels = INT64_C(60000) * 784;
    int64_t sum = 0, squares = 0;
    for (int64_t i = 0; i < pixels; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    const double mean = (double)sum / (double)pixels / 255;
    assert_near(mean, 0.13066, 6e-6);
    assert_near(sqrt((double)squares / (double)pixels / 255 / 255 - mean * mean), 0.30811, 6e-6);
    const int32_t first[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
    assert_memory_equal(d->train.label, first, sizeof first);
    data_free(d);
}

int main(void)
{
    root = real_root();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cal_housing_columns),
        cmocka_unit_test(test_cal_housing_standardised),
        cmocka_unit_test(test_mnist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
