/* JSON on jansson: reading with file, line and column in every error, typed access with the path in
 * every error, one-line writing with 17 digits and non-finite numbers as strings.
 * Ownership: functions returning json_t * give a new reference unless they say "borrowed".
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

/* Reads a whole file.  Duplicate keys, trailing garbage, bad UTF-8 are errors:
 * "FILE:LINE:COLUMN: what".  Files over 64 MiB are refused. */
json_t *json_read_file(const char *path, struct error *err);
/* Reads a string; `where` names it in errors. */
json_t *json_read_text(const char *text, size_t len, const char *where, struct error *err);

/* One line, no newline, keys in insertion order, 17 significant digits.  malloc'd. */
char *json_line(const json_t *value);
/* A real; non-finite values become "nan", "inf", "-inf". */
json_t *json_number(double v);
/* Accepts integers, reals, and the three strings above. */
bool json_to_number(const json_t *value, double *out);

/* Typed access to members of an object.  `where` is the path for messages ("experiments.json:
 * E99"). The _or forms give a default when the key is absent; the plain forms report a missing key.
 * A wrong type is always an error.  Strings are borrowed from obj. */
bool json_get_string(const json_t *obj, const char *key, const char *where, const char **out,
                     struct error *err);
bool json_get_int(const json_t *obj, const char *key, const char *where, int64_t *out,
                  struct error *err);
bool json_get_number(const json_t *obj, const char *key, const char *where, double *out,
                     struct error *err);
bool json_get_bool(const json_t *obj, const char *key, const char *where, bool *out,
                   struct error *err);
bool json_get_string_or(const json_t *obj, const char *key, const char *where, const char *fallback,
                        const char **out, struct error *err);
bool json_get_int_or(const json_t *obj, const char *key, const char *where, int64_t fallback,
                     int64_t *out, struct error *err);
bool json_get_number_or(const json_t *obj, const char *key, const char *where, double fallback,
                        double *out, struct error *err);
bool json_get_bool_or(const json_t *obj, const char *key, const char *where, bool fallback,
                      bool *out, struct error *err);

/* Line and column (1-based) of the value of a top-level `key` (and of `member` inside that value
 * when not NULL) in a JSON text: for errors about the content of an entry.  False when not found.
 */
bool json_locate(const char *text, const char *key, const char *member, int *line, int *column);
/* The same at any depth: each of the n steps is the key of a member or, in an array, the decimal
 * index of an element. */
bool json_locate_path(const char *text, const char *const *path, int n, int *line, int *column);

#endif
