/* The operations of images, sequences and attention against PyTorch's values
 * (tests/golden/README.md), every set of kernels. */
#include "helper_golden.h"

#define PAD 1 /* token of masked places; valid ones are 0 */

static enum op_kind op_of(const json_t *c)
{
    const char *name = json_string_value(json_object_get(c, "op"));
    if (strcmp(name, "mul") == 0)
        return OP_MULTIPLY;
    if (strcmp(name, "attention_core") == 0)
        return OP_ATTENTION;
    for (int i = OP_CROSS_ENTROPY; i < OP_COUNT; i++)
        if (strcmp(op_infos[i].name, name) == 0 && i != OP_MSE)
            return (enum op_kind)i;
    return OP_COUNT;
}

/* N, heads, S, d to N, S, heads x d. */
static void heads_to_memory(const struct tensor *t, double *out)
{
    const size_t heads = (size_t)t->dim[1], length = (size_t)t->dim[2], d = (size_t)t->dim[3];
    for (size_t i = 0; i < t->count; i++) {
        const size_t n = i / (heads * length * d), h = i / (length * d) % heads;
        const size_t s = i / d % length, e = i % d;
        out[((n * length + s) * heads + h) * d + e] = t->value[i];
    }
}

static void plain(const struct tensor *t, double *out)
{
    for (size_t i = 0; i < t->count; i++) /* a tensor of nothing has no values to copy from */
        out[i] = t->value[i];
}

static struct shape shape_of(const struct tensor *t, bool heads)
{
    if (heads)
        return (struct shape){2, {t->dim[2], t->dim[1] * t->dim[3], 1}};
    if (t->rank == 4)
        return shape_image(t->dim[2], t->dim[3], t->dim[1]);
    if (t->rank == 3)
        return (struct shape){2, {t->dim[1], t->dim[2], 1}};
    return shape_vector(t->dim[1]);
}

/* Names of the inputs that are values, in order. */
static int inputs_of(const json_t *c, enum op_kind op, const char *name[OP_MAX_INPUTS])
{
    static const char *const names[][4] = {{"a", "b"}, {"q", "k", "v"}, {"x0", "x1", "x2", "x3"}};
    if (op == OP_EMBEDDING)
        return 0;
    if (op != OP_ADD && op != OP_MULTIPLY && op != OP_ATTENTION && op != OP_CONCATENATE) {
        name[0] = "x";
        return 1;
    }
    int n = 0;
    for (; n < 4; n++) {
        name[n] = names[op == OP_CONCATENATE ? 2 : op == OP_ATTENTION ? 1 : 0][n];
        if (!name[n] || !json_object_get(c, name[n]))
            break;
    }
    return n;
}

static void set_attributes(const json_t *c, struct op_case *k)
{
    struct op_attr *a = &k->attr;
    struct tensor w = tensor_of(c, "weight");
    const json_t *pad = json_object_get(c, "padding_idx");
    pair_of(c, "kernel", 1, &a->kernel_h, &a->kernel_w);
    pair_of(c, "stride", 1, &a->stride_h, &a->stride_w);
    pair_of(c, "padding", 0, &a->pad_h, &a->pad_w);
    pair_of(c, "output", 1, &a->out_h, &a->out_w);
    a->dilation_h = a->dilation_w = 1;
    a->count_include_pad = json_is_true(json_object_get(c, "count_include_pad"));
    a->eps = (float)json_number_value(json_object_get(c, "eps"));
    a->label_smoothing = (float)json_number_value(json_object_get(c, "label_smoothing"));
    a->heads = (int32_t)json_integer_value(json_object_get(c, "heads"));
    a->causal = json_is_true(json_object_get(c, "causal"));
    a->masked = json_object_get(c, "valid") != NULL;
    a->scale = (float)json_number_value(json_object_get(c, "scale"));
    a->pad_id = k->op == OP_EMBEDDING
                    ? (json_is_integer(pad) ? (int32_t)json_integer_value(pad) : -1)
                    : PAD;
    a->rows = w.count > 0 ? w.dim[0] : 0;
    a->out_features = w.rank > 1 ? w.dim[1] : 0;
    if (k->op == OP_POSITIONS && json_is_true(json_object_get(c, "offset")))
        a->position = POSITION_OF_TOKENS;
    free(w.value);
}

static bool case_of(const json_t *c, struct op_case *k)
{
    const char *name[OP_MAX_INPUTS];
    struct shape in[OP_MAX_INPUTS] = {{0}};
    *k = (struct op_case){.op = op_of(c), .seed = 1};
    if (k->op == OP_COUNT || json_is_integer(json_object_get(c, "ignore_index")))
        return false;
    int n = inputs_of(c, k->op, name);
    for (int i = 0; i < n; i++) {
        struct tensor t = tensor_of(c, name[i]);
        k->batch = t.dim[0];
        in[i] = shape_of(&t, k->op == OP_ATTENTION);
        free(t.value);
    }
    set_attributes(c, k);
    struct tensor ids = tensor_of(c, "ids");
    if (k->op == OP_EMBEDDING) {
        k->batch = ids.dim[0];
        in[n++] = shape_vector(ids.dim[1]);
    } else if (k->attr.masked || k->attr.position == POSITION_OF_TOKENS) {
        in[n++] = shape_vector(in[0].d[0]);
    }
    free(ids.value);
    k->in = in[0];
    memcpy(k->more, in + 1, sizeof k->more);
    k->n_valid = k->batch;
    k->rows_per_shard = k->batch > 1 ? k->batch - 1 : 1;
    return true;
}

