/* cmocka in the order it wants, and what the tests of this room share. */
#ifndef TESTS_NN_HELPER_H
#define TESTS_NN_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

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

/* A file of tests/golden as JSON (a new reference); the test fails when it cannot be read. */
json_t *golden(const char *name);

#endif
