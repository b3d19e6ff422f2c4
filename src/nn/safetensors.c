#include "nn/safetensors.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors data is little-endian: this host needs byte swapping here"
#endif

#define METADATA "__metadata__"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {{"F32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2},
              {"I8", 1},  {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}};

static const char *find_dtype(const char *name, size_t *size)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0) {
            *size = dtypes[i].size;
            return dtypes[i].name;
        }
    return NULL;
}

static bool parse_shape(struct safetensor *t, const json_t *shape, size_t element,
                        struct error *err)
{
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_RANK)
        return error_set(err, ERROR_DATA,
                         "safetensors: tensor '%.80s': shape must be an array of at most %d sizes",
                         t->name, SAFETENSORS_MAX_RANK);
    t->rank = (int32_t)json_array_size(shape);
    t->size = element;
    for (int32_t i = 0; i < t->rank; i++) {
        const json_t *d = json_array_get(shape, (size_t)i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return error_set(err, ERROR_DATA,
                             "safetensors: tensor '%.80s': a size is not a whole number >= 0",
                             t->name);
        t->dims[i] = json_integer_value(d);
        if (__builtin_mul_overflow(t->size, (uint64_t)t->dims[i], &t->size))
            return error_set(err, ERROR_DATA, "safetensors: tensor '%.80s': its size overflows",
                             t->name);
    }
    return true;
}

static bool parse_offsets(struct safetensor *t, const json_t *offsets, size_t data_len,
                          struct error *err)
{
    const json_t *b = json_array_get(offsets, 0), *e = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(b) || !json_is_integer(e))
        return error_set(err, ERROR_DATA,
                         "safetensors: tensor '%.80s': data_offsets must be [begin, end]", t->name);
    const json_int_t begin = json_integer_value(b), end = json_integer_value(e);
    if (begin < 0 || end < begin || (uint64_t)end > data_len)
        return error_set(
            err, ERROR_DATA,
            "safetensors: tensor '%.80s': data_offsets [%lld, %lld] lie outside the data (%zu "
            "bytes): the file is truncated or damaged",
            t->name, (long long)begin, (long long)end, data_len);
    if ((uint64_t)(end - begin) != t->size)
        return error_set(err, ERROR_DATA,
                         "safetensors: tensor '%.80s': %lld bytes of data for a shape of %zu",
                         t->name, (long long)(end - begin), t->size);
    t->begin = (size_t)begin;
    return true;
}

static bool parse_tensor(struct safetensor *t, const char *name, const json_t *entry,
                         const unsigned char *data, size_t data_len, struct error *err)
{
    size_t element = 0;
    t->name = name;
    if (!json_is_object(entry))
        return error_set(err, ERROR_DATA, "safetensors: entry '%.80s' is not an object", name);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    t->dtype = dtype ? find_dtype(dtype, &element) : NULL;
    if (!t->dtype)
        return error_set(err, ERROR_DATA, "safetensors: tensor '%.80s': unknown dtype '%.20s'",
                         name, dtype ? dtype : "(none)");
    if (!parse_shape(t, json_object_get(entry, "shape"), element, err) ||
        !parse_offsets(t, json_object_get(entry, "data_offsets"), data_len, err))
        return false;
    t->data = data + t->begin;
    return true;
}

struct extent {
    size_t begin, size;
    const char *name;
};

static int by_begin(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

/* Every byte of the data belongs to exactly one tensor. */
static bool check_tiling(const struct safetensors *st, size_t data_len, struct error *err)
{
    struct extent *sorted = xcalloc((size_t)st->n + 1, sizeof *sorted);
    for (int32_t i = 0; i < st->n; i++)
        sorted[i] = (struct extent){st->tensors[i].begin, st->tensors[i].size, st->tensors[i].name};
    qsort(sorted, (size_t)st->n, sizeof *sorted, by_begin);
    size_t at = 0;
    bool ok = true;
    for (int32_t i = 0; ok && i < st->n; i++) {
        if (sorted[i].begin != at)
            ok = error_set(err, ERROR_DATA,
                           "safetensors: tensor '%.80s' starts at byte %zu of the data, expected "
                           "%zu: tensors overlap or leave a gap",
                           sorted[i].name, sorted[i].begin, at);
        at = sorted[i].begin + sorted[i].size;
    }
    if (ok && at != data_len)
        ok = error_set(err, ERROR_DATA, "safetensors: %zu bytes of data, the header speaks of %zu",
                       data_len, at);
    free(sorted);
    return ok;
}

static bool check_metadata(json_t *metadata, struct error *err)
{
    const char *key;
    json_t *value;
    if (metadata && !json_is_object(metadata))
        return error_set(err, ERROR_DATA, "safetensors: __metadata__ is not an object");
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, ERROR_DATA, "safetensors: __metadata__ '%.80s' is not a string",
                             key);
    }
    return true;
}

