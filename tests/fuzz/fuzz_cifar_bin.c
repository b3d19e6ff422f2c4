/* needs: src/data cifar_bin_parse */
#include "data/cifar.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int classes[] = {10, 100};
    for (int i = 0; i < 2; i++) {
        struct cifar c;
        struct error err = ERROR_INIT;
        if (!cifar_bin_parse(data, size, classes[i], "fuzz", &c, &err)) {
            fuzz_check_error(err);
            continue;
        }
        fuzz_check(c.n > 0 && (size_t)c.n * CIFAR_PIXELS <= size);
        fuzz_touch(c.pixels, (size_t)c.n * CIFAR_PIXELS);
        for (int64_t k = 0; k < c.n; k++)
            fuzz_check(c.label[k] >= 0 && c.label[k] < classes[i]);
        cifar_release(&c);
    }
    return 0;
}
