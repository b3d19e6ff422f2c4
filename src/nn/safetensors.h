/* safetensors files (https://github.com/huggingface/safetensors, "Format"):
 *     8 bytes     N, length of the header, little-endian
 *     N bytes     JSON: {"NAME": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]},
 * ...,
 *                        "__metadata__": {"KEY": "TEXT", ...}}, may end in blanks
 *     the rest    data; offsets count from its start and tile it without gaps or overlap
 * The reader trusts nothing: every size, offset, count and overflow is checked before use.
 */
#ifndef NN_SAFETENSORS_H
#define NN_SAFETENSORS_H

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>
#include <stdint.h>

#define SAFETENSORS_MAX_RANK   8
#define SAFETENSORS_MAX_HEADER 100000000u /* bytes, as the reference implementation */

struct safetensor {
    const char *name;  /* lives as long as the struct safetensors */
    const char *dtype; /* "F32", "I64", ...: one of a fixed table */
    int32_t rank;
    int64_t dims[SAFETENSORS_MAX_RANK];
    size_t begin, size; /* bytes from the start of the data; size = elements x element size */
    const void *data;   /* into the caller's bytes, not aligned: memcpy it */
};

struct safetensors {
    struct safetensor *tensors; /* in the header's order */
    int32_t n;
    json_t *header;
};

/* Parses `bytes`, which must outlive *st.  On false nothing is left to release. */
bool safetensors_parse(struct safetensors *st, const void *bytes, size_t len, struct error *err);
void safetensors_release(struct safetensors *st);
/* NULL when there is none of this name. */
const struct safetensor *safetensors_find(const struct safetensors *st, const char *name);
/* Text of __metadata__; NULL when absent. */
const char *safetensors_meta(const struct safetensors *st, const char *key);

/* Writer: metadata and tensors in any order, then finish. */
struct safetensors_writer {
    json_t *metadata, *header;
    struct text data;
};
void safetensors_writer_init(struct safetensors_writer *w);
void safetensors_writer_release(struct safetensors_writer *w);
void safetensors_put_meta(struct safetensors_writer *w, const char *key, const char *value);
/* Copies the values (row-major).  A name must not come twice. */
void safetensors_put_f32(struct safetensors_writer *w, const char *name, const int32_t *dims,
                         int32_t rank, const float *values);
void safetensors_put_i64(struct safetensors_writer *w, const char *name, const int32_t *dims,
                         int32_t rank, const int64_t *values);
/* *out is malloc'd.  The header is padded with blanks so that the data starts on 8 bytes. */
bool safetensors_finish(struct safetensors_writer *w, void **out, size_t *len, struct error *err);

#endif
