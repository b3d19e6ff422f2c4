/* What the tests of this room share: cmocka in the order it wants, and a folder of their own. */
#ifndef TESTS_BASE_HELPER_H
#define TESTS_BASE_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* cmocka setup and teardown: *state is the path of a new empty folder, removed afterwards with all
 * that is in it. */
int folder_setup(void **state);
int folder_teardown(void **state);

/* malloc'd path of a file `name` in the folder; with content != NULL the file is written. */
char *folder_file(void **state, const char *name, const char *content);

/* malloc'd content of a file, the test failing when it cannot be read. */
char *content_of(const char *path);

/* Names in a folder, "." and ".." aside. */
int count_entries(const char *folder);

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (!strstr((text), (part)))                                                               \
            fail_msg("'%s' does not contain '%s'", (text), (part));                                \
    } while (0)

#endif
