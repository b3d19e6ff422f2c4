/* What the CPU backend says it has kernels for, and the double build of the plain ones. */
#include "helper_case.h"

/* Every plain kernel exists in double, of the same step, and no other does: what tests hold to
 * PyTorch's float64 is what runs. */
static void the_double_build_has_the_same_kernels(void **state)
{
    (void)state;
    int n = 0;
    for (int l = 0; cpu_isa_reference.kernels[l] || cpu_reference_lists_f64[l]; l++) {
        assert_non_null(cpu_isa_reference.kernels[l]);
        assert_non_null(cpu_reference_lists_f64[l]);
        const struct cpu_kernel *k = cpu_isa_reference.kernels[l];
        const struct cpu_kernel_f64 *d = cpu_reference_lists_f64[l];
        for (; k->name && d->name; k++, d++, n++) {
            assert_int_equal(k->kind, d->kind);
            assert_int_equal(k->op, d->op);
        }
        assert_null(k->name);
        assert_null(d->name);
    }
    assert_true(n >= OP_COUNT);
}

static void sets_come_reference_first_then_best_first(void **state)
{
    (void)state;
    struct backend_variant v;
    assert_true(backend_cpu.variant_at(0, &v));
    assert_string_equal(v.name, "reference");
    assert_true(v.is_reference && v.is_usable);
    int n = 1;
    const char *best = NULL;
    for (; backend_cpu.variant_at(n, &v); n++) {
        assert_false(v.is_reference);
        assert_string_equal(v.name, cpu_isas[n - 1]->name);
        if (v.is_usable && !best)
            best = v.name;
    }
    assert_null(cpu_isas[n - 1]);
    assert_string_equal(best, cpu_isa_find(NULL)->name);
    assert_false(backend_cpu.variant_at(-1, &v));
    assert_false(backend_cpu.variant_at(n + 1, &v));
}

static void kernels_are_the_sets_own(void **state)
{
    (void)state;
    struct backend_variant v;
    for (int i = 0; backend_cpu.variant_at(i, &v); i++)
        for (int kind = STEP_GATHER; kind <= STEP_UPDATE; kind++)
            for (int op = 0; op < OP_COUNT; op++) {
                const char *name = backend_cpu.kernel_at(i, (enum step_kind)kind, (enum op_kind)op);
                const struct cpu_isa *isa = i ? cpu_isas[i - 1] : &cpu_isa_reference;
                const struct cpu_kernel *used =
                    cpu_kernel_find(isa, (enum step_kind)kind, (enum op_kind)op);
                /* A set's own is used; where it has none the reference's is, or nothing. */
                if (name)
                    assert_string_equal(used->name, name);
                else
                    assert_ptr_equal(used, cpu_kernel_find(&cpu_isa_reference, (enum step_kind)kind,
                                                           (enum op_kind)op));
            }
    assert_null(backend_cpu.kernel_at(99, STEP_FORWARD, OP_LINEAR));
    assert_null(backend_cpu.kernel_at(0, STEP_GATHER, OP_LINEAR));
    assert_non_null(backend_cpu.kernel_at(0, STEP_FORWARD, OP_LINEAR));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_double_build_has_the_same_kernels),
        cmocka_unit_test(sets_come_reference_first_then_best_first),
        cmocka_unit_test(kernels_are_the_sets_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
