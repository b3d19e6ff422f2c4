/* California housing on files the tests write: good ones, and every way of being broken. */
#include "base/text.h"
#include "data/cal_housing.h"
#include "data/dataset.h"
#include "helper_data.h"

#define NAME "CaliforniaHousing/cal_housing.data"
#define ROW1                                                                                       \
    "-122.230000,37.880000,41.000000,880.000000,129.000000,322.000000,126.000000,8.325200,"        \
    "452600.000000\n"
#define ROW2                                                                                       \
    "-122.220000,37.860000,21.000000,7099.000000,1106.000000,2401.000000,1138.000000,8.301400,"    \
    "358500.000000\n"

static void test_parse(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct cal_housing h;
    const char *text = ROW1 ROW2;
    assert_true(cal_housing_parse(text, strlen(text), "f", &h, &err));
    assert_int_equal(h.n, 2);
    const double want[] = {8.3252, 41, 880.0 / 126, 129.0 / 126, 322, 322.0 / 126, 37.88, -122.23};
    for (int j = 0; j < 8; j++)
        assert_true(h.feature[0][j] == want[j]);
    assert_true(h.target[0] == 4.526 && h.target[1] == 3.585);
    double mean, sd;
    cal_housing_moments(&h, 1, &mean, &sd);
    assert_true(mean == 31);
    assert_near(sd, sqrt(200), 1e-13); /* ddof 1: (10^2 + 10^2) / 1 */
    cal_housing_release(&h);
    /* No newline at the end, exponents and plus signs the general parser knows. */
    const char *other = ROW1 "-1e2,3.0E1,1,2,3,4,5,0.0000000000000000001,12345678901234567";
    assert_true(cal_housing_parse(other, strlen(other), "f", &h, &err) == false);
    assert_contains(err.text, "f:2: column 9 is 1.23457e+16, which is out of range");
    other = ROW1 "-1e2,3.0E1,1,2,3,4,5,0.0000000000000000001,123456";
    assert_true(cal_housing_parse(other, strlen(other), "f", &h, &err));
    assert_true(h.feature[1][7] == -100 && h.feature[1][6] == 30 && h.feature[1][0] == 1e-19);
    cal_housing_release(&h);
}

/* The quick way of reading decimals must round as strtod does. */
static void test_numbers_round_correctly(void **state)
{
    (void)state;
    static const char *const numbers[] = {
        "8.3252",           "0.1",     "37.880000",        "452600.000000",
        "1.00005",          "0.49995", "123456.789012345", "0.000000000000001",
        "999999999999.999", "007.5"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct error err = ERROR_INIT;
        struct cal_housing h;
        char *text = xasprintf("1,2,%s,1,1,1,1,-%s,0\n" ROW1, numbers[i], numbers[i]);
        if (!cal_housing_parse(text, strlen(text), "f", &h, &err))
            fail_msg("%s", err.text);
        assert_true(h.feature[0][1] == strtod(numbers[i], NULL));
        assert_true(h.feature[0][0] == -strtod(numbers[i], NULL));
        cal_housing_release(&h);
        free(text);
    }
}

static void test_load(void **state)
{
    struct error err = ERROR_INIT;
    const char *text = ROW1 ROW2;
    write_gz(state, NAME ".gz", text, strlen(text));
    struct dataset *d = data_load("cal_housing", *state, false, &err);
    if (!d)
        fail_msg("%s", err.text);
    assert_true(shape_equal(d->shape, shape_vector(8)));
    assert_int_equal(d->x_type, DATA_F32);
    assert_true(d->divisor == 1.0f);
    assert_int_equal(d->n_outputs, 1);
    assert_string_equal(d->task, "regression");
    assert_true(d->train.n == 2 && d->test.n == 2 && d->test_is_train);
    assert_ptr_equal(d->train.x, d->test.x);
    assert_null(d->train.label);
    assert_int_equal(d->bytes, 2 * 9 * 4);
    /* Two rows a and b standardise to (a - b) / 2 / (|a - b| / sqrt 2 + 1e-7). */
    const float *x = d->train.x;
    const double ages = 10 / (sqrt(200) + 1e-7), latitude = 0.01 / (0.02 / sqrt(2) + 1e-7);
    assert_true(x[1] == (float)ages && x[8 + 1] == (float)-ages);
    assert_near(x[6], latitude, 1e-6);
    assert_near(x[8 + 6], -latitude, 1e-6);
    assert_true(d->train.value[0] == 4.526f && d->train.value[1] == 3.585f);
    data_free(d);
}

