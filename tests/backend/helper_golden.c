#include "helper_golden.h"

json_t *read_golden(const char *file)
{
    struct error err = ERROR_INIT;
    char path[4096];
    const char *root = getenv("FUGUE_TEST_SOURCE");
    if (!root)
        fail_msg("FUGUE_TEST_SOURCE is not set: run this through ctest");
    snprintf(path, sizeof path, "%s/tests/golden/%s", root, file);
    json_t *doc = json_read_file(path, &err);
    if (!doc)
        fail_msg("%s", err.text);
    return doc;
}

struct tensor tensor_of(const json_t *c, const char *key)
{
    struct tensor t = {0};
    const json_t *obj = json_object_get(c, key);
    if (!obj)
        return t;
    const json_t *shape = json_object_get(obj, "shape"), *value = json_object_get(obj, "value");
    t.rank = (int)json_array_size(shape);
    assert_true(t.rank <= 4);
    for (int i = 0; i < t.rank; i++)
        t.dim[i] = (int32_t)json_integer_value(json_array_get(shape, (size_t)i));
    t.count = json_array_size(value);
    t.value = calloc(t.count + 1, sizeof *t.value);
    for (size_t i = 0; i < t.count; i++)
        assert_true(json_to_number(json_array_get(value, i), &t.value[i]));
    return t;
}

void to_memory(const struct tensor *t, double *out)
{
    const size_t area = t->rank == 4 ? (size_t)t->dim[2] * (size_t)t->dim[3] : 1;
    const size_t channels = t->rank == 4 ? (size_t)t->dim[1] : 1;
    for (size_t i = 0; i < t->count; i++) {
        const size_t n = i / (area * channels), ch = i / area % channels, p = i % area;
        out[(n * area + p) * channels + ch] = t->value[i];
    }
}

void weight_to_memory(const struct tensor *t, double *out)
{
    size_t area = 1, n_out = (size_t)t->dim[0], n_in = t->rank > 1 ? (size_t)t->dim[1] : 1;
    for (int i = 2; i < t->rank; i++)
        area *= (size_t)t->dim[i];
    for (size_t i = 0; i < t->count; i++) {
        const size_t o = i / (n_in * area), in = i / area % n_in, p = i % area;
        out[(p * n_in + in) * n_out + o] = t->value[i];
    }
}

void pair_of(const json_t *c, const char *key, int32_t fallback, int32_t *h, int32_t *w)
{
    const json_t *v = json_object_get(c, key);
    *h = *w = v ? (int32_t)json_integer_value(v) : fallback;
    if (json_is_array(v)) {
        *h = (int32_t)json_integer_value(json_array_get(v, 0));
        *w = (int32_t)json_integer_value(json_array_get(v, 1));
    }
}

void compare(const json_t *c, const char *key, void (*convert)(const struct tensor *, double *),
             const double *got, const char *what)
{
    struct tensor t = tensor_of(c, key);
    char name[400];
    if (t.count == 0)
        return;
    double *expected = calloc(t.count, sizeof *expected);
    convert(&t, expected);
    snprintf(name, sizeof name, "%s: %s", what, key);
    assert_close(got, expected, t.count, 3e-6, name);
    free(expected);
    free(t.value);
}
