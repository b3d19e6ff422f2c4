#include "data/csv_table.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end; /* of the input */
    char *out;            /* where the next byte of text goes */
    char separator;
    const char *name;
    int64_t line;
    int32_t column; /* of the field read, from 1 */
    struct error *err;
};

static bool bad(const struct reader *r, const char *what)
{
    return error_set(r->err, ERROR_DATA, "%s:%lld: column %d: %s", r->name, (long long)r->line,
                     r->column, what);
}

static bool at_line_end(const struct reader *r)
{
    return r->at == r->end || *r->at == '\n' ||
           (*r->at == '\r' && (r->at + 1 == r->end || r->at[1] == '\n'));
}

/* Behind the opening quote, up to and with the closing one. */
static bool read_quoted(struct reader *r)
{
    for (;; r->at++) {
        if (r->at == r->end)
            return bad(r, "a quote is not closed before the end of the file");
        if (*r->at == '"') {
            if (r->at + 1 == r->end || r->at[1] != '"')
                break;
            r->at++;
        }
        r->line += *r->at == '\n';
        *r->out++ = *r->at;
    }
    r->at++;
    if (!at_line_end(r) && *r->at != r->separator)
        return bad(r, "text behind a closing quote");
    return true;
}

static bool read_field(struct reader *r, struct csv_field *field)
{
    char *start = r->out;
    if (r->at < r->end && *r->at == '"') {
        r->at++;
        if (!read_quoted(r))
            return false;
    } else {
        for (; !at_line_end(r) && *r->at != r->separator; r->at++) {
            if (*r->at == '"')
                return bad(r, "a quote inside a field that does not start with one");
            *r->out++ = *r->at;
        }
    }
    *field = (struct csv_field){start, (uint32_t)(r->out - start)};
    return true;
}

/* A record of n fields (any number when n is 0: *n is set).  `fields` may hold as many. */
static bool read_record(struct reader *r, struct csv_field *fields, int32_t *n, int32_t max)
{
    int32_t i = 0;
    for (;;) {
        r->column = i + 1;
        if (i == max)
            return *n ? error_set(r->err, ERROR_DATA,
                                  "%s:%lld: more than the %d fields of the "
                                  "first record",
                                  r->name, (long long)r->line, *n)
                      : bad(r, "too many columns");
        if (!read_field(r, &fields[i++]))
            return false;
        if (at_line_end(r))
            break;
        r->at++; /* the separator */
    }
    if (*n && i != *n)
        return error_set(r->err, ERROR_DATA, "%s:%lld: %d field%s; the first record has %d",
                         r->name, (long long)r->line, i, i == 1 ? "" : "s", *n);
    *n = i;
    if (r->at < r->end)
        r->at += *r->at == '\r' && r->at + 1 < r->end ? 2 : 1;
    r->line++;
    return true;
}

/* No more records or columns than these can be in the bytes. */
static int64_t count_byte(const char *at, const char *end, char byte)
{
    int64_t n = 0;
    for (; at < end; at++)
        n += *at == byte;
    return n;
}

static const char *without_empty_end(const char *at, const char *end)
{
    while (end > at && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    return end;
}

static bool read_rows(struct reader *r, struct csv_table *t, bool header, int64_t max_rows)
{
    int32_t n_columns = 0;
    const int64_t line_end = count_byte(r->at, r->end, r->separator) + 1;
    const int32_t most = line_end < INT32_MAX ? (int32_t)line_end : INT32_MAX;
    struct csv_field *first = xmalloc((size_t)most * sizeof *first);
    if (!read_record(r, first, &n_columns, most)) {
        free(first);
        return false;
    }
    t->n_columns = n_columns;
    /* Every cell but the first of its record stands behind a separator, so the file bounds them. */
    const int64_t cells = line_end - 1 + max_rows;
    t->cell = malloc((size_t)cells * sizeof *t->cell);
    t->line = malloc((size_t)max_rows * sizeof *t->line);
    if (header) {
        t->header = first;
    } else if (t->cell && t->line) {
        memcpy(t->cell, first, (size_t)n_columns * sizeof *first);
        t->line[t->n_rows++] = 1;
    }
    if (!header)
        free(first);
    if (!t->cell || !t->line)
        return error_set(r->err, ERROR_SYSTEM, "no memory for the cells of '%s'", r->name);
    while (r->at < r->end) {
        t->line[t->n_rows] = r->line;
        if (!read_record(r, t->cell + t->n_rows * n_columns, &n_columns, n_columns))
            return false;
        t->n_rows++;
    }
    return true;
}

bool csv_table_parse(const void *bytes, size_t n, char separator, bool header, const char *name,
                     struct csv_table *out, struct error *err)
{
    const char *at = bytes, *end = at + n;
    *out = (struct csv_table){0};
    if (n >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    end = without_empty_end(at, end);
    if (at == end)
        return error_set(err, ERROR_DATA, "%s: no records", name);
    if (memchr(at, '\0', (size_t)(end - at)))
        return error_set(err, ERROR_DATA, "%s: a NUL byte: this is no text", name);
    if ((size_t)(end - at) >= UINT32_MAX)
        return error_set(err, ERROR_DATA, "%s: more than 4 GiB; tables that large are not read",
                         name);
    out->text = malloc((size_t)(end - at));
    if (!out->text)
        return error_set(err, ERROR_SYSTEM, "no memory for the %zu bytes of '%s'", n, name);
    struct reader r = {at, end, out->text, separator, name, 1, 1, err};
    bool ok = read_rows(&r, out, header, count_byte(at, end, '\n') + 1);
    if (ok && out->n_rows == 0)
        ok = error_set(err, ERROR_DATA, "%s: a header, but no rows", name);
    if (!ok)
        csv_table_release(out);
    return ok;
}

void csv_table_release(struct csv_table *t)
{
    free(t->header);
    free(t->cell);
    free(t->line);
    free(t->text);
    *t = (struct csv_table){0};
}
