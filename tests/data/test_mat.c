/* MATLAB files: the real ones of flowers102, and broken ones. */
#include "base/file.h"
#include "data/mat.h"
#include "helper_data.h"

static void check(const char *file, const char *variable, size_t n, double least, double largest)
{
    struct error err = ERROR_INIT;
    struct mat_vector v;
    char *path = path_join(real_root(), file);
    if (!mat_read(path, variable, &v, &err))
        fail_msg("%s", err.text);
    assert_int_equal(v.n, n);
    double lo = v.value[0], hi = v.value[0];
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, v.value[i]);
        hi = fmax(hi, v.value[i]);
    }
    assert_true(lo >= least && hi <= largest && lo == floor(lo));
    mat_vector_release(&v);
    free(path);
}

static void test_flowers(void **state)
{
    (void)state;
    check("flowers-102/imagelabels.mat", "labels", 8189, 1, 102);
    check("flowers-102/setid.mat", "trnid", 1020, 1, 8189);
    check("flowers-102/setid.mat", "valid", 1020, 1, 8189);
    check("flowers-102/setid.mat", "tstid", 6149, 1, 8189);
}

static void test_broken(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct mat_vector v;
    char *path = path_join(real_root(), "flowers-102/imagelabels.mat"), *bytes, *used;
    size_t n;
    assert_true(file_read_maybe_gz(path, 1 << 20, &bytes, &n, &used, &err));
    assert_false(mat_parse(bytes, n, "f", "label", &v, &err));
    assert_contains(err.text, "no variable 'label'; it has labels");
    for (size_t cut = 0; cut < n; cut++) {
        char *part = malloc(cut ? cut : 1);
        memcpy(part, bytes, cut);
        assert_false(mat_parse(part, cut, "f", "labels", &v, &err));
        assert_null(v.value);
        free(part);
    }
    bytes[124] = 2;
    assert_false(mat_parse(bytes, n, "f", "labels", &v, &err));
    assert_contains(err.text, "its head says otherwise");
    free(bytes);
    free(used);
    free(path);
}

int main(void)
{
    real_root();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flowers),
                                       cmocka_unit_test(test_broken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
