/* needs: src/data cifar_bin_parse */
#include "fuzz_cifar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_cifar(cifar_bin_parse, data, size);
}
