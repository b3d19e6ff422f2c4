/* Folders as a whole: removing one, moving one into place. */
#ifndef FETCH_TREE_H
#define FETCH_TREE_H

#include "base/error.h"

#include <stdint.h>

/* rm -r; links are removed, not followed.  What is not there is removed already.  *bytes (may be
 * NULL) grows by the sizes of the files. */
bool tree_remove(const char *path, int64_t *bytes, struct error *err);
/* Moves `from` to `to`, making the folders above it: one rename where `to` is free, else folder by
 * folder, each file replacing its namesake at once.  Both on one file system. */
bool tree_place(const char *from, const char *to, struct error *err);
/* Bytes of the files below; 0 when there is nothing. */
int64_t tree_bytes(const char *path);

#endif
