/* IDX files, the format of MNIST: big-endian u32 magic, u32 dimensions, then bytes. */
#ifndef DATA_IDX_H
#define DATA_IDX_H

#include "base/error.h"

#include <stdint.h>

/* Reads `path` or `path`.gz: magic 0x00000803, count, rows, columns, then count x rows x columns
 * bytes and nothing more.  rows and columns must be as given, count from 1 to max_n.  *pixels is
 * malloc'd. */
bool idx_read_images(const char *path, int32_t rows, int32_t columns, int64_t max_n,
                     uint8_t **pixels, int64_t *n, struct error *err);
/* Magic 0x00000801, count, then count bytes, each below n_classes.  *labels is malloc'd. */
bool idx_read_labels(const char *path, int32_t n_classes, int64_t max_n, int32_t **labels,
                     int64_t *n, struct error *err);

#endif
