/* Getting one file: its sources in turn, each tried until it brings nothing new, then its digests.
 * For this room only. */
#ifndef FETCH_GET_H
#define FETCH_GET_H

#include "fetch/fetch.h"

/* Leaves the whole, checked file in `work` under its name; *bytes grows by what was transferred. */
bool get_file(const struct download *d, const struct download_file *f,
              const struct fetch_options *o, const char *work, int64_t *bytes, struct error *err);

/* Size and digest match: the SHA-256 where one is known, else the MD5.  stated_sha256: what the
 * server says, used where the table has none; may be NULL. */
bool get_check(const struct download_file *f, const char *path, const char *stated_sha256,
               struct error *err);

#endif
