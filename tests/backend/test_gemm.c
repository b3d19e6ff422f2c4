/* The small matrix product of every instruction set against a plain one in double: all forms over
 * odd sizes, and that an element's bits do not depend on where it lies.
 */
#include "helper_case.h"

#include "base/rng.h"

#define FUGUE_ISA generic
#include "backend/cpu/isa/gemm.h"

#define MAX_FLOATS 20000

static float a[MAX_FLOATS], b[MAX_FLOATS], bias[300], c[MAX_FLOATS];

static void fill(float *x, size_t n, uint32_t ordinal)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 2.0f * rng_unit(rng_u32_at(1, RNG_TEST, ordinal, 0, 0, (uint32_t)i)) - 1.0f;
}

/* Element (i, k) of A as gemm.h defines it. */
static double element(const struct gemm *g, int32_t i, int32_t k)
{
    const int32_t run = k / g->seg_len, in_run = k % g->seg_len;
    const ptrdiff_t row = g->a_rows ? g->a_rows[i] : i * g->a_row;
    return (double)g->a[row + (g->seg ? g->seg[run] : 0) + in_run * g->a_k];
}

static void check(const struct cpu_isa *isa, const struct gemm *g, const char *form)
{
    const int32_t depth = g->n_seg * g->seg_len;
    for (size_t i = 0; i < MAX_FLOATS; i++)
        c[i] = 0.25f;
    isa->gemm(g);
    for (int32_t i = 0; i < g->m; i++)
        for (int32_t j = 0; j < g->ldc; j++) {
            const double got = (double)g->c[i * g->ldc + j];
            if (j >= g->n) {
                assert_true(got == 0.25); /* beside the product */
                continue;
            }
            double expected = g->bias ? (double)g->bias[j] : 0, scale = 1;
            for (int32_t k = 0; k < depth; k++) {
                const double product = element(g, i, k) * (double)g->b[k * g->ldb + j];
                expected += product;
                scale += fabs(product);
            }
            expected += g->add ? 0.25 : 0;
            if (g->relu && expected < 0)
                expected = 0;
            if (!(fabs(got - expected) <= 1e-6 * scale))
                fail_msg("%s %s %dx%dx%d: c[%d][%d] = %.9g, expected %.9g", isa->name, form, g->m,
                         g->n, depth, i, j, got, expected);
        }
    assert_true(c[(g->m - 1) * g->ldc + g->ldc] == 0.25f);
}

static const int32_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 33, 47, 64, 65};
#define N_SIZES (sizeof sizes / sizeof *sizes)

static void check_sizes(const struct cpu_isa *isa, int32_t m, int32_t n, int32_t k)
{
    struct gemm g = {.m = m,
                     .n = n,
                     .a = a,
                     .a_row = k + 1,
                     .a_k = 1,
                     .n_seg = 1,
                     .seg_len = k,
                     .b = b,
                     .ldb = n,
                     .c = c,
                     .ldc = n};
    check(isa, &g, "plain");
    g.bias = bias;
    g.relu = true;
    g.ldc = n + 2;
    check(isa, &g, "bias, relu");
    g.bias = NULL;
    g.relu = false;
    g.add = true;
    g.a_row = 1; /* A transposed */
    g.a_k = m + 1;
    check(isa, &g, "transposed, added");
    /* Rows from anywhere, in runs. */
    int32_t rows[65], seg[3] = {0, 200, 90};
    for (int32_t i = 0; i < m; i++)
        rows[i] = (i * 37) % 101;
    g.a_rows = rows;
    g.seg = seg;
    g.a_k = 2;
    g.n_seg = 3;
    g.seg_len = k;
    check(isa, &g, "runs");
}

static void test_forms(void **state)
{
    (void)state;
    fill(a, MAX_FLOATS, 0);
    fill(b, MAX_FLOATS, 1);
    fill(bias, 300, 2);
    for (int s = 0; cpu_isas[s]; s++)
        for (size_t i = 0; i < N_SIZES && cpu_isas[s]->usable(); i++)
            for (size_t j = 0; j < N_SIZES; j++)
                for (size_t k = (i + j) % 2; k < N_SIZES; k += 2)
                    check_sizes(cpu_isas[s], sizes[i], sizes[j], sizes[k]);
}

/* Columns of a wide product and rows of a tall one are the bits of narrower and flatter ones. */
static void test_position(void **state)
{
    (void)state;
    static float whole[70 * 70], part[70 * 70];
    for (int s = 0; cpu_isas[s]; s++)
        for (int32_t first = 0; first < 40 && cpu_isas[s]->usable(); first += 3) {
            struct gemm g = {.m = 37,
                             .n = 70,
                             .a = a,
                             .a_row = 50,
                             .a_k = 1,
                             .n_seg = 1,
                             .seg_len = 50,
                             .b = b,
                             .ldb = 70,
                             .c = whole,
                             .ldc = 70};
            cpu_isas[s]->gemm(&g);
            g.b = b + first;
            g.n = 70 - first - 2;
            g.m = 29;
            g.a = a + 50 * 3;
            g.c = part;
            cpu_isas[s]->gemm(&g);
            for (int32_t i = 0; i < g.m; i++)
                for (int32_t j = 0; j < g.n; j++)
                    assert_true(part[i * 70 + j] == whole[(i + 3) * 70 + j + first]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
