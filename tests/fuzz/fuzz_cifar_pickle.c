/* needs: src/data cifar_pickle_parse */
#include "fuzz_cifar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_cifar(cifar_pickle_parse, data, size);
}
