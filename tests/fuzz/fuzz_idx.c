/* needs: src/data/idx.c idx_parse */
#include "data/idx.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct idx_array a;
    struct error err = ERROR_INIT;
    if (idx_parse(data, size, "fuzz", &a, &err)) {
        fuzz_check(a.len == (size_t)a.dim[0] * a.dim[1] * a.dim[2]);
        fuzz_check(a.n_dims >= 1 && a.n_dims <= 3);
        fuzz_touch(a.data, a.len);
    } else {
        fuzz_check_error(err);
    }
    return 0;
}
