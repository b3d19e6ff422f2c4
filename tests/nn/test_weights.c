/* Weights out and in: names, layouts, types, and files that do not fit. */
#include "helper_nn.h"
#include "nn/model.h"
#include "nn/safetensors.h"
#include "nn/weights.h"

struct model {
    struct graph *g;
    float *params, *buffers;
};

static struct model made(const char *name, struct shape in, int n_outputs, uint64_t seed)
{
    struct error err = ERROR_INIT;
    struct model m = {.g = model_build(name, in, n_outputs, &err)};
    if (!m.g)
        fail_msg("%s", err.text);
    m.params = calloc(m.g->param_floats + 1, sizeof *m.params);
    m.buffers = calloc(m.g->buffer_floats + 1, sizeof *m.buffers);
    graph_init_model(m.g, seed, m.params, m.buffers);
    for (size_t i = 0; i < m.g->buffer_floats; i++) /* as if trained */
        m.buffers[i] += m.buffers[i] * 0.25f + (float)(seed % 7);
    for (int i = 0; i < m.g->n_buffers; i++) { /* padding is zero */
        const struct param *p = &m.g->buffers[i];
        const size_t next = i + 1 < m.g->n_buffers ? p[1].offset : m.g->buffer_floats;
        for (size_t j = p->offset + p->count; j < next; j++)
            m.buffers[j] = 0;
    }
    return m;
}

static void drop(struct model *m)
{
    graph_free(m->g);
    free(m->params);
    free(m->buffers);
}

static void *exported(const struct model *m, size_t *len)
{
    void *data = NULL;
    struct error err = ERROR_INIT;
    const struct weights_meta meta[] = {{"model", "x"}, {"seed", "3"}};
    if (!weights_export(m->g, m->params, m->buffers, 77, meta, 2, &data, len, &err))
        fail_msg("%s", err.text);
    return data;
}

static void test_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct shape in;
    } nets[] = {
        {"digits_cnn", {3, {8, 8, 1}}},
        {"mobilenet_v3_small?width_pct=20", {3, {32, 32, 3}}},
        {"transformer?layers=2&d_model=12&heads=2&ff=20", {1, {6, 1, 1}}},
        {"vgg16_cbam?width_div=4", {3, {32, 32, 3}}},
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct model a = made(nets[i].name, nets[i].in, 10, 3);
        struct model b = made(nets[i].name, nets[i].in, 10, 4);
        size_t len = 0;
        void *data = exported(&a, &len);
        struct weights_report r;
        struct error err = ERROR_INIT;
        weights_report_init(&r);
        assert_memory_not_equal(a.params, b.params, a.g->param_floats * sizeof(float));
        if (!weights_import(b.g, data, len, true, b.params, b.buffers, &r, &err))
            fail_msg("%s: %s", nets[i].name, err.text);
        assert_int_equal(r.n_loaded, a.g->n_params + a.g->n_buffers);
        assert_memory_equal(a.params, b.params, a.g->param_floats * sizeof(float));
        assert_memory_equal(a.buffers, b.buffers, a.g->buffer_floats * sizeof(float));
        weights_report_release(&r);
        free(data);
        drop(&a);
        drop(&b);
    }
}

/* What PyTorch will read: names, shapes and elements in its order. */
static void test_file(void **state)
{
    (void)state;
    struct model m = made("digits_cnn", shape_image(8, 8, 1), 10, 3);
    size_t len = 0;
    void *data = exported(&m, &len);
    struct safetensors st;
    struct error err = ERROR_INIT;
    assert_true(safetensors_parse(&st, data, len, &err));
    assert_int_equal(st.n, 12 + 4 + 2);
    assert_string_equal(safetensors_meta(&st, "format"), "pt");
    assert_string_equal(safetensors_meta(&st, "seed"), "3");
    const struct safetensor *t = safetensors_find(&st, "bn2.num_batches_tracked");
    assert_non_null(t);
    int64_t batches = 0;
    memcpy(&batches, t->data, sizeof batches);
    assert_true(t->rank == 0 && strcmp(t->dtype, "I64") == 0 && batches == 77);
    assert_int_equal(t->begin % 8, 0);
    t = safetensors_find(&st, "conv2.weight");
    assert_true(t && t->rank == 4 && t->dims[0] == 32 && t->dims[1] == 16 && t->dims[3] == 3);
    const struct param *p = &m.g->params[4];
    assert_string_equal(p->name, "conv2.weight");
    for (size_t i = 0; i < p->count; i++) {
        float v;
        memcpy(&v, (const char *)t->data + i * sizeof v, sizeof v);
        assert_true(v == m.params[p->offset + param_memory_index(p, i)]);
    }
    assert_non_null(safetensors_find(&st, "bn1.running_var"));
    safetensors_release(&st);
    free(data);
    drop(&m);
}

