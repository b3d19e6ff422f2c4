#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "helper_base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static void test_read(void **state)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "a.txt", "hello"), *data = NULL;
    size_t len = 0;
    assert_true(file_read(path, 5, &data, &len, &err));
    assert_int_equal(len, 5);
    assert_memory_equal(data, "hello", 6); /* with the NUL */
    free(data);
    assert_false(file_read(path, 4, &data, &len, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, "a.txt' has 5 bytes, more than the 4");
    free(path);

    path = folder_file(state, "empty", "");
    assert_true(file_read(path, 0, &data, &len, &err));
    assert_int_equal(len, 0);
    assert_string_equal(data, "");
    free(data);
    assert_int_equal(file_size(path), 0);
    free(path);
    /* A size of 0 that is not true. */
    assert_true(file_read("/proc/self/status", 1 << 20, &data, &len, &err));
    assert_true(len > 100 && strlen(data) == len);
    free(data);
}

static void test_read_refuses_what_is_no_file(void **state)
{
    struct error err = ERROR_INIT;
    char *data = NULL;
    size_t len = 0;
    assert_false(file_read(*state, 100, &data, &len, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, "is a folder");
    char *pipe_path = folder_file(state, "pipe", NULL);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_false(file_read(pipe_path, 100, &data, &len, &err)); /* and does not hang */
    assert_contains(err.text, "not a regular file");
    char *none = folder_file(state, "none", NULL);
    assert_false(file_read(none, 100, &data, &len, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, "none': No such file");
    assert_int_equal(file_size(none), -1);
    assert_false(file_exists(none));
    assert_true(file_exists(pipe_path));
    assert_null(data);
    free(none);
    free(pipe_path);
}

/* Writes n bytes of a pattern as path.gz; pieces > 1 makes several gzip members. */
static void write_gz(const char *path, const unsigned char *data, size_t n, int pieces)
{
    char *packed = xasprintf("%s.gz", path);
    unlink(packed);
    for (int i = 0; i < pieces; i++) {
        const size_t from = n * (size_t)i / (size_t)pieces,
                     to = n * (size_t)(i + 1) / (size_t)pieces;
        gzFile f = gzopen(packed, "ab1");
        assert_non_null(f);
        assert_int_equal(gzwrite(f, data + from, (unsigned)(to - from)), to - from);
        assert_int_equal(gzclose(f), Z_OK);
    }
    free(packed);
}

static unsigned char *pattern(size_t n)
{
    unsigned char *data = xmalloc(n);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = i % 3 ? (unsigned char)(x >> 24) : 0;
    }
    return data;
}

static void test_gz_round_trip(void **state)
{
    static const size_t sizes[] = {0, 1, 65534, 65535, 65536, 300000};
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "set.bin", NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int pieces = 1; pieces <= 3; pieces += 2) {
            const size_t n = sizes[i];
            unsigned char *data = pattern(n);
            write_gz(path, data, n, pieces);
            char *out = NULL, *used = NULL;
            size_t len = 99;
            assert_false(file_exists(path));
            assert_true(file_exists_maybe_gz(path));
            if (!file_read_maybe_gz(path, n, &out, &len, &used, &err))
                fail_msg("%s", err.text);
            assert_int_equal(len, n);
            assert_memory_equal(out, data, n);
            assert_int_equal(out[n], 0);
            assert_contains(used, "set.bin.gz");
            free(out);
            free(used);
            if (n > 0) {
                assert_false(file_read_maybe_gz(path, n - 1, &out, &len, NULL, &err));
                assert_contains(err.text, "inflates to more than");
            }
            free(data);
        }
    }
    free(path);
}

static void test_gz_prefers_the_plain_file(void **state)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "x", "plain"), *out, *used;
    size_t len;
    write_gz(path, (const unsigned char *)"packed", 6, 1);
    assert_true(file_read_maybe_gz(path, 100, &out, &len, &used, &err));
    assert_string_equal(out, "plain");
    assert_string_equal(used, path);
    free(out);
    free(used);
    free(path);
    path = folder_file(state, "nowhere", NULL);
    assert_false(file_exists_maybe_gz(path));
    assert_false(file_read_maybe_gz(path, 100, &out, &len, NULL, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, "nowhere' nor");
    assert_contains(err.text, "nowhere.gz' can be read: No such file");
    free(path);
}

