/* The shim to the SentencePiece library, a C++ one: built as a loadable module of its own
 * (fugue_sentencepiece.so), so that fugue builds and runs where the library is missing.  Compiles
 * as C17 and C++17.
 */
#ifndef DATA_TEXT_SENTENCEPIECE_MODULE_H
#define DATA_TEXT_SENTENCEPIECE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of this table. */
#define SENTENCEPIECE_MODULE_VERSION 1
#define SENTENCEPIECE_MODULE_SYMBOL  "fugue_sentencepiece"

struct sentencepiece_module {
    int32_t version;
    /* A model from the bytes of its file, which are copied.  NULL with a reason in why[room]. */
    void *(*open)(const char *bytes, size_t len, char *why, size_t room);
    void (*close)(void *model);
    int32_t (*n_pieces)(const void *model);
    /* Piece numbers of a text (UTF-8), the first `max` of them; returns how many it has in all, -1
     * when it cannot be done.  Threads may share a model. */
    int64_t (*encode)(const void *model, const char *text, size_t len, int32_t *pieces, size_t max);
};

__attribute__((visibility("default"))) extern const struct sentencepiece_module fugue_sentencepiece;

#ifdef __cplusplus
}
#endif
#endif