/* A body under another head: strictly refused, loosely taken, and what was not is said. */
static void test_partial(void **state)
{
    (void)state;
    struct model a = made("lenet", shape_image(28, 28, 1), 10, 3);
    struct model b = made("lenet", shape_image(28, 28, 1), 7, 4);
    size_t len = 0;
    void *data = exported(&a, &len);
    float *before = malloc(b.g->param_floats * sizeof *before);
    memcpy(before, b.params, b.g->param_floats * sizeof *before);
    struct error err = ERROR_INIT;
    assert_false(weights_import(b.g, data, len, true, b.params, b.buffers, NULL, &err));
    assert_contains(err.text, "8 of 10 tensors do; 2 of another shape or type, first 'fc3.weight'");
    assert_memory_equal(before, b.params, b.g->param_floats * sizeof *before);
    struct weights_report r;
    weights_report_init(&r);
    assert_true(weights_import(b.g, data, len, false, b.params, b.buffers, &r, &err));
    assert_int_equal(r.n_loaded, 8);
    assert_int_equal(r.different.n, 2);
    assert_string_equal(r.different.items[1], "fc3.bias");
    assert_int_equal(r.missing.n + r.unused.n, 0);
    const size_t body = b.g->params[8].offset;
    assert_memory_equal(b.params, a.params, body * sizeof(float));
    assert_memory_equal(b.params + body, before + body, (b.g->param_floats - body) * sizeof(float));
    weights_report_release(&r);

    struct model c = made("simplecnn", shape_image(32, 32, 3), 10, 5);
    weights_report_init(&r);
    assert_false(weights_import(c.g, data, len, false, c.params, c.buffers, &r, &err));
    assert_contains(err.text, "0 of 6 tensors do; 2 missing in the file, first 'fc.weight'");
    assert_contains(err.text, "6 unknown to the network, first 'fc1.weight'");
    weights_report_release(&r);
    assert_false(weights_import(b.g, data, len - 1, false, b.params, b.buffers, NULL, &err));
    assert_contains(err.text, "safetensors");
    free(before);
    free(data);
    drop(&a);
    drop(&b);
    drop(&c);
}

