/* Files and folders: whole reads, atomic writes, appends that are cut back when they fall short,
 * advisory locks on a sidecar file. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Reads a whole file into malloc'd memory with a NUL after the last byte.  max_bytes guards
 * against absurd sizes (an error names both numbers).  Only regular files are read. */
bool file_read(const char *path, size_t max_bytes, char **out, size_t *len, struct error *err);
/* As file_read; when `path` does not exist but `path`.gz does, that is inflated (zlib, at most
 * max_bytes).  Truncated or corrupt gzip data is an error.  *used (may be NULL) gets the malloc'd
 * name really read. */
bool file_read_maybe_gz(const char *path, size_t max_bytes, char **out, size_t *len, char **used,
                        struct error *err);
/* A whole file mapped read-only: for big ones that several processes read, which share its pages.
 */
struct file_map {
    const void *data; /* NULL when empty */
    size_t len;
};
bool file_map_open(struct file_map *map, const char *path, struct error *err);
void file_map_close(struct file_map *map);
bool file_exists(const char *path);
/* True when `path` or `path`.gz exists. */
bool file_exists_maybe_gz(const char *path);
/* Size in bytes, -1 when absent. */
int64_t file_size(const char *path);

/* Writes to a temporary beside `path`, fsyncs, renames, fsyncs the folder: the old content or the
 * new, never a mixture. */
bool file_write_atomic(const char *path, const void *data, size_t len, struct error *err);
/* Appends all bytes to fd opened O_APPEND; on a short write (disk full) truncates back to the
 * length before and reports.  With sync, fdatasync()s before returning. */
bool file_append(int fd, const char *path, const void *data, size_t len, bool sync,
                 struct error *err);
/* mkdir -p. */
bool file_make_dirs(const char *path, struct error *err);
/* malloc'd "a/b" */
char *path_join(const char *a, const char *b);

/* Exclusive advisory lock (flock) on `path`, created when absent, never renamed or removed.  Waits
 * at most wait_s, and says so (a warning, once) after a second.  A file system without locks
 * (ENOLCK, ENOTSUP, ...) is refused with a sentence that says so.  Released by file_unlock or
 * process end. */
struct file_lock {
    int fd;
};
bool file_lock_take(struct file_lock *lock, const char *path, double wait_s, struct error *err);
/* One attempt without waiting: false with *busy when another process holds it (no error then). */
bool file_lock_try(struct file_lock *lock, const char *path, bool *busy, struct error *err);
void file_unlock(struct file_lock *lock);

#endif
