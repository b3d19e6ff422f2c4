#include "measure/phase_clock.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void check(const double found[PHASE_COUNT], const double wanted[PHASE_COUNT])
{
    for (int p = 0; p < PHASE_COUNT; p++)
        if (fabs(found[p] - wanted[p]) > 1e-9)
            fail_msg("%s: %.12f s, not %.12f s", phase_name((enum phase)p), found[p], wanted[p]);
}

static void no_interval_is_all_setup(void **state)
{
    (void)state;
    struct phase_clock *c = phase_clock_new();
    double t[PHASE_COUNT];
    phase_clock_totals(c, 100, 102.5, t);
    check(t, (double[PHASE_COUNT]){[PHASE_SETUP] = 2.5});
    phase_clock_totals(c, 5, 5, t);
    check(t, (double[PHASE_COUNT]){0});
    phase_clock_totals(c, 5, 4, t);
    check(t, (double[PHASE_COUNT]){0});
    phase_clock_free(c);
    phase_clock_free(NULL);
}

static void precedence_overlaps_and_gaps(void **state)
{
    (void)state;
    struct phase_clock *c = phase_clock_new();
    double t[PHASE_COUNT];
    /* Late and out of order.  0-1 data, 1-3 train (build and data beside it), 3-4 eval over
     * build, 4-5 nothing, 5-6 teardown, 6-7 compile over setup. */
    phase_clock_add(c, PHASE_EVAL, 2, 4);
    phase_clock_add(c, PHASE_TRAIN, 1, 2.5);
    phase_clock_add(c, PHASE_BUILD, 1.5, 3.5);
    phase_clock_add(c, PHASE_DATA, 0, 2);
    phase_clock_add(c, PHASE_TRAIN, 2, 3);
    phase_clock_add(c, PHASE_TEARDOWN, 5, 6);
    phase_clock_add(c, PHASE_SETUP, 6, 7);
    phase_clock_add(c, PHASE_COMPILE, 6, 7);
    phase_clock_totals(c, 0, 7, t);
    check(t, (double[PHASE_COUNT]){[PHASE_DATA] = 1,
                                   [PHASE_TRAIN] = 2,
                                   [PHASE_EVAL] = 1,
                                   [PHASE_SETUP] = 1,
                                   [PHASE_TEARDOWN] = 1,
                                   [PHASE_COMPILE] = 1});
    phase_clock_totals(c, 1.5, 3.25, t); /* clipped at both ends */
    check(t, (double[PHASE_COUNT]){[PHASE_TRAIN] = 1.5, [PHASE_EVAL] = 0.25});
    phase_clock_totals(c, -1, 0.5, t);
    check(t, (double[PHASE_COUNT]){[PHASE_SETUP] = 1, [PHASE_DATA] = 0.5});
    phase_clock_free(c);
}

static void nonsense_is_dropped(void **state)
{
    (void)state;
    struct phase_clock *c = phase_clock_new();
    double t[PHASE_COUNT];
    phase_clock_add(c, PHASE_TRAIN, 2, 1);
    phase_clock_add(c, PHASE_TRAIN, 1, 1);
    phase_clock_add(c, PHASE_TRAIN, NAN, 3);
    phase_clock_add(c, PHASE_TRAIN, 0, NAN);
    phase_clock_add(c, PHASE_COUNT, 0, 3);
    phase_clock_totals(c, 0, 3, t);
    check(t, (double[PHASE_COUNT]){[PHASE_SETUP] = 3});
    phase_clock_add(c, PHASE_TRAIN, -INFINITY, INFINITY);
    phase_clock_totals(c, 0, 3, t);
    check(t, (double[PHASE_COUNT]){[PHASE_TRAIN] = 3});
    phase_clock_free(c);
}

static double next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 16777216.0;
}

/* Held against a count over a fine grid; all times are whole grid steps, so that it is exact. */
static void random_intervals_match_a_grid_and_add_up(void **state)
{
    (void)state;
    enum { STEPS = 400, N = 60 };
    uint32_t random = 7;
    for (int round = 0; round < 50; round++) {
        struct phase_clock *c = phase_clock_new();
        int first[STEPS];
        double t[PHASE_COUNT], wanted[PHASE_COUNT] = {0}, sum = 0;
        for (int i = 0; i < STEPS; i++)
            first[i] = PHASE_SETUP;
        for (int i = 0; i < N; i++) {
            const int p = (int)(next_random(&random) * PHASE_COUNT);
            const int a = (int)(next_random(&random) * STEPS);
            const int b = a + (int)(next_random(&random) * 20);
            phase_clock_add(c, (enum phase)p, 7000.25 + a * 0.125, 7000.25 + b * 0.125);
            for (int s = a; s < b && s < STEPS; s++)
                first[s] = p < first[s] ? p : first[s];
        }
        for (int i = 0; i < STEPS; i++)
            wanted[first[i]] += 0.125;
        phase_clock_totals(c, 7000.25, 7000.25 + STEPS * 0.125, t);
        check(t, wanted);
        for (int p = 0; p < PHASE_COUNT; p++)
            sum += t[p];
        assert_true(fabs(sum - STEPS * 0.125) < 1e-9);
        phase_clock_free(c);
    }
}

/* Real clock readings are no round numbers; a day's worth still adds up to far below 1 ms. */
static void odd_times_add_up(void **state)
{
    (void)state;
    struct phase_clock *c = phase_clock_new();
    uint32_t random = 99;
    double t[PHASE_COUNT], sum = 0;
    for (int i = 0; i < 20000; i++) {
        const double a = 123456.789 + next_random(&random) * 86400;
        phase_clock_add(c, (enum phase)(i % PHASE_COUNT), a, a + next_random(&random) * 7);
    }
    phase_clock_totals(c, 123456.789012345, 123456.789012345 + 86399.987654321, t);
    for (int p = 0; p < PHASE_COUNT; p++) {
        assert_true(t[p] >= 0);
        sum += t[p];
    }
    assert_true(fabs(sum - 86399.987654321) < 1e-6);
    phase_clock_free(c);
}

static void *add_many(void *arg)
{
    for (int i = 0; i < 5000; i++)
        phase_clock_add(arg, PHASE_TRAIN, i, i + 0.5);
    return NULL;
}

static void threads_may_add_at_once(void **state)
{
    (void)state;
    struct phase_clock *c = phase_clock_new();
    pthread_t threads[4];
    double t[PHASE_COUNT];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, c), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    phase_clock_totals(c, 0, 5000, t);
    check(t, (double[PHASE_COUNT]){[PHASE_TRAIN] = 2500, [PHASE_SETUP] = 2500});
    phase_clock_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_interval_is_all_setup),
        cmocka_unit_test(precedence_overlaps_and_gaps),
        cmocka_unit_test(nonsense_is_dropped),
        cmocka_unit_test(random_intervals_match_a_grid_and_add_up),
        cmocka_unit_test(odd_times_add_up),
        cmocka_unit_test(threads_may_add_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