static void test_gz_damage(void **state)
{
    enum { N = 20000 };
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "d", NULL), *packed = folder_file(state, "d.gz", NULL);
    char *out = NULL, *whole;
    size_t len, size;
    unsigned char *data = pattern(N);
    write_gz(path, data, N, 1);
    assert_true(file_read(packed, 1 << 20, &whole, &size, &err));

    for (size_t cut = 0; cut < size; cut += cut < 20 || cut + 20 > size ? 1 : 997) {
        assert_true(file_write_atomic(packed, whole, cut, &err));
        assert_false(file_read_maybe_gz(path, N, &out, &len, NULL, &err));
        assert_contains(err.text, "d.gz' is truncated");
        assert_int_equal(err.class_, ERROR_DATA);
    }
    /* One flipped bit anywhere past the header: the checksum tells at the latest. */
    for (size_t at = 10; at<size; at += at + 9> size ? 1 : 499) {
        whole[at] ^= 0x10;
        assert_true(file_write_atomic(packed, whole, size, &err));
        assert_false(file_read_maybe_gz(path, N, &out, &len, NULL, &err));
        assert_int_equal(err.class_, ERROR_DATA);
        whole[at] ^= 0x10;
    }
    assert_true(file_write_atomic(packed, "this is no gzip data", 20, &err));
    assert_false(file_read_maybe_gz(path, N, &out, &len, NULL, &err));
    assert_contains(err.text, "not valid gzip data");
    /* Zeros may follow, garbage not. */
    char *longer = xcalloc(size + 8, 1);
    memcpy(longer, whole, size);
    assert_true(file_write_atomic(packed, longer, size + 8, &err));
    assert_true(file_read_maybe_gz(path, N, &out, &len, NULL, &err));
    assert_memory_equal(out, data, N);
    free(out);
    longer[size + 2] = 'x';
    assert_true(file_write_atomic(packed, longer, size + 8, &err));
    assert_false(file_read_maybe_gz(path, N, &out, &len, NULL, &err));
    free(longer);
    free(whole);
    free(data);
    free(packed);
    free(path);
}

static void test_write_atomic(void **state)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "out.json", NULL);
    assert_true(file_write_atomic(path, "first", 5, &err));
    char *text = content_of(path);
    assert_string_equal(text, "first");
    free(text);
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(file_write_atomic(path, "2nd", 3, &err));
    text = content_of(path);
    assert_string_equal(text, "2nd");
    free(text);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(count_entries(*state), 1);

    char *link_path = folder_file(state, "link", NULL);
    assert_int_equal(symlink("out.json", link_path), 0);
    assert_true(file_write_atomic(link_path, "3", 1, &err));
    text = content_of(path);
    assert_string_equal(text, "3");
    free(text);
    assert_int_equal(lstat(link_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));

    char *nowhere = folder_file(state, "no/such/file", NULL);
    assert_false(file_write_atomic(nowhere, "x", 1, &err));
    assert_contains(err.text, "no/such/file");
    assert_int_equal(err.class_, ERROR_SYSTEM);
    free(nowhere);
    free(link_path);
    free(path);
}

/* Lets no file of this process grow beyond n bytes: what a full disk looks like to write(2). */
static void limit_files(rlim_t n)
{
    static struct rlimit before;
    if (n == RLIM_INFINITY) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        return;
    }
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {n, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
}

static void test_write_atomic_on_a_full_disk(void **state)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "out", "old");
    char big[1000];
    memset(big, 'x', sizeof big);
    limit_files(600);
    const bool ok = file_write_atomic(path, big, sizeof big, &err);
    limit_files(RLIM_INFINITY);
    assert_false(ok);
    assert_contains(err.text, "cannot write 1000 bytes");
    assert_contains(err.text, "File too large");
    char *text = content_of(path);
    assert_string_equal(text, "old");
    assert_int_equal(count_entries(*state), 1); /* no temporary is left */
    free(text);
    free(path);
}

static void test_append_is_cut_back(void **state)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "rows.csv", "head\n");
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(file_append(fd, path, "row 1\n", 6, true, &err));
    char many[100];
    memset(many, 'y', sizeof many);
    limit_files(40); /* 29 of the 100 bytes still fit */
    const bool ok = file_append(fd, path, many, sizeof many, false, &err);
    limit_files(RLIM_INFINITY);
    assert_false(ok);
    assert_int_equal(err.class_, ERROR_SYSTEM);
    assert_contains(err.text, "cannot append 100 bytes");
    assert_contains(err.text, "cut back to its 11 bytes");
    assert_contains(err.text, "File too large");
    char *text = content_of(path);
    assert_string_equal(text, "head\nrow 1\n");
    free(text);
    assert_true(file_append(fd, path, "row 2\n", 6, false, &err));
    text = content_of(path);
    assert_string_equal(text, "head\nrow 1\nrow 2\n");
    free(text);
    close(fd);
    assert_false(file_append(fd, path, "x", 1, false, &err));
    assert_contains(err.text, "Bad file descriptor");
    free(path);
}

