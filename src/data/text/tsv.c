#include "data/text/tsv.h"

#include "base/text.h"
#include "data/text/utf8.h"

#include <stdlib.h>
#include <string.h>

#define HEADER "sentence\tlabel"

struct line {
    const char *at;
    size_t len;
    long long number; /* from 1 */
};

/* The next line from *at on, without its end; false when the text is used up. */
static bool line_next(const char **at, const char *end, struct line *line)
{
    if (*at >= end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *stop = newline ? newline : end;
    line->at = *at;
    line->len = (size_t)(stop - *at);
    line->number++;
    if (newline && line->len > 0 && stop[-1] == '\r')
        line->len--;
    *at = newline ? newline + 1 : end;
    return true;
}

/* What of a bad field can be shown: a few printable characters. */
static const char *shown(const char *at, size_t len, char out[24])
{
    size_t n = 0;
    for (; n < len && n < 20; n++)
        out[n] = at[n] >= ' ' && at[n] <= '~' ? at[n] : '?';
    out[n] = '\0';
    return out;
}

static bool parse_header(const struct line *line, const char *path, struct error *err)
{
    char start[24];
    if (line->len == strlen(HEADER) && memcmp(line->at, HEADER, line->len) == 0)
        return true;
    return error_set(err, ERROR_DATA,
                     "%s:1: the file begins with '%s'; the columns 'sentence' and 'label', with a "
                     "tab between, are expected",
                     path, shown(line->at, line->len, start));
}

static int columns_of(const struct line *line)
{
    int n = 1;
    for (size_t i = 0; i < line->len; i++)
        n += line->at[i] == '\t';
    return n;
}

/* One digit is enough for the classes there are; "00" or "+1" is another format. */
static bool parse_label(const char *at, size_t len, int32_t n_classes, int32_t *out)
{
    if (len != 1 || at[0] < '0' || at[0] > '9' || at[0] - '0' >= n_classes)
        return false;
    *out = at[0] - '0';
    return true;
}

static bool parse_row(const struct line *line, const char *path, int32_t n_classes,
                      struct tsv_row *row, struct error *err)
{
    char start[24];
    const int columns = columns_of(line);
    if (columns != 2)
        return error_set(err, ERROR_DATA, "%s:%lld: %d column%s; 2 are expected", path,
                         line->number, columns, columns == 1 ? "" : "s");
    const char *tab = memchr(line->at, '\t', line->len);
    const size_t len = (size_t)(tab - line->at), label_len = line->len - len - 1;
    if (!parse_label(tab + 1, label_len, n_classes, &row->label))
        return error_set(err, ERROR_DATA, "%s:%lld: label '%s'; 0 to %d are expected", path,
                         line->number, shown(tab + 1, label_len, start), (int)n_classes - 1);
    if (len == 0)
        return error_set(err, ERROR_DATA, "%s:%lld: an empty sentence", path, line->number);
    if (len > TSV_MAX_SENTENCE)
        return error_set(err, ERROR_DATA,
                         "%s:%lld: a sentence of %zu bytes; at most %d are expected", path,
                         line->number, len, TSV_MAX_SENTENCE);
    row->text = line->at;
    row->len = (uint32_t)len;
    return true;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t n = len > 0 && text[len - 1] != '\n';
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + len - at))) != NULL; at++)
        n++;
    return n;
}

bool tsv_parse(const char *bytes, size_t n, const char *path, int32_t n_classes, struct tsv *out,
               struct error *err)
{
    *out = (struct tsv){0};
    const char *at = bytes, *const end = bytes + n;
    struct line line = {0};
    if (!utf8_check(bytes, n, path, err))
        return false;
    if (!line_next(&at, end, &line))
        return error_set(err, ERROR_DATA, "%s: the file is empty", path);
    if (!parse_header(&line, path, err))
        return false;
    const size_t rows = count_lines(at, (size_t)(end - at));
    if (rows == 0)
        return error_set(err, ERROR_DATA, "%s: no rows after the header", path);
    /* A row takes four bytes at least ("x\t0\n"), so a file of nothing but line ends, which fails
     * at its first row, asks for no more than a good one of its size. */
    const size_t most = n / 4 + 2;
    out->rows = xmalloc((rows < most ? rows : most) * sizeof *out->rows);
    while (line_next(&at, end, &line)) {
        if (!parse_row(&line, path, n_classes, &out->rows[out->n], err)) {
            tsv_release(out);
            return false;
        }
        out->n++;
    }
    return true;
}

void tsv_release(struct tsv *t)
{
    free(t->rows);
    *t = (struct tsv){0};
}
