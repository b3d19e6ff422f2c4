/* The functions of isa/math.h against the C library's in double: relative errors in units of the
 * float's last place over dense grids, and what happens at the ends. */
#include "backend/cpu/isa/math.h"

#include "helper_case.h"

#include <float.h>

/* The largest error of f over [from, to], in units of the last place of the exact value; values
 * below `floor` count as that large. */
static double worst(float (*f)(float), double (*exact)(double), float from, float to, double floor)
{
    double most = 0;
    for (int i = 0; i <= 200000; i++) {
        const float x = from + (to - from) * (float)i / 200000.0f;
        const double y = exact((double)x), got = (double)f(x);
        const double unit = fmax(fabs(y), floor) * (double)FLT_EPSILON;
        most = fmax(most, fabs(got - y) / unit);
    }
    return most;
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_cdf(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}

static double exact_gelu(double x)
{
    return x * exact_cdf(x);
}

static double exact_gelu_slope(double x)
{
    return exact_cdf(x) + x * exp(-0.5 * x * x) / sqrt(2 * acos(-1.0));
}

static float cdf_of(float x)
{
    return normal_of(x).cdf;
}

static void test_accuracy(void **state)
{
    (void)state;
    assert_true(worst(exp_of, exp, -87.0f, 0, 0) < 2);
    assert_true(worst(exp_of, exp, -1.0f, 0, 0) < 2);
    assert_true(worst(tanh_of, tanh, -12, 12, 0) < 3);
    assert_true(worst(tanh_of, tanh, -0.7f, 0.7f, 0) < 3);
    assert_true(worst(sigmoid_of, exact_sigmoid, -80, 80, 0) < 3);
    assert_true(worst(sigmoid_of, exact_sigmoid, -4, 4, 0) < 3);
    /* Far below 0 the argument x^2 / 2 has been rounded: errors grow with it, values vanish. */
    assert_true(worst(cdf_of, exact_cdf, -1.5f, 9, 0) < 4);
    assert_true(worst(cdf_of, exact_cdf, -5, 0, 0) < 8);
    assert_true(worst(gelu_of, exact_gelu, -1.5f, 9, 0) < 4);
    assert_true(worst(gelu_of, exact_gelu, -9, 0, 0.1) < 4);
    /* A sum of two terms of opposite sign below 0: 6.8 units of the last place of 0.1 were seen. */
    assert_true(worst(gelu_slope_of, exact_gelu_slope, -9, 9, 0.1) < 8);
}

static void test_ends(void **state)
{
    (void)state;
    assert_true(exp_of(0) == 1 && exp_of(-INFINITY) == 0 && exp_of(-1000) == 0);
    assert_true(tanh_of(INFINITY) == 1 && tanh_of(-INFINITY) == -1 && tanh_of(0) == 0);
    assert_true(sigmoid_of(INFINITY) == 1 && sigmoid_of(-INFINITY) == 0 && sigmoid_of(0) == 0.5f);
    assert_true(gelu_of(100) == 100 && gelu_of(-100) == 0 && gelu_of(0) == 0);
    assert_true(gelu_slope_of(100) == 1 && gelu_slope_of(-100) == 0 && gelu_slope_of(0) == 0.5f);
    assert_true(gelu_slope_of(INFINITY) == 1);
    assert_true(isnan(exp_of(NAN)) && isnan(tanh_of(NAN)) && isnan(sigmoid_of(NAN)));
    assert_true(isnan(gelu_of(NAN)) && isnan(gelu_slope_of(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
