#include "helper_data.h"

#include "base/file.h"
#include "base/text.h"

#include <ftw.h>
#include <unistd.h>
#include <zlib.h>

int folder_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    char *folder = xasprintf("%s/fugue-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        free(folder);
        return -1;
    }
    *state = folder;
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int folder_teardown(void **state)
{
    const int rc = nftw(*state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return rc;
}

/* malloc'd path; the folders above it exist afterwards. */
static char *prepared(void **state, const char *name)
{
    char *path = path_join(*state, name), *slash = strrchr(path, '/');
    struct error err = ERROR_INIT;
    *slash = '\0';
    if (!file_make_dirs(path, &err))
        fail_msg("%s", err.text);
    *slash = '/';
    return path;
}

void write_file(void **state, const char *name, const void *data, size_t len)
{
    char *path = prepared(state, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    free(path);
}

void write_gz(void **state, const char *name, const void *data, size_t len)
{
    char *path = prepared(state, name);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, data, (unsigned)len), len);
    assert_int_equal(gzclose(f), Z_OK);
    free(path);
}

void remove_file(void **state, const char *name)
{
    char *path = path_join(*state, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

const char *real_root(void)
{
    const char *root = getenv("FUGUE_DATA_DIR");
    if (!root || !*root) {
        printf("skipped: FUGUE_DATA_DIR is not set, so there are no real data sets to read\n");
        exit(77);
    }
    return root;
}
