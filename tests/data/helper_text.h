/* A small SentencePiece model, and the golden files of texts. */
#ifndef TESTS_DATA_HELPER_TEXT_H
#define TESTS_DATA_HELPER_TEXT_H

#include "base/file.h"
#include "base/text.h"
#include "helper_data.h"

#include <jansson.h>

struct bytes {
    unsigned char data[2048];
    size_t len;
};

/* An entry of a model file: type 1 normal, 2 unknown, 3 control. */
void add_piece(struct bytes *b, const char *text, float score, int type);
/* <unk>, <s>, </s>, then SMALL_PIECES - 3 pieces of a unigram model:
 * 3 "_good", 4 "_bad", 5 "_film", 6 "s", 7 "_" (of score -4), 8 "g", 9 "o", 10 "d" (of -6), where _
 * is U+2581, and the first three have -2, -2 and -3, "s" -3. */
#define SMALL_PIECES     11
#define SMALL_VOCABULARY (SMALL_PIECES + 2)
struct bytes small_model(void);

/* malloc'd path of a file in the test's folder. */
char *text_path(void **state, const char *name);

/* A file of tests/golden/text/; the caller decref's it. */
json_t *golden_text(const char *name);
int64_t json_int(const json_t *obj, const char *key);
const char *json_text(const json_t *obj, const char *key);
/* zlib's CRC-32 of int32 values, little-endian as they lie in memory. */
int64_t crc_of(const int32_t *ids, size_t n);

#endif
