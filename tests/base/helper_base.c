#include "helper_base.h"
#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

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
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int folder_teardown(void **state)
{
    const int rc = nftw(*state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return rc;
}

char *folder_file(void **state, const char *name, const char *content)
{
    char *path = path_join(*state, name);
    if (content) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(content, f) >= 0);
        assert_int_equal(fclose(f), 0);
    }
    return path;
}

char *content_of(const char *path)
{
    struct error err = ERROR_INIT;
    char *text = NULL;
    size_t len;
    if (!file_read(path, 1 << 24, &text, &len, &err))
        fail_msg("%s", err.text);
    return text;
}

int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = -2;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}
