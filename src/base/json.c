#include "base/json.h"
#include "base/file.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)64 << 20)

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

/* jansson passes over NUL bytes between tokens, as if they were blanks. */
static bool has_nul(const char *text, size_t len, const char *where, struct error *err)
{
    const char *nul = len > 0 ? memchr(text, '\0', len) : NULL;
    int line = 1, column = 1;
    if (!nul)
        return false;
    for (const char *p = text; p < nul; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    error_set(err, ERROR_DATA, "%s:%d:%d: a NUL byte, JSON is text", where, line, column);
    return true;
}

json_t *json_read_text(const char *text, size_t len, const char *where, struct error *err)
{
    json_error_t e;
    if (has_nul(text, len, where, err))
        return NULL;
    json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (value)
        return value;
    if (is_blank(text, len))
        error_set(err, ERROR_DATA, "%s:1:1: the text is empty, JSON was expected", where);
    else
        error_set(err, ERROR_DATA, "%s:%d:%d: %s", where, e.line > 0 ? e.line : 1,
                  e.column > 0 ? e.column : 1, e.text);
    return NULL;
}

json_t *json_read_file(const char *path, struct error *err)
{
    char *text;
    size_t len;
    if (!file_read(path, FILE_MAX, &text, &len, err))
        return NULL;
    json_t *value = json_read_text(text, len, path, err);
    free(text);
    return value;
}

char *json_line(const json_t *value)
{
    char *line = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    return line ? line : xstrdup("null");
}

json_t *json_number(double v)
{
    if (isnan(v))
        return json_string("nan");
    if (isinf(v))
        return json_string(v > 0 ? "inf" : "-inf");
    return json_real(v);
}

bool json_to_number(const json_t *value, double *out)
{
    static const struct {
        const char *name;
        double value;
    } names[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    if (json_is_number(value)) {
        *out = json_number_value(value);
        return true;
    }
    for (size_t i = 0; json_is_string(value) && i < sizeof names / sizeof *names; i++) {
        if (strcmp(json_string_value(value), names[i].name) == 0) {
            *out = names[i].value;
            return true;
        }
    }
    return false;
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "a list", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    return value ? names[json_typeof(value)] : "nothing";
}

/* The member, or NULL with *err filled when obj is no object or the key is missing. */
static const json_t *member(const json_t *obj, const char *key, const char *where,
                            struct error *err)
{
    if (!json_is_object(obj)) {
        error_set(err, ERROR_DATA, "%s: an object was expected, found %s", where, type_name(obj));
        return NULL;
    }
    const json_t *value = json_object_get(obj, key);
    if (!value)
        error_set(err, ERROR_DATA, "%s: the key '%s' is missing", where, key);
    return value;
}

static bool wrong_type(const json_t *value, const char *key, const char *where, const char *wanted,
                       struct error *err)
{
    if (json_is_string(value))
        return error_set(err, ERROR_DATA, "%s: '%s' must be %s, not the string \"%.80s\"", where,
                         key, wanted, json_string_value(value));
    return error_set(err, ERROR_DATA, "%s: '%s' must be %s, not %s", where, key, wanted,
                     type_name(value));
}

/* True when the key is absent from what is an object: the _or forms then give their default. */
static bool absent(const json_t *obj, const char *key)
{
    return json_is_object(obj) && !json_object_get(obj, key);
}

bool json_get_string(const json_t *obj, const char *key, const char *where, const char **out,
                     struct error *err)
{
    const json_t *value = member(obj, key, where, err);
    if (!value)
        return false;
    if (!json_is_string(value))
        return wrong_type(value, key, where, "a string", err);
    *out = json_string_value(value);
    return true;
}

bool json_get_int(const json_t *obj, const char *key, const char *where, int64_t *out,
                  struct error *err)
{
    const json_t *value = member(obj, key, where, err);
    if (!value)
        return false;
    if (!json_is_integer(value))
        return wrong_type(value, key, where, "an integer", err);
    *out = json_integer_value(value);
    return true;
}

bool json_get_number(const json_t *obj, const char *key, const char *where, double *out,
                     struct error *err)
{
    const json_t *value = member(obj, key, where, err);
    if (!value)
        return false;
    if (!json_to_number(value, out))
        return wrong_type(value, key, where, "a number", err);
    return true;
}

bool json_get_bool(const json_t *obj, const char *key, const char *where, bool *out,
                   struct error *err)
{
    const json_t *value = member(obj, key, where, err);
    if (!value)
        return false;
    if (!json_is_boolean(value))
        return wrong_type(value, key, where, "true or false", err);
    *out = json_is_true(value);
    return true;
}

bool json_get_string_or(const json_t *obj, const char *key, const char *where, const char *fallback,
                        const char **out, struct error *err)
{
    if (!absent(obj, key))
        return json_get_string(obj, key, where, out, err);
    *out = fallback;
    return true;
}

bool json_get_int_or(const json_t *obj, const char *key, const char *where, int64_t fallback,
                     int64_t *out, struct error *err)
{
    if (!absent(obj, key))
        return json_get_int(obj, key, where, out, err);
    *out = fallback;
    return true;
}

bool json_get_number_or(const json_t *obj, const char *key, const char *where, double fallback,
                        double *out, struct error *err)
{
    if (!absent(obj, key))
        return json_get_number(obj, key, where, out, err);
    *out = fallback;
    return true;
}

bool json_get_bool_or(const json_t *obj, const char *key, const char *where, bool fallback,
                      bool *out, struct error *err)
{
    if (!absent(obj, key))
        return json_get_bool(obj, key, where, out, err);
    *out = fallback;
    return true;
}
