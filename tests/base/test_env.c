#include "base/env.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "fugue_version.h"
#include "helper_base.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static int clear_environment(void **state)
{
    (void)state;
    for (int i = 0; i < ENV_COUNT; i++)
        unsetenv(env_vars[i].name);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", "/home/ada", 1);
    env_reset();
    return 0;
}

/* The value that `text` in the environment leads to. */
static const char *with(enum env_id id, const char *text)
{
    setenv(env_vars[id].name, text, 1);
    env_reset();
    return env_value(id);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"FUGUE_DATA_DIR", "FUGUE_RUNS_DIR", "FUGUE_REGISTRY_DIR",
                                        "FUGUE_FIGS_DIR", "FUGUE_OFFLINE",  "FUGUE_MIRROR",
                                        "FUGUE_DEVICE"};
    for (int i = 0; i < ENV_COUNT; i++) {
        assert_string_equal(env_vars[i].name, names[i]);
        assert_true(strlen(env_vars[i].meaning) > 5);
        assert_int_equal(env_vars[i].kind == ENV_PATH, i < ENV_OFFLINE);
    }
}

static void test_values_are_stripped_expanded_absolute(void **state)
{
    (void)state;
    char cwd[PATH_MAX], want[PATH_MAX + 32];
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_string_equal(with(ENV_DATA_DIR, "/data/sets"), "/data/sets");
    assert_string_equal(env_source(ENV_DATA_DIR), "environment");
    assert_string_equal(with(ENV_DATA_DIR, " \t/data/my sets \n"), "/data/my sets");
    assert_string_equal(with(ENV_DATA_DIR, "~"), "/home/ada");
    assert_string_equal(with(ENV_DATA_DIR, "~/sets"), "/home/ada/sets");
    assert_string_equal(with(ENV_DATA_DIR, "/a/./b//c/../d/"), "/a/b/d");
    assert_string_equal(with(ENV_DATA_DIR, "/.."), "/");
    snprintf(want, sizeof want, "%s/~bob", cwd);
    assert_string_equal(with(ENV_DATA_DIR, "~bob"), want);
    snprintf(want, sizeof want, "%s/sub/sets", cwd);
    assert_string_equal(with(ENV_DATA_DIR, "sub/sets"), want);
    assert_string_equal(with(ENV_DATA_DIR, "./sub/x/../sets"), want);
    assert_string_equal(with(ENV_DATA_DIR, "."), cwd);
}

/* Relative to a folder that was removed: no other folder is taken instead. */
static void test_a_removed_working_folder(void **state)
{
    (void)state;
    char cwd[PATH_MAX], gone[] = "/tmp/fugue-env-XXXXXX";
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_non_null(mkdtemp(gone));
    assert_int_equal(chdir(gone), 0);
    assert_int_equal(rmdir(gone), 0);
    char *relative = xstrdup(with(ENV_RUNS_DIR, "my/runs"));
    char *whole = xstrdup(with(ENV_DATA_DIR, "/data/sets"));
    assert_int_equal(chdir(cwd), 0);
    assert_string_equal(relative, "my/runs");
    assert_string_equal(whole, "/data/sets");
    free(relative);
    free(whole);
}

static void test_values_stay_until_reset(void **state)
{
    (void)state;
    const char *first = with(ENV_RUNS_DIR, "/first");
    setenv("FUGUE_RUNS_DIR", "/second", 1);
    assert_string_equal(env_value(ENV_RUNS_DIR), "/first");
    env_reset();
    assert_string_equal(env_value(ENV_RUNS_DIR), "/second");
    assert_string_equal(first, "/first"); /* what was given out lives on */
}

/* Is this test running from a build folder inside the source folder? */
static bool inside_tree(void)
{
    char *source = realpath(FUGUE_SOURCE_DIR, NULL);
    const bool inside = source && os_executable() && text_starts_with(os_executable(), source) &&
                        os_executable()[strlen(source)] == '/';
    free(source);
    return inside;
}

static void test_defaults(void **state)
{
    (void)state;
    char cwd[PATH_MAX], want[PATH_MAX + 32];
    assert_non_null(getcwd(cwd, sizeof cwd));
    if (inside_tree()) {
        static const char *const folders[] = {"data", "runs", "registry", "figs"};
        for (int i = 0; i < ENV_OFFLINE; i++) {
            snprintf(want, sizeof want, "%s/%s", FUGUE_SOURCE_DIR, folders[i]);
            assert_string_equal(env_value((enum env_id)i), want);
            assert_string_equal(env_source((enum env_id)i), "build tree");
        }
        return;
    }
    assert_string_equal(env_source(ENV_DATA_DIR), "default");
    assert_string_equal(env_value(ENV_DATA_DIR), "/home/ada/.cache/fugue/data");
    assert_string_equal(env_value(ENV_REGISTRY_DIR), "/home/ada/.local/share/fugue");
    snprintf(want, sizeof want, "%s/runs", cwd);
    assert_string_equal(env_value(ENV_RUNS_DIR), want);
    snprintf(want, sizeof want, "%s/figs", cwd);
    assert_string_equal(env_value(ENV_FIGS_DIR), want);

    setenv("XDG_CACHE_HOME", "/var/cache/ada", 1);
    setenv("XDG_DATA_HOME", "not/absolute", 1); /* which the XDG specification has us ignore */
    env_reset();
    assert_string_equal(env_value(ENV_DATA_DIR), "/var/cache/ada/fugue/data");
    assert_string_equal(env_value(ENV_REGISTRY_DIR), "/home/ada/.local/share/fugue");
    /* Blank is unset. */
    assert_string_equal(with(ENV_DATA_DIR, " "), "/var/cache/ada/fugue/data");
    assert_string_equal(env_source(ENV_DATA_DIR), "default");
}

static void test_offline(void **state)
{
    (void)state;
    static const char *const yes[] = {"1", "true", "YES", "On", " 1 "};
    static const char *const no[] = {"0", "false", "no", "off", "", " ", "2", "enabled"};
    assert_false(env_offline());
    assert_string_equal(env_value(ENV_OFFLINE), "0");
    assert_string_equal(env_source(ENV_OFFLINE), "default");
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_string_equal(with(ENV_OFFLINE, yes[i]), "1");
        assert_true(env_offline());
        assert_string_equal(env_source(ENV_OFFLINE), "environment");
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_string_equal(with(ENV_OFFLINE, no[i]), "0");
        assert_false(env_offline());
    }
}

static void test_likely_typing_errors(void **state)
{
    (void)state;
    assert_null(env_unknown());
    setenv("FUGUE_DATA_DIR", "/x", 1);
    setenv("FUGUE_TEST_SOMETHING", "1", 1);
    assert_null(env_unknown());
    setenv("FUGUE_DATADIR", "/y", 1);
    assert_string_equal(env_unknown(), "FUGUE_DATADIR=/y");
    unsetenv("FUGUE_DATADIR");
    setenv("FUGUE_DATA_DIRS", "/y", 1);
    assert_string_equal(env_unknown(), "FUGUE_DATA_DIRS=/y");
    unsetenv("FUGUE_DATA_DIRS");
}

#define CLEAN(test) cmocka_unit_test_setup(test, clear_environment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEAN(test_names),
        CLEAN(test_values_are_stripped_expanded_absolute),
        CLEAN(test_a_removed_working_folder),
        cmocka_unit_test(test_values_stay_until_reset),
        CLEAN(test_defaults),
        CLEAN(test_offline),
        CLEAN(test_likely_typing_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
