/* MAT v5: a head of 128 bytes, then elements: a tag (type, size), data, padding to 8 bytes.  A
 * small element has its size in the upper half of the type's word and its data in the tag. */
#include "data/mat.h"

#include "base/file.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define HEAD          128
#define MAX_FILE      ((size_t)64 << 20)
#define MAX_INFLATION 1032 /* of deflate */
#define MAX_NAME      63   /* MATLAB's own limit */

enum mat_type {
    MI_INT8 = 1,
    MI_UINT8 = 2,
    MI_INT16 = 3,
    MI_UINT16 = 4,
    MI_INT32 = 5,
    MI_UINT32 = 6,
    MI_SINGLE = 7,
    MI_DOUBLE = 9,
    MI_INT64 = 12,
    MI_UINT64 = 13,
    MI_MATRIX = 14,
    MI_COMPRESSED = 15,
    N_TYPES = 16,
};

static const uint8_t size_of_type[N_TYPES] = {
    [MI_INT8] = 1,   [MI_UINT8] = 1,  [MI_INT16] = 2,  [MI_UINT16] = 2, [MI_INT32] = 4,
    [MI_UINT32] = 4, [MI_SINGLE] = 4, [MI_DOUBLE] = 8, [MI_INT64] = 8,  [MI_UINT64] = 8,
};

/* Array classes 6 (double) to 15 (uint64) are full numeric arrays. */
#define CLASS_FIRST  6
#define CLASS_LAST   15
#define FLAG_COMPLEX 0x08

struct span {
    const uint8_t *at, *end;
};

struct element {
    uint32_t type;
    const uint8_t *data;
    size_t n;
};

struct search {
    const char *name, *variable;
    struct mat_vector *out;
    struct text others; /* names of the variables passed over */
    bool found;
    struct error *err;
};

