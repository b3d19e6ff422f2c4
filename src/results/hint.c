#include "results/hint.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_MAX 256

static uint64_t fnv(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t fnv_start(void)
{
    return UINT64_C(14695981039346656037);
}

static struct hint_file stat_file(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return (struct hint_file){.size = -1};
#ifdef __APPLE__
    const struct timespec t = st.st_mtimespec;
#else
    const struct timespec t = st.st_mtim;
#endif
    return (struct hint_file){.size = (long long)st.st_size,
                              .inode = (long long)st.st_ino,
                              .mtime_ns = (long long)t.tv_sec * 1000000000 + t.tv_nsec};
}

static bool tail_hash(const char *journal, long long size, uint64_t *hash)
{
    char tail[TAIL_MAX];
    const size_t want = size < TAIL_MAX ? (size_t)(size > 0 ? size : 0) : TAIL_MAX;
    *hash = fnv_start();
    if (want == 0)
        return true;
    const int fd = open(journal, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool ok = pread(fd, tail, want, size - (long long)want) == (ssize_t)want;
    close(fd);
    *hash = fnv(*hash, tail, want);
    return ok;
}

/* One line of numbers; the last one is the hash of the others' text, so that a torn hint is none.
 */
static int print_hint(const struct hint *h, char out[512])
{
    int n = snprintf(out, 512, "1 %lld %lld %" PRIu64, h->journal.size, h->journal.inode, h->tail);
    for (int i = 0; i < 2; i++)
        n += snprintf(out + n, 512 - (size_t)n, " %lld %lld %lld", h->csv[i].size, h->csv[i].inode,
                      h->csv[i].mtime_ns);
    const uint64_t check = fnv(fnv_start(), out, (size_t)n);
    return n + snprintf(out + n, 512 - (size_t)n, " %" PRIu64 "\n", check);
}

static bool load_hint(const char *path, struct hint *h)
{
    char text[512] = "", again[512];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    *h = (struct hint){0};
    if (n <= 0 ||
        sscanf(text, "1 %lld %lld %" SCNu64 " %lld %lld %lld %lld %lld %lld", &h->journal.size,
               &h->journal.inode, &h->tail, &h->csv[0].size, &h->csv[0].inode, &h->csv[0].mtime_ns,
               &h->csv[1].size, &h->csv[1].inode, &h->csv[1].mtime_ns) != 9)
        return false;
    print_hint(h, again);
    return strcmp(text, again) == 0;
}

enum hint_state hint_check(const char *hint_path, const char *journal, const char *const csv[2],
                           int64_t *offset)
{
    struct hint h;
    uint64_t tail;
    *offset = 0;
    if (!load_hint(hint_path, &h))
        return HINT_UNKNOWN;
    for (int i = 0; i < 2; i++) {
        const struct hint_file now = stat_file(csv[i]);
        if (now.size != h.csv[i].size || now.inode != h.csv[i].inode ||
            now.mtime_ns != h.csv[i].mtime_ns)
            return HINT_UNKNOWN;
    }
    const struct hint_file now = stat_file(journal);
    if (now.inode != h.journal.inode || now.size < h.journal.size ||
        !tail_hash(journal, h.journal.size, &tail) || tail != h.tail)
        return HINT_UNKNOWN;
    *offset = h.journal.size;
    return now.size == h.journal.size ? HINT_CURRENT : HINT_GROWN;
}

void hint_save(const char *hint_path, const char *journal, const char *const csv[2], int64_t end)
{
    struct hint h = {.journal = stat_file(journal)};
    char text[512];
    h.journal.size = end;
    if (!tail_hash(journal, end, &h.tail))
        return;
    for (int i = 0; i < 2; i++)
        h.csv[i] = stat_file(csv[i]);
    const int n = print_hint(&h, text);
    const int fd = open(hint_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    /* Half a hint fails its check and is as good as none. */
    if (write(fd, text, (size_t)n) != n)
        unlink(hint_path);
    close(fd);
}
