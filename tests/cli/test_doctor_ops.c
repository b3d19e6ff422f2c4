/* What doctor --ops prints is what the tables of operations and kernels hold, and those hold what
 * plans need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/cpu/kernel.h"
#include "cli/doctor.h"
#include "data/dataset.h"
#include "engine/plan_build.h"
#include "engine/support.h"
#include "nn/model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* *text: malloc'd. */
static void print_into(char **text, void (*print)(FILE *out, bool json), bool json)
{
    size_t len = 0;
    FILE *f = open_memstream(text, &len);
    print(f, json);
    fclose(f);
}

static json_t *parsed(void (*print)(FILE *out, bool json))
{
    char *text = NULL;
    print_into(&text, print, true);
    json_t *value = json_loads(text, 0, NULL);
    assert_non_null(value);
    free(text);
    return value;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The sets of this build: the reference, then cpu_isas. */
static const struct cpu_isa *isa_of(size_t i)
{
    return i == 0 ? &cpu_isa_reference : cpu_isas[i - 1];
}

/* Straight from the set's arrays. */
static const char *kernel_in(const struct cpu_isa *isa, const char *step, enum op_kind op)
{
    for (int i = 0; isa->kernels[i]; i++)
        for (const struct cpu_kernel *k = isa->kernels[i]; k->name; k++)
            if (k->op == op && strcmp(plan_step_name(k->kind), step) == 0)
                return k->name;
    return NULL;
}

static void the_sets_are_those_of_the_build(void **state)
{
    (void)state;
    json_t *all = parsed(doctor_print_ops), *sets = json_object_get(all, "sets");
    size_t n = 0, chosen = 0;
    for (; isa_of(n); n++) {
        const json_t *set = json_array_get(sets, n);
        assert_string_equal(text_of(set, "backend"), "cpu");
        assert_string_equal(text_of(set, "name"), isa_of(n)->name);
        assert_int_equal(json_is_true(json_object_get(set, "reference")), n == 0);
        assert_int_equal(json_is_true(json_object_get(set, "usable")), isa_of(n)->usable());
        if (json_is_true(json_object_get(set, "chosen"))) {
            chosen++;
            assert_string_equal(isa_of(n)->name, cpu_isa_find(NULL)->name);
        }
    }
    /* What follows is the CUDA module's, where this build has one. */
    for (size_t i = n; i < json_array_size(sets); i++) {
        const json_t *set = json_array_get(sets, i);
        assert_string_equal(text_of(set, "backend"), "cuda");
        assert_int_equal(json_is_true(json_object_get(set, "reference")), i == n);
    }
    assert_int_equal(chosen, 1);
    json_decref(all);
}

static const char *expected_status(const json_t *steps, enum op_kind op)
{
    size_t with_kernel = 0;
    for (size_t s = 0; s < json_array_size(steps); s++)
        with_kernel +=
            kernel_in(&cpu_isa_reference, text_of(json_array_get(steps, s), "name"), op) != NULL;
    if (with_kernel < json_array_size(steps))
        return with_kernel ? "incomplete" : "no kernels";
    return "trains";
}

static void every_operation_has_the_status_its_kernels_give_it(void **state)
{
    (void)state;
    json_t *all = parsed(doctor_print_ops), *ops = json_object_get(all, "operations");
    assert_int_equal(json_array_size(ops), OP_COUNT);
    for (size_t i = 0; i < OP_COUNT; i++) {
        const json_t *op = json_array_get(ops, i), *steps = json_object_get(op, "steps");
        assert_string_equal(text_of(op, "name"), op_infos[i].name);
        assert_true(json_array_size(steps) > 0);
        assert_string_equal(text_of(json_object_get(op, "status"), "cpu"),
                            expected_status(steps, (enum op_kind)i));
        for (size_t s = 0; s < json_array_size(steps); s++) {
            const json_t *step = json_array_get(steps, s);
            const json_t *kernels = json_object_get(step, "kernels");
            for (size_t k = 0; isa_of(k); k++) {
                const char *name = json_string_value(json_array_get(kernels, k));
                const char *wanted = kernel_in(isa_of(k), text_of(step, "name"), (enum op_kind)i);
                assert_true(name == wanted || (name && wanted && strcmp(name, wanted) == 0));
            }
        }
    }
    json_decref(all);
}

/* No kernel is of a step that the table of operations lacks. */
static void every_kernel_is_shown(void **state)
{
    (void)state;
    for (size_t i = 0; isa_of(i); i++)
        for (int l = 0; isa_of(i)->kernels[l]; l++)
            for (const struct cpu_kernel *k = isa_of(i)->kernels[l]; k->name; k++) {
                bool shown = false;
                for (int s = 0; s < support_steps(k->op); s++)
                    shown |= strcmp(support_step_name(k->op, s), plan_step_name(k->kind)) == 0;
                if (!shown)
                    fail_msg("%s: %s of %s is no step that doctor shows", k->name,
                             plan_step_name(k->kind), op_infos[k->op].name);
            }
}

/* The operation's line, and in it how many of its steps the reference has. */
static bool has_line(const char *text, enum op_kind op)
{
    char start[80], cell[40];
    int n = 0;
    for (int s = 0; s < support_steps(op); s++)
        n += support_kernel(0, op, s) != NULL;
    snprintf(start, sizeof start, "\n%s ", op_infos[op].name);
    snprintf(cell, sizeof cell, " %d of %d ", n, support_steps(op));
    const char *line = strstr(text, start);
    const char *found = line ? strstr(line + 1, n ? cell : " - ") : NULL;
    return found && found < line + 1 + strcspn(line + 1, "\n");
}

static void the_table_has_a_line_for_each_operation(void **state)
{
    (void)state;
    char *table = NULL;
    print_into(&table, doctor_print_ops, false);
    for (int op = 0; op < OP_COUNT; op++)
        if (!has_line(table, (enum op_kind)op))
            fail_msg("no line of %s in\n%s", op_infos[op].name, table);
    free(table);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void check_program(const struct plan_program *p)
{
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct plan_step *step = &p->steps[i];
        if (step->node < 0 && step->kind != STEP_LOSS)
            continue; /* of no operation: the update, clipping */
        bool shown = false;
        for (int s = 0; s < support_steps(step->op); s++)
            if (strcmp(support_step_name(step->op, s), plan_step_name(step->kind)) == 0) {
                shown = true;
                if (!support_kernel(0, step->op, s))
                    fail_msg("no plain kernel of %s of %s", plan_step_name(step->kind),
                             op_infos[step->op].name);
            }
        if (!shown)
            fail_msg("doctor does not show %s of %s", plan_step_name(step->kind),
                     op_infos[step->op].name);
    }
}

static void check_model(const char *model, const char *dataset)
{
    struct error err = ERROR_INIT;
    struct data_info data;
    assert_true(data_describe(dataset, true, &data, &err));
    const struct plan_request request = {
        .batch = 4, .task = task_find(data.task), .optim = OPTIM_SGD, .clips = true};
    struct graph *g = model_build(model, data.shape, data.n_outputs, &err);
    if (!g)
        fail_msg("%s", err.text);
    struct plan *plan = plan_build(g, &request, &err);
    if (!plan)
        fail_msg("%s", err.text);
    check_program(&plan->train);
    check_program(&plan->eval);
    plan_free(plan);
    graph_free(g);
}

static void plans_have_no_step_that_is_not_shown(void **state)
{
    (void)state;
    static const char *const nets[][2] = {
        {"mlp", "cal_housing"},           {"lenet", "mnist"},
        {"simplecnn", "cifar10"},         {"digits_cnn", "digits"},
        {"resnet18", "cifar10"},          {"resnet50", "cifar100"},
        {"mobilenet_v3_small", "mnist"},  {"transformer?layers=1", "wikitext"},
        {"xlm_roberta?layers=1", "sst2"}, {"vgg16_cbam?width_div=4", "imagenette"}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        check_model(nets[i][0], nets[i][1]);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void a_warning_has_a_cure(void **state)
{
    (void)state;
    json_t *all = parsed(doctor_print_checks), *checks = json_object_get(all, "checks");
    json_int_t warnings = 0;
    assert_true(json_array_size(checks) >= 10);
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *c = json_array_get(checks, i);
        const bool warning = strcmp(text_of(c, "status"), "warning") == 0;
        assert_true(warning || strcmp(text_of(c, "status"), "ok") == 0);
        assert_true(strlen(text_of(c, "found")) > 0);
        assert_int_equal(warning, text_of(c, "cure") != NULL);
        warnings += warning;
    }
    assert_int_equal(json_integer_value(json_object_get(all, "warnings")), warnings);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sets_are_those_of_the_build),
        cmocka_unit_test(every_operation_has_the_status_its_kernels_give_it),
        cmocka_unit_test(every_kernel_is_shown),
        cmocka_unit_test(the_table_has_a_line_for_each_operation),
        cmocka_unit_test(plans_have_no_step_that_is_not_shown),
        cmocka_unit_test(a_warning_has_a_cure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