static void test_make_dirs(void **state)
{
    struct error err = ERROR_INIT;
    char *deep = folder_file(state, "a/b//c/", NULL);
    assert_true(file_make_dirs(deep, &err));
    assert_true(file_make_dirs(deep, &err));
    struct stat st;
    assert_int_equal(stat(deep, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_true(file_make_dirs("/", &err));
    assert_false(file_make_dirs("", &err));
    char *file = folder_file(state, "f", "x"), *below = folder_file(state, "f/g", NULL);
    assert_false(file_make_dirs(file, &err));
    assert_contains(err.text, "a file has that name");
    assert_false(file_make_dirs(below, &err));
    assert_contains(err.text, "a file has that name");
    free(below);
    free(file);
    free(deep);
}

static void test_path_join(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"/x/y", "z.csv", "/x/y/z.csv"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *joined = path_join(cases[i][0], cases[i][1]);
        assert_string_equal(joined, cases[i][2]);
        free(joined);
    }
}

/* A second process holds the lock until a byte comes through the pipe. */
static pid_t hold_lock(const char *path, int ready[2], int go[2])
{
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct file_lock lock;
        char c = 0;
        close(go[1]);
        if (!file_lock_take(&lock, path, 5, NULL) || write(ready[1], "r", 1) != 1 ||
            read(go[0], &c, 1) < 0)
            _exit(1);
        _exit(0); /* the end of the process gives the lock back */
    }
    char c;
    close(ready[1]);
    close(go[0]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    return pid;
}

struct said {
    int n;
    char text[512];
};

static void note(void *ctx, enum log_level level, const char *text)
{
    struct said *s = ctx;
    s->n += level == LOG_WARNING;
    snprintf(s->text, sizeof s->text, "%s", text);
}

static void test_lock_excludes_another_process(void **state)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "results.lock", NULL);
    int ready[2], go[2], status;
    const pid_t pid = hold_lock(path, ready, go);
    struct file_lock lock;
    assert_false(file_lock_take(&lock, path, 0, &err));
    assert_int_equal(lock.fd, -1);
    assert_int_equal(err.class_, ERROR_SYSTEM);
    assert_contains(err.text, "results.lock' is still locked by another fugue process");
    const double start = clock_now_s();
    assert_false(file_lock_take(&lock, path, 0.05, &err));
    assert_true(clock_now_s() - start >= 0.05);
    struct said said = {0}; /* a long wait is no silence */
    log_set_sink(note, &said);
    assert_false(file_lock_take(&lock, path, 1.1, &err));
    log_set_sink(NULL, NULL);
    assert_int_equal(said.n, 1);
    assert_contains(said.text,
                    "results.lock' is locked by another fugue process: waiting up to 1 s");
    assert_int_equal(write(go[1], "g", 1), 1);
    assert_true(file_lock_take(&lock, path, 10, &err)); /* waits for the other's end */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(lock.fd >= 0);
    assert_int_equal(fcntl(lock.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

    struct file_lock second;
    assert_false(file_lock_take(&second, path, 0, &err)); /* not twice in one process either */
    file_unlock(&lock);
    file_unlock(&lock);
    assert_true(file_lock_take(&second, path, 0, &err));
    bool busy = false;
    error_clear(&err);
    assert_false(file_lock_try(&lock, path, &busy, &err));
    assert_true(busy && err.class_ == ERROR_NONE); /* no error: whoever asks decides */
    file_unlock(&second);
    assert_true(file_lock_try(&lock, path, &busy, &err) && !busy);
    file_unlock(&lock);
    assert_true(file_exists(path));
    close(ready[0]);
    close(go[1]);
    free(path);
}

static void test_map(void **state)
{
    struct error err = ERROR_INIT;
    char *full = folder_file(state, "full", "some bytes"), *empty = folder_file(state, "empty", "");
    char *missing = folder_file(state, "missing", NULL);
    struct file_map map;
    assert_true(file_map_open(&map, full, &err));
    assert_int_equal(map.len, 10);
    assert_memory_equal(map.data, "some bytes", 10);
    file_map_close(&map);
    assert_null(map.data);
    file_map_close(&map);
    assert_true(file_map_open(&map, empty, &err));
    assert_int_equal(map.len, 0);
    file_map_close(&map);
    assert_false(file_map_open(&map, missing, &err));
    assert_int_equal(err.class_, ERROR_DATA);
    assert_contains(err.text, missing);
    assert_false(file_map_open(&map, "/tmp", &err));
    assert_contains(err.text, "not a regular file");
    free(full);
    free(empty);
    free(missing);
}

static void test_lock_in_a_missing_folder(void **state)
{
    struct error err = ERROR_INIT;
    char *path = folder_file(state, "no/lock", NULL);
    struct file_lock lock;
    assert_false(file_lock_take(&lock, path, 0, &err));
    assert_contains(err.text, "no/lock': No such file");
    free(path);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_read),
        WITH_FOLDER(test_read_refuses_what_is_no_file),
        WITH_FOLDER(test_gz_round_trip),
        WITH_FOLDER(test_gz_prefers_the_plain_file),
        WITH_FOLDER(test_gz_damage),
        WITH_FOLDER(test_write_atomic),
        WITH_FOLDER(test_write_atomic_on_a_full_disk),
        WITH_FOLDER(test_append_is_cut_back),
        WITH_FOLDER(test_make_dirs),
        cmocka_unit_test(test_path_join),
        WITH_FOLDER(test_lock_excludes_another_process),
        WITH_FOLDER(test_lock_in_a_missing_folder),
        WITH_FOLDER(test_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
