/* The CSV dialect of the result files: comma, minimal quoting, CRLF (LF is read too).  Internal to
 * the room; csv_line is in results.h. */
#ifndef RESULTS_CSV_H
#define RESULTS_CSV_H

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>

struct csv_record {
    size_t first; /* of its cells in csv.cells */
    int n;
    size_t start; /* its first byte in the file */
    bool ended;   /* has its line end; false only for a torn last record */
};

/* A parsed file.  Cells point into data, which was unquoted in place.  Blank lines are no records.
 */
struct csv {
    char *data;
    char **cells;
    size_t n_cells, cap_cells;
    struct csv_record *records; /* the header is records[0] */
    size_t n, cap;
};

/* Takes data (malloc'd, a NUL after its len bytes), also when it fails: a NUL byte inside is an
 * error that names path.  A byte order mark at the start is skipped. */
bool csv_parse(struct csv *c, char *data, size_t len, const char *path, struct error *err);
void csv_release(struct csv *c);
/* "" for a cell the record does not have. */
const char *csv_cell(const struct csv *c, const struct csv_record *r, int i);

/* Adds one cell, with a comma before it unless it is the first of its line; NULL is blank. */
void csv_add_cell(struct text *line, const char *cell, bool first);
void csv_end_line(struct text *line);

/* Shortest decimal text that reads back equal, laid out as Python's repr ("0.001", "1e-05", "2.0",
 * "nan", "inf"): the reference's own numbers look so. */
#define CSV_REAL_SIZE 40
void csv_real(double v, char out[CSV_REAL_SIZE]);

#endif
