/* Reading single operations of tests/golden (README.md there). */
#ifndef TESTS_BACKEND_HELPER_GOLDEN_H
#define TESTS_BACKEND_HELPER_GOLDEN_H

#include "helper_case.h"

#include "base/json.h"

json_t *read_golden(const char *file);

/* A tensor of the file: count, dimensions, values; count 0 where there is none. */
struct tensor {
    size_t count;
    int rank;
    int32_t dim[4];
    double *value;
};

struct tensor tensor_of(const json_t *c, const char *key);
/* N,C,H,W to N,H,W,C (channels a run of `area`); anything of lower rank stays. */
void to_memory(const struct tensor *t, double *out);
/* PyTorch's weight to memory: [out][in]... to [...][in][out]. */
void weight_to_memory(const struct tensor *t, double *out);
/* An attribute given once or for height and width. */
void pair_of(const json_t *c, const char *key, int32_t fallback, int32_t *h, int32_t *w);
/* `got` is what the file says under `key` (where it says anything), to 3e-6 of the largest. */
void compare(const json_t *c, const char *key, void (*convert)(const struct tensor *, double *),
             const double *got, const char *what);

#endif
