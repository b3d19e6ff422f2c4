/* MATLAB files of version 5 (MAT v5), read for named vectors of numbers: what flowers102's labels
 * and splits come in.  Little-endian files; elements packed by zlib (miCOMPRESSED) or plain; real
 * full numeric arrays of any integer or floating type.  Other variables (cells, structures, text,
 * sparse or complex arrays) are passed over.
 */
#ifndef DATA_MAT_H
#define DATA_MAT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A 1 x n or n x 1 array; MATLAB's numbers are doubles. */
struct mat_vector {
    size_t n;
    double *value; /* owned */
};

/* The vector called `variable` in a file's bytes; `name` stands for the file in errors.  An error
 * names the variables that are there when it is not.  What is allocated is bounded by what the file
 * really holds (a packed element by its 1032-fold, the most that deflate can do). */
bool mat_parse(const void *bytes, size_t n, const char *name, const char *variable,
               struct mat_vector *out, struct error *err);
/* Of the file `path` or `path`.gz, at most 64 MiB. */
bool mat_read(const char *path, const char *variable, struct mat_vector *out, struct error *err);
void mat_vector_release(struct mat_vector *v);

#endif
