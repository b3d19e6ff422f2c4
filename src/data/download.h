/* What `fugue prefetch` can fetch: the data sets of the catalogue and the published weights, each
 * declared once: its files, where they come from, how they are known to be right, and where they
 * lie under the data root (torchvision's or the publisher's own layout).  Fetching itself is the
 * room fetch/.
 */
#ifndef DATA_DOWNLOAD_H
#define DATA_DOWNLOAD_H

#include <stdbool.h>
#include <stdint.h>

#define DOWNLOAD_MAX_SOURCES 3

/* A file as it is published. */
struct download_file {
    const char *name; /* "cifar-10-binary.tar.gz": its name under a mirror and on its way */
    const char *source[DOWNLOAD_MAX_SOURCES + 1]; /* URLs, preferred first; NULL ends them */
    int64_t size;                                 /* bytes; 0: not known */
    int64_t about; /* where size is not known: roughly, for people and for the room on the disk */
    /* Hex; NULL: not known.  The SHA-256 must match, where it is not known the MD5, and without
     * either the SHA-256 that the server states. */
    const char *md5, *sha256;
    /* A file that is kept as it is: its path under the root.  An archive: the path under the root
     * of what is taken out of it. */
    const char *place;
    const char
        *take; /* archives: the member (a folder or a file) that is taken; NULL: no archive */
    int64_t unpacked; /* archives: no more bytes than this are ever unpacked */
};

/* What must be there for the whole to count as present. */
struct download_check {
    const char *path;
    int64_t size;  /* a file of exactly so many bytes; 0: of any size.  `path`.gz does, too. */
    int64_t files; /* > 0: a folder that holds so many files that are not empty, at any depth */
};

struct download {
    const char *name;    /* of the data set, or of the model whose weights they are */
    const char *summary; /* one line */
    const char *licence; /* what the publisher says, for the reader to check; NULL: nothing */
    bool weights;        /* published weights, not a data set */
    const struct download_file *files;
    int n_files;
    const struct download_check *checks;
    int n_checks;
};

/* NULL-terminated. */
const struct download *const *download_table(void);
/* Another table for the tests, which have files of their own; NULL: the built-in one. */
void download_table_use(const struct download *const *table);

/* Case-insensitive; `spec` may carry arguments ("wikitext?train=valid").  NULL: there is none. */
const struct download *download_find(const char *spec);
/* All files are there with their sizes.  Quick: contents are not read. */
bool download_present(const struct download *d, const char *root);
/* Bytes of all its files as published. */
int64_t download_size(const struct download *d);

#endif
