#include "helper_measure.h"
#include "measure/rapl.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_joules(const struct rapl *r, double wanted)
{
    assert_false(r->lost);
    assert_true(fabs(r->joules - wanted) < 1e-9);
}

static void packages_are_added_and_nothing_else(void **state)
{
    const char *root = *state;
    struct rapl r;
    make_domain(root, "intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
    make_domain(root, "intel-rapl:1", "package-1\n", "5000000\n", "262143328850\n");
    make_domain(root, "intel-rapl:2", "psys\n", "7\n", "262143328850\n");
    make_domain(root, "intel-rapl:0:0", "core\n", "7\n", "262143328850\n");
    make_domain(root, "intel-rapl-mmio:0", "package-0\n", "7\n", "262143328850\n");
    make_domain(root, "intel-rapl", "package-9\n", "7\n", "262143328850\n");
    rapl_open(&r, root);
    assert_int_equal(r.n, 2);
    assert_string_equal(r.cause, "");
    rapl_reset(&r);
    put(root, "intel-rapl:0", "energy_uj", "3500000\n");
    put(root, "intel-rapl:1", "energy_uj", "5250000\n");
    put(root, "intel-rapl:2", "energy_uj", "999999999\n");
    rapl_update(&r);
    check_joules(&r, 2.75);
    put(root, "intel-rapl:1", "energy_uj", "6250000\n");
    rapl_update(&r);
    check_joules(&r, 3.75);
    rapl_reset(&r);
    rapl_update(&r);
    check_joules(&r, 0);
    rapl_close(&r);
}

static void a_counter_that_wraps_goes_on(void **state)
{
    const char *root = *state;
    struct rapl r;
    make_domain(root, "intel-rapl:0", "package-0\n", "9000000\n", "10000000\n");
    rapl_open(&r, root);
    rapl_reset(&r);
    put(root, "intel-rapl:0", "energy_uj", "500000\n"); /* 1 J to the end and 0.5 J */
    rapl_update(&r);
    check_joules(&r, 1.5);
    put(root, "intel-rapl:0", "energy_uj", "400000\n"); /* a whole turn less 0.1 J */
    rapl_update(&r);
    check_joules(&r, 1.5 + 9.9);
    rapl_close(&r);
}

static void backwards_without_a_range_is_unknown(void **state)
{
    const char *root = *state;
    struct rapl r;
    make_domain(root, "intel-rapl:0", "package-0\n", "9000000\n", NULL);
    rapl_open(&r, root);
    rapl_reset(&r);
    put(root, "intel-rapl:0", "energy_uj", "500000\n");
    rapl_update(&r);
    assert_true(r.lost);
    rapl_reset(&r);
    put(root, "intel-rapl:0", "energy_uj", "rubbish\n");
    rapl_update(&r);
    assert_true(r.lost);
    rapl_close(&r);
}

static void what_cannot_be_read_has_a_cause(void **state)
{
    const char *root = *state;
    struct rapl r;
    rapl_open(&r, root);
    assert_int_equal(r.n, 0);
    assert_string_equal(r.cause, "no RAPL on this machine");
    rapl_open(&r, "/no/such/folder");
    assert_string_equal(r.cause, "no RAPL on this machine");

    /* One of two packages: half a total would be wrong. */
    make_domain(root, "intel-rapl:0", "package-0\n", "1\n", "10\n");
    make_domain(root, "intel-rapl:1", "package-1\n", NULL, "10\n");
    rapl_open(&r, root);
    assert_int_equal(r.n, 0);
    assert_string_equal(r.cause, "RAPL of package-1 not readable: No such file or directory");
    put(root, "intel-rapl:1", "energy_uj", "many\n");
    rapl_open(&r, root);
    assert_int_equal(r.n, 0);
    assert_string_equal(r.cause, "RAPL of package-1 not readable: no number in it");
    rapl_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
        TEST(packages_are_added_and_nothing_else),
        TEST(a_counter_that_wraps_goes_on),
        TEST(backwards_without_a_range_is_unknown),
        TEST(what_cannot_be_read_has_a_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
