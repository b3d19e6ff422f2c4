/* MD5 (RFC 1321) and SHA-256 (FIPS 180-4) of files: to see whether a download is the published
 * file.  Our own two pages, since a library for them would be loaded by every cell and worker that
 * fugue starts, and MD5, the only digest some sets are published with, is refused by OpenSSL where
 * FIPS mode is on.
 */
#ifndef FETCH_DIGEST_H
#define FETCH_DIGEST_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct digest {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[64]; /* what does not fill a block yet */
    bool is_sha256;
};
#define DIGEST_HEX 65 /* characters of the longest digest, NUL included */

void digest_md5_init(struct digest *d);
void digest_sha256_init(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t len);
/* Lower-case hex; *d is used up. */
void digest_hex(struct digest *d, char out[DIGEST_HEX]);

/* Both digests of a file in one pass; either may be NULL.  stop (may be NULL) is asked now and
 * then: true gives up with an error of class ERROR_RUN. */
bool digest_file(const char *path, char md5[DIGEST_HEX], char sha256[DIGEST_HEX],
                 bool (*stop)(void), struct error *err);

#endif
