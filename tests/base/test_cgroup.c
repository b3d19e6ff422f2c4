/* Limits of control groups, on trees laid out as the kernel lays them out. */
#include "base/file.h"
#include "base/os_cgroup.h"
#include "base/text.h"
#include "helper_base.h"

/* Writes root/<name>, its folders made. */
static void put(void **state, const char *name, const char *content)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, name, NULL);
    char *folder = xstrdup(path);
    *strrchr(folder, '/') = '\0';
    if (!file_make_dirs(folder, &err) || !file_write_atomic(path, content, strlen(content), &err))
        fail_msg("%s", err.text);
    free(folder);
    free(path);
}

static double quota(void **state, const char *membership)
{
    put(state, "membership", membership);
    char *path = folder_file(state, "membership", NULL);
    const double q = cgroup_cpu_quota(path, *state);
    free(path);
    return q;
}

static int64_t left(void **state, const char *membership)
{
    put(state, "membership", membership);
    char *path = folder_file(state, "membership", NULL);
    const int64_t bytes = cgroup_memory_left(path, *state);
    free(path);
    return bytes;
}

static void test_version_2(void **state)
{
    static const char member[] = "0::/user.slice/job\n";
    put(state, "cgroup.procs", "");
    assert_true(quota(state, member) == 0);
    assert_true(left(state, member) == -1);
    put(state, "user.slice/job/cpu.max", "max 100000\n");
    put(state, "user.slice/job/memory.max", "max\n");
    put(state, "user.slice/job/memory.current", "4096\n");
    assert_true(quota(state, member) == 0);
    assert_true(left(state, member) == -1);
    put(state, "user.slice/job/cpu.max", "150000 100000\n");
    put(state, "user.slice/job/memory.max", "1000000\n");
    put(state, "user.slice/job/memory.current", "600000\n");
    assert_true(quota(state, member) == 1.5);
    assert_true(left(state, member) == 400000);
    /* Cached file pages that nobody used lately can be dropped. */
    put(state, "user.slice/job/memory.stat", "anon 1\ninactive_file 100000\ninactive_filex 7\n");
    assert_true(left(state, member) == 500000);
    /* The limit of a group above counts when it is smaller. */
    put(state, "user.slice/cpu.max", "50000 100000\n");
    put(state, "user.slice/memory.max", "700000\n");
    put(state, "user.slice/memory.current", "699990\n");
    assert_true(quota(state, member) == 0.5);
    assert_true(left(state, member) == 10);
    put(state, "user.slice/memory.current", "700001\n");
    assert_true(left(state, member) == 0);
    assert_true(quota(state, "0::/\n") == 0);
}

static void test_inside_a_container(void **state)
{
    /* The path is the host's; what is mounted is the container's own group. */
    put(state, "cpu.max", "200000 100000\n");
    put(state, "memory.max", "5000\n");
    put(state, "memory.current", "1000\n");
    assert_true(quota(state, "0::/docker/0123abc/x\n") == 2);
    assert_true(left(state, "0::/docker/0123abc/x\n") == 4000);
}

static void test_version_1(void **state)
{
    static const char member[] = "12:cpuset:/\n9:memory:/a/b\n4:cpu,cpuacct:/a\n1:name=systemd:/\n";
    put(state, "cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
    put(state, "cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    put(state, "memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put(state, "memory/a/b/memory.usage_in_bytes", "1000\n");
    assert_true(quota(state, member) == 0);
    assert_true(left(state, member) > INT64_C(1) << 62); /* what "no limit" looks like there */
    put(state, "cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
    put(state, "memory/a/memory.limit_in_bytes", "8000\n");
    put(state, "memory/a/memory.usage_in_bytes", "5000\n");
    put(state, "memory/a/memory.stat", "total_inactive_file 1000\n");
    assert_true(quota(state, member) == 3);
    assert_true(left(state, member) == 4000);
    /* Mounted under the controller's own name. */
    put(state, "cpu/a/cpu.cfs_quota_us", "200000\n");
    put(state, "cpu/a/cpu.cfs_period_us", "100000\n");
    assert_true(quota(state, member) == 2);
}

static void test_hybrid(void **state)
{
    put(state, "unified/a/cpu.max", "100000 100000\n");
    assert_true(quota(state, "3:memory:/a\n0::/a\n") == 1);
}

static void test_nonsense_is_no_limit(void **state)
{
    put(state, "a/cpu.max", "100000\n");
    put(state, "a/memory.max", "much\n");
    put(state, "a/memory.current", "5\n");
    assert_true(quota(state, "0::/a\nnonsense\n:\n0:\n\n") == 0);
    assert_true(left(state, "0::/a\n") == -1);
    put(state, "a/cpu.max", "0 100000\n");
    assert_true(quota(state, "0::/a\n") == 0);
    put(state, "a/cpu.max", "");
    assert_true(quota(state, "0::/a\n") == 0);
    assert_true(cgroup_cpu_quota("/no/such/file", *state) == 0);
    assert_true(cgroup_memory_left("/no/such/file", *state) == -1);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_version_2),
        WITH_FOLDER(test_inside_a_container),
        WITH_FOLDER(test_version_1),
        WITH_FOLDER(test_hybrid),
        WITH_FOLDER(test_nonsense_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
