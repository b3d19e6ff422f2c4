/* Counts, sizes and shapes as list shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/list.h"

#include <stdlib.h>

static void expect(char *text, const char *wanted)
{
    assert_string_equal(text, wanted);
    free(text);
}

static void counts_have_three_digits(void **state)
{
    (void)state;
    expect(list_count(0), "0");
    expect(list_count(999), "999");
    expect(list_count(1000), "1.00 k");
    expect(list_count(9473), "9.47 k");
    expect(list_count(99940), "99.9 k");
    expect(list_count(99960), "100 k");
    expect(list_count(999499), "999 k");
    expect(list_count(999500), "1.00 M");
    expect(list_count(11.2e9), "11.2 G");
    expect(list_count(5e15), "5000 T");
}

static void sizes_are_binary(void **state)
{
    (void)state;
    expect(list_bytes(512), "512 B");
    expect(list_bytes(1024), "1.00 KiB");
    expect(list_bytes(1536), "1.50 KiB");
    expect(list_bytes(1024.0 * 1024 * 14.6), "14.6 MiB");
    expect(list_bytes(1024.0 * 1024 * 1024 * 2.26), "2.26 GiB");
}

static void shapes_are_read_in_memory_order(void **state)
{
    (void)state;
    expect(list_shape(shape_image(32, 16, 3), false), "32x16x3");
    expect(list_shape(shape_vector(8), false), "8 values");
    expect(list_shape(shape_vector(128), true), "128 tokens");
    expect(list_shape((struct shape){2, {5, 7, 1}}, false), "5x7");
    json_t *dims = list_shape_json(shape_image(32, 16, 3));
    assert_int_equal(json_array_size(dims), 3);
    assert_int_equal(json_integer_value(json_array_get(dims, 1)), 16);
    json_decref(dims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_three_digits),
        cmocka_unit_test(sizes_are_binary),
        cmocka_unit_test(shapes_are_read_in_memory_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
