/* CIFAR-10 and CIFAR-100 in both of their releases.
 *
 * Binary: records of 1 label byte (CIFAR-100: coarse, then fine) and 3072 bytes, the planes red,
 * green, blue of 32 x 32.
 * Python: a pickle of protocol 2, as Python 2 wrote it: one dictionary, whose "data" is a numpy
 * array of n x 3072 bytes and whose "labels" (CIFAR-100: "fine_labels") is a list of n small
 * numbers.  The reader knows the opcodes of exactly these files and runs nothing: what a file names
 * is compared, never looked up.
 */
#ifndef DATA_CIFAR_H
#define DATA_CIFAR_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define CIFAR_SIDE   32
#define CIFAR_PIXELS (3 * CIFAR_SIDE * CIFAR_SIDE)

/* Images in the order of the file, NHWC, and their labels. */
struct cifar {
    int64_t n;
    uint8_t *pixels; /* n x 32 x 32 x 3; owned */
    int32_t *label;  /* n; owned */
};

/* n_classes: 10 or 100 (its fine labels).  `name` stands for the file in errors.  What is allocated
 * is bounded by the size of the input. */
bool cifar_bin_parse(const void *bytes, size_t n, int n_classes, const char *name,
                     struct cifar *out, struct error *err);
bool cifar_pickle_parse(const void *bytes, size_t n, int n_classes, const char *name,
                        struct cifar *out, struct error *err);
void cifar_release(struct cifar *c);

/* For the two parsers: room for n images; the planes of one, pixel by pixel. */
bool cifar_alloc(struct cifar *c, int64_t n, const char *name, struct error *err);
void cifar_from_planes(const uint8_t *planes, uint8_t *nhwc);

#endif
