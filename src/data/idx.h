/* IDX files, the format of MNIST and Fashion-MNIST: big-endian u32 magic, u32 dimensions, then
 * bytes. */
#ifndef DATA_IDX_H
#define DATA_IDX_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A file of unsigned bytes in one dimension (labels) or three (images). */
struct idx_array {
    int n_dims;
    uint32_t dim[3];     /* unused ones are 1 */
    const uint8_t *data; /* dim[0] x dim[1] x dim[2]; points into the bytes parsed */
    size_t len;
};

/* Magic 0x00000801 or 0x00000803, the dimensions (none is 0), exactly their product of bytes and
 * nothing more.  Allocates nothing.  `name` stands for the file in errors. */
bool idx_parse(const void *bytes, size_t n, const char *name, struct idx_array *out,
               struct error *err);

/* Magic and dimensions alone; data is NULL. */
bool idx_parse_head(const void *bytes, size_t n, const char *name, struct idx_array *out,
                    struct error *err);

/* Reads `path` or `path`.gz: images of rows x columns, 1 to max_n of them.  *pixels is malloc'd. */
bool idx_read_images(const char *path, int32_t rows, int32_t columns, int64_t max_n,
                     uint8_t **pixels, int64_t *n, struct error *err);
/* Labels, each below n_classes, 1 to max_n of them.  *labels is malloc'd. */
bool idx_read_labels(const char *path, int32_t n_classes, int64_t max_n, int32_t **labels,
                     int64_t *n, struct error *err);

#endif
