#include "base/spec.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void spec_release(struct spec *spec)
{
    free(spec->name);
    for (int i = 0; i < spec->n_args; i++) {
        free(spec->key[i]);
        free(spec->value[i]);
    }
    *spec = (struct spec){0};
}

/* Adds one "key=value". */
static bool add_argument(struct spec *spec, const char *argument, const char *text,
                         struct error *err)
{
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument || equals[1] == '\0')
        return error_set(err, ERROR_USAGE,
                         "'%s': the argument '%s' is not KEY=VALUE (write NAME?KEY=VALUE&KEY=VALUE)",
                         text, argument);
    if (spec->n_args == SPEC_MAX_ARGS)
        return error_set(err, ERROR_USAGE, "'%s' has more than %d arguments", text, SPEC_MAX_ARGS);
    char *key = xasprintf("%.*s", (int)(equals - argument), argument);
    if (spec_get(spec, key)) {
        error_set(err, ERROR_USAGE, "'%s' gives the argument '%s' twice; keep one", text, key);
        free(key);
        return false;
    }
    spec->key[spec->n_args] = key;
    spec->value[spec->n_args++] = xstrdup(equals + 1);
    return true;
}

bool spec_parse(struct spec *spec, const char *text, struct error *err)
{
    *spec = (struct spec){0};
    const char *mark = strchr(text, '?');
    const size_t name_len = mark ? (size_t)(mark - text) : strlen(text);
    if (name_len == 0)
        return error_set(err, ERROR_USAGE, "'%s' has no name before its arguments", text);
    spec->name = xasprintf("%.*s", (int)name_len, text);
    if (!mark)
        return true;
    struct text_list arguments;
    text_list_init(&arguments);
    text_split(&arguments, mark + 1, '&');
    bool ok = true;
    for (size_t i = 0; ok && i < arguments.n; i++)
        ok = add_argument(spec, arguments.items[i], text, err);
    text_list_release(&arguments);
    if (!ok)
        spec_release(spec);
    return ok;
}

const char *spec_get(const struct spec *spec, const char *key)
{
    for (int i = 0; i < spec->n_args; i++)
        if (strcmp(spec->key[i], key) == 0)
            return spec->value[i];
    return NULL;
}

bool spec_get_int(const struct spec *spec, const char *key, int64_t fallback, int64_t min,
                  int64_t max, int64_t *out, struct error *err)
{
    const char *value = spec_get(spec, key);
    int64_t v = fallback;
    if (value && (!text_to_int64(value, &v) || v < min || v > max))
        return error_set(err, ERROR_USAGE,
                         "%s: '%s' must be an integer from %lld to %lld, not '%s'", spec->name, key,
                         (long long)min, (long long)max, value);
    *out = v;
    return true;
}

bool spec_get_number(const struct spec *spec, const char *key, double fallback, double min,
                     double max, double *out, struct error *err)
{
    const char *value = spec_get(spec, key);
    double v = fallback;
    if (value && (!text_to_double(value, &v) || v < min || v > max))
        return error_set(err, ERROR_USAGE, "%s: '%s' must be a number from %g to %g, not '%s'",
                         spec->name, key, min, max, value);
    *out = v;
    return true;
}

bool spec_only(const struct spec *spec, const char *const *known, int n, struct error *err)
{
    for (int i = 0; i < spec->n_args; i++) {
        bool found = false;
        for (int j = 0; j < n && !found; j++)
            found = strcmp(spec->key[i], known[j]) == 0;
        if (found)
            continue;
        if (n <= 0)
            return error_set(err, ERROR_USAGE, "'%s' takes no arguments, so '%s' means nothing",
                             spec->name, spec->key[i]);
        struct text all;
        text_init(&all);
        for (int j = 0; j < n; j++)
            text_addf(&all, "%s%s", j > 0 ? ", " : "", known[j]);
        error_set(err, ERROR_USAGE, "'%s' has no argument '%s'%s; it takes: %s", spec->name,
                  spec->key[i], text_did_you_mean(spec->key[i], known, (size_t)n), all.data);
        text_release(&all);
        return false;
    }
    return true;
}
