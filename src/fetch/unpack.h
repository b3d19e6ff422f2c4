/* Taking one member (a folder or a file) out of a downloaded archive: tar, tar.gz, tar.xz, tar.zst
 * or zip, by libarchive.  The archive is trusted no further than its bytes:
 *   - a name that is absolute, holds "..", or is longer than 1000 bytes is an error,
 *   - so are links, devices, members that come twice, and encrypted members,
 *   - no more than max_bytes and MAX_MEMBERS members are read, whatever their heads declare,
 *   - files are made anew (never through a link, never over another), with mode 0644.
 */
#ifndef FETCH_UNPACK_H
#define FETCH_UNPACK_H

#include "base/error.h"

#include <stdint.h>

struct unpack {
    const char *archive;
    const char *folder; /* empty; made by the caller */
    const char *take;   /* "jpg", "CaliforniaHousing/cal_housing.data" */
    int64_t max_bytes;  /* of all members together */
    bool (*stop)(void); /* asked now and then; may be NULL */
    /* Called with the bytes unpacked; may be NULL. */
    void (*progress)(void *ctx, int64_t bytes);
    void *ctx;
};

/* On false the folder may hold a part: its owner removes it. */
bool unpack_run(const struct unpack *u, struct error *err);

/* True for a member's name that is safe below any folder; *clean (may be NULL): the name without
 * "./" and doubled or trailing slashes, malloc'd. */
bool unpack_name_ok(const char *name, char **clean);

#endif
