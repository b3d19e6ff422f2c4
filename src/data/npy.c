#include "data/npy.h"

#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"

static const struct {
    const char *descr;
    size_t size;
} types[] = {[NPY_U1] = {"|u1", 1},
             [NPY_I4] = {"<i4", 4},
             [NPY_I8] = {"<i8", 8},
             [NPY_F4] = {"<f4", 4},
             [NPY_F8] = {"<f8", 8}};

size_t npy_size(enum npy_type type)
{
    return types[type].size;
}

/* The head's text: a Python dictionary of three keys, which numpy writes in one way. */
struct head {
    const char *at, *end, *name;
    struct error *err;
};

static bool bad(const struct head *h, const char *what)
{
    return error_set(h->err, ERROR_DATA, "'%s' is no array file of numpy: %s", h->name, what);
}

static void blanks(struct head *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
        h->at++;
}

static bool take(struct head *h, const char *text)
{
    const size_t n = strlen(text);
    blanks(h);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, text, n) != 0)
        return false;
    h->at += n;
    return true;
}

static bool read_type(struct head *h, struct npy *out)
{
    blanks(h);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char quoted[8];
        snprintf(quoted, sizeof quoted, "'%s'", types[i].descr);
        if (take(h, quoted)) {
            out->type = (enum npy_type)i;
            return true;
        }
    }
    if (take(h, "'|O'"))
        return bad(h, "it holds pickled objects, which are never read");
    return error_set(h->err, ERROR_DATA,
                     "'%s': elements of type %.*s; fugue reads u1, i4, i8, f4, f8 (little-endian)",
                     h->name, (int)(h->end - h->at < 6 ? h->end - h->at : 6), h->at);
}

static bool read_dim(struct head *h, int64_t *out)
{
    int64_t v = 0;
    const char *start = h->at;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
        if (v > INT64_MAX / 10 - 1)
            return bad(h, "a dimension too large");
        v = 10 * v + (*h->at - '0');
    }
    *out = v;
    return h->at > start || bad(h, "its shape cannot be read");
}

static bool read_shape(struct head *h, struct npy *out)
{
    if (!take(h, "("))
        return bad(h, "its shape cannot be read");
    out->n_dims = 0;
    while (!take(h, ")")) {
        if (out->n_dims == NPY_MAX_DIMS)
            return bad(h, "too many dimensions");
        if (!read_dim(h, &out->dim[out->n_dims++]))
            return false;
        if (!take(h, ",") && (blanks(h), h->at == h->end || *h->at != ')'))
            return bad(h, "its shape cannot be read");
    }
    return true;
}

static bool read_dictionary(struct head *h, struct npy *out)
{
    bool type = false, order = false, shape = false;
    if (!take(h, "{"))
        return bad(h, "its head cannot be read");
    while (!take(h, "}")) {
        if (!type && take(h, "'descr':")) {
            type = read_type(h, out);
            if (!type)
                return false;
        } else if (!order && take(h, "'fortran_order':")) {
            if (take(h, "True"))
                return bad(h, "it is in Fortran order; save it with numpy.ascontiguousarray");
            order = take(h, "False");
            if (!order)
                return bad(h, "its head cannot be read");
        } else if (!shape && take(h, "'shape':")) {
            shape = read_shape(h, out);
            if (!shape)
                return false;
        } else {
            return bad(h, "its head cannot be read");
        }
        take(h, ",");
    }
    return (type && order && shape) || bad(h, "its head is not whole");
}

/* Elements x size must be exactly the bytes behind the head. */
static bool check_size(const struct head *h, struct npy *out, size_t there)
{
    const size_t most = there / npy_size(out->type);
    size_t count = 1;
    for (int i = 0; i < out->n_dims; i++) {
        const uint64_t d = (uint64_t)out->dim[i];
        if (d == 0)
            return bad(h, "it is empty");
        if (d > most / count)
            return bad(h, "it is truncated, or its shape is wrong");
        count *= (size_t)d;
    }
    if (count * npy_size(out->type) != there)
        return bad(h, "its shape and its size do not agree");
    out->count = count;
    return true;
}

bool npy_parse_head(const void *bytes, size_t n, size_t total, const char *name, struct npy *out,
                    struct error *err)
{
    const uint8_t *p = bytes;
    struct head h = {.name = name, .err = err};
    *out = (struct npy){.data = NULL};
    if (n < 10 || memcmp(p, MAGIC, 6) != 0 || p[6] < 1 || p[6] > 3)
        return bad(&h, "its first bytes say otherwise");
    const size_t fixed = p[6] == 1 ? 10 : 12;
    if (n < fixed)
        return bad(&h, "it is truncated");
    const size_t len =
        p[6] == 1 ? (size_t)p[8] | (size_t)p[9] << 8
                  : (size_t)p[8] | (size_t)p[9] << 8 | (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (len > n - fixed || total < fixed + len)
        return bad(&h, "its head is truncated or too long");
    h.at = (const char *)p + fixed;
    h.end = h.at + len;
    return read_dictionary(&h, out) && check_size(&h, out, total - fixed - len) &&
           (out->data = p + fixed + len, true);
}

bool npy_parse(const void *bytes, size_t n, const char *name, struct npy *out, struct error *err)
{
    return npy_parse_head(bytes, n, n, name, out, err);
}

double npy_at(const struct npy *a, size_t i)
{
    const uint8_t *p = (const uint8_t *)a->data + i * npy_size(a->type);
    int32_t i4;
    int64_t i8;
    float f4;
    double f8;
    switch (a->type) {
    case NPY_U1:
        return *p;
    case NPY_I4:
        memcpy(&i4, p, sizeof i4);
        return i4;
    case NPY_I8:
        memcpy(&i8, p, sizeof i8);
        return (double)i8;
    case NPY_F4:
        memcpy(&f4, p, sizeof f4);
        return (double)f4;
    case NPY_F8:
        break;
    }
    memcpy(&f8, p, sizeof f8);
    return f8;
}
