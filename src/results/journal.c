#include "results/journal.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A record is an object with kind, key and row. */
static bool is_record(const json_t *v)
{
    const char *kind = json_string_value(json_object_get(v, "kind"));
    return kind && (strcmp(kind, "job") == 0 || strcmp(kind, "group") == 0) &&
           json_is_string(json_object_get(v, "key")) && json_is_object(json_object_get(v, "row"));
}

/* The first bytes of something damaged, for a warning. */
static void excerpt(const char *data, size_t len, char out[64])
{
    size_t n = 0;
    for (; n < len && n < 60; n++)
        out[n] = data[n] >= ' ' && data[n] <= '~' ? data[n] : '?';
    snprintf(out + n, 64 - n, "%s", len > n ? "..." : "");
}

/* Start of the text after the last newline before `size`; -1 when reading fails. */
static int64_t tail_start(int fd, int64_t size)
{
    char block[4096];
    int64_t end = size;
    while (end > 0) {
        const int64_t start = end > (int64_t)sizeof block ? end - (int64_t)sizeof block : 0;
        const size_t want = (size_t)(end - start);
        if (pread(fd, block, want, start) != (ssize_t)want)
            return -1;
        for (size_t i = want; i > 0; i--)
            if (block[i - 1] == '\n')
                return start + (int64_t)i;
        end = start;
    }
    return 0;
}

/* True when the tail is a whole record that lacks only its newline. */
static bool tail_is_record(int fd, int64_t start, size_t len, char shown[64])
{
    char *tail = malloc(len + 1);
    bool whole = false;
    snprintf(shown, 64, "(unreadable)");
    if (tail && pread(fd, tail, len, start) == (ssize_t)len) {
        json_t *v = json_loadb(tail, len, JSON_REJECT_DUPLICATES, NULL);
        whole = is_record(v);
        json_decref(v);
        excerpt(tail, len, shown);
    }
    free(tail);
    return whole;
}

static bool repair_tail(int fd, const char *path, struct error *err)
{
    struct stat st;
    char last = '\n';
    if (fstat(fd, &st) != 0)
        return error_errno(err, errno, "cannot read '%s'", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_DATA, "'%s' is not a regular file; move it away", path);
    if (st.st_size == 0)
        return true;
    if (pread(fd, &last, 1, st.st_size - 1) != 1)
        return error_errno(err, errno, "cannot read the end of '%s'", path);
    if (last == '\n')
        return true;
    const int64_t start = tail_start(fd, st.st_size);
    if (start < 0)
        return error_errno(err, errno, "cannot read the end of '%s'", path);
    char shown[64];
    if (tail_is_record(fd, start, (size_t)(st.st_size - start), shown))
        return file_append(fd, path, "\n", 1, true, err);
    if (ftruncate(fd, start) != 0)
        return error_errno(err, errno, "cannot cut the torn last line off '%s'", path);
    log_msg(LOG_WARNING, "%s: a torn last line of %lld bytes was cut off: %s", path,
            (long long)(st.st_size - start), shown);
    return true;
}

static int open_journal(const char *path, struct error *err)
{
    const int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        error_errno(err, errno, "cannot open the journal '%s' for writing", path);
    return fd;
}

bool journal_prepare(const char *path, struct error *err)
{
    const int fd = open_journal(path, err);
    if (fd < 0)
        return false;
    const bool ok = repair_tail(fd, path, err);
    close(fd);
    return ok;
}

bool journal_append(const char *path, const char *line, struct error *err)
{
    /* Opened each time: whoever moved the old journal away gets a new one, not lost lines. */
    const int fd = open_journal(path, err);
    if (fd < 0)
        return false;
    char *whole = xasprintf("%s\n", line);
    const bool ok =
        repair_tail(fd, path, err) && file_append(fd, path, whole, strlen(whole), true, err);
    free(whole);
    close(fd);
    return ok;
}

/* Kind and key of a line as fugue writes it, without parsing all of it: true when it begins with
 * them and the key has no escapes.  Copies into kind[8] and *key. */
static bool peek(const char *line, char kind[8], struct text *key)
{
    static const char *const kinds[] = {"job", "group"};
    for (size_t i = 0; i < 2; i++) {
        char start[40];
        const int n = snprintf(start, sizeof start, "{\"kind\":\"%s\",\"key\":\"", kinds[i]);
        if (strncmp(line, start, (size_t)n) != 0)
            continue;
        const size_t len = strcspn(line + n, "\"\\");
        if (line[(size_t)n + len] != '"')
            return false;
        snprintf(kind, 8, "%s", kinds[i]);
        text_clear(key);
        text_add_n(key, line + n, len);
        return true;
    }
    return false;
}

/* One line.  False only when fn failed. */
static bool read_line(const char *path, int64_t offset, const char *line, size_t len,
                      struct text *key, const struct journal_reader *reader, struct error *err)
{
    char kind[8];
    if (strspn(line, " \t\r\n") == len)
        return true;
    const bool asked = reader->want && peek(line, kind, key);
    if (asked && !reader->want(reader->ctx, kind, key->data))
        return true;
    json_error_t e;
    json_t *v = json_loadb(line, len, JSON_REJECT_DUPLICATES, &e);
    bool ok = true;
    if (!v || !is_record(v)) {
        char shown[64];
        excerpt(line, len, shown);
        log_msg(LOG_WARNING, "%s, byte %lld: this line is no record and is left out (%s): %s", path,
                (long long)offset, v ? "kind, key or row missing" : e.text, shown);
    } else {
        const char *k = json_string_value(json_object_get(v, "kind"));
        const char *name = json_string_value(json_object_get(v, "key"));
        if (asked || !reader->want || reader->want(reader->ctx, k, name))
            ok = reader->record(reader->ctx, k, name, v, err);
    }
    json_decref(v);
    return ok;
}

bool journal_read(const char *path, int64_t offset, const struct journal_reader *reader,
                  int64_t *end, struct error *err)
{
    *end = offset;
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT ? true : error_errno(err, errno, "cannot read '%s'", path);
    char *line = NULL;
    size_t cap = 0;
    ssize_t len = -1;
    bool ok = fseeko(f, offset, SEEK_SET) == 0;
    if (!ok)
        error_errno(err, errno, "cannot read '%s'", path);
    struct text key;
    text_init(&key);
    while (ok && (len = getline(&line, &cap, f)) > 0 && line[len - 1] == '\n') {
        ok = read_line(path, *end, line, (size_t)len, &key, reader, err);
        *end += len;
    }
    if (ok && ferror(f))
        ok = error_errno(err, errno, "cannot read '%s'", path);
    text_release(&key);
    free(line);
    fclose(f);
    return ok;
}
