/* Digests against the vectors of RFC 1321 and FIPS 180-4, in pieces of every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "fetch/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *text, *md5, *sha256;
} vectors[] = {
    {"", "d41d8cd98f00b204e9800998ecf8427e",
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72",
     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "57edf4a22be3c955ac49da2e2107b67a",
     "f371bc4a311f2b009eef952dd83ca80e2b60026c8e935592d0f9c308453c813e"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "8215ef0796a20bcaaae116d3876c664a",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void known_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *text = vectors[i].text;
        const size_t len = strlen(text);
        for (size_t piece = 1; piece <= len + 1; piece++) {
            struct digest m, s;
            char hex[DIGEST_HEX];
            digest_md5_init(&m);
            digest_sha256_init(&s);
            for (size_t at = 0; at < len; at += piece) {
                digest_add(&m, text + at, len - at < piece ? len - at : piece);
                digest_add(&s, text + at, len - at < piece ? len - at : piece);
            }
            digest_hex(&m, hex);
            assert_string_equal(hex, vectors[i].md5);
            digest_hex(&s, hex);
            assert_string_equal(hex, vectors[i].sha256);
        }
    }
}

/* FIPS 180-4's long message: a million times "a". */
static void a_file_in_one_pass(void **state)
{
    (void)state;
    char path[] = "/tmp/fugue_digest_XXXXXX", md5[DIGEST_HEX], sha256[DIGEST_HEX];
    struct error err = ERROR_INIT;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const size_t n = 1000000;
    char *text = xmalloc(n);
    memset(text, 'a', n);
    assert_true(file_write_atomic(path, text, n, &err));
    free(text);
    assert_true(digest_file(path, md5, sha256, NULL, &err));
    assert_string_equal(md5, "7707d6ae4e027c70eea2a935c2296f21");
    assert_string_equal(sha256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    assert_true(digest_file(path, NULL, sha256, NULL, &err));
    unlink(path);
    assert_false(digest_file(path, md5, NULL, NULL, &err));
    assert_non_null(strstr(err.text, path));
}

static bool always(void)
{
    return true;
}

static void a_stop_is_obeyed(void **state)
{
    (void)state;
    char md5[DIGEST_HEX];
    struct error err = ERROR_INIT;
    assert_false(digest_file("/etc/passwd", md5, NULL, always, &err));
    assert_int_equal(err.class_, ERROR_RUN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors),
        cmocka_unit_test(a_file_in_one_pass),
        cmocka_unit_test(a_stop_is_obeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
