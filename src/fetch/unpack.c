#include "fetch/unpack.h"

#include "base/file.h"
#include "base/text.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK       ((size_t)1 << 18)
#define MAX_MEMBERS 1000000
#define MAX_NAME    1000

struct run {
    const struct unpack *u;
    struct archive *archive;
    char *block;
    int64_t bytes, members, taken;
};

bool unpack_name_ok(const char *name, char **clean)
{
    struct text_list parts;
    struct text out;
    bool ok = name && *name && *name != '/' && strlen(name) <= MAX_NAME;
    if (clean)
        *clean = NULL;
    if (!ok)
        return false;
    text_list_init(&parts);
    text_init(&out);
    text_split(&parts, name, '/');
    for (size_t i = 0; ok && i < parts.n; i++) {
        const char *part = parts.items[i];
        ok = strcmp(part, "..") != 0;
        if (*part && strcmp(part, ".") != 0)
            text_addf(&out, "%s%s", out.len > 0 ? "/" : "", part);
    }
    text_list_release(&parts);
    if (ok && clean)
        *clean = text_take(&out);
    text_release(&out);
    return ok;
}

static bool bad(const struct run *r, struct error *err, const char *name, const char *what)
{
    return error_set(err, ERROR_DATA, "'%s': its member '%.200s' %s: not unpacked", r->u->archive,
                     name, what);
}

static bool library_failed(const struct run *r, struct error *err)
{
    const char *why = archive_error_string(r->archive);
    return error_set(err, ERROR_DATA, "'%s' cannot be unpacked: %.300s", r->u->archive,
                     why ? why : "not an archive, or a damaged one");
}

/* One block of the present member: 1, 0 at its end, -1 with an error. */
static int next_block(struct run *r, size_t *n, struct error *err)
{
    if (r->u->stop && r->u->stop()) {
        error_set(err, ERROR_RUN, "interrupted");
        return -1;
    }
    const la_ssize_t got = archive_read_data(r->archive, r->block, BLOCK);
    if (got < 0) {
        library_failed(r, err);
        return -1;
    }
    r->bytes += got;
    if (r->bytes > r->u->max_bytes) {
        error_set(err, ERROR_DATA,
                  "'%s' unpacks to more than the %" PRId64 " bytes it may have: not unpacked",
                  r->u->archive, r->u->max_bytes);
        return -1;
    }
    if (r->u->progress)
        r->u->progress(r->u->ctx, r->bytes);
    *n = (size_t)got;
    return got > 0;
}

static bool write_block(int fd, const char *path, const char *data, size_t n, struct error *err)
{
    while (n > 0) {
        const ssize_t w = write(fd, data, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return error_errno(err, errno, "cannot write '%s'", path);
        data += w;
        n -= (size_t)w;
    }
    return true;
}

/* A member that is not wanted is read all the same: its bytes count. */
static bool skip_member(struct run *r, struct error *err)
{
    size_t n;
    int more;
    do
        more = next_block(r, &n, err);
    while (more > 0);
    return more == 0;
}

static bool write_member(struct run *r, const char *path, struct error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    size_t n;
    int more = 1;
    if (fd < 0)
        return error_errno(err, errno, "cannot make '%s'", path);
    while ((more = next_block(r, &n, err)) > 0)
        if (!write_block(fd, path, r->block, n, err)) {
            more = -1;
            break;
        }
    if (close(fd) != 0 && more == 0)
        return error_errno(err, errno, "cannot write '%s'", path);
    return more == 0;
}

static bool make_file(struct run *r, const char *name, int64_t size, struct error *err)
{
    char *path = path_join(r->u->folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    bool ok = file_make_dirs(path, err);
    *slash = '/';
    if (ok && file_exists(path))
        ok = bad(r, err, name, "comes twice");
    ok = ok && write_member(r, path, err);
    /* Also of a sparse member, whose last hole libarchive leaves out. */
    if (ok && size >= 0 && file_size(path) != size)
        ok = bad(r, err, name, "has not the size its head declares");
    r->taken += ok;
    free(path);
    return ok;
}

static bool is_taken(const char *name, const char *take)
{
    const size_t n = strlen(take);
    return strncmp(name, take, n) == 0 && (name[n] == '\0' || name[n] == '/');
}

static bool take_member(struct run *r, struct archive_entry *entry, struct error *err)
{
    const char *name = archive_entry_pathname(entry);
    const __LA_MODE_T type = archive_entry_filetype(entry);
    char *clean;
    if (++r->members > MAX_MEMBERS)
        return error_set(err, ERROR_DATA, "'%s' has more than %d members: not unpacked",
                         r->u->archive, MAX_MEMBERS);
    if (!unpack_name_ok(name, &clean))
        return bad(r, err, name ? name : "(unreadable)", "would lie outside the folder");
    bool ok = true;
    if (archive_entry_hardlink(entry) || archive_entry_symlink(entry))
        ok = bad(r, err, clean, "is a link");
    else if (type != AE_IFREG && type != AE_IFDIR)
        ok = bad(r, err, clean, "is neither a file nor a folder");
    else if (archive_entry_is_encrypted(entry) > 0)
        ok = bad(r, err, clean, "is encrypted");
    else if (type == AE_IFREG && is_taken(clean, r->u->take))
        ok = make_file(r, clean, archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1,
                       err);
    else if (type == AE_IFREG)
        ok = skip_member(r, err);
    free(clean);
    return ok;
}

static bool take_members(struct run *r, struct error *err)
{
    struct archive_entry *entry;
    for (;;) {
        const int code = archive_read_next_header(r->archive, &entry);
        if (code == ARCHIVE_EOF)
            break;
        /* ARCHIVE_WARN: a name or an attribute it could not convert; the data can be had. */
        if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
            return library_failed(r, err);
        if (!take_member(r, entry, err))
            return false;
    }
    if (r->taken == 0)
        return error_set(err, ERROR_DATA, "'%s' has no '%s' in it", r->u->archive, r->u->take);
    return true;
}

bool unpack_run(const struct unpack *u, struct error *err)
{
    struct run r = {.u = u, .archive = archive_read_new(), .block = malloc(BLOCK)};
    bool ok = false;
    if (!r.archive || !r.block) {
        error_set(err, ERROR_SYSTEM, "no memory to unpack '%s'", u->archive);
    } else {
        archive_read_support_filter_gzip(r.archive);
        archive_read_support_filter_xz(r.archive);
        archive_read_support_filter_zstd(r.archive);
        archive_read_support_format_tar(r.archive);
        archive_read_support_format_zip(r.archive);
        ok = (archive_read_open_filename(r.archive, u->archive, BLOCK) == ARCHIVE_OK ||
              library_failed(&r, err)) &&
             take_members(&r, err);
    }
    if (r.archive)
        archive_read_free(r.archive);
    free(r.block);
    return ok;
}
