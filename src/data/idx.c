#include "data/idx.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC_LABELS 0x00000801u
#define MAGIC_IMAGES 0x00000803u

struct idx {
    uint8_t *data; /* the whole file; owned */
    size_t len, head;
    uint32_t dims[3];
    char *path; /* the file really read; owned */
};

static void idx_release(struct idx *f)
{
    free(f->data);
    free(f->path);
    *f = (struct idx){0};
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads the head; sizes are compared by the caller, who knows what to expect. */
static bool idx_open(struct idx *f, const char *path, uint32_t magic, size_t max_bytes,
                     struct error *err)
{
    char *data = NULL;
    *f = (struct idx){0};
    if (!file_read_maybe_gz(path, max_bytes, &data, &f->len, &f->path, err))
        return false;
    f->data = (uint8_t *)data;
    const int n_dims = (int)(magic & 0xFF);
    f->head = 4 + 4 * (size_t)n_dims;
    if (f->len < f->head)
        return error_set(err, ERROR_DATA, "'%s' is truncated: %zu bytes, its head alone has %zu",
                         f->path, f->len, f->head);
    if (big_endian(f->data) != magic)
        return error_set(err, ERROR_DATA,
                         "'%s' is no IDX file of %s: magic 0x%08X, expected 0x%08X", f->path,
                         magic == MAGIC_IMAGES ? "images" : "labels", big_endian(f->data), magic);
    for (int i = 0; i < n_dims; i++)
        f->dims[i] = big_endian(f->data + 4 + 4 * i);
    return true;
}

/* The number of items, each of item_bytes, must be sensible and the file exactly that long. */
static bool check_count(const struct idx *f, int64_t max_n, size_t item_bytes, struct error *err)
{
    const uint32_t n = f->dims[0];
    if (n < 1 || (int64_t)n > max_n)
        return error_set(err, ERROR_DATA, "'%s' says it holds %u items; 1 to %lld are expected",
                         f->path, n, (long long)max_n);
    /* n is at most max_n, so the product is at most the size the file was read with. */
    const size_t wanted = f->head + (size_t)n * item_bytes;
    if (f->len != wanted)
        return error_set(err, ERROR_DATA,
                         "'%s' is %s: %zu bytes, but %u items of %zu bytes make %zu", f->path,
                         f->len < wanted ? "truncated" : "too long", f->len, n, item_bytes, wanted);
    return true;
}

bool idx_read_images(const char *path, int32_t rows, int32_t columns, int64_t max_n,
                     uint8_t **pixels, int64_t *n, struct error *err)
{
    struct idx f;
    const size_t item = (size_t)rows * (size_t)columns;
    bool ok = idx_open(&f, path, MAGIC_IMAGES, 16 + (size_t)max_n * item, err);
    if (ok && (f.dims[1] != (uint32_t)rows || f.dims[2] != (uint32_t)columns))
        ok = error_set(err, ERROR_DATA, "'%s' holds images of %ux%u; %dx%d are expected", f.path,
                       f.dims[1], f.dims[2], rows, columns);
    ok = ok && check_count(&f, max_n, item, err);
    if (ok) {
        /* The pixels move to the start of the file's memory, which the caller gets. */
        memmove(f.data, f.data + f.head, f.len - f.head);
        *pixels = f.data;
        *n = f.dims[0];
        f.data = NULL;
    }
    idx_release(&f);
    return ok;
}

static bool convert_labels(const struct idx *f, int32_t n_classes, int32_t *labels,
                           struct error *err)
{
    for (size_t i = 0; i < f->dims[0]; i++) {
        labels[i] = f->data[f->head + i];
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
        idx_open(&f, path, MAGIC_LABELS, 8 + (size_t)max_n, err) && check_count(&f, max_n, 1, err);
    if (ok) {
        made = malloc(f.dims[0] * sizeof *made);
        ok = made ? convert_labels(&f, n_classes, made, err)
                  : error_set(err, ERROR_SYSTEM, "no memory for the %u labels of '%s'", f.dims[0],
                              f.path);
    }
    if (ok) {
        *labels = made;
        *n = f.dims[0];
    } else {
        free(made);
    }
    idx_release(&f);
    return ok;
}
