#include "data/text/spm_model.h"

#include "data/text/utf8.h"

#include <string.h>

/* ---- protocol buffers ------------------------------------------------------------------------
 */

/* A field of a message: a number, or bytes. */
struct field {
    uint64_t number, value;
    const unsigned char *at;
    size_t len;
};

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

static bool read_varint(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const unsigned char b = *(*at)++;
        *out |= (uint64_t)(b & 0x7F) << shift;
        if (b < 0x80)
            return true;
    }
    return false;
}

/* The next field from *at on; false when the bytes are no field (at the end there is none). */
static bool read_field(const unsigned char **at, const unsigned char *end, struct field *f)
{
    uint64_t tag, size = 0;
    *f = (struct field){0};
    if (!read_varint(at, end, &tag))
        return false;
    f->number = tag >> 3;
    switch ((enum wire)(tag & 7)) {
    case WIRE_VARINT:
        return f->number > 0 && read_varint(at, end, &f->value);
    case WIRE_64:
        size = 8;
        break;
    case WIRE_32:
        size = 4;
        break;
    case WIRE_BYTES:
        if (!read_varint(at, end, &size))
            return false;
        break;
    default: /* groups: nobody writes them any more */
        return false;
    }
    if (f->number == 0 || size > (uint64_t)(end - *at))
        return false;
    f->at = *at;
    f->len = (size_t)size;
    *at += size;
    return true;
}

/* ---- pieces ----------------------------------------------------------------------------------
 */

enum { MODEL_PIECES = 1 };
enum { PIECE_TEXT = 1, PIECE_TYPE = 3 };
enum piece_type { NORMAL = 1, UNKNOWN, CONTROL };

#define MAX_PIECES (1 << 24)

struct piece {
    const char *text;
    size_t len;
    uint64_t type;
};

static bool read_piece(const struct field *message, struct piece *out)
{
    *out = (struct piece){.text = "", .type = NORMAL};
    const unsigned char *at = message->at, *const end = at + message->len;
    while (at < end) {
        struct field f;
        if (!read_field(&at, end, &f))
            return false;
        if (f.number == PIECE_TEXT && f.at) {
            out->text = (const char *)f.at;
            out->len = f.len;
        } else if (f.number == PIECE_TYPE) {
            out->type = f.value;
        }
    }
    return out->len > 0 && utf8_valid_len(out->text, out->len) == out->len;
}

static bool is_piece(const struct piece *p, const char *text, enum piece_type type)
{
    return p->type == (uint64_t)type && p->len == strlen(text) &&
           memcmp(p->text, text, p->len) == 0;
}

/* Is piece number i one that XLM-R's ids leave room for? */
static bool fits(const struct piece *p, int32_t i)
{
    static const struct {
        const char *text;
        enum piece_type type;
    } first[] = {{"<unk>", UNKNOWN}, {"<s>", CONTROL}, {"</s>", CONTROL}};
    if (i < 3)
        return is_piece(p, first[i].text, first[i].type);
    return p->type != UNKNOWN;
}

static bool damaged(const char *path, struct error *err)
{
    return error_set(err, ERROR_DATA,
                     "'%s' is no SentencePiece model, or damaged or cut; get the file again", path);
}

bool spm_model_pieces(const char *bytes, size_t n, const char *path, int32_t *n_pieces,
                      struct error *err)
{
    const unsigned char *at = (const unsigned char *)bytes, *const end = at + n;
    *n_pieces = 0;
    while (at < end) {
        struct field f;
        struct piece piece;
        if (!read_field(&at, end, &f))
            return damaged(path, err);
        if (f.number != MODEL_PIECES)
            continue;
        if (!f.at || !read_piece(&f, &piece) || *n_pieces == MAX_PIECES)
            return damaged(path, err);
        if (!fits(&piece, *n_pieces))
            return error_set(err, ERROR_DATA,
                             "'%s': piece %d does not fit XLM-R's ids: pieces 0, 1 and 2 must be "
                             "<unk>, <s> and </s>, as spm_train numbers them by default",
                             path, (int)*n_pieces);
        ++*n_pieces;
    }
    return *n_pieces > 3 || damaged(path, err);
}
