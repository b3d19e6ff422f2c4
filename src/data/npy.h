/* numpy's files: an array (.npy), and the zip archive of arrays that numpy.savez writes (.npz).
 * Element types u1, i4, i8, f4, f8 of little-endian order, arrays in C order; pickled objects are
 * never read.
 */
#ifndef DATA_NPY_H
#define DATA_NPY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum npy_type { NPY_U1, NPY_I4, NPY_I8, NPY_F4, NPY_F8 };
#define NPY_MAX_DIMS 8

struct npy {
    enum npy_type type;
    int n_dims;
    int64_t dim[NPY_MAX_DIMS];
    size_t count;     /* of elements: the product of the dimensions */
    const void *data; /* count elements, perhaps not aligned; points into the bytes parsed */
};

/* Head and contents: exactly as many bytes as the head says.  Allocates nothing that lasts. */
bool npy_parse(const void *bytes, size_t n, const char *name, struct npy *out, struct error *err);
/* The head alone (data is NULL); total, the size of the whole array file, must fit what it says. */
bool npy_parse_head(const void *bytes, size_t n, size_t total, const char *name, struct npy *out,
                    struct error *err);
/* Element i as a double; exact but for i8 beyond 2^53. */
double npy_at(const struct npy *a, size_t i);
size_t npy_size(enum npy_type type);

/* The members of an archive, in memory. */
struct npz_member {
    char *name;           /* "x_train": without its .npy.  Owned. */
    size_t at;            /* of its packed bytes */
    size_t packed, plain; /* sizes in bytes */
    int method;           /* 0 stored, 8 deflated */
    uint32_t crc;
};
struct npz {
    const uint8_t *bytes; /* borrowed: outlives the npz */
    size_t n;
    const char *name; /* borrowed */
    struct npz_member *member;
    int n_members;
};

/* The directory of the archive; members that are not .npy are passed over.  Encrypted, split and
 * otherwise packed members are errors, as are directories that do not fit the file.  What is
 * allocated is bounded by the number of bytes. */
bool npz_parse(const void *bytes, size_t n, const char *name, struct npz *out, struct error *err);
void npz_release(struct npz *z);
/* NULL when absent. */
const struct npz_member *npz_find(const struct npz *z, const char *name);
/* An array, unpacked when it is packed, its CRC checked.  *owned is what data points into when it
 * had to be unpacked (free it), else NULL.  A packed member larger than its 1032-fold, the most
 * that deflate can do, is refused before anything is allocated. */
bool npz_load(const struct npz *z, const struct npz_member *m, struct npy *out, void **owned,
              struct error *err);
/* Type and dimensions only: unpacks no more than the head. */
bool npz_describe(const struct npz *z, const struct npz_member *m, struct npy *out,
                  struct error *err);

#endif
