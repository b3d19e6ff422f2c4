/* XLM-R's token ids: SentencePiece pieces with the published offsets (fairseq's, which Hugging Face
 * keeps): <s> 0, <pad> 1, </s> 2, <unk> 3, piece p is p + 1 from p = 3 on, and <mask> the last, so
 * the vocabulary is the number of pieces + 2: 250002 of XLM-R's own model.
 */
#ifndef DATA_TEXT_TOKENIZER_H
#define DATA_TEXT_TOKENIZER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { TOKEN_START, TOKEN_PAD, TOKEN_END, TOKEN_UNKNOWN };
/* Ids that are not those of the pieces <unk>, <s> and </s>, which have their own: <pad>, <mask>. */
#define TOKENS_BESIDE_PIECES 2
/* Of XLM-R base and large. */
#define XLMR_VOCABULARY 250002

/* Vocabulary of a model file, without the library: quick. */
bool tokenizer_vocabulary(const char *path, int32_t *vocabulary, struct error *err);

struct tokenizer;
/* Reads a model file.  NULL with an error that names the file, or says how to get the library
 * where it is missing. */
struct tokenizer *tokenizer_open(const char *path, struct error *err);
void tokenizer_close(struct tokenizer *t);

/* The ids of a text (UTF-8) as a sample of `length` tokens, at least 2: <s>, its pieces up to the
 * first length - 2, </s>, then <pad>.  Threads may share a tokenizer.  False only when the library
 * fails. */
bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, int32_t length,
                      int32_t *ids, struct error *err);

#endif
