/* Single operations against PyTorch's values (tests/golden/README.md), every set of kernels. */
#include "helper_golden.h"

static enum op_kind op_of(const char *name)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (op_infos[i].name && strcmp(op_infos[i].name, name) == 0)
            return (enum op_kind)i;
    return OP_COUNT;
}

static bool case_of(const json_t *c, const struct tensor *x, const struct tensor *w,
                    struct op_case *out)
{
    *out = (struct op_case){.op = op_of(json_string_value(json_object_get(c, "op"))), .seed = 1};
    struct op_attr *a = &out->attr;
    if (out->op != OP_CONV2D && out->op != OP_LINEAR && out->op != OP_BATCH_NORM &&
        out->op != OP_MAX_POOL2D && out->op != OP_CROSS_ENTROPY && out->op != OP_MSE &&
        out->op != OP_RELU)
        return false;
    /* One output is all an MSE has here; sequences and smoothed labels have tests of their own. */
    if ((out->op == OP_MSE && x->dim[1] != 1) || (out->op == OP_CROSS_ENTROPY && x->rank != 2) ||
        json_number_value(json_object_get(c, "label_smoothing")) > 0)
        return false;
    out->batch = out->n_valid = x->dim[0];
    out->rows_per_shard = x->dim[0] > 1 ? x->dim[0] - 1 : 1;
    out->in = x->rank == 4 ? shape_image(x->dim[2], x->dim[3], x->dim[1])
                           : shape_vector((int32_t)(x->count / (size_t)x->dim[0]));
    pair_of(c, "stride", 1, &a->stride_h, &a->stride_w);
    pair_of(c, "padding", 0, &a->pad_h, &a->pad_w);
    pair_of(c, "dilation", 1, &a->dilation_h, &a->dilation_w);
    pair_of(c, "kernel", 1, &a->kernel_h, &a->kernel_w);
    int32_t unused;
    pair_of(c, "groups", 1, &a->groups, &unused);
    a->momentum = (float)json_number_value(json_object_get(c, "momentum"));
    a->eps = (float)json_number_value(json_object_get(c, "eps"));
    a->bias = json_object_get(c, "bias") != NULL;
    if (w->count > 0)
        a->out_features = w->dim[0];
    if (out->op == OP_CONV2D) {
        a->kernel_h = w->dim[2];
        a->kernel_w = w->dim[3];
    }
    return true;
}

static void set_inputs(const json_t *c, const struct op_case *k, struct op_values *v)
{
    struct tensor x = tensor_of(c, "x"), w = tensor_of(c, "weight"), b = tensor_of(c, "bias");
    struct tensor dy = tensor_of(c, "grad_out"), target = tensor_of(c, "target");
    assert_int_equal(x.count, v->n_x);
    to_memory(&x, v->x);
    assert_int_equal(w.count, v->n_param[0]);
    weight_to_memory(&w, v->param[0]);
    assert_int_equal(b.count, v->n_param[1]);
    for (size_t i = 0; i < b.count; i++)
        v->param[1][i] = b.value[i];
    for (size_t i = 0; i < v->n_buffer[0]; i++) {
        v->buffer[0][i] = 0;
        v->buffer[1][i] = 1;
    }
    if (dy.count > 0) {
        assert_int_equal(dy.count, v->n_y);
        to_memory(&dy, v->dy);
    }
    for (size_t i = 0; i < target.count; i++)
        if (k->op == OP_CROSS_ENTROPY)
            v->label[i] = (int32_t)target.value[i];
        else
            v->value[i] = (float)target.value[i];
    free(x.value);
    free(w.value);
    free(b.value);
    free(dy.value);
    free(target.value);
}

static void check_case(const json_t *c, const struct op_case *k, const struct cpu_isa *isa)
{
    struct op_values v;
    char what[300];
    values_init(&v, k);
    set_inputs(c, k, &v);
    snprintf(what, sizeof what, "%s case %d: %s", isa->name,
             (int)json_integer_value(json_object_get(c, "case")), case_name(k));
    case_run(k, isa, &v);
    if (op_infos[k->op].is_loss) {
        const double mean = v.sums.loss_sum / k->n_valid;
        compare(c, "out", to_memory, &mean, what);
    } else {
        compare(c, "out", to_memory, v.y, what);
    }
    compare(c, "grad_x", to_memory, v.dx, what);
    compare(c, "grad_weight", weight_to_memory, v.grad[0], what);
    compare(c, "grad_bias", to_memory, v.grad[1], what);
    compare(c, "running_mean", to_memory, v.buffer[0], what);
    compare(c, "running_var", to_memory, v.buffer[1], what);
    if (k->op == OP_BATCH_NORM) {
        struct op_case eval = *k;
        eval.evaluation = true;
        case_run(&eval, isa, &v);
        compare(c, "out_eval", to_memory, v.y, what);
    }
    values_release(&v);
}

static void check_file(const char *file, int at_least)
{
    json_t *doc = read_golden(file);
    int n = 0;
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(doc, "cases"), i, c)
    {
        struct tensor x = tensor_of(c, "x"), w = tensor_of(c, "weight");
        struct op_case k;
        const bool known = case_of(c, &x, &w, &k);
        free(x.value);
        free(w.value);
        if (!known)
            continue;
        n++;
        check_case(c, &k, &cpu_isa_reference);
        for (int s = 0; cpu_isas[s]; s++)
            if (cpu_isas[s]->usable())
                check_case(c, &k, cpu_isas[s]);
    }
    json_decref(doc);
    print_message("%s: %d cases\n", file, n);
    assert_true(n >= at_least);
}

static void test_basic(void **state)
{
    (void)state;
    check_file("ops.json", 18);
}

static void test_convolutions(void **state)
{
    (void)state;
    check_file("ops_conv.json", 13);
}

static void test_others(void **state)
{
    (void)state;
    check_file("ops_pool.json", 2);
    check_file("ops_norm.json", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
