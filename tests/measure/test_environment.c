#include "base/os.h"
#include "helper_measure.h"
#include "measure/environment.h"

#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void the_host_is_described(void **state)
{
    (void)state;
    static const struct nvml_table none = {0};
    struct environment env;
    struct utsname u;
    nvml_set_table(&none); /* a library without functions: nothing is known, nothing breaks */
    memset(&env, 0xff, sizeof env);
    environment_read(&env, 0);
    assert_int_equal(uname(&u), 0);
    assert_string_equal(env.hostname, u.nodename);
    assert_memory_equal(env.os, u.sysname, strlen(u.sysname));
    assert_non_null(strstr(env.os, u.release));
    assert_string_equal(env.cpu_model, os_cpu_model());
    assert_int_equal(env.cpu_cores, os_cpu_count());
    assert_true(env.ram_total_mb > 64 && env.ram_total_mb < 1e9);
    assert_string_equal(env.gpu_name, "");
    assert_string_equal(env.gpu_uuid, "");
    assert_string_equal(env.driver_version, "");
    assert_string_equal(env.cuda_version, "");
    assert_string_equal(env.compute_mode, "");
    assert_true(env.vram_total_mb == -1 && env.power_limit_w == -1);
    assert_int_equal(env.gpu_count, 0);
    assert_string_equal(env.gpu_cause, "the NVIDIA driver sees no GPU");
    nvml_set_table(NULL);
}

static void the_gpu_asked_for_is_described(void **state)
{
    (void)state;
    struct environment env;
    fake_install();
    environment_read(&env, 1);
    assert_string_equal(env.gpu_name, "Fake H1");
    assert_string_equal(env.gpu_uuid, "GPU-0123");
    assert_string_equal(env.driver_version, "580.159");
    assert_string_equal(env.cuda_version, "13.1");
    assert_string_equal(env.compute_mode, "EXCLUSIVE_PROCESS");
    assert_true(env.vram_total_mb == 81920);
    assert_true(env.power_limit_w == 700);
    assert_int_equal(env.gpu_count, 2);
    assert_string_equal(env.gpu_cause, "");
    environment_read(&env, 5); /* a driver, but no such GPU */
    assert_string_equal(env.gpu_name, "");
    assert_string_equal(env.driver_version, "580.159");
    environment_read(&env, -1);
    assert_string_equal(env.gpu_name, "");
    nvml_set_table(NULL);
}

static void memory_is_without_what_the_driver_keeps(void **state)
{
    (void)state;
    double used, total;
    fake_install();
    assert_true(nvml_memory_mb(nvml_device(1), &used, &total));
    assert_true(used == 1000 && total == 81920);
    fake.has_memory_v2 = true;
    assert_true(nvml_memory_mb(nvml_device(1), &used, &total));
    assert_true(used == 400 && total == 81920);
    fake.lost = true;
    assert_false(nvml_memory_mb(nvml_device(1), &used, &total));
    nvml_set_table(NULL);
}

static int refuse(void)
{
    return 9; /* NVML_ERROR_DRIVER_NOT_LOADED */
}

static void a_library_without_a_driver_is_none(void **state)
{
    (void)state;
    static const struct nvml_table broken = {.init = refuse};
    struct environment env;
    nvml_set_table(&broken);
    assert_false(nvml_available());
    assert_int_equal(nvml_count(), 0);
    assert_null(nvml_device(0));
    environment_read(&env, 0);
    assert_int_equal(env.gpu_count, 0);
    assert_string_equal(env.gpu_cause, "the NVIDIA driver is not loaded");
    nvml_set_table(NULL);
}

static void unreadable_energy_has_a_cause(void **state)
{
    (void)state;
    char cause[128] = "unset";
    const bool readable = environment_host_energy(cause, sizeof cause);
    assert_true(readable == (cause[0] == '\0'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_is_described),
        cmocka_unit_test(the_gpu_asked_for_is_described),
        cmocka_unit_test(memory_is_without_what_the_driver_keeps),
        cmocka_unit_test(a_library_without_a_driver_is_none),
        cmocka_unit_test(unreadable_energy_has_a_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
