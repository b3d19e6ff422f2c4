/* needs: src/data/text/words.c vocabulary_make */
#include "data/text/utf8.h"
#include "data/text/words.h"
#include "fuzz.h"

/* The first byte is the size of the vocabulary, less two. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    if (size < 2 || utf8_valid_len(text, size - 1) != size - 1)
        return 0;
    struct vocabulary *v = vocabulary_make(text, size - 1, 2 + data[0]);
    const int64_t n = words_count(text, size - 1);
    int32_t *ids = malloc((size_t)(n + 1) * sizeof *ids);
    fuzz_check(vocabulary_encode(v, text, size - 1, n, ids) == n);
    fuzz_check(vocabulary_size(v) <= 2 + data[0]);
    for (int64_t i = 0; i < n; i++)
        fuzz_check(ids[i] >= WORD_ID_UNKNOWN && ids[i] < vocabulary_size(v));
    free(ids);
    vocabulary_free(v);
    return 0;
}
