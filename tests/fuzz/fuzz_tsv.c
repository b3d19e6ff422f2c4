/* needs: src/data/text/tsv.c tsv_parse */
#include "data/text/tsv.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsv t;
    struct error err = ERROR_INIT;
    if (!tsv_parse((const char *)data, size, "fuzz", 2, &t, &err)) {
        fuzz_check_error(err);
        return 0;
    }
    fuzz_check(t.n > 0);
    for (int64_t i = 0; i < t.n; i++) {
        const struct tsv_row *r = &t.rows[i];
        fuzz_check(r->len > 0 && r->len <= TSV_MAX_SENTENCE && r->label >= 0 && r->label < 2);
        fuzz_check(r->text >= (const char *)data && r->text + r->len <= (const char *)data + size);
    }
    tsv_release(&t);
    return 0;
}
