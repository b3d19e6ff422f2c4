/* The Python release of CIFAR: a reader of exactly these pickles.
 *
 * Protocol 2 as Python 2's cPickle writes it (put: an optional BINPUT or LONG_BINPUT after an
 * object, which remembers it; without effect here):
 *     80 02  }  put  (  key value  key value ...  u  .
 *     key    U len name put
 *     list   ]  put  then batches  ( item ... e  or  item a
 *     data   the numpy array: see read_array
 */
#include "data/cifar.h"

#include "base/text.h"

#include <string.h>

enum opcode {
    OP_PROTO = 0x80,
    OP_EMPTY_DICT = '}',
    OP_EMPTY_LIST = ']',
    OP_MARK = '(',
    OP_SET_ITEMS = 'u',
    OP_APPENDS = 'e',
    OP_APPEND = 'a',
    OP_STOP = '.',
    OP_BYTE = 'K',
    OP_U16 = 'M',
    OP_I32 = 'J',
    OP_SHORT_STRING = 'U',
    OP_STRING = 'T',
    OP_UNICODE = 'X',
    OP_PUT = 'q',
    OP_LONG_PUT = 'r',
    OP_GET = 'h',
    OP_LONG_GET = 'j',
    OP_GLOBAL = 'c',
    OP_TUPLE = 't',
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_REDUCE = 'R',
    OP_BUILD = 'b',
    OP_NONE = 'N',
    OP_FALSE = 0x89,
};

struct reader {
    const uint8_t *start, *at, *end;
    const char *name;
    struct error *err;
};

/* A run of bytes inside the file. */
struct run {
    const uint8_t *data;
    size_t n;
};

static bool bad(const struct reader *r, const char *what)
{
    return error_set(r->err, ERROR_DATA,
                     "'%s', byte %zu: %s; fugue reads the pickles of the official CIFAR archive "
                     "and no others",
                     r->name, (size_t)(r->at - r->start), what);
}

static bool cut(const struct reader *r)
{
    return error_set(r->err, ERROR_DATA,
                     "'%s' is truncated: it ends at byte %zu, inside the pickle", r->name,
                     (size_t)(r->end - r->start));
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

/* The opcode that stands next; -1 at the end. */
static int peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : -1;
}

static bool expect(struct reader *r, const void *bytes, size_t n, const char *what)
{
    if (left(r) < n)
        return cut(r);
    if (memcmp(r->at, bytes, n) != 0)
        return bad(r, what);
    r->at += n;
    return true;
}

static bool expect_op(struct reader *r, enum opcode op, const char *what)
{
    const uint8_t byte = (uint8_t)op;
    return expect(r, &byte, 1, what);
}

