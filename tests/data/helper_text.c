#include "helper_text.h"

#include "base/json.h"
#include "base/text.h"

#include <zlib.h>

void add_piece(struct bytes *b, const char *text, float score, int type)
{
    const size_t n = strlen(text);
    unsigned char *at = b->data + b->len;
    assert_true(n < 100 && b->len + n + 11 <= sizeof b->data);
    *at++ = 1 << 3 | 2; /* ModelProto.pieces, of so many bytes */
    *at++ = (unsigned char)(n + 9);
    *at++ = 1 << 3 | 2; /* SentencePiece.piece */
    *at++ = (unsigned char)n;
    memcpy(at, text, n);
    at += n;
    *at++ = 2 << 3 | 5; /* .score, a float */
    memcpy(at, &score, 4);
    at += 4;
    *at++ = 3 << 3; /* .type */
    *at++ = (unsigned char)type;
    b->len = (size_t)(at - b->data);
}

struct bytes small_model(void)
{
    struct bytes b = {.len = 0};
    add_piece(&b, "<unk>", 0, 2);
    add_piece(&b, "<s>", 0, 3);
    add_piece(&b, "</s>", 0, 3);
    add_piece(&b, "\xE2\x96\x81good", -2, 1);
    add_piece(&b,
              "\xE2\x96\x81"
              "bad",
              -2, 1);
    add_piece(&b,
              "\xE2\x96\x81"
              "film",
              -3, 1);
    add_piece(&b, "s", -3, 1);
    add_piece(&b, "\xE2\x96\x81", -4, 1);
    add_piece(&b, "g", -6, 1);
    add_piece(&b, "o", -6, 1);
    add_piece(&b, "d", -6, 1);
    return b;
}

char *text_path(void **state, const char *name)
{
    return path_join(*state, name);
}

json_t *golden_text(const char *name)
{
    const char *root = getenv("FUGUE_TEST_SOURCE");
    struct error err = ERROR_INIT;
    if (!root)
        fail_msg("FUGUE_TEST_SOURCE is not set: run this through ctest");
    char *path = xasprintf("%s/tests/golden/text/%s", root ? root : "", name);
    json_t *json = json_read_file(path, &err);
    if (!json)
        fail_msg("%s", err.text);
    free(path);
    return json;
}

int64_t json_int(const json_t *obj, const char *key)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_integer(v))
        fail_msg("golden file without %s", key);
    return json_integer_value(v);
}

const char *json_text(const json_t *obj, const char *key)
{
    const char *v = json_string_value(json_object_get(obj, key));
    if (!v)
        fail_msg("golden file without %s", key);
    return v ? v : "";
}

int64_t crc_of(const int32_t *ids, size_t n)
{
    uLong crc = crc32(0, NULL, 0);
    for (size_t at = 0; at < n;) {
        const size_t some = n - at < 1u << 20 ? n - at : 1u << 20;
        crc = crc32(crc, (const Bytef *)(ids + at), (uInt)(some * sizeof *ids));
        at += some;
    }
    return (int64_t)crc;
}
