/* What a SentencePiece model file says about itself, read without the library: enough to size a
 * network before any text is encoded, and to refuse what the published ids do not fit.
 */
#ifndef DATA_TEXT_SPM_MODEL_H
#define DATA_TEXT_SPM_MODEL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Pieces of a model: the entries of field 1 of its protocol buffer (ModelProto of
 * sentencepiece_model.proto).  The bytes must be a whole one whose first pieces are <unk> of type
 * UNKNOWN, <s> and </s> of type CONTROL, and none else of type UNKNOWN, all of UTF-8; `path` names
 * it in errors. */
bool spm_model_pieces(const char *bytes, size_t n, const char *path, int32_t *n_pieces,
                      struct error *err);

#endif
