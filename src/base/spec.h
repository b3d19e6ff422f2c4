/* Names with arguments, as models and data sets take them: "transformer?layers=2&d_model=128",
 * "folder:PATH?transform=crop32".
 */
#ifndef BASE_SPEC_H
#define BASE_SPEC_H

#include "base/error.h"

#include <stdint.h>

#define SPEC_MAX_ARGS 16

struct spec {
    char *name; /* what stands before '?' */
    int n_args;
    char *key[SPEC_MAX_ARGS], *value[SPEC_MAX_ARGS];
};

/* Splits; an empty name, an argument without '=', an empty key or value, a repeated key are errors.
 */
bool spec_parse(struct spec *spec, const char *text, struct error *err);
void spec_release(struct spec *spec);

/* NULL when the argument is not given; borrowed. */
const char *spec_get(const struct spec *spec, const char *key);
/* An integer argument within [min, max], or `fallback` when absent. */
bool spec_get_int(const struct spec *spec, const char *key, int64_t fallback, int64_t min,
                  int64_t max, int64_t *out, struct error *err);
bool spec_get_number(const struct spec *spec, const char *key, double fallback, double min,
                     double max, double *out, struct error *err);
/* Error naming the first argument that is not among the n known ones (with the closest match). */
bool spec_only(const struct spec *spec, const char *const *known, int n, struct error *err);

#endif
