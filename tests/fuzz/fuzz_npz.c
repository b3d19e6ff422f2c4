/* needs: src/data npz_parse */
#include "data/npy.h"
#include "fuzz.h"

static void touch(const struct npy *a, size_t most)
{
    fuzz_check(a->n_dims >= 0 && a->n_dims <= NPY_MAX_DIMS);
    fuzz_check(a->count * npy_size(a->type) <= most);
    for (size_t i = 0; i < a->count; i++)
        (void)npy_at(a, i);
}

/* The archive and its arrays; then the same bytes as one array. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npz z;
    struct npy a;
    struct error err = ERROR_INIT;
    if (npz_parse(data, size, "fuzz", &z, &err)) {
        for (int i = 0; i < z.n_members; i++) {
            void *owned = NULL;
            (void)npz_describe(&z, &z.member[i], &a, &err);
            if (npz_load(&z, &z.member[i], &a, &owned, &err))
                touch(&a, z.member[i].plain);
            free(owned);
        }
        npz_release(&z);
    } else {
        fuzz_check_error(err);
    }
    if (npy_parse(data, size, "fuzz", &a, &err))
        touch(&a, size);
    return 0;
}
