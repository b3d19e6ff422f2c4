/* cmocka in the order it wants, a folder of their own, and files of bytes for the tests of this
 * room. */
#ifndef TESTS_DATA_HELPER_H
#define TESTS_DATA_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka setup and teardown: *state is the path of a new empty folder, removed afterwards. */
int folder_setup(void **state);
int folder_teardown(void **state);

/* Writes a file under the folder, with the folders above it; gz compresses it. */
void write_file(void **state, const char *name, const void *data, size_t len);
void write_gz(void **state, const char *name, const void *data, size_t len);
void remove_file(void **state, const char *name);

/* The data root of the real sets; ends the process with 77 ("skipped") where there is none. */
const char *real_root(void);

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (!strstr((text), (part)))                                                               \
            fail_msg("'%s' does not contain '%s'", (text), (part));                                \
    } while (0)

#define assert_near(got, want, tolerance)                                                          \
    do {                                                                                           \
        if (!(fabs((double)(got) - (double)(want)) <= (tolerance)))                                \
            fail_msg("%.17g is not within %g of %.17g", (double)(got), (double)(tolerance),        \
                     (double)(want));                                                              \
    } while (0)

#endif