static void test_constant_column(void **state)
{
    struct error err = ERROR_INIT;
    const char *text = ROW1 ROW1;
    write_file(state, NAME, text, strlen(text));
    struct dataset *d = data_load("cal_housing", *state, false, &err);
    assert_non_null(d);
    for (int i = 0; i < 16; i++)
        assert_true(((const float *)d->train.x)[i] == 0.0f);
    data_free(d);
}

static void refused(void **state, const char *content, size_t len, const char *part)
{
    struct error err = ERROR_INIT;
    write_file(state, NAME, content, len);
    if (data_load("cal_housing", *state, false, &err))
        fail_msg("accepted where '%s' is expected", part);
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, part);
    assert_contains(err.text, "cal_housing.data");
}

static void test_broken_files(void **state)
{
    static const char *const cases[][2] = {
        {"", "0 rows; at least 2"},
        {ROW1, "1 rows; at least 2"},
        {ROW1 "\n", ":2: column 1, '', is not a number"},
        {ROW1 "1,2,3,4,5,6,7,8\n", ":2: 8 columns; 9 are expected"},
        {ROW1 "1,2,3,4,5,6,7,8,9,10\n", ":2: 10 columns; 9 are expected"},
        {ROW1 "1,2,3,4,5,6,7,8,9,\n", ":2: 10 columns"},
        {"longitude,latitude\n" ROW1, ":1: column 1, 'longitude', is not a number"},
        {ROW1 ROW2 "1,2,3,4,5,6,7,8,9x\n", ":3: column 9, '9x', is not a number"},
        {ROW1 "1,2, 3,4,5,6,7,8,9\n", ":2: column 3, ' 3', is not a number"},
        {ROW1 "1,2,,4,5,6,7,8,9\n", ":2: column 3, '', is not a number"},
        {ROW1 "1,2,nan,4,5,6,7,8,9\n", ":2: column 3, 'nan', is not a number"},
        {ROW1 "1,2,inf,4,5,6,7,8,9\n", "is not a number"},
        {ROW1 "1,2,0x10,4,5,6,7,8,9\n", "is not a number"},
        {ROW1 "1,2,-,4,5,6,7,8,9\n", "is not a number"},
        {ROW1 "1,2,1e999,4,5,6,7,8,9\n", ":2: column 3"},
        {ROW1 "1,2,3,4,5,6,0,8,9\n", ":2: column 7, households, is 0"},
        {ROW1 "1,2,3,4,5,6,-2,8,9\n", "households, is -2"},
        {ROW1 "1,2,3,4,5,6,7,8,9\r\n", "'9?', is not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(state, cases[i][0], strlen(cases[i][0]), cases[i][1]);
    refused(state, ROW1 "1,2,3\0,4,5,6,7,8,9\n", sizeof(ROW1 "1,2,3\0,4,5,6,7,8,9\n") - 1,
            "column 3, '3?'");
    char garbage[4096];
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)(i * 2654435761u >> 13);
    refused(state, garbage, sizeof garbage, "is not a number");
    memset(garbage, '1', sizeof garbage);
    garbage[2000] = '\n';
    refused(state, garbage, sizeof garbage, ":1: column 1, '11111111111111111111', is not");
}

static void test_too_large(void **state)
{
    const size_t len = 11u << 20;
    char *big = malloc(len);
    memset(big, '\n', len);
    refused(state, big, len, "11534336");
    refused(state, big, 200000, "200000 rows; at most 100000");
    /* A small gzip that inflates beyond the limit. */
    remove_file(state, NAME);
    write_gz(state, NAME ".gz", big, len);
    struct error err = ERROR_INIT;
    assert_null(data_load("cal_housing", *state, false, &err));
    assert_contains(err.text, "cal_housing.data.gz");
    free(big);
}

static void test_broken_gzip(void **state)
{
    struct error err = ERROR_INIT;
    write_file(state, NAME ".gz", "\x1f\x8b\x08 not gzip at all", 20);
    assert_null(data_load("cal_housing", *state, false, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, "cal_housing.data.gz");
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_numbers_round_correctly),
        WITH_FOLDER(test_load),         WITH_FOLDER(test_constant_column),
        WITH_FOLDER(test_broken_files), WITH_FOLDER(test_too_large),
        WITH_FOLDER(test_broken_gzip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