static uint64_t little_endian(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = n - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static bool bad(const struct search *s, const char *what)
{
    return error_set(s->err, ERROR_DATA, "'%s' is damaged or no MATLAB 5 file: %s", s->name, what);
}

static bool next_element(const struct search *s, struct span *in, struct element *out)
{
    const size_t left = (size_t)(in->end - in->at);
    if (left < 8)
        return bad(s, "it ends inside an element");
    const uint32_t word = (uint32_t)little_endian(in->at, 4);
    if (word >> 16) {
        *out = (struct element){word & 0xFFFF, in->at + 4, word >> 16};
        if (out->n > 4)
            return bad(s, "a small element of more than 4 bytes");
        in->at += 8;
        return true;
    }
    *out = (struct element){word, in->at + 8, (size_t)little_endian(in->at + 4, 4)};
    if (out->n > left - 8)
        return bad(s, "an element is longer than what holds it");
    /* Packed elements are not padded; of others the last may lack its padding. */
    const size_t step = word == MI_COMPRESSED ? out->n : (out->n + 7) / 8 * 8;
    in->at += 8 + (step < left - 8 ? step : left - 8);
    return true;
}

/* ---- values ---- */

static double number_at(uint32_t type, const uint8_t *p)
{
    const int size = size_of_type[type];
    const uint64_t u = little_endian(p, size);
    const uint32_t word = (uint32_t)u;
    float single;
    double real;
    switch (type) {
    case MI_SINGLE:
        memcpy(&single, &word, sizeof single);
        return (double)single;
    case MI_DOUBLE:
        memcpy(&real, &u, sizeof real);
        return real;
    case MI_INT8:
        return (int8_t)u;
    case MI_INT16:
        return (int16_t)u;
    case MI_INT32:
        return (int32_t)u;
    case MI_INT64:
        return (double)(int64_t)u;
    default:
        return (double)u;
    }
}

/* Dimensions 1 x n or n x 1. */
static bool vector_length(const struct element *dims, size_t *n)
{
    if (dims->type != MI_INT32 || dims->n != 8)
        return false;
    const int32_t a = (int32_t)little_endian(dims->data, 4);
    const int32_t b = (int32_t)little_endian(dims->data + 4, 4);
    if (a < 0 || b < 0 || (a != 1 && b != 1))
        return false;
    *n = (size_t)a * (size_t)b;
    return true;
}

static bool take_values(struct search *s, const struct element *dims, struct span *rest)
{
    struct element real = {0};
    size_t n;
    if (!vector_length(dims, &n))
        return error_set(s->err, ERROR_DATA, "'%s': variable '%s' is no vector", s->name,
                         s->variable);
    if (!next_element(s, rest, &real))
        return false;
    const size_t size = real.type < N_TYPES ? size_of_type[real.type] : 0;
    if (size == 0)
        return bad(s, "numbers of no known type");
    if (real.n != n * size)
        return bad(s, "a vector's length and its bytes do not agree");
    s->out->value = malloc((n ? n : 1) * sizeof *s->out->value);
    if (!s->out->value)
        return error_set(s->err, ERROR_SYSTEM, "no memory for %zu numbers of '%s'", n, s->name);
    s->out->n = n;
    for (size_t i = 0; i < n; i++)
        s->out->value[i] = number_at(real.type, real.data + i * size);
    s->found = true;
    return true;
}

/* ---- variables ---- */

static bool read_matrix(struct search *s, const struct element *matrix)
{
    struct span in = {matrix->data, matrix->data + matrix->n};
    struct element flags = {0}, dims = {0}, name = {0};
    if (!next_element(s, &in, &flags) || !next_element(s, &in, &dims) ||
        !next_element(s, &in, &name))
        return false;
    if (flags.type != MI_UINT32 || flags.n != 8 || name.type != MI_INT8 || name.n > MAX_NAME)
        return bad(s, "a variable without flags or name");
    if (strlen(s->variable) != name.n || memcmp(name.data, s->variable, name.n) != 0) {
        text_addf(&s->others, "%s", s->others.len ? ", " : "");
        for (size_t i = 0; i < name.n && s->others.len < 400; i++)
            text_addf(&s->others, "%c",
                      name.data[i] > ' ' && name.data[i] <= '~' ? name.data[i] : '?');
        return true;
    }
    const uint8_t class_ = flags.data[0], bits = flags.data[1];
    if (class_ < CLASS_FIRST || class_ > CLASS_LAST || (bits & FLAG_COMPLEX))
        return error_set(s->err, ERROR_DATA, "'%s': variable '%s' is no full array of real numbers",
                         s->name, s->variable);
    return take_values(s, &dims, &in);
}

/* The whole of a packed element, of which the first 8 bytes tell the size. */
static bool inflate_element(const struct search *s, const struct element *packed, uint8_t **plain,
                            size_t *n)
{
    uint8_t tag[8];
    z_stream z = {.next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->n};
    *plain = NULL;
    if (inflateInit(&z) != Z_OK)
        return error_set(s->err, ERROR_SYSTEM, "zlib cannot start");
    z.next_out = tag;
    z.avail_out = sizeof tag;
    int code = inflate(&z, Z_SYNC_FLUSH);
    bool ok = (code == Z_OK || code == Z_STREAM_END) && z.avail_out == 0;
    const size_t size = ok ? (size_t)little_endian(tag + 4, 4) : 0;
    ok = ok && size <= MAX_INFLATION * packed->n;
    if (ok) {
        *n = 8 + size;
        *plain = malloc(*n);
        ok = *plain != NULL;
    }
    if (ok) {
        memcpy(*plain, tag, sizeof tag);
        z.next_out = *plain + 8;
        z.avail_out = (uInt)size;
        if (code != Z_STREAM_END)
            code = inflate(&z, Z_FINISH);
        ok = code == Z_STREAM_END && z.avail_out == 0;
    }
    inflateEnd(&z);
    if (!ok) {
        free(*plain);
        *plain = NULL;
        return bad(s, "a packed element cannot be unpacked to the size it says");
    }
    return true;
}

static bool read_top(struct search *s, const struct element *e)
{
    if (e->type == MI_MATRIX)
        return read_matrix(s, e);
    if (e->type != MI_COMPRESSED)
        return true;
    uint8_t *plain;
    size_t n = 0;
    struct element inner = {0};
    if (!inflate_element(s, e, &plain, &n))
        return false;
    struct span in = {plain, plain + n};
    const bool ok =
        next_element(s, &in, &inner) && (inner.type != MI_MATRIX || read_matrix(s, &inner));
    free(plain);
    return ok;
}

static bool check_head(const struct search *s, const uint8_t *bytes, size_t n)
{
    if (n < HEAD)
        return bad(s, "its head is not whole");
    if (memcmp(bytes + 126, "MI", 2) == 0)
        return error_set(s->err, ERROR_DATA,
                         "'%s' was written on a big-endian machine, which fugue does not read",
                         s->name);
    if (memcmp(bytes + 126, "IM", 2) != 0 || little_endian(bytes + 124, 2) != 0x0100)
        return bad(s, "its head says otherwise");
    return true;
}

bool mat_parse(const void *bytes, size_t n, const char *name, const char *variable,
               struct mat_vector *out, struct error *err)
{
    struct search s = {.name = name, .variable = variable, .out = out, .err = err};
    *out = (struct mat_vector){0};
    if (!check_head(&s, bytes, n))
        return false;
    text_init(&s.others);
    struct span in = {(const uint8_t *)bytes + HEAD, (const uint8_t *)bytes + n};
    bool ok = true;
    while (ok && !s.found && in.at < in.end) {
        struct element e = {0};
        ok = next_element(&s, &in, &e) && read_top(&s, &e);
    }
    if (ok && !s.found)
        ok = error_set(err, ERROR_DATA, "'%s' has no variable '%s'; it has %s", name, variable,
                       s.others.len ? s.others.data : "none");
    text_release(&s.others);
    if (!ok)
        mat_vector_release(out);
    return ok;
}

bool mat_read(const char *path, const char *variable, struct mat_vector *out, struct error *err)
{
    char *bytes = NULL, *used = NULL;
    size_t n;
    *out = (struct mat_vector){0};
    if (!file_read_maybe_gz(path, MAX_FILE, &bytes, &n, &used, err))
        return false;
    const bool ok = mat_parse(bytes, n, used, variable, out, err);
    free(bytes);
    free(used);
    return ok;
}

void mat_vector_release(struct mat_vector *v)
{
    free(v->value);
    *v = (struct mat_vector){0};
}
