#include "fetch/fetch.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "fetch/get.h"
#include "fetch/tree.h"
#include "fetch/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define WORK ".prefetch"

static char *work_folder(const struct download *d, const char *root)
{
    return xasprintf("%s/" WORK "/%s", root, d->name);
}

/* ---- the state of things ---- */

enum fetch_state fetch_state(const struct download *d, const char *root, int64_t *have)
{
    char *work = work_folder(d, root);
    *have = tree_bytes(work);
    free(work);
    if (download_present(d, root))
        return FETCH_PRESENT;
    return *have > 0 ? FETCH_PARTIAL : FETCH_MISSING;
}

/* The checks that say whether one archive's content is in place: those at or below its place. */
static bool archive_in_place(const struct download *d, const struct download_file *f,
                             const char *root)
{
    struct download_check below[16];
    const size_t n = strlen(f->place);
    int n_below = 0;
    for (int i = 0; i < d->n_checks && n_below < 16; i++) {
        const char *path = d->checks[i].path;
        if (strncmp(path, f->place, n) == 0 && (path[n] == '\0' || path[n] == '/'))
            below[n_below++] = d->checks[i];
    }
    const struct download part = {.name = d->name, .checks = below, .n_checks = n_below};
    return n_below > 0 && download_present(&part, root);
}

/* Of several files some may be there from an earlier, interrupted fetch. */
static bool in_place(const struct download *d, const struct download_file *f, const char *root)
{
    if (f->take)
        return archive_in_place(d, f, root);
    char *path = path_join(root, f->place);
    const int64_t size = file_size(path);
    const bool right = size > 0 && get_check(f, path, NULL, NULL);
    free(path);
    return right;
}

/* ---- room ---- */

static bool enough_room(const struct download *d, const char *root, const char *work,
                        struct error *err)
{
    struct statvfs fs;
    int64_t need = 0, unpacked = 0;
    for (int i = 0; i < d->n_files; i++) {
        const struct download_file *f = &d->files[i];
        if (in_place(d, f, root))
            continue;
        need += f->size ? f->size : f->about;
        unpacked = f->take && f->unpacked > unpacked ? f->unpacked : unpacked;
    }
    need += unpacked - tree_bytes(work);
    if (statvfs(work, &fs) != 0)
        return error_errno(err, errno, "cannot look at '%s'", work);
    const uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (need <= 0 || fs.f_blocks == 0 || free_bytes >= (uint64_t)need)
        return true;
    return error_set(err, ERROR_SYSTEM,
                     "'%s' has %.1f MB free, and about %.1f MB are needed: make room, or choose "
                     "another folder with --root",
                     root, (double)free_bytes / 1e6, (double)need / 1e6);
}

/* ---- into place ---- */

static bool stop_requested(void)
{
    return os_stop_requested() != 0;
}

struct unpacking {
    struct progress *progress;
    const char *name;
    int64_t total;
};

static void show_unpacking(void *ctx, int64_t bytes)
{
    const struct unpacking *u = ctx;
    if (u->progress)
        progress_update(u->progress, u->name,
                        &(struct progress_state){.bytes = true,
                                                 .done = (double)bytes,
                                                 .total = (double)u->total,
                                                 .note = "unpacking"});
}

/* The archive stays until its content is in place: whatever fails here need not be fetched again.
 */
static bool unpack_into_place(const struct download_file *f, const struct fetch_options *o,
                              const char *whole, const char *work, struct error *err)
{
    char *folder = path_join(work, "unpacked");
    char *from = path_join(folder, f->take), *to = path_join(o->root, f->place);
    struct unpacking shown = {o->progress, f->name, f->unpacked};
    const struct unpack u = {.archive = whole,
                             .folder = folder,
                             .take = f->take,
                             .max_bytes = f->unpacked,
                             .stop = stop_requested,
                             .progress = show_unpacking,
                             .ctx = &shown};
    struct error ignored = ERROR_INIT;
    const bool ok = tree_remove(folder, NULL, err) && file_make_dirs(folder, err) &&
                    unpack_run(&u, err) && tree_place(from, to, err);
    tree_remove(folder, NULL, &ignored);
    free(folder);
    free(from);
    free(to);
    return ok;
}

