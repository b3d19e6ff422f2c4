/* Reading `path` or, when only that is there, `path`.gz. */
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* What an inflation has made so far; cap counts the byte kept for the NUL. */
struct inflated {
    unsigned char *data;
    size_t len, cap;
};

static bool grow(struct inflated *o, size_t max_bytes, const char *path, struct error *err)
{
    if (o->len >= max_bytes + 1)
        return error_set(err, ERROR_DATA, "'%s' inflates to more than the %zu bytes allowed here",
                         path, max_bytes);
    size_t cap = o->cap < 32768 ? 65536 : 2 * o->cap;
    if (cap > max_bytes + 2)
        cap = max_bytes + 2;
    unsigned char *more = realloc(o->data, cap);
    if (!more) {
        error_set(err, ERROR_SYSTEM, "no memory for %zu inflated bytes of '%s'", cap, path);
        return false;
    }
    o->data = more;
    o->cap = cap;
    return true;
}

static bool bad_gzip(struct error *err, const char *path, const z_stream *z, int code)
{
    /* All input taken and still not at the end of the stream: the file was cut. */
    if ((code == Z_BUF_ERROR || code == Z_OK) && z->avail_in == 0)
        return error_set(err, ERROR_DATA,
                         "'%s' is truncated: its gzip data end early; fetch the file again", path);
    return error_set(err, ERROR_DATA, "'%s' is not valid gzip data (%s); fetch the file again",
                     path, z->msg ? z->msg : zError(code));
}

/* A gzip file is one or more members; zeros may follow (tapes pad), anything else is garbage. */
static bool only_zeros(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

/* Inflates in[0..n) into *o, which has room for a NUL after the last byte on success. */
static bool inflate_all(z_stream *z, unsigned char *in, size_t n, size_t max_bytes,
                        struct inflated *o, const char *path, struct error *err)
{
    size_t used = 0;
    for (;;) {
        if (o->cap - o->len < 2 && !grow(o, max_bytes, path, err))
            return false;
        const size_t room = o->cap - o->len - 1, left = n - used;
        z->next_in = in + used;
        z->avail_in = left > 1u << 30 ? 1u << 30 : (uInt)left;
        z->next_out = o->data + o->len;
        z->avail_out = room > 1u << 30 ? 1u << 30 : (uInt)room;
        const uInt in_before = z->avail_in, out_before = z->avail_out;
        const int code = inflate(z, Z_NO_FLUSH);
        used += in_before - z->avail_in;
        o->len += out_before - z->avail_out;
        if (o->len > max_bytes)
            return grow(o, max_bytes, path, err);
        if (code == Z_STREAM_END) {
            if (only_zeros(in + used, n - used))
                return true;
            inflateReset(z);
        } else if (code != Z_OK || (used == n && z->avail_out > 0)) {
            return bad_gzip(err, path, z, code);
        }
    }
}

static bool read_gz(const char *path, size_t max_bytes, char **out, size_t *len, struct error *err)
{
    char *packed;
    size_t packed_len;
    if (max_bytes > SIZE_MAX / 4)
        max_bytes = SIZE_MAX / 4;
    /* What cannot be compressed grows a little (header, block heads). */
    if (!file_read(path, max_bytes + max_bytes / 1000 + 4096, &packed, &packed_len, err))
        return false;
    z_stream z = {0};
    struct inflated o = {0};
    bool ok = false;
    if (inflateInit2(&z, 15 + 16) != Z_OK) {
        error_set(err, ERROR_SYSTEM, "no memory to inflate '%s'", path);
    } else {
        ok = inflate_all(&z, (unsigned char *)packed, packed_len, max_bytes, &o, path, err);
        inflateEnd(&z);
    }
    free(packed);
    if (!ok) {
        free(o.data);
        return false;
    }
    o.data[o.len] = '\0';
    *out = (char *)o.data;
    *len = o.len;
    return true;
}

bool file_exists_maybe_gz(const char *path)
{
    if (file_exists(path))
        return true;
    char *packed = xasprintf("%s.gz", path);
    const bool there = file_exists(packed);
    free(packed);
    return there;
}

bool file_read_maybe_gz(const char *path, size_t max_bytes, char **out, size_t *len, char **used,
                        struct error *err)
{
    char *packed = xasprintf("%s.gz", path);
    const bool as_is = file_exists(path) || !file_exists(packed);
    bool ok;
    if (as_is) {
        ok = file_read(path, max_bytes, out, len, err);
        if (!ok && err && !file_exists(path))
            error_set(err, ERROR_DATA, "neither '%s' nor '%s' can be read: %s", path, packed,
                      strerror(ENOENT));
    } else {
        ok = read_gz(packed, max_bytes, out, len, err);
    }
    if (ok && used)
        *used = xstrdup(as_is ? path : packed);
    free(packed);
    return ok;
}
