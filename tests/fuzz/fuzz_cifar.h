/* What both readers of CIFAR's releases promise of images they accept. */
#ifndef TESTS_FUZZ_CIFAR_H
#define TESTS_FUZZ_CIFAR_H

#include "data/cifar.h"
#include "fuzz.h"

typedef bool fuzz_cifar_parse(const void *bytes, size_t n, int n_classes, const char *name,
                              struct cifar *out, struct error *err);

static inline int fuzz_cifar(fuzz_cifar_parse *parse, const uint8_t *data, size_t size)
{
    static const int classes[] = {10, 100};
    for (int i = 0; i < 2; i++) {
        struct cifar c;
        struct error err = ERROR_INIT;
        if (!parse(data, size, classes[i], "fuzz", &c, &err)) {
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

#endif
