#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_map_open(struct file_map *map, const char *path, struct error *err)
{
    struct stat st;
    *map = (struct file_map){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        error_errno(err, errno, "cannot read '%s'", path);
        if (err)
            err->class_ = ERROR_DATA;
        return false;
    }
    bool ok = fstat(fd, &st) == 0 || error_errno(err, errno, "cannot read '%s'", path);
    if (ok && !S_ISREG(st.st_mode))
        ok = error_set(err, ERROR_DATA, "'%s' is not a regular file", path);
    if (ok && st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            ok = error_errno(err, errno, "cannot map '%s'", path);
        else
            *map = (struct file_map){data, (size_t)st.st_size};
    }
    close(fd);
    return ok;
}

void file_map_close(struct file_map *map)
{
    if (map->data)
        munmap((void *)map->data, map->len);
    *map = (struct file_map){0};
}
