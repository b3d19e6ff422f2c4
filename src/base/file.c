#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A missing or unreadable file is the user's data; anything else is the system's. */
static bool open_failed(struct error *err, int errnum, const char *path)
{
    error_errno(err, errnum, "cannot read '%s'", path);
    if (err && (errnum == ENOENT || errnum == ENOTDIR || errnum == EACCES))
        err->class_ = ERROR_DATA;
    return false;
}

static bool too_large(struct error *err, const char *path, unsigned long long size, size_t max)
{
    return error_set(err, ERROR_DATA,
                     "'%s' has %llu bytes, more than the %zu that are allowed here", path, size,
                     max);
}

/* Reads until the end of the file: its size may change meanwhile, and /proc files report 0. */
static bool read_all(int fd, const char *path, size_t max_bytes, size_t hint, char **out,
                     size_t *len, struct error *err)
{
    size_t cap = hint + 1, n = 0;
    char *data = malloc(cap);
    while (data) {
        const ssize_t got = read(fd, data + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            error_errno(err, errno, "cannot read '%s' after %zu bytes", path, n);
            free(data);
            return false;
        }
        n += (size_t)got;
        if (n > max_bytes) {
            free(data);
            return too_large(err, path, n, max_bytes);
        }
        if (got == 0) {
            data[n] = '\0';
            *out = data;
            *len = n;
            return true;
        }
        if (n == cap) {
            cap = cap < 4096 ? 8192 : 2 * cap;
            char *more = realloc(data, cap);
            if (!more)
                free(data);
            data = more;
        }
    }
    return error_set(err, ERROR_SYSTEM, "no memory for the %zu bytes of '%s'", cap, path);
}

bool file_read(const char *path, size_t max_bytes, char **out, size_t *len, struct error *err)
{
    /* O_NONBLOCK: opening a pipe by mistake must not hang. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return open_failed(err, errno, path);
    struct stat st;
    bool ok = false;
    if (fstat(fd, &st) != 0)
        error_errno(err, errno, "cannot read '%s'", path);
    else if (!S_ISREG(st.st_mode))
        error_set(err, ERROR_DATA, "'%s' is %s, a file was expected", path,
                  S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    else if ((unsigned long long)st.st_size > max_bytes)
        too_large(err, path, (unsigned long long)st.st_size, max_bytes);
    else
        ok = read_all(fd, path, max_bytes, (size_t)st.st_size, out, len, err);
    close(fd);
    return ok;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* fsync of the folder makes the rename itself last; some file systems cannot, and then nothing
 * better is to be had. */
static void sync_folder_of(const char *path)
{
    char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    const int fd = open(slash ? folder : ".", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool write_and_rename(const char *path, const char *temporary, const void *data, size_t len,
                             struct error *err)
{
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_errno(err, errno, "cannot create '%s'", temporary);
    struct stat old;
    if (stat(path, &old) == 0 && fchmod(fd, old.st_mode & 07777) != 0)
        errno = 0; /* the content matters more than the mode */
    bool ok = write_all(fd, data, len);
    if (ok && fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        ok = false;
    int why = errno;
    if (close(fd) != 0 && ok) {
        why = errno;
        ok = false;
    }
    if (!ok)
        error_errno(err, why, "cannot write %zu bytes to '%s'", len, path);
    else if (rename(temporary, path) != 0)
        ok = error_errno(err, errno, "cannot replace '%s'", path);
    if (!ok)
        unlink(temporary);
    return ok;
}

bool file_write_atomic(const char *path, const void *data, size_t len, struct error *err)
{
    static atomic_uint counter;
    /* A link is followed, so that what it names is replaced and not the link. */
    char *real = realpath(path, NULL);
    const char *target = real ? real : path;
    char *temporary =
        xasprintf("%s.%ld.%u.tmp", target, (long)getpid(), atomic_fetch_add(&counter, 1));
    const bool ok = write_and_rename(target, temporary, data, len, err);
    if (ok)
        sync_folder_of(target);
    free(temporary);
    free(real);
    return ok;
}

bool file_append(int fd, const char *path, const void *data, size_t len, bool sync,
                 struct error *err)
{
    struct stat before;
    if (fstat(fd, &before) != 0)
        return error_errno(err, errno, "cannot append to '%s'", path);
    bool ok = write_all(fd, data, len);
#ifdef __APPLE__
    if (ok && sync && fsync(fd) != 0)
        ok = false;
#else
    if (ok && sync && fdatasync(fd) != 0)
        ok = false;
#endif
    if (ok)
        return true;
    const int why = errno;
    if (ftruncate(fd, before.st_size) != 0) {
        error_errno(err, why,
                    "cannot append %zu bytes to '%s', nor cut it back to its %lld bytes (%s)", len,
                    path, (long long)before.st_size, strerror(errno));
        return false;
    }
    return error_errno(err, why, "cannot append %zu bytes to '%s' (cut back to its %lld bytes)",
                       len, path, (long long)before.st_size);
}

static bool make_dir(const char *path, struct error *err)
{
    if (mkdir(path, 0777) == 0)
        return true;
    const int why = errno;
    struct stat st;
    /* Somebody else may have made it meanwhile; a read-only root answers EROFS for what exists. */
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return true;
        return error_set(err, ERROR_SYSTEM, "cannot make the folder '%s': a file has that name",
                         path);
    }
    return error_errno(err, why, "cannot make the folder '%s'", path);
}

bool file_make_dirs(const char *path, struct error *err)
{
    if (!*path)
        return error_set(err, ERROR_SYSTEM, "cannot make a folder without a name");
    char *partial = xstrdup(path);
    bool ok = true;
    for (char *p = partial + 1; ok && *p; p++) {
        if (*p == '/' && p[-1] != '/') {
            *p = '\0';
            ok = make_dir(partial, err);
            *p = '/';
        }
    }
    ok = ok && make_dir(partial, err);
    free(partial);
    return ok;
}

char *path_join(const char *a, const char *b)
{
    const size_t n = strlen(a);
    return xasprintf("%s%s%s", a, n > 0 && a[n - 1] == '/' ? "" : "/", b);
}