static bool parse_header(struct safetensors *st, const unsigned char *data, size_t data_len,
                         struct error *err)
{
    const char *name;
    json_t *entry;
    if (!json_is_object(st->header))
        return error_set(err, ERROR_DATA, "safetensors: the header is not a JSON object");
    if (!check_metadata(json_object_get(st->header, METADATA), err))
        return false;
    st->tensors = xcalloc(json_object_size(st->header) + 1, sizeof *st->tensors);
    json_object_foreach(st->header, name, entry)
    {
        if (strcmp(name, METADATA) == 0)
            continue;
        if (!parse_tensor(&st->tensors[st->n], name, entry, data, data_len, err))
            return false;
        st->n++;
    }
    return check_tiling(st, data_len, err);
}

bool safetensors_parse(struct safetensors *st, const void *bytes, size_t len, struct error *err)
{
    *st = (struct safetensors){0};
    const unsigned char *p = bytes;
    uint64_t n = 0;
    if (len < 8)
        return error_set(err, ERROR_DATA, "safetensors: %zu bytes are too few for a header", len);
    memcpy(&n, p, 8);
    if (n > SAFETENSORS_MAX_HEADER || n > len - 8)
        return error_set(err, ERROR_DATA,
                         "safetensors: a header of %llu bytes in a file of %zu (at most %u are "
                         "read): not a safetensors file, or a truncated one",
                         (unsigned long long)n, len, SAFETENSORS_MAX_HEADER);
    if (n == 0 || p[8] != '{')
        return error_set(err, ERROR_DATA, "safetensors: the header does not begin with '{'");
    st->header = json_read_text((const char *)p + 8, (size_t)n, "safetensors header", err);
    if (st->header && parse_header(st, p + 8 + n, len - 8 - (size_t)n, err))
        return true;
    safetensors_release(st);
    return false;
}

void safetensors_release(struct safetensors *st)
{
    json_decref(st->header);
    free(st->tensors);
    *st = (struct safetensors){0};
}

const struct safetensor *safetensors_find(const struct safetensors *st, const char *name)
{
    for (int32_t i = 0; i < st->n; i++)
        if (strcmp(st->tensors[i].name, name) == 0)
            return &st->tensors[i];
    return NULL;
}

const char *safetensors_meta(const struct safetensors *st, const char *key)
{
    return json_string_value(json_object_get(json_object_get(st->header, METADATA), key));
}

void safetensors_writer_init(struct safetensors_writer *w)
{
    w->metadata = json_object();
    w->header = json_object();
    text_init(&w->data);
}

void safetensors_writer_release(struct safetensors_writer *w)
{
    json_decref(w->metadata);
    json_decref(w->header);
    text_release(&w->data);
}

void safetensors_put_meta(struct safetensors_writer *w, const char *key, const char *value)
{
    json_object_set_new(w->metadata, key, json_string(value));
}

static void put(struct safetensors_writer *w, const char *name, const char *dtype, size_t element,
                const int32_t *dims, int32_t rank, const void *values)
{
    size_t size = element;
    json_t *shape = json_array();
    for (int32_t i = 0; i < rank; i++) {
        json_array_append_new(shape, json_integer(dims[i]));
        size *= (size_t)dims[i];
    }
    const json_int_t begin = (json_int_t)w->data.len;
    text_add_n(&w->data, values, size);
    json_object_set_new(w->header, name,
                        json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype, "shape", shape,
                                  "data_offsets", begin, (json_int_t)w->data.len));
}

void safetensors_put_f32(struct safetensors_writer *w, const char *name, const int32_t *dims,
                         int32_t rank, const float *values)
{
    put(w, name, "F32", sizeof *values, dims, rank, values);
}

void safetensors_put_i64(struct safetensors_writer *w, const char *name, const int32_t *dims,
                         int32_t rank, const int64_t *values)
{
    put(w, name, "I64", sizeof *values, dims, rank, values);
}

bool safetensors_finish(struct safetensors_writer *w, void **out, size_t *len, struct error *err)
{
    json_t *all = json_object();
    if (json_object_size(w->metadata) > 0)
        json_object_set(all, METADATA, w->metadata);
    json_object_update(all, w->header);
    char *const json = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    if (!json)
        return error_set(err, ERROR_SYSTEM, "safetensors: no memory for the header");
    const uint64_t n = (strlen(json) + 7) / 8 * 8;
    *len = 8 + (size_t)n + w->data.len;
    char *bytes = xmalloc(*len + 1);
    memcpy(bytes, &n, 8);
    /* Left-aligned in n characters: blanks pad the header. */
    snprintf(bytes + 8, (size_t)n + 1, "%-*s", (int)n, json);
    memcpy(bytes + 8 + n, w->data.data, w->data.len);
    free(json);
    *out = bytes;
    return true;
}
