#include "fetch/tree.h"

#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names in a folder but "." and ".."; false when it cannot be read. */
static bool list_folder(const char *path, struct text_list *names)
{
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            text_list_add(names, e->d_name);
    closedir(dir);
    return true;
}

static bool remove_one(const char *path, const struct stat *st, int64_t *bytes, struct error *err)
{
    const bool folder = S_ISDIR(st->st_mode);
    if (folder ? rmdir(path) != 0 : unlink(path) != 0)
        return errno == ENOENT || error_errno(err, errno, "cannot remove '%s'", path);
    if (!folder && bytes)
        *bytes += st->st_size;
    return true;
}

bool tree_remove(const char *path, int64_t *bytes, struct error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ||
               error_errno(err, errno, "cannot remove '%s'", path);
    struct text_list names;
    text_list_init(&names);
    bool ok = true;
    if (S_ISDIR(st.st_mode) && !list_folder(path, &names))
        ok = error_errno(err, errno, "cannot read the folder '%s'", path);
    for (size_t i = 0; ok && i < names.n; i++) {
        char *inner = path_join(path, names.items[i]);
        ok = tree_remove(inner, bytes, err);
        free(inner);
    }
    text_list_release(&names);
    return ok && remove_one(path, &st, bytes, err);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool merge(const char *from, const char *to, struct error *err)
{
    if (!is_folder(from) || !is_folder(to))
        return rename(from, to) == 0 || error_errno(err, errno, "cannot put '%s' into place", to);
    struct text_list names;
    text_list_init(&names);
    bool ok = list_folder(from, &names) || error_errno(err, errno, "cannot read '%s'", from);
    for (size_t i = 0; ok && i < names.n; i++) {
        char *a = path_join(from, names.items[i]), *b = path_join(to, names.items[i]);
        ok = merge(a, b, err);
        free(a);
        free(b);
    }
    text_list_release(&names);
    return ok && (rmdir(from) == 0 || error_errno(err, errno, "cannot remove '%s'", from));
}

bool tree_place(const char *from, const char *to, struct error *err)
{
    char *above = xstrdup(to);
    char *slash = strrchr(above, '/');
    bool ok = true;
    if (slash && slash != above) {
        *slash = '\0';
        ok = file_make_dirs(above, err);
    }
    free(above);
    return ok && merge(from, to, err);
}

int64_t tree_bytes(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return st.st_size;
    struct text_list names;
    text_list_init(&names);
    int64_t bytes = 0;
    if (list_folder(path, &names))
        for (size_t i = 0; i < names.n; i++) {
            char *inner = path_join(path, names.items[i]);
            bytes += tree_bytes(inner);
            free(inner);
        }
    text_list_release(&names);
    return bytes;
}
