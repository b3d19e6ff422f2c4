/* Splits and the order of an epoch. */
#include "base/rng.h"
#include "data/split.h"
#include "helper_data.h"

static struct dataset set_of(int64_t n_train, int64_t n_test, bool test_is_train)
{
    return (struct dataset){.name = (char *)"made",
                            .train = {.n = n_train},
                            .test = {.n = n_test},
                            .test_is_train = test_is_train};
}

static struct split made(struct split_spec spec, struct dataset d, int64_t limit)
{
    struct error err = ERROR_INIT;
    struct split s;
    if (!split_make(&spec, &d, limit, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

/* Every sample 0..n-1 exactly once in train and val together. */
static void assert_partition(const struct split *s, int64_t n)
{
    char *seen = calloc((size_t)n, 1);
    assert_int_equal(s->n_train + s->n_val, n);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t row = i < s->n_train ? s->train[i] : s->val[i - s->n_train];
        assert_true(row < n);
        assert_int_equal(seen[row]++, 0);
    }
    free(seen);
}

static void test_fixed(void **state)
{
    (void)state;
    struct split s = made((struct split_spec){.kind = SPLIT_FIXED}, set_of(7, 3, false), 0);
    assert_true(s.n_train == 7 && s.n_val == 3 && s.val_is_test);
    assert_string_equal(s.val_source, "test");
    for (uint32_t i = 0; i < 7; i++)
        assert_true(s.train[i] == i && (i >= 3 || s.val[i] == i));
    split_release(&s);
    s = made((struct split_spec){.kind = SPLIT_FIXED}, set_of(7, 7, true), 0);
    assert_true(s.n_train == 7 && s.n_val == 7 && !s.val_is_test);
    assert_string_equal(s.val_source, "train");
    split_release(&s);
    s = made((struct split_spec){.kind = SPLIT_FIXED}, set_of(7, 3, false), 4);
    assert_true(s.n_train == 4 && s.n_val == 3 && s.val_is_test);
    split_release(&s);
    s = made((struct split_spec){.kind = SPLIT_FIXED}, set_of(7, 7, true), 4);
    assert_true(s.n_train == 4 && s.n_val == 4 && s.val[3] == 3);
    split_release(&s);
    assert_null(s.train);
}

static void test_holdout(void **state)
{
    (void)state;
    static const struct {
        int64_t n, limit, n_val;
        double fraction;
    } cases[] = {{1438, 0, 287, 0.2}, {20640, 0, 4128, 0.2}, {10, 0, 2, 0.25},
                 {2, 0, 1, 0.5},      {5000, 103, 20, 0.2},  {3, 0, 2, 0.99}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct split_spec spec = {
            .kind = SPLIT_HOLDOUT, .split_id = 0, .seed = 5, .fraction = cases[i].fraction};
        const struct dataset d = set_of(cases[i].n, 10, false);
        struct split a = made(spec, d, cases[i].limit);
        const int64_t n = cases[i].limit ? cases[i].limit : cases[i].n;
        assert_partition(&a, n);
        assert_int_equal(a.n_val, cases[i].n_val);
        assert_false(a.val_is_test);
        assert_string_equal(a.val_source, "holdout");
        /* The first part of the documented permutation, in order. */
        const struct rng_perm p = rng_perm_make((uint32_t)n, 5, RNG_SPLIT, 0);
        for (int64_t j = 0; j < n; j++)
            assert_int_equal(rng_perm_at(&p, (uint32_t)j),
                             j < a.n_val ? a.val[j] : a.train[j - a.n_val]);
        for (spec.split_id = 1; spec.split_id < 4; spec.split_id++) {
            struct split b = made(spec, d, cases[i].limit);
            assert_int_equal(b.n_val, a.n_val);
            assert_memory_equal(b.val, a.val, (size_t)a.n_val * 4);
            assert_memory_equal(b.train, a.train, (size_t)a.n_train * 4);
            split_release(&b);
        }
        split_release(&a);
    }
}

static void test_seeds_differ(void **state)
{
    (void)state;
    struct split_spec spec = {.kind = SPLIT_HOLDOUT, .fraction = 0.2};
    struct split a = made(spec, set_of(1000, 1, false), 0);
    spec.seed = 1;
    struct split b = made(spec, set_of(1000, 1, false), 0);
    int same = 0;
    for (int64_t i = 0; i < a.n_val; i++)
        for (int64_t j = 0; j < b.n_val; j++)
            same += a.val[i] == b.val[j];
    /* Two independent fifths share 40 of 200 on average, deviation about 5. */
    assert_in_range(same, 15, 65);
    split_release(&a);
    split_release(&b);
}

static void test_kfold(void **state)
{
    (void)state;
    static const struct {
        int64_t n, k;
    } cases[] = {{1438, 5}, {20640, 3}, {10, 10}, {11, 4}, {2, 2}, {4097, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t n = cases[i].n, k = cases[i].k;
        const struct dataset d = set_of(n, 10, false);
        char *seen = calloc((size_t)n, 1);
        for (int32_t fold = 0; fold < k; fold++) {
            const struct split_spec spec = {
                .kind = SPLIT_KFOLD, .split_id = fold, .seed = 3, .k = (int32_t)k};
            struct split s = made(spec, d, 0);
            assert_partition(&s, n);
            assert_int_equal(s.n_val, n / k + (fold < n % k));
            assert_string_equal(s.val_source, "fold");
            for (int64_t j = 0; j < s.n_val; j++)
                assert_int_equal(seen[s.val[j]]++, 0);
            /* split_id counts modulo k. */
            struct split_spec wrapped = spec;
            wrapped.split_id += 2 * (int32_t)k;
            struct split t = made(wrapped, d, 0);
            assert_int_equal(t.n_val, s.n_val);
            assert_memory_equal(t.val, s.val, (size_t)s.n_val * 4);
            split_release(&t);
            split_release(&s);
        }
        for (int64_t j = 0; j < n; j++)
            assert_int_equal(seen[j], 1);
        free(seen);
    }
    /* Training rows keep the order of the permutation around the fold. */
    struct split s =
        made((struct split_spec){.kind = SPLIT_KFOLD, .split_id = 1, .seed = 9, .k = 4},
             set_of(10, 1, false), 0);
    const struct rng_perm p = rng_perm_make(10, 9, RNG_SPLIT, 0);
    static const uint32_t train_at[] = {0, 1, 2, 6, 7, 8, 9};
    for (int j = 0; j < 7; j++)
        assert_int_equal(s.train[j], rng_perm_at(&p, train_at[j]));
    for (uint32_t j = 0; j < 3; j++)
        assert_int_equal(s.val[j], rng_perm_at(&p, 3 + j));
    split_release(&s);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        struct split_spec spec;
        int64_t n, limit;
        const char *part;
    } cases[] = {
        {{.kind = SPLIT_KFOLD, .k = 1}, 10, 0, "1 folds of 10 samples; 2 to 10"},
        {{.kind = SPLIT_KFOLD, .k = 0}, 10, 0, "0 folds"},
        {{.kind = SPLIT_KFOLD, .k = -3}, 10, 0, "-3 folds"},
        {{.kind = SPLIT_KFOLD, .k = 11}, 10, 0, "11 folds of 10"},
        {{.kind = SPLIT_KFOLD, .k = 5}, 10, 4, "5 folds of 4"},
        {{.kind = SPLIT_KFOLD, .k = 5, .split_id = -1}, 10, 0, "split -1"},
        {{.kind = SPLIT_HOLDOUT, .fraction = 0}, 10, 0, "fraction 0 must"},
        {{.kind = SPLIT_HOLDOUT, .fraction = 1}, 10, 0, "fraction 1 must"},
        {{.kind = SPLIT_HOLDOUT, .fraction = NAN}, 10, 0, "fraction nan"},
        {{.kind = SPLIT_HOLDOUT, .fraction = 0.2}, 4, 0, "leaves 0 to validate"},
        {{.kind = SPLIT_FIXED}, 0, 0, "0 training samples"},
        {{.kind = SPLIT_FIXED}, 10, 11, "a train_size of 11: data set 'made' has 10"},
        {{.kind = SPLIT_FIXED}, 10, -1, "a train_size of -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        const struct dataset d = set_of(cases[i].n, 5, false);
        struct split s;
        if (split_make(&cases[i].spec, &d, cases[i].limit, &s, &err))
            fail_msg("accepted where '%s' is expected", cases[i].part);
        assert_contains(err.text, cases[i].part);
        assert_null(s.train);
        assert_null(s.val);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"fixed", "holdout", "kfold"};
    for (int i = 0; i < 3; i++) {
        enum split_kind kind;
        assert_string_equal(split_kind_name((enum split_kind)i), names[i]);
        assert_true(split_kind_parse(names[i], &kind));
        assert_int_equal(kind, i);
    }
    enum split_kind kind;
    assert_false(split_kind_parse("folds", &kind));
}

/* Bulk and single evaluation of the permutation are one function. */
static void test_order(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1,    2,    3,    5,    63,   64,    65,    127,
                                     1438, 2047, 2048, 2049, 4096, 20640, 32769, 60000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t n = sizes[i];
        uint32_t *rows = malloc(n * sizeof *rows), *out = malloc((n + 1) * sizeof *out);
        for (uint32_t j = 0; j < n; j++)
            rows[j] = 3 * j + 7;
        for (uint32_t epoch = 1; epoch < 4; epoch++) {
            const uint64_t seed = 42 + (uint64_t)i * UINT64_C(0x100000001);
            const struct rng_perm p = rng_perm_make(n, seed, RNG_ORDER, epoch);
            out[n] = 0xABCDEF01;
            order_epoch(rows, n, seed, epoch, out);
            for (uint32_t j = 0; j < n; j++)
                if (out[j] != rows[rng_perm_at(&p, j)])
                    fail_msg("n %u, epoch %u: element %u is %u", n, epoch, j, out[j]);
            assert_true(out[n] == 0xABCDEF01); /* nothing past the end */
        }
        free(rows);
        free(out);
    }
    uint32_t untouched = 5;
    order_epoch(NULL, 0, 1, 1, &untouched);
    assert_int_equal(untouched, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),        cmocka_unit_test(test_holdout),
        cmocka_unit_test(test_seeds_differ), cmocka_unit_test(test_kfold),
        cmocka_unit_test(test_errors),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
