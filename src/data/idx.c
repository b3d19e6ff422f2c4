#include "data/idx.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC_LABELS 0x00000801u
#define MAGIC_IMAGES 0x00000803u

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- parsing ---- */

static bool check_magic(const uint8_t *bytes, size_t n, uint32_t wanted, const char *name,
                        struct error *err)
{
    const size_t head = 4 + 4 * (size_t)(wanted & 0xFF);
    if (n < head)
        return error_set(err, ERROR_DATA, "'%s' is truncated: %zu bytes, its head alone has %zu",
                         name, n, head);
    if (big_endian(bytes) != wanted)
        return error_set(err, ERROR_DATA,
                         "'%s' is no IDX file of %s: magic 0x%08X, expected 0x%08X", name,
                         wanted == MAGIC_IMAGES ? "images" : "labels", big_endian(bytes), wanted);
    return true;
}

/* The bytes must be exactly as many as the dimensions say. */
static bool check_length(const struct idx_array *a, size_t head, size_t n, const char *name,
                         struct error *err)
{
    /* Below 2^64: each factor is held against what is left of the file's size first. */
    const size_t there = n - head;
    const uint64_t item = (uint64_t)a->dim[1] * a->dim[2];
    const bool fits = item > 0 && a->dim[0] > 0 && item <= UINT64_MAX / a->dim[0];
    const uint64_t wanted = fits ? item * a->dim[0] : 0;
    if (!fits)
        return error_set(err, ERROR_DATA, "'%s' says it holds %u items of %llu bytes", name,
                         a->dim[0], (unsigned long long)item);
    if (wanted != there)
        return error_set(err, ERROR_DATA,
                         "'%s' is %s: %zu bytes, but %u items of %llu bytes make %llu", name,
                         there < wanted ? "truncated" : "too long", n, a->dim[0],
                         (unsigned long long)item, (unsigned long long)head + wanted);
    return true;
}

bool idx_parse_head(const void *bytes, size_t n, const char *name, struct idx_array *out,
                    struct error *err)
{
    const uint8_t *p = bytes;
    *out = (struct idx_array){.dim = {1, 1, 1}};
    const uint32_t magic = n >= 4 && big_endian(p) == MAGIC_LABELS ? MAGIC_LABELS : MAGIC_IMAGES;
    if (!check_magic(p, n, magic, name, err))
        return false;
    out->n_dims = (int)(magic & 0xFF);
    for (int i = 0; i < out->n_dims; i++)
        out->dim[i] = big_endian(p + 4 + 4 * i);
    return true;
}

bool idx_parse(const void *bytes, size_t n, const char *name, struct idx_array *out,
               struct error *err)
{
    if (!idx_parse_head(bytes, n, name, out, err))
        return false;
    const size_t head = 4 + 4 * (size_t)out->n_dims;
    if (!check_length(out, head, n, name, err))
        return false;
    out->data = (const uint8_t *)bytes + head;
    out->len = n - head;
    return true;
}

/* ---- files ---- */

struct idx {
    uint8_t *bytes; /* the whole file; owned */
    size_t len;
    char *path; /* the file really read; owned */
    struct idx_array a;
};

static void idx_release(struct idx *f)
{
    free(f->bytes);
    free(f->path);
    *f = (struct idx){0};
}

static bool idx_open(struct idx *f, const char *path, uint32_t magic, size_t max_bytes,
                     struct error *err)
{
    char *bytes = NULL;
    *f = (struct idx){0};
    if (!file_read_maybe_gz(path, max_bytes, &bytes, &f->len, &f->path, err))
        return false;
    f->bytes = (uint8_t *)bytes;
    return check_magic(f->bytes, f->len, magic, f->path, err) &&
           idx_parse_head(f->bytes, f->len, f->path, &f->a, err);
}

/* The number of items must be sensible and the file exactly that long. */
static bool check_count(struct idx *f, int64_t max_n, struct error *err)
{
    if (f->a.dim[0] < 1 || (int64_t)f->a.dim[0] > max_n)
        return error_set(err, ERROR_DATA, "'%s' says it holds %u items; 1 to %lld are expected",
                         f->path, f->a.dim[0], (long long)max_n);
    return idx_parse(f->bytes, f->len, f->path, &f->a, err);
}

bool idx_read_images(const char *path, int32_t rows, int32_t columns, int64_t max_n,
                     uint8_t **pixels, int64_t *n, struct error *err)
{
    struct idx f;
    const size_t item = (size_t)rows * (size_t)columns;
    bool ok = idx_open(&f, path, MAGIC_IMAGES, 16 + (size_t)max_n * item, err);
    if (ok && (f.a.dim[1] != (uint32_t)rows || f.a.dim[2] != (uint32_t)columns))
        ok = error_set(err, ERROR_DATA, "'%s' holds images of %ux%u; %dx%d are expected", f.path,
                       f.a.dim[1], f.a.dim[2], rows, columns);
    ok = ok && check_count(&f, max_n, err) && f.a.data;
    if (ok) {
        /* The pixels move to the start of the file's memory, which the caller gets. */
        memmove(f.bytes, f.a.data, f.a.len);
        *pixels = f.bytes;
        *n = f.a.dim[0];
        f.bytes = NULL;
    }
    idx_release(&f);
    return ok;
}

static bool convert_labels(const struct idx *f, int32_t n_classes, int32_t *labels,
                           struct error *err)
{
    for (size_t i = 0; i < f->a.len; i++) {
        labels[i] = f->a.data[i];
        if (labels[i] >= n_classes)
            return error_set(err, ERROR_DATA, "'%s': label %zu is %d; 0 to %d are expected",
                             f->path, i, labels[i], n_classes - 1);
    }
    return true;
}

bool idx_read_labels(const char *path, int32_t n_classes, int64_t max_n, int32_t **labels,
                     int64_t *n, struct error *err)
{
    struct idx f;
    int32_t *made = NULL;
    bool ok =
        idx_open(&f, path, MAGIC_LABELS, 8 + (size_t)max_n, err) && check_count(&f, max_n, err);
    if (ok) {
        made = malloc(f.a.len ? f.a.len * sizeof *made : 1);
        ok = made ? convert_labels(&f, n_classes, made, err)
                  : error_set(err, ERROR_SYSTEM, "no memory for the %zu labels of '%s'", f.a.len,
                              f.path);
    }
    if (ok) {
        *labels = made;
        *n = f.a.dim[0];
    } else {
        free(made);
    }
    idx_release(&f);
    return ok;
}
