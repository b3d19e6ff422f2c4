/* Names of members: what may lie below a folder, and what must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "fetch/tree.h"
#include "fetch/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *clean; /* NULL: refused */
    } cases[] = {
        {"a", "a"},          {"./a//b/", "a/b"}, {"a/./b", "a/b"}, {"..a/b..", "..a/b.."},
        {"", NULL},          {"/a", NULL},       {"..", NULL},     {"../a", NULL},
        {"a/../../b", NULL}, {"a/b/..", NULL},   {".", ""},        {"...", "..."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *clean = NULL;
        assert_int_equal(unpack_name_ok(cases[i].name, &clean), cases[i].clean != NULL);
        if (cases[i].clean)
            assert_string_equal(clean, cases[i].clean);
        else
            assert_null(clean);
        free(clean);
    }
    char longer[1200];
    memset(longer, 'n', sizeof longer);
    longer[1100] = '\0';
    assert_false(unpack_name_ok(longer, NULL));
    assert_false(unpack_name_ok(NULL, NULL));
}

static char *below(const char *root, const char *path, const char *text)
{
    char *whole = path_join(root, path), *folder = xstrdup(whole);
    struct error err = ERROR_INIT;
    *strrchr(folder, '/') = '\0';
    assert_true(file_make_dirs(folder, &err));
    assert_true(file_write_atomic(whole, text, strlen(text), &err));
    free(folder);
    return whole;
}

/* A folder moved over another replaces namesakes and leaves the rest; links are never followed. */
static void trees(void **state)
{
    (void)state;
    char root[] = "/tmp/fugue_tree_XXXXXX";
    struct error err = ERROR_INIT;
    assert_non_null(mkdtemp(root));
    char *a = below(root, "new/deep/a", "new a"), *b = below(root, "new/b", "b");
    char *old = below(root, "old/deep/a", "a"), *mine = below(root, "old/mine", "mine");
    char *from = path_join(root, "new"), *to = path_join(root, "old");
    assert_int_equal(tree_bytes(root), 5 + 1 + 1 + 4);
    assert_true(tree_place(from, to, &err));
    assert_false(file_exists(from));
    assert_int_equal(file_size(old), 5);
    assert_int_equal(file_size(mine), 4);
    char *elsewhere = path_join(root, "made/on/the/way");
    assert_true(tree_place(to, elsewhere, &err));
    assert_false(file_exists(to));
    assert_int_equal(tree_bytes(elsewhere), 5 + 1 + 4);
    char *link = path_join(root, "link");
    assert_int_equal(symlink("/etc", link), 0);
    int64_t bytes = 0;
    assert_true(tree_remove(root, &bytes, &err));
    assert_false(file_exists(root));
    assert_true(file_exists("/etc/passwd"));
    assert_true(bytes >= 10);
    assert_true(tree_remove(root, &bytes, &err)); /* what is gone is gone */
    char *const all[] = {a, b, old, mine, from, to, elsewhere, link};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
