/* The table of downloads: each entry can be fetched, checked and put into place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/download.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_hex(const char *s, size_t n)
{
    return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

static bool is_inside(const char *path)
{
    return *path && *path != '/' && !strstr(path, "..");
}

static void every_file_can_be_checked(void **state)
{
    (void)state;
    for (const struct download *const *d = download_table(); *d; d++) {
        assert_true((*d)->n_files > 0 && (*d)->n_checks > 0);
        assert_true((*d)->weights || data_find((*d)->name));
        assert_true(download_size(*d) > 0);
        for (int i = 0; i < (*d)->n_files; i++) {
            const struct download_file *f = &(*d)->files[i];
            assert_true(is_inside(f->name) && !strchr(f->name, '/') && is_inside(f->place));
            assert_non_null(f->source[0]);
            for (int s = 0; f->source[s]; s++)
                assert_true(text_starts_with(f->source[s], "https://") ||
                            (s > 0 && text_starts_with(f->source[s], "http://")));
            assert_true(!f->md5 || is_hex(f->md5, 32));
            assert_true(!f->sha256 || is_hex(f->sha256, 64));
            /* The one file without a digest of ours is checked by the one its server states. */
            assert_true(f->md5 || f->sha256 || strstr(f->source[0], "huggingface.co"));
            assert_true(f->size > 0 || f->about > 0);
            assert_int_equal(f->take != NULL, f->unpacked > 0);
            assert_true(!f->take || f->unpacked >= f->size);
        }
        for (int i = 0; i < (*d)->n_checks; i++)
            assert_true(is_inside((*d)->checks[i].path));
    }
}

static void names_are_found(void **state)
{
    (void)state;
    assert_string_equal(download_find("MNIST")->name, "mnist");
    assert_string_equal(download_find("wikitext?seq=16")->name, "wikitext");
    assert_true(download_find("xlm_roberta")->weights);
    assert_null(download_find("digits"));
    assert_null(download_find(""));
    assert_int_equal(download_size(download_find("mnist")), 9912422 + 28881 + 1648877 + 4542);
}

static void put(const char *root, const char *path, const char *text)
{
    char *whole = path_join(root, path), *folder = xstrdup(whole);
    struct error err = ERROR_INIT;
    *strrchr(folder, '/') = '\0';
    assert_true(file_make_dirs(folder, &err));
    assert_true(file_write_atomic(whole, text, strlen(text), &err));
    free(folder);
    free(whole);
}

/* Sizes count, a .gz stands in, empty files do not count. */
static void presence(void **state)
{
    (void)state;
    static const struct download_check checks[] = {{.path = "a/file", .size = 3},
                                                   {.path = "many", .files = 2}};
    const struct download d = {.name = "d", .checks = checks, .n_checks = 2};
    char root[] = "/tmp/fugue_download_XXXXXX";
    assert_non_null(mkdtemp(root));
    assert_false(download_present(&d, root));
    put(root, "a/file", "abc");
    put(root, "many/one", "1");
    put(root, "many/deep/two", "");
    assert_false(download_present(&d, root));
    put(root, "many/deep/two", "2");
    assert_true(download_present(&d, root));
    put(root, "a/file", "abcd");
    assert_false(download_present(&d, root));
    char *command = xasprintf("rm %s/a/file", root);
    assert_int_equal(system(command), 0);
    free(command);
    assert_false(download_present(&d, root));
    put(root, "a/file.gz", "packed");
    assert_true(download_present(&d, root));
    command = xasprintf("rm -r %s", root);
    assert_int_equal(system(command), 0);
    free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_can_be_checked),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(presence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
