#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"
#include "helper_measure.h"
#include "measure/monitor_internal.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct monitor *start(void **state, bool use_gpu)
{
    struct error err = ERROR_INIT;
    struct monitor *m = monitor_start_with(1, use_gpu, *state, &err);
    if (!m)
        fail_msg("%s", err.text);
    return m;
}

static void check_near(double found, double wanted, double relative)
{
    if (!(fabs(found - wanted) <= relative * fabs(wanted)))
        fail_msg("%.9g, not %.9g", found, wanted);
}

/* The monitor's thread must not be waited for longer than it takes to wake it: 60 monitors would
 * need 3 s if each stop waited for a sampling interval. */
static void stopping_does_not_wait_for_a_sample(void **state)
{
    double stopping = 0;
    for (int i = 0; i < 60; i++) {
        struct monitor *m = start(state, false);
        struct monitor_summary s;
        clock_sleep_s(0.003); /* its thread sleeps now */
        const double t = clock_now_s();
        monitor_stop(m, &s);
        stopping += clock_now_s() - t;
    }
    assert_true(stopping < 1.5);
    monitor_stop(NULL, NULL);
    monitor_stop(start(state, false), NULL);
}

static void without_any_sensor_all_is_unknown(void **state)
{
    static const struct nvml_table none = {0};
    struct monitor_summary s;
    nvml_set_table(&none);
    struct monitor *m = start(state, true);
    monitor_window_begin(m);
    clock_sleep_s(0.12);
    monitor_window_end(m);
    monitor_stop(m, &s);
    assert_true(isnan(s.gpu_energy_counter_j) && isnan(s.gpu_energy_integral_j));
    assert_true(isnan(s.gpu_energy_ratio) && isnan(s.gpu_idle_w) && isnan(s.host_energy_j));
    assert_true(isnan(s.gpu_util_mean) && isnan(s.gpu_util_max) && isnan(s.vram_peak_mb));
    assert_true(isnan(s.gpu_power_mean_w) && isnan(s.gpu_temp_max_c));
    assert_true(isnan(s.sm_clock_mean_mhz));
    assert_string_equal(s.throttle_reasons, "");
    assert_string_equal(s.energy_method, "");
    assert_string_equal(s.energy_cause, "NVML has no GPU 1; no RAPL on this machine");
    assert_true(s.window_s >= 0.12 && s.host_peak_mb > 0.5);
    m = start(state, false); /* no GPU asked for: none is missed */
    monitor_stop(m, &s);
    assert_string_equal(s.energy_cause, "no RAPL on this machine");
}

