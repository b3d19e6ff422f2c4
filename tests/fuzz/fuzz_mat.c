/* needs: src/data/mat.c mat_parse */
#include "data/mat.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const variables[] = {"labels", "trnid"};
    for (int i = 0; i < 2; i++) {
        struct mat_vector v;
        struct error err = ERROR_INIT;
        if (mat_parse(data, size, "fuzz", variables[i], &v, &err)) {
            fuzz_touch(v.value, v.n * sizeof *v.value);
            mat_vector_release(&v);
        } else {
            fuzz_check_error(err);
        }
    }
    return 0;
}
