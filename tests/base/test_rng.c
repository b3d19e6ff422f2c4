/* The committed test vector of base/rng.h, and what every user of it relies on. */
#include "base/rng.h"
#include "helper_base.h"

/* From the known-answer file kat_vectors of Random123 (philox 4x32, 10 rounds). */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t c[4], k[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rng_block b = rng_philox(cases[i].k[0], cases[i].k[1], cases[i].c[0],
                                              cases[i].c[1], cases[i].c[2], cases[i].c[3]);
        assert_memory_equal(b.v, cases[i].out, sizeof b.v);
    }
}

/* The counter's layout is part of every result: purpose and ordinal, epoch, step, index / 4. */
static void test_counter_layout(void **state)
{
    (void)state;
    const uint64_t seed = 0x0123456789abcdefu;
    const struct rng_block want = rng_philox(0x89abcdef, 0x01234567, 3u << 24 | 7, 11, 13, 17);
    const struct rng_block got = rng_block_at(seed, RNG_DROPOUT, 7, 11, 13, 17);
    assert_memory_equal(got.v, want.v, sizeof got.v);
    for (uint32_t word = 0; word < 4; word++)
        assert_int_equal(rng_u32_at(seed, RNG_DROPOUT, 7, 11, 13, 4 * 17 + word), want.v[word]);
}

static void test_unit_interval(void **state)
{
    (void)state;
    assert_true(rng_unit(0) == 0.0f);
    assert_true(rng_unit(0xff) == 0.0f);
    assert_true(rng_unit(0x100) == 1.0f / 16777216.0f);
    assert_true(rng_unit(0x80000000u) == 0.5f);
    assert_true(rng_unit(0xffffffffu) == 16777215.0f / 16777216.0f);
    double sum = 0;
    const int n = 100000;
    for (int i = 0; i < n; i++)
        sum += rng_unit(rng_u32_at(5, RNG_TEST, 0, 0, 0, (uint32_t)i));
    /* Mean 1/2 with a standard deviation of 0.00091. */
    assert_true(sum / n > 0.5 - 0.005 && sum / n < 0.5 + 0.005);
}

static void assert_bijection(uint32_t n, uint64_t seed, uint32_t epoch)
{
    const struct rng_perm p = rng_perm_make(n, seed, RNG_ORDER, epoch);
    unsigned char *seen = calloc(n, 1);
    assert_non_null(seen);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = rng_perm_at(&p, i);
        assert_true(j < n);
        assert_int_equal(seen[j], 0);
        seen[j] = 1;
    }
    free(seen);
}

static void test_permutation_is_a_bijection(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1,   2,   3,   4,    5,    7,    8,     9,     10,    15,
                                     16,  17,  31,  33,   64,   65,   100,   127,   128,   129,
                                     255, 359, 512, 1000, 1438, 4095, 16384, 16385, 60000, 65537};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_bijection(sizes[i], 42, 0);
        assert_bijection(sizes[i], 0xfedcba9876543210u, 3);
    }
    /* The largest: only a few places can be looked at. */
    const struct rng_perm p = rng_perm_make(0x80000000u, 1, RNG_ORDER, 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(rng_perm_at(&p, i * 2147483u) < 0x80000000u);
}

static void test_permutations_differ(void **state)
{
    (void)state;
    enum { N = 1438 };
    const struct rng_perm base = rng_perm_make(N, 42, RNG_ORDER, 0);
    const struct rng_perm again = rng_perm_make(N, 42, RNG_ORDER, 0);
    const struct rng_perm others[] = {
        rng_perm_make(N, 42, RNG_ORDER, 1),
        rng_perm_make(N, 43, RNG_ORDER, 0),
        rng_perm_make(N, 42, RNG_SPLIT, 0),
    };
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(rng_perm_at(&base, i), rng_perm_at(&again, i));
    for (size_t o = 0; o < sizeof others / sizeof *others; o++) {
        int same = 0;
        for (uint32_t i = 0; i < N; i++)
            same += rng_perm_at(&base, i) == rng_perm_at(&others[o], i);
        /* Two random permutations agree in one place on average (Poisson). */
        assert_in_range(same, 0, 9);
    }
}

/* Where index 0 and a middle index go, over many seeds: chi-square with n - 1 = 9 degrees of
 * freedom (mean 9; 33.7 is its 1 - 1e-4 quantile). */
static void test_places_are_uniform_over_seeds(void **state)
{
    (void)state;
    enum { N = 10, SEEDS = 20000 };
    for (uint32_t index = 0; index < N; index += 5) {
        int count[N] = {0};
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const struct rng_perm p = rng_perm_make(N, seed, RNG_ORDER, 0);
            count[rng_perm_at(&p, index)]++;
        }
        double chi2 = 0;
        const double expected = (double)SEEDS / N;
        for (int i = 0; i < N; i++)
            chi2 += (count[i] - expected) * (count[i] - expected) / expected;
        assert_true(chi2 < 33.7);
        assert_true(chi2 > 0);
    }
}

/* All 24 orders of four things (23 degrees of freedom; 1 - 1e-4 quantile 56): a network too regular
 * to mix would miss some. */
static void test_orders_are_uniform_over_seeds(void **state)
{
    (void)state;
    enum { SEEDS = 24000 };
    int count[256] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct rng_perm p = rng_perm_make(4, seed * 7919, RNG_ORDER, 2);
        uint32_t code = 0;
        for (uint32_t i = 0; i < 4; i++)
            code = code << 2 | rng_perm_at(&p, i);
        count[code]++;
    }
    double chi2 = 0;
    int orders = 0;
    for (int i = 0; i < 256; i++) {
        orders += count[i] > 0;
        if (count[i] > 0)
            chi2 += (count[i] - 1000.0) * (count[i] - 1000.0) / 1000.0;
    }
    assert_int_equal(orders, 24);
    assert_true(chi2 < 56);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_counter_layout),
        cmocka_unit_test(test_unit_interval),
        cmocka_unit_test(test_permutation_is_a_bijection),
        cmocka_unit_test(test_permutations_differ),
        cmocka_unit_test(test_places_are_uniform_over_seeds),
        cmocka_unit_test(test_orders_are_uniform_over_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