/* A file with one tensor of each type, written out byte by byte. */
static void test_types(void **state)
{
    (void)state;
    static const char header[] =
        "{\"fc1.weight\":{\"dtype\":\"F16\",\"shape\":[3,2],\"data_offsets\":[0,12]},"
        "\"fc1.bias\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[12,18]},"
        "\"fc2.bias\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[18,26]},"
        "\"fc3.bias\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[26,34]}}";
    /* 1, -2, 65504, smallest subnormal, -0, infinity; 1, -3.140625, 0; 0.1 */
    static const uint16_t halves[] = {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x8000,
                                      0x7C00, 0x3F80, 0xC049, 0x0000};
    static const float want[] = {1, -2, 65504, 0x1p-24f, -0.0f, INFINITY, 1, -3.140625f, 0};
    const double tenth = 0.1;
    const uint64_t n = sizeof header - 1;
    unsigned char file[1024] = {0};
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    memcpy(file + 8 + n, halves, sizeof halves);
    memcpy(file + 8 + n + 18, &tenth, 8);
    struct model m = made("mlp?hidden1=3&hidden2=1", shape_vector(2), 1, 3);
    struct weights_report r;
    struct error err = ERROR_INIT;
    weights_report_init(&r);
    if (!weights_import(m.g, file, 8 + n + 34, false, m.params, m.buffers, &r, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r.n_loaded, 3);
    assert_int_equal(r.different.n, 1); /* whole numbers are no weights */
    assert_int_equal(r.missing.n, 2);
    for (size_t i = 0; i < 9; i++) {
        const struct param *p = &m.g->params[i < 6 ? 0 : 1];
        const float got = m.params[p->offset + param_memory_index(p, i < 6 ? i : i - 6)];
        assert_memory_equal(&got, &want[i], sizeof got);
    }
    assert_true(m.params[m.g->params[3].offset] == 0.1f);
    weights_report_release(&r);
    drop(&m);
}

/* As a publisher has it: the first classifier layer is a convolution of another name, and the head
 * is of another task.  without: a tensor that is left out; may be NULL. */
static void *publish(const struct model *m, const char *without, size_t *len)
{
    struct safetensors_writer w;
    struct error err = ERROR_INIT;
    void *data = NULL;
    safetensors_writer_init(&w);
    for (int i = 0; i < m->g->n_params; i++) {
        const struct param *p = &m->g->params[i];
        float *logical = malloc(p->count * sizeof *logical);
        param_to_logical(p, m->params + p->offset, logical);
        if (strcmp(p->name, "fc1.weight") == 0)
            safetensors_put_f32(&w, "pre_logits.weight", (const int32_t[]){120, 16, 4, 4}, 4,
                                logical);
        else if (!without || strcmp(p->name, without) != 0)
            safetensors_put_f32(&w, strcmp(p->name, "fc1.bias") == 0 ? "pre_logits.bias" : p->name,
                                p->dims, p->rank, logical);
        free(logical);
    }
    safetensors_put_f32(&w, "beside", (const int32_t[]){1}, 1, m->params);
    if (!safetensors_finish(&w, &data, len, &err))
        fail_msg("%s", err.text);
    safetensors_writer_release(&w);
    return data;
}

static void test_published(void **state)
{
    (void)state;
    static const struct weights_published published = {
        .name = "p", .path = "p", .fresh = {"fc3."}, .alias = {{"fc1.", "pre_logits."}}};
    struct model a = made("lenet", shape_image(28, 28, 1), 7, 3);
    struct model b = made("lenet", shape_image(28, 28, 1), 7, 4);
    struct error err = ERROR_INIT;
    size_t len = 0;
    float *before = malloc(b.g->param_floats * sizeof *before);
    memcpy(before, b.params, b.g->param_floats * sizeof *before);
    /* What is not there is said, and nothing is changed. */
    void *data = publish(&a, "conv2.bias", &len);
    assert_false(weights_import_published(b.g, data, len, &published, b.params, b.buffers, &err));
    assert_contains(err.text, "7 of 8 tensors do; 1 missing in the file, first 'conv2.bias'");
    assert_memory_equal(before, b.params, b.g->param_floats * sizeof *before);
    free(data);
    data = publish(&a, NULL, &len);
    assert_false(weights_import_published(b.g, data, len - 1, &published, NULL, NULL, &err));
    /* Only looked at. */
    assert_true(weights_import_published(b.g, data, len, &published, NULL, NULL, &err));
    assert_memory_equal(before, b.params, b.g->param_floats * sizeof *before);
    /* The body is the publisher's, the head is not, though it would fit. */
    assert_true(weights_import_published(b.g, data, len, &published, b.params, b.buffers, &err));
    const size_t body = b.g->params[8].offset;
    assert_string_equal(b.g->params[8].name, "fc3.weight");
    assert_memory_equal(b.params, a.params, body * sizeof(float));
    assert_memory_equal(b.params + body, before + body, (b.g->param_floats - body) * sizeof(float));
    free(data);
    free(before);
    drop(&a);
    drop(&b);
}

static void test_models_with_published_weights(void **state)
{
    (void)state;
    assert_string_equal(model_published("XLM_RoBERTa?layers=2")->name, "xlm_roberta");
    assert_string_equal(model_published("vgg16_cbam")->path, "weights/vgg16/model.safetensors");
    assert_null(model_published("mlp"));
    assert_null(model_published("net.json"));
    assert_null(model_published("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_file),
        cmocka_unit_test(test_published),  cmocka_unit_test(test_models_with_published_weights),
        cmocka_unit_test(test_partial),    cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
