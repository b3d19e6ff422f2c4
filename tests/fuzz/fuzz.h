/* Fuzz targets: tests/fuzz/fuzz_<format>.c feeds one parser with any bytes.  A target may abort()
 * on a broken promise of the parser (fuzz_check); crashes, hangs, leaks and absurd allocations are
 * found by what runs it:
 *   driver.c    without any special compiler: the corpus, then mutations of it from a fixed seed;
 *               ctest runs a short one of each as fuzz_<format>
 *   run.sh      libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer (clang), for long
 * Seeds lie in corpus/<format>/; an input that once broke something is kept there as found-*.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(promise)                                                                        \
    do {                                                                                           \
        if (!(promise)) {                                                                          \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #promise);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* An error is a sentence. */
#define fuzz_check_error(err) fuzz_check((err).class_ != ERROR_NONE && (err).text[0] != '\0')

/* Reads every byte, so that AddressSanitizer sees a range that is not all the parser's to give. */
static inline uint64_t fuzz_touch(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + p[i];
    return sum;
}

#endif
