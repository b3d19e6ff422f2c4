/* Tables of text as RFC 4180 describes them: records of fields between separators, a field in
 * quotes when it holds separators, quotes (doubled) or line ends; line ends are LF or CR LF, the
 * last may be absent; an UTF-8 byte order mark at the start is passed over.
 */
#ifndef DATA_CSV_TABLE_H
#define DATA_CSV_TABLE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A field: its text without quotes, not NUL-terminated. */
struct csv_field {
    const char *text; /* points into the table's own copy */
    uint32_t len;
};

struct csv_table {
    int64_t n_rows;           /* the header aside */
    int32_t n_columns;        /* the same in every record */
    struct csv_field *header; /* n_columns; NULL without a header.  Owned. */
    struct csv_field *cell;   /* n_rows x n_columns.  Owned. */
    int64_t *line;            /* n_rows: where the row starts, from 1.  Owned. */
    char *text;               /* the bytes, quotes taken out.  Owned. */
};

/* separator: ',', ';', '\t'...  A record with another number of fields, a quote where none can be,
 * an open quote at the end, a NUL byte, no records are errors ("NAME:LINE: column COLUMN: what").
 * Empty lines at the end are passed over.  What is allocated is bounded by the number of bytes. */
bool csv_table_parse(const void *bytes, size_t n, char separator, bool header, const char *name,
                     struct csv_table *out, struct error *err);
void csv_table_release(struct csv_table *t);

#endif