static void set_values(const json_t *c, const struct op_case *k, struct op_values *v)
{
    const char *name[OP_MAX_INPUTS];
    void (*convert)(const struct tensor *, double *) =
        k->op == OP_ATTENTION ? heads_to_memory : to_memory;
    const int n = inputs_of(c, k->op, name);
    for (int i = 0; i < n; i++) {
        struct tensor t = tensor_of(c, name[i]);
        convert(&t, i == 0 ? v->x : v->more_x[i - 1]);
        free(t.value);
    }
    struct tensor dy = tensor_of(c, "grad_out"), w = tensor_of(c, "weight"),
                  b = tensor_of(c, "bias");
    struct tensor target = tensor_of(c, "target"), valid = tensor_of(c, "valid");
    struct tensor ids = tensor_of(c, k->op == OP_POSITIONS ? "positions" : "ids");
    if (dy.count > 0)
        convert(&dy, v->dy);
    assert_int_equal(w.count, v->n_param[0]);
    plain(&w, v->param[0]);
    plain(&b, v->param[1]);
    for (size_t i = 0; i < target.count; i++)
        v->label[i] = (int32_t)target.value[i];
    for (size_t i = 0; i < valid.count; i++)
        v->tokens[i] = valid.value[i] > 0 ? 0 : PAD;
    /* A place whose position is the padding row's is one of a padding token. */
    for (size_t i = 0; i < ids.count && v->tokens; i++)
        v->tokens[i] = k->op == OP_EMBEDDING ? (int32_t)ids.value[i] : ids.value[i] > PAD ? 0 : PAD;
    free(dy.value);
    free(w.value);
    free(b.value);
    free(target.value);
    free(valid.value);
    free(ids.value);
}

static void check_case(const json_t *c, const struct op_case *k, const struct cpu_isa *isa)
{
    struct op_values v;
    const char *name[OP_MAX_INPUTS];
    char what[300], key[20];
    void (*convert)(const struct tensor *, double *) =
        k->op == OP_ATTENTION ? heads_to_memory : to_memory;
    values_init(&v, k);
    set_values(c, k, &v);
    snprintf(what, sizeof what, "%s case %d: %s", isa->name,
             (int)json_integer_value(json_object_get(c, "case")), case_name(k));
    case_run(k, isa, &v);
    if (op_infos[k->op].is_loss) {
        const double mean = v.sums.loss_sum / k->n_valid / (k->in.rank == 2 ? k->in.d[0] : 1);
        compare(c, "out", plain, &mean, what);
    } else {
        compare(c, "out", convert, v.y, what);
    }
    const int n = inputs_of(c, k->op, name);
    /* Exact gradients of a layer norm of one value are 0: the file holds rounding noise. */
    const bool is_zero = k->op == OP_LAYER_NORM && k->in.d[k->in.rank - 1] == 1;
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "grad_%s", name[i]);
        if (!is_zero)
            compare(c, key, convert, i == 0 ? v.dx : v.more_dx[i - 1], what);
    }
    if (!is_zero)
        compare(c, "grad_weight", plain, v.grad[0], what);
    compare(c, "grad_bias", plain, v.grad[1], what);
    values_release(&v);
}

static void check_file(const char *file, int expected)
{
    json_t *doc = read_golden(file);
    int n = 0;
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(doc, "cases"), i, c)
    {
        struct op_case k;
        if (!case_of(c, &k))
            continue;
        n++;
        check_case(c, &k, &cpu_isa_reference);
        for (int s = 0; cpu_isas[s]; s++)
            if (cpu_isas[s]->usable())
                check_case(c, &k, cpu_isas[s]);
    }
    json_decref(doc);
    print_message("%s: %d cases\n", file, n);
    assert_int_equal(n, expected);
}

static void test_norms(void **state)
{
    (void)state;
    check_file("ops_norm.json", 15);
}

static void test_pools(void **state)
{
    (void)state;
    check_file("ops_pool.json", 18);
}

static void test_combinations(void **state)
{
    (void)state;
    check_file("ops_combine.json", 12);
}

static void test_attention(void **state)
{
    (void)state;
    check_file("ops_attention.json", 9);
}

static void test_losses(void **state)
{
    (void)state;
    check_file("ops_loss.json", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms),        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_combinations), cmocka_unit_test(test_attention),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