static void rapl_counts_the_window_only(void **state)
{
    struct monitor_summary s;
    make_domain(*state, "intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
    struct monitor *m = start(state, false);
    put(*state, "intel-rapl:0", "energy_uj", "2000000\n");
    monitor_window_begin(m);
    put(*state, "intel-rapl:0", "energy_uj", "5500000\n");
    clock_sleep_s(0.08);
    monitor_window_end(m);
    put(*state, "intel-rapl:0", "energy_uj", "9000000\n");
    monitor_window_end(m); /* once only */
    monitor_stop(m, &s);
    check_near(s.host_energy_j, 3.5, 1e-9);
    assert_string_equal(s.energy_method, "rapl");
    assert_string_equal(s.energy_cause, "");
}

static void a_window_too_short_for_rapl_is_blank(void **state)
{
    struct monitor_summary s;
    make_domain(*state, "intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
    struct monitor *m = start(state, false);
    monitor_window_begin(m);
    monitor_window_end(m);
    monitor_stop(m, &s);
    assert_true(isnan(s.host_energy_j));
    assert_non_null(strstr(s.energy_cause, "RAPL needs"));
    assert_string_equal(s.energy_method, "");
}

static void a_window_too_short_for_the_gpu_is_blank(void **state)
{
    struct monitor_summary s;
    fake_install();
    struct monitor *m = start(state, true);
    monitor_window_begin(m);
    clock_sleep_s(0.3);
    fake.utilization = 90;
    fake.temperature = 71;
    fake.sm_mhz = 1300;
    fake.used_mib = 3000;
    fake.throttle = 0x20;
    clock_sleep_s(0.3);
    fake.used_mib = 2000;
    monitor_window_end(m);
    fake.used_mib = 9000; /* after the window: not seen */
    clock_sleep_s(0.12);
    monitor_stop(m, &s);
    assert_true(isnan(s.gpu_energy_counter_j) && isnan(s.gpu_energy_integral_j));
    assert_non_null(strstr(s.energy_cause, "below the 2 s the GPU's sensor needs"));
    assert_string_equal(s.energy_method, "");
    /* Load is known all the same. */
    assert_true(s.gpu_util_mean > 50 && s.gpu_util_mean < 90 && s.gpu_util_max == 90);
    assert_true(s.vram_peak_mb == 3000 && s.gpu_temp_max_c == 71);
    assert_true(s.sm_clock_mean_mhz > 1300 && s.sm_clock_mean_mhz < 1500);
    assert_string_equal(s.throttle_reasons, "0x24");
    check_near(s.gpu_power_mean_w, 100, 1e-6);
    assert_true(isnan(s.gpu_idle_w));       /* nothing was measured before */
    assert_int_equal(fake.energy_reads, 3); /* at edges only: start, begin, end */
    assert_true(s.samples >= 6 && s.samples <= 13);
}

static void counter_and_integral_agree_with_the_fake(void **state)
{
    struct monitor_summary s;
    fake_install();
    fake.counter_scale = 1.25;
    fake.utilization = 0;
    fake.watts = 40;
    struct monitor *m = start(state, true);
    clock_sleep_s(1.15); /* idle before the window: the baseline */
    fake.watts = 100;
    fake.utilization = 100;
    fake.born_s = clock_now_s();
    monitor_window_begin(m);
    clock_sleep_s(2.1);
    monitor_window_end(m);
    fake.watts = 40;
    monitor_stop(m, &s);
    check_near(s.gpu_energy_integral_j, 100 * s.window_s, 0.01);
    check_near(s.gpu_energy_counter_j, 125 * s.window_s, 0.01);
    check_near(s.gpu_energy_ratio, 1.25, 0.01);
    check_near(s.gpu_idle_w, 40, 0.01);
    check_near(s.gpu_power_mean_w, 100, 0.01);
    assert_string_equal(s.energy_method, "nvml counter");
    assert_string_equal(s.energy_cause, "no RAPL on this machine");
}

static void each_missing_reading_is_blank_alone(void **state)
{
    struct monitor_summary s[4];
    struct monitor *m[4];
    fake_install();
    /* One after another would take 8 s; the fake is told apart by time: four monitors at once. */
    for (int i = 0; i < 4; i++) {
        fake.no_counter = i == 0;
        fake.counter_jump_j = i == 1 ? 5000 : 0;
        m[i] = start(state, true);
        monitor_window_begin(m[i]);
    }
    fake.no_fields = true; /* an old driver from here on: the other power function serves */
    clock_sleep_s(2.1);
    for (int i = 0; i < 4; i++) {
        fake.no_counter = i == 0;
        fake.lost = i == 2;
        monitor_window_end(m[i]);
        fake.lost = false;
        monitor_stop(m[i], &s[i]);
    }
    assert_true(isnan(s[0].gpu_energy_counter_j) && isnan(s[0].gpu_energy_ratio));
    check_near(s[0].gpu_energy_integral_j, 100 * s[0].window_s, 0.02);
    assert_string_equal(s[0].energy_method, "nvml integral");
    assert_true(isnan(s[1].gpu_energy_counter_j)); /* 5000 J less than at its start */
    assert_non_null(strstr(s[1].energy_cause, "went backwards"));
    assert_string_equal(s[1].energy_method, "nvml integral");
    assert_true(isnan(s[2].gpu_energy_counter_j)); /* the last reading failed */
    check_near(s[3].gpu_energy_ratio, 1, 0.02);
}

static void a_gpu_that_says_nothing_has_a_cause(void **state)
{
    struct monitor_summary s;
    fake_install();
    fake.no_counter = fake.no_power = true;
    struct monitor *m = start(state, true);
    clock_sleep_s(2.05); /* a window that is never marked is the whole life */
    monitor_stop(m, &s);
    assert_true(s.window_s >= 2.05);
    assert_non_null(strstr(s.energy_cause, "neither energy nor power"));
    assert_true(isnan(s.gpu_power_mean_w));
    assert_true(s.gpu_util_mean == 50);
}

/* A child that holds 64 MiB counts while it is watched. */
static void watched_processes_count(void **state)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        os_die_with_parent();
        volatile char *block = xmalloc((size_t)64 << 20);
        for (size_t i = 0; i < (size_t)64 << 20; i += 1024)
            block[i] = 1;
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct monitor_summary alone, both;
    monitor_stop(start(state, false), &alone);
    struct monitor *m = start(state, false);
    monitor_watch(m, pid);
    monitor_watch(m, getpid() + 100000000); /* nobody */
    clock_sleep_s(0.12);
    monitor_unwatch(m, pid);
    monitor_unwatch(m, pid);
    monitor_stop(m, &both);
    assert_true(both.host_peak_mb >= alone.host_peak_mb + 60);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
        TEST(stopping_does_not_wait_for_a_sample),
        TEST(without_any_sensor_all_is_unknown),
        TEST(rapl_counts_the_window_only),
        TEST(a_window_too_short_for_rapl_is_blank),
        TEST(a_window_too_short_for_the_gpu_is_blank),
        TEST(counter_and_integral_agree_with_the_fake),
        TEST(each_missing_reading_is_blank_alone),
        TEST(a_gpu_that_says_nothing_has_a_cause),
        TEST(watched_processes_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
