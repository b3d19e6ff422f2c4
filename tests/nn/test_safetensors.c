/* safetensors: what is written reads back, and every malformed file is refused with its reason. */
#include "nn/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void test_round_trip(void **state)
{
    (void)state;
    struct safetensors_writer w;
    struct safetensors st;
    struct error err = ERROR_INIT;
    void *bytes = NULL;
    size_t len = 0;
    static const float a[6] = {1, -2, 3.5f, 0, 1e-30f, 7}, b[1] = {42};
    safetensors_writer_init(&w);
    safetensors_put_meta(&w, "epoch", "12");
    safetensors_put_f32(&w, "fc.weight", (const int32_t[]){2, 3}, 2, a);
    safetensors_put_f32(&w, "scalar", NULL, 0, b);
    safetensors_put_f32(&w, "empty", (const int32_t[]){0, 4}, 2, NULL);
    assert_true(safetensors_finish(&w, &bytes, &len, &err));
    safetensors_writer_release(&w);
    assert_int_equal(len % 8, (6 + 1) * 4 % 8);
    assert_true(safetensors_parse(&st, bytes, len, &err));
    assert_int_equal(st.n, 3);
    assert_string_equal(safetensors_meta(&st, "epoch"), "12");
    assert_null(safetensors_meta(&st, "nothing"));
    assert_null(safetensors_find(&st, "__metadata__"));
    const struct safetensor *t = safetensors_find(&st, "fc.weight");
    assert_true(t && t->rank == 2 && t->dims[0] == 2 && t->dims[1] == 3 && t->size == 24);
    assert_string_equal(t->dtype, "F32");
    assert_memory_equal(t->data, a, sizeof a);
    t = safetensors_find(&st, "scalar");
    assert_true(t && t->rank == 0 && t->size == 4 && t->begin == 24);
    assert_memory_equal(t->data, b, sizeof b);
    assert_int_equal(safetensors_find(&st, "empty")->size, 0);
    safetensors_release(&st);
    free(bytes);
}

/* A file of this header and n zero bytes of data. */
static bool parse_text(const char *header, size_t n, struct error *err)
{
    const uint64_t length = strlen(header);
    const size_t len = 8 + (size_t)length + n;
    char *bytes = calloc(len + 1, 1);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, (size_t)length);
    struct safetensors st;
    const bool ok = safetensors_parse(&st, bytes, len, err);
    if (ok)
        safetensors_release(&st);
    free(bytes);
    return ok;
}

static void test_accepts(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t n;
    } cases[] = {
        {"{}", 0},
        {"{\"__metadata__\":{\"k\":\"v\"}}   ", 0},
        {"{\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[8,12]},"
         "\"a\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}",
         12},
        {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[3,1],\"data_offsets\":[0,3]}}", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        if (!parse_text(cases[i].header, cases[i].n, &err))
            fail_msg("%s: %s", cases[i].header, err.text);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t n;
        const char *words;
    } cases[] = {
        {"", 0, "begin with '{'"},
        {"[]", 0, "begin with '{'"},
        {" {}", 0, "begin with '{'"},
        {"{", 0, "safetensors header"},
        {"{}x", 0, "safetensors header"},
        {"{}", 4, "the header speaks of 0"},
        {"{\"__metadata__\":[]}", 0, "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"k\":1}}", 0, "not a string"},
        {"{\"a\":1}", 0, "not an object"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype '(none)'"},
        {"{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "'F33'"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "shape must be"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
         "at most 8"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "whole number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4, "whole number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}}", 4,
         "overflows"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "overflows"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "[begin, end]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "[begin, end]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,\"4\"]}}", 4, "[begin, end]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3, "outside the data"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4,
         "outside the data"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "outside the data"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "shape of 8"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "leave a gap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         4, "overlap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         8, "overlap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8, "speaks of 4"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
         0, "safetensors header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        if (parse_text(cases[i].header, cases[i].n, &err))
            fail_msg("accepted: %s", cases[i].header);
        if (!strstr(err.text, cases[i].words))
            fail_msg("%s: '%s' does not speak of '%s'", cases[i].header, err.text, cases[i].words);
        assert_int_equal(err.class_, ERROR_DATA);
    }
}

static void test_header_length(void **state)
{
    (void)state;
    struct safetensors st;
    struct error err = ERROR_INIT;
    unsigned char bytes[10] = {0};
    for (size_t len = 0; len < 8; len++)
        assert_false(safetensors_parse(&st, bytes, len, &err));
    static const uint64_t lengths[] = {3, 100000001, UINT64_MAX, UINT64_MAX - 7, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memcpy(bytes, &lengths[i], 8);
        assert_false(safetensors_parse(&st, bytes, sizeof bytes, &err));
    }
    bytes[0] = 2;
    memset(bytes + 1, 0, 7);
    memcpy(bytes + 8, "{}", 2);
    assert_true(safetensors_parse(&st, bytes, sizeof bytes, &err));
    safetensors_release(&st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_header_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