static bool place(const struct download_file *f, const struct fetch_options *o, const char *whole,
                  const char *work, struct error *err)
{
    if (f->take)
        return unpack_into_place(f, o, whole, work, err);
    char *to = path_join(o->root, f->place);
    const bool ok = tree_place(whole, to, err);
    free(to);
    return ok;
}

/* ---- one download ---- */

static bool fetch_files(const struct download *d, const struct fetch_options *o, const char *work,
                        int64_t *bytes, struct error *err)
{
    bool ok = true;
    for (int i = 0; ok && i < d->n_files; i++) {
        const struct download_file *f = &d->files[i];
        if (in_place(d, f, o->root))
            continue;
        char *whole = path_join(work, f->name);
        ok = get_file(d, f, o, work, bytes, err) && place(f, o, whole, work, err);
        free(whole);
        if (!ok && err->class_ != ERROR_RUN)
            error_prefix(err, "%s", f->name);
    }
    return ok;
}

static bool fetch_locked(const struct download *d, const struct fetch_options *o, const char *work,
                         int64_t *bytes, struct error *err)
{
    /* Another process may have brought it while this one waited. */
    if (download_present(d, o->root))
        return true;
    if (!file_make_dirs(work, err) || !enough_room(d, o->root, work, err) ||
        !fetch_files(d, o, work, bytes, err))
        return false;
    if (!download_present(d, o->root))
        return error_set(err, ERROR_DATA,
                         "all was fetched and unpacked into '%s', but not every file that belongs "
                         "to it is there: the archive is not what it was",
                         o->root);
    return tree_remove(work, NULL, err);
}

/* Waits for as long as it takes, for another fetch may take hours; Ctrl-C ends the wait. */
static bool lock_download(const struct download *d, const char *root, struct file_lock *lock,
                          struct error *err)
{
    char *folder = path_join(root, WORK), *path = xasprintf("%s/" WORK "/%s.lock", root, d->name);
    bool busy = false, ok = file_make_dirs(folder, err), said = false;
    while (ok && !file_lock_try(lock, path, &busy, err)) {
        ok = busy;
        if (busy && os_stop_requested())
            ok = error_set(err, ERROR_RUN, "interrupted");
        if (ok && !said)
            log_msg(LOG_NOTICE, "%s: another process is fetching it: waiting for that", d->name);
        said = true;
        clock_sleep_s(0.1);
    }
    free(folder);
    free(path);
    return ok;
}

static bool advise(struct error *err)
{
    const bool ours = err->class_ == ERROR_SYSTEM;
    if (ours && (strstr(err->text, strerror(EROFS)) || strstr(err->text, strerror(EACCES)) ||
                 strstr(err->text, strerror(EPERM)))) {
        struct error whole = *err;
        error_set(err, ERROR_SYSTEM,
                  "%.1200s; choose a folder you may write to with --root DIR, and have fugue read "
                  "it with FUGUE_DATA_DIR=DIR",
                  whole.text);
    }
    return false;
}

bool fetch_run(const struct download *d, const struct fetch_options *o, int64_t *bytes,
               struct error *err)
{
    struct file_lock lock;
    *bytes = 0;
    if (download_present(d, o->root))
        return true;
    if (!lock_download(d, o->root, &lock, err))
        return advise(err);
    char *work = work_folder(d, o->root);
    const bool ok = fetch_locked(d, o, work, bytes, err) || advise(err);
    free(work);
    file_unlock(&lock);
    return ok;
}

bool fetch_clean(const struct download *d, const char *root, int64_t *bytes, struct error *err)
{
    char *work = work_folder(d, root), *path = xasprintf("%s.lock", work);
    struct file_lock lock;
    bool busy = false, ok = true;
    *bytes = 0;
    if (file_exists(work)) {
        ok = file_lock_try(&lock, path, &busy, err);
        if (busy)
            error_set(err, ERROR_RUN, "another process is fetching %s: nothing is removed",
                      d->name);
        if (ok) {
            ok = tree_remove(work, bytes, err);
            file_unlock(&lock);
        }
    }
    free(work);
    free(path);
    return ok;
}
