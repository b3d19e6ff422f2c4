#include "data/text/tokenizer.h"

#include "base/file.h"
#include "base/module.h"
#include "base/text.h"
#include "data/text/sentencepiece_module.h"
#include "data/text/spm_model.h"

#include <stdlib.h>

/* XLM-R's has 5 MB. */
#define MAX_BYTES (256u << 20)

struct tokenizer {
    const struct sentencepiece_module *library;
    void *model;
};

static bool read_model(const char *path, char **bytes, size_t *len, int32_t *vocabulary,
                       struct error *err)
{
    int32_t n_pieces;
    *bytes = NULL;
    if (!file_read(path, MAX_BYTES, bytes, len, err))
        return false;
    if (!spm_model_pieces(*bytes, *len, path, &n_pieces, err)) {
        free(*bytes);
        return false;
    }
    *vocabulary = n_pieces + TOKENS_BESIDE_PIECES;
    return true;
}

bool tokenizer_vocabulary(const char *path, int32_t *vocabulary, struct error *err)
{
    char *bytes;
    size_t len;
    if (!read_model(path, &bytes, &len, vocabulary, err))
        return false;
    free(bytes);
    return true;
}

static const struct sentencepiece_module *library(struct error *err)
{
    const struct sentencepiece_module *m =
        module_symbol("sentencepiece", SENTENCEPIECE_MODULE_SYMBOL,
                      "sub-word tokens need the SentencePiece library: install "
                      "libsentencepiece-dev and a C++ compiler, then build fugue again",
                      err);
    if (m && m->version != SENTENCEPIECE_MODULE_VERSION) {
        error_set(err, ERROR_SYSTEM,
                  "fugue_sentencepiece.so is of another build (its interface is %d, this program's "
                  "%d): build fugue again",
                  (int)m->version, SENTENCEPIECE_MODULE_VERSION);
        return NULL;
    }
    return m;
}

struct tokenizer *tokenizer_open(const char *path, struct error *err)
{
    char *bytes, why[400] = "";
    size_t len;
    int32_t vocabulary;
    if (!read_model(path, &bytes, &len, &vocabulary, err))
        return NULL;
    struct tokenizer t = {.library = library(err)}, *out = NULL;
    if (t.library) {
        t.model = t.library->open(bytes, len, why, sizeof why);
        if (t.model) {
            out = xmalloc(sizeof *out);
            *out = t;
        } else {
            error_set(err, ERROR_DATA, "'%s': SentencePiece cannot read this model (%s)", path,
                      why);
        }
    }
    free(bytes);
    return out;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    t->library->close(t->model);
    free(t);
}

static int32_t id_of(int32_t piece)
{
    static const int32_t first[3] = {TOKEN_UNKNOWN, TOKEN_START, TOKEN_END};
    return piece < 3 ? first[piece] : piece + 1;
}

bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, int32_t length,
                      int32_t *ids, struct error *err)
{
    const int32_t most = length - 2;
    const int64_t pieces = t->library->encode(t->model, text, len, ids + 1, (size_t)most);
    if (pieces < 0)
        return error_set(err, ERROR_SYSTEM, "SentencePiece cannot encode the text '%.*s'",
                         len < 60 ? (int)len : 60, text);
    const int32_t n = pieces < most ? (int32_t)pieces : most;
    ids[0] = TOKEN_START;
    for (int32_t i = 1; i <= n; i++)
        ids[i] = id_of(ids[i]);
    ids[n + 1] = TOKEN_END;
    for (int32_t i = n + 2; i < length; i++)
        ids[i] = TOKEN_PAD;
    return true;
}