static uint32_t little_endian(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool skip(struct reader *r, size_t n)
{
    if (left(r) < n)
        return cut(r);
    r->at += n;
    return true;
}

static bool skip_put(struct reader *r)
{
    const int op = peek(r);
    return op == OP_PUT ? skip(r, 2) : op == OP_LONG_PUT ? skip(r, 5) : true;
}

/* ---- values ---- */

static bool read_string(struct reader *r, struct run *out)
{
    const int op = peek(r);
    const size_t head = op == OP_SHORT_STRING ? 2 : op == OP_STRING ? 5 : 0;
    if (op < 0)
        return cut(r);
    if (head == 0)
        return bad(r, "a string was expected");
    if (left(r) < head)
        return cut(r);
    const size_t n = head == 2 ? r->at[1] : little_endian(r->at + 1);
    r->at += head;
    if (left(r) < n)
        return cut(r);
    *out = (struct run){r->at, n};
    r->at += n;
    return skip_put(r);
}

static bool read_int(struct reader *r, int64_t *out)
{
    const int op = peek(r);
    const size_t size = op == OP_BYTE ? 1 : op == OP_U16 ? 2 : op == OP_I32 ? 4 : 0;
    if (op < 0)
        return cut(r);
    if (size == 0)
        return bad(r, "a whole number was expected");
    if (left(r) < 1 + size)
        return cut(r);
    uint8_t bytes[4] = {0};
    memcpy(bytes, r->at + 1, size);
    const uint32_t v = little_endian(bytes);
    *out = size == 4 ? (int64_t)(int32_t)v : (int64_t)v;
    r->at += 1 + size;
    return true;
}

/* A name of a file, of which nothing is needed; the same string again is a reference. */
static bool skip_string(struct reader *r)
{
    struct run unused;
    const int op = peek(r);
    return op == OP_GET ? skip(r, 2) : op == OP_LONG_GET ? skip(r, 5) : read_string(r, &unused);
}

/* ---- lists ---- */

/* Items are counted, and their places kept: labels are read a second time once there is room. */
struct list {
    const uint8_t *start; /* of the batches; NULL: not read yet */
    int64_t n;
};

typedef bool read_item(struct reader *r, int64_t index, void *context);

static bool read_batches(struct reader *r, read_item *item, void *context, int64_t *n)
{
    *n = 0;
    for (;;) {
        if (peek(r) == OP_MARK) {
            r->at++;
            while (peek(r) != OP_APPENDS)
                if (!item(r, (*n)++, context))
                    return false;
            r->at++;
        } else if (peek(r) == OP_BYTE) { /* the single last item of a list */
            if (!item(r, (*n)++, context) ||
                !expect_op(r, OP_APPEND, "the end of an item was expected"))
                return false;
        } else {
            return true;
        }
    }
}

static bool count_label(struct reader *r, int64_t index, void *context)
{
    int64_t unused;
    (void)index, (void)context;
    return read_int(r, &unused);
}

static bool count_name(struct reader *r, int64_t index, void *context)
{
    (void)index, (void)context;
    return skip_string(r);
}

static bool read_list(struct reader *r, read_item *item, struct list *out)
{
    if (out->start)
        return bad(r, "a list is there twice");
    if (!expect_op(r, OP_EMPTY_LIST, "a list was expected") || !skip_put(r))
        return false;
    out->start = r->at;
    return read_batches(r, item, NULL, &out->n);
}

/* Names: a last single one is a string, then APPEND. */
static bool read_names(struct reader *r, struct list *out)
{
    if (!read_list(r, count_name, out))
        return false;
    const int op = peek(r);
    const uint8_t *key = r->at;
    if (op != OP_SHORT_STRING)
        return true;
    /* A string behind the batches is either that item or the next key: what follows tells. */
    struct run unused;
    if (!read_string(r, &unused))
        return false;
    if (peek(r) == OP_APPEND)
        r->at++;
    else
        r->at = key;
    return true;
}

/* ---- the array ---- */

#define LITERAL(r, text, what) expect(r, text, sizeof(text) - 1, what)

static bool read_global(struct reader *r, const char *module_and_name)
{
    return expect_op(r, OP_GLOBAL, "a numpy array was expected") &&
           expect(r, module_and_name, strlen(module_and_name), "a numpy array was expected") &&
           skip_put(r);
}

/* The dtype of bytes: numpy.dtype('u1', 0, 1), state (3, '|', None, None, None, -1, -1, 0). */
static bool read_byte_type(struct reader *r)
{
    static const char what[] = "an array of bytes was expected";
    return read_global(r, "numpy\ndtype\n") && LITERAL(r, "U\x02u1", what) && skip_put(r) &&
           LITERAL(r, "K\0K\1\x87", what) && skip_put(r) && expect_op(r, OP_REDUCE, what) &&
           skip_put(r) && LITERAL(r, "(K\3U\1|", what) && skip_put(r) &&
           LITERAL(r, "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0t", what) && skip_put(r) &&
           expect_op(r, OP_BUILD, what);
}

/* numpy's _reconstruct(ndarray, (0,), 'b'), then its state (1, (n, 3072), dtype, False, bytes). */
static bool read_array(struct reader *r, int64_t *n, struct run *out)
{
    static const char what[] = "an array of n x 3072 bytes was expected";
    int64_t columns = 0;
    if (out->data)
        return bad(r, "\"data\" is there twice");
    if (!read_global(r, "numpy.core.multiarray\n_reconstruct\n") ||
        !read_global(r, "numpy\nndarray\n") || !LITERAL(r, "K\0\x85", what) || !skip_put(r) ||
        !LITERAL(r, "U\1b", what) || !skip_put(r) || !expect_op(r, OP_TUPLE3, what) ||
        !skip_put(r) || !expect_op(r, OP_REDUCE, what) || !skip_put(r) ||
        !LITERAL(r, "(K\1", what) || !read_int(r, n) || !read_int(r, &columns))
        return false;
    if (columns != CIFAR_PIXELS || *n < 1)
        return bad(r, what);
    if (!expect_op(r, OP_TUPLE2, what) || !skip_put(r) || !read_byte_type(r) ||
        !expect_op(r, OP_FALSE, what) || !read_string(r, out))
        return false;
    if (out->n % CIFAR_PIXELS != 0 || (int64_t)(out->n / CIFAR_PIXELS) != *n)
        return bad(r, "the array's size and its bytes do not agree");
    return expect_op(r, OP_TUPLE, what) && skip_put(r) && expect_op(r, OP_BUILD, what);
}

/* ---- the dictionary ---- */

struct content {
    struct list labels, fine, coarse, names;
    int64_t n;
    struct run data;
};

static bool is(const struct run *key, const char *name)
{
    return key->n == strlen(name) && memcmp(key->data, name, key->n) == 0;
}

static bool read_entry(struct reader *r, struct content *c)
{
    struct run key = {0};
    if (!read_string(r, &key))
        return false;
    if (is(&key, "data"))
        return read_array(r, &c->n, &c->data);
    if (is(&key, "labels"))
        return read_list(r, count_label, &c->labels);
    if (is(&key, "fine_labels"))
        return read_list(r, count_label, &c->fine);
    if (is(&key, "coarse_labels"))
        return read_list(r, count_label, &c->coarse);
    if (is(&key, "filenames"))
        return read_names(r, &c->names);
    if (is(&key, "batch_label"))
        return skip_string(r);
    return bad(r, "an entry that these files do not have");
}

/* What Python 3 makes of such a file: another protocol, or text where there were bytes. */
static bool repickled(const uint8_t *bytes, size_t n)
{
    const size_t key = n > 4 && bytes[3] == OP_PUT ? 6 : 4; /* behind } put ( */
    return n > 2 && bytes[0] == OP_PROTO &&
           (bytes[1] > 2 || (n > key && bytes[2] == OP_EMPTY_DICT && bytes[key] == OP_UNICODE));
}

static bool read_pickle(struct reader *r, struct content *c)
{
    static const char what[] = "no pickle of CIFAR";
    if (repickled(r->at, left(r)))
        return error_set(r->err, ERROR_DATA,
                         "'%s' was written again by Python 3; take the file out of the official "
                         "archive (cifar-10-python.tar.gz, cifar-100-python.tar.gz), or the binary "
                         "release",
                         r->name);
    if (!LITERAL(r, "\x80\2}", what) || !skip_put(r) || !expect_op(r, OP_MARK, what))
        return false;
    while (peek(r) != OP_SET_ITEMS)
        if (!read_entry(r, c))
            return false;
    r->at++;
    return expect_op(r, OP_STOP, what) && (r->at == r->end || bad(r, "bytes behind the pickle"));
}

/* ---- images and labels ---- */

struct wanted {
    int32_t *label;
    int n_classes;
};

static bool take_label(struct reader *r, int64_t index, void *context)
{
    const struct wanted *w = context;
    int64_t v = 0;
    if (!read_int(r, &v))
        return false;
    if (v < 0 || v >= w->n_classes)
        return error_set(r->err, ERROR_DATA,
                         "'%s': the label of image %lld is %lld; 0 to %d are expected", r->name,
                         (long long)index, (long long)v, w->n_classes - 1);
    w->label[index] = (int32_t)v;
    return true;
}

bool cifar_pickle_parse(const void *bytes, size_t n, int n_classes, const char *name,
                        struct cifar *out, struct error *err)
{
    struct reader r = {bytes, bytes, (const uint8_t *)bytes + n, name, err};
    struct content c = {0};
    *out = (struct cifar){0};
    if (!read_pickle(&r, &c))
        return false;
    const char *key = n_classes == 100 ? "fine_labels" : "labels";
    const struct list *labels = n_classes == 100 ? &c.fine : &c.labels;
    if (!c.data.data || !labels->start)
        return error_set(err, ERROR_DATA, "'%s' has no \"%s\": it is no file of CIFAR-%d", name,
                         c.data.data ? key : "data", n_classes);
    if (labels->n != c.n)
        return error_set(err, ERROR_DATA, "'%s' holds %lld images, but %lld labels", name,
                         (long long)c.n, (long long)labels->n);
    if (!cifar_alloc(out, c.n, name, err))
        return false;
    struct wanted w = {out->label, n_classes};
    int64_t read;
    r.at = labels->start;
    if (!read_batches(&r, take_label, &w, &read)) {
        cifar_release(out);
        return false;
    }
    for (int64_t i = 0; i < c.n; i++)
        cifar_from_planes(c.data.data + i * CIFAR_PIXELS, out->pixels + i * CIFAR_PIXELS);
    return true;
}
