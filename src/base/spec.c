#include "base/spec.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static char *copy_range(const char *from, const char *to)
{
    const size_t n = (size_t)(to - from);
    char *s = xmalloc(n + 1);
    memcpy(s, from, n);
    s[n] = '\0';
    return s;
}

/* One "key=value" that ends at `end`; `text` is the whole, for messages. */
static bool add_argument(struct spec *spec, const char *text, const char *at, const char *end,
                         struct error *err)
{
    const char *equals = memchr(at, '=', (size_t)(end - at));
    const int len = (int)(end - at);
    if (len == 0)
        return error_set(err, ERROR_USAGE,
                         "'%s': an empty argument; write NAME?KEY=VALUE&KEY=VALUE", text);
    if (!equals)
        return error_set(err, ERROR_USAGE, "'%s': argument '%.*s' has no value; write KEY=VALUE",
                         text, len, at);
    if (equals == at || equals + 1 == end)
        return error_set(err, ERROR_USAGE, "'%s': argument '%.*s' lacks its %s; write KEY=VALUE",
                         text, len, at, equals == at ? "key" : "value");
    if (spec->n_args == SPEC_MAX_ARGS)
        return error_set(err, ERROR_USAGE, "'%s': more than %d arguments", text, SPEC_MAX_ARGS);
    char *key = copy_range(at, equals);
    if (spec_get(spec, key)) {
        error_set(err, ERROR_USAGE, "'%s': argument '%s' is given twice", text, key);
        free(key);
        return false;
    }
    spec->key[spec->n_args] = key;
    spec->value[spec->n_args] = copy_range(equals + 1, end);
    spec->n_args++;
    return true;
}

bool spec_parse(struct spec *spec, const char *text, struct error *err)
{
    *spec = (struct spec){0};
    const char *question = strchr(text, '?');
    const char *name_end = question ? question : text + strlen(text);
    if (name_end == text)
        return error_set(err, ERROR_USAGE, "'%s': the name is empty; write NAME or NAME?KEY=VALUE",
                         text);
    spec->name = copy_range(text, name_end);
    const char *at = question ? question + 1 : NULL;
    while (at) {
        const char *amp = strchr(at, '&');
        if (!add_argument(spec, text, at, amp ? amp : at + strlen(at), err)) {
            spec_release(spec);
            return false;
        }
        at = amp ? amp + 1 : NULL;
    }
    return true;
}

void spec_release(struct spec *spec)
{
    free(spec->name);
    for (int i = 0; i < spec->n_args; i++) {
        free(spec->key[i]);
        free(spec->value[i]);
    }
    *spec = (struct spec){0};
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
                         "%s: argument %s=%s must be a whole number from %lld to %lld", spec->name,
                         key, value, (long long)min, (long long)max);
    *out = v;
    return true;
}

bool spec_get_number(const struct spec *spec, const char *key, double fallback, double min,
                     double max, double *out, struct error *err)
{
    const char *value = spec_get(spec, key);
    double v = fallback;
    if (value && (!text_to_double(value, &v) || v < min || v > max))
        return error_set(err, ERROR_USAGE, "%s: argument %s=%s must be a number from %g to %g",
                         spec->name, key, value, min, max);
    *out = v;
    return true;
}

bool spec_only(const struct spec *spec, const char *const *known, int n, struct error *err)
{
    for (int i = 0; i < spec->n_args; i++) {
        int j = 0;
        while (j < n && strcmp(spec->key[i], known[j]) != 0)
            j++;
        if (j < n)
            continue;
        if (n == 0)
            return error_set(err, ERROR_USAGE, "%s takes no arguments, but has '%s'", spec->name,
                             spec->key[i]);
        struct text list;
        text_init(&list);
        for (int k = 0; k < n; k++)
            text_addf(&list, "%s%s", k ? ", " : "", known[k]);
        error_set(err, ERROR_USAGE, "%s has no argument '%s'%s; it takes %s", spec->name,
                  spec->key[i], text_did_you_mean(spec->key[i], known, (size_t)n), list.data);
        text_release(&list);
        return false;
    }
    return true;
}
