#include "results/csv.h"
#include "results/results.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_cell(struct csv *c, char *cell)
{
    if (c->n_cells == c->cap_cells) {
        c->cap_cells = c->cap_cells ? 2 * c->cap_cells : 256;
        c->cells = xrealloc(c->cells, c->cap_cells * sizeof *c->cells);
    }
    c->cells[c->n_cells++] = cell;
}

static void add_record(struct csv *c, const struct csv_record *r)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        c->records = xrealloc(c->records, c->cap * sizeof *c->records);
    }
    c->records[c->n++] = *r;
}

/* Unquotes the cell at p in place.  Returns the first byte after it (comma, line end or end) and
 * sets *last to where its NUL belongs; *open when a quote is never closed. */
static char *read_cell(char *p, const char *end, char **last, bool *open)
{
    char *to = p;
    bool quoted = p < end && *p == '"';
    if (quoted)
        p++;
    while (p < end) {
        if (quoted && *p == '"') {
            if (p + 1 < end && p[1] == '"') {
                *to++ = '"';
                p += 2;
                continue;
            }
            quoted = false;
            p++;
            continue;
        }
        if (!quoted && (*p == ',' || *p == '\n' || *p == '\r'))
            break;
        *to++ = *p++;
    }
    *last = to;
    *open = quoted;
    return p;
}

/* Reads one record from p; returns the byte after it. */
static char *read_record(struct csv *c, char *p, const char *end)
{
    struct csv_record r = {.first = c->n_cells, .start = (size_t)(p - c->data), .ended = false};
    for (;;) {
        char *cell = p, *last;
        bool open;
        p = read_cell(p, end, &last, &open);
        const char stop = p < end ? *p : '\0';
        const bool lone_return = stop == '\r' && p + 1 >= end;
        if (stop == '\r' && p + 1 < end && p[1] == '\n')
            p++;
        if (p < end)
            p++;
        *last = '\0';
        add_cell(c, cell);
        r.n++;
        if (stop == ',')
            continue;
        /* A file that ends between CR and LF was torn there. */
        r.ended = stop != '\0' && !open && !lone_return;
        break;
    }
    const bool blank = r.n == 1 && r.ended && !c->cells[r.first][0];
    if (blank)
        c->n_cells--;
    else
        add_record(c, &r);
    return p;
}

bool csv_parse(struct csv *c, char *data, size_t len, const char *path, struct error *err)
{
    *c = (struct csv){.data = data};
    if (memchr(data, '\0', len)) {
        csv_release(c);
        return error_set(err, ERROR_DATA,
                         "'%s' is no CSV file (it holds NUL bytes); move it away and try again",
                         path);
    }
    const char *end = data + len;
    char *p = data;
    if (len >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    while (p < end)
        p = read_record(c, p, end);
    return true;
}

void csv_release(struct csv *c)
{
    free(c->data);
    free(c->cells);
    free(c->records);
    *c = (struct csv){0};
}

const char *csv_cell(const struct csv *c, const struct csv_record *r, int i)
{
    return i >= 0 && i < r->n ? c->cells[r->first + (size_t)i] : "";
}

void csv_add_cell(struct text *line, const char *cell, bool first)
{
    if (!first)
        text_add_n(line, ",", 1);
    if (!cell)
        return;
    if (!strpbrk(cell, ",\"\r\n")) {
        text_add(line, cell);
        return;
    }
    text_add_n(line, "\"", 1);
    for (const char *p = cell; *p; p++) {
        if (*p == '"')
            text_add_n(line, "\"", 1);
        text_add_n(line, p, 1);
    }
    text_add_n(line, "\"", 1);
}

void csv_end_line(struct text *line)
{
    text_add_n(line, "\r\n", 2);
}

char *csv_line(const char *const *cells, int n)
{
    struct text line;
    text_init(&line);
    for (int i = 0; i < n; i++)
        csv_add_cell(&line, cells[i], i == 0);
    char *whole = text_take(&line);
    text_release(&line);
    return whole;
}

/* The shortest digits that read back equal: "d.ddde+XX" taken apart. */
static int shortest_digits(double v, char digits[20], int *exponent)
{
    char text[40];
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, v);
        if (strtod(text, NULL) == v)
            break;
    }
    int n = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && n < 19)
            digits[n++] = *p;
    digits[n] = '\0';
    *exponent = *p == 'e' ? (int)strtol(p + 1, NULL, 10) : 0;
    return n;
}

void csv_real(double v, char out[CSV_REAL_SIZE])
{
    if (isnan(v) || isinf(v)) {
        snprintf(out, CSV_REAL_SIZE, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    char digits[20];
    int exponent;
    const int n = shortest_digits(fabs(v), digits, &exponent);
    const char *sign = signbit(v) ? "-" : "";
    if (exponent < -4 || exponent >= 16)
        snprintf(out, CSV_REAL_SIZE, "%s%c%s%se%+03d", sign, digits[0], n > 1 ? "." : "",
                 digits + 1, exponent);
    else if (exponent < 0)
        snprintf(out, CSV_REAL_SIZE, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
    else if (n <= exponent + 1)
        snprintf(out, CSV_REAL_SIZE, "%s%s%.*s.0", sign, digits, exponent + 1 - n,
                 "0000000000000000");
    else
        snprintf(out, CSV_REAL_SIZE, "%s%.*s.%s", sign, exponent + 1, digits,
                 digits + exponent + 1);
}
