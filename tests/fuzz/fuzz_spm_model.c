/* needs: src/data/text/spm_model.c spm_model_pieces */
#include "data/text/spm_model.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int32_t pieces;
    struct error err = ERROR_INIT;
    if (spm_model_pieces((const char *)data, size, "fuzz", &pieces, &err))
        fuzz_check(pieces > 2 && (size_t)pieces <= size);
    else
        fuzz_check_error(err);
    return 0;
}
