#include "base/clock.h"
#include "helper_base.h"

#include <stdio.h>
#include <time.h>

static void test_monotonic(void **state)
{
    (void)state;
    const int64_t ns = clock_now_ns();
    const double start = clock_now_s();
    assert_true(start >= (double)ns * 1e-9);
    clock_sleep_s(0.02);
    assert_true(clock_now_s() - start >= 0.02);
    clock_sleep_s(0);
    clock_sleep_s(-1);
    assert_true(clock_now_ns() > ns);
}

/* The stamp read back lies within two seconds of now. */
static void test_stamps(void **state)
{
    (void)state;
    char local[16], utc[25];
    clock_stamp(local);
    clock_stamp_utc(utc);
    const time_t now = time(NULL);
    assert_int_equal(strlen(local), 15);
    assert_int_equal(strlen(utc), 24);
    struct tm tm = {.tm_isdst = -1};
    int ms;
    char z;
    assert_int_equal(sscanf(local, "%4d%2d%2d_%2d%2d%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                            &tm.tm_hour, &tm.tm_min, &tm.tm_sec),
                     6);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    assert_in_range(now - mktime(&tm) + 1, 0, 3);
    memset(&tm, 0, sizeof tm);
    assert_int_equal(sscanf(utc, "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c", &tm.tm_year, &tm.tm_mon,
                            &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &z),
                     8);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    assert_in_range(now - timegm(&tm) + 1, 0, 3);
    assert_int_equal(z, 'Z');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_stamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
