/* One CSV file as a projection of the journal: its header, the rows it holds, the rows to add.
 * Internal to the room; the lock is held by the caller. */
#ifndef RESULTS_TABLE_H
#define RESULTS_TABLE_H

#include "base/error.h"
#include "base/text.h"
#include "results/columns.h"
#include "results/csv.h"

#include <jansson.h>

struct table {
    enum results_file file;
    const char *path; /* borrowed */
    /* The header rows are written with: the file's own where it has every column of ours in
     * whatever order, else ours and then the file's foreign columns. */
    struct text_list names;
    const struct column **columns; /* of each name; NULL: foreign */
    bool exists;                   /* the file has a header */
    bool restart;        /* blank, or our own header torn: emptied before rows are added */
    bool upgrade;        /* it lacks columns: rewritten before rows are added */
    bool whole;          /* content was read, not only the header */
    struct csv csv;      /* the content when whole */
    json_t *counts;      /* rows in the file by key, when whole */
    bool torn_is_ours;   /* the torn last row is in the journal: it comes again */
    struct text pending; /* lines to append */
    size_t n_pending;
};

/* Reads the header, or with whole everything.  An absent or empty file is fine.  A file that is
 * nobody's result file is refused. */
bool table_open(struct table *t, enum results_file file, const char *path, bool whole,
                struct error *err);
void table_close(struct table *t);
/* True when a row with this key is in the file and not yet accounted for; accounts for it.  Rows
 * with equal keys count as often as they stand there. */
bool table_take(struct table *t, const char *key);
/* Renders a row (object by column names) onto the pending lines. */
void table_add(struct table *t, const char *key, const json_t *row);
/* Repairs a torn end, upgrades the header if rows are pending, appends them; cut back when short.
 */
bool table_commit(struct table *t, struct error *err);

/* As table_commit for pending rows that replace whatever the file has under these keys (members of
 * an object). */
bool table_replace(struct table *t, const json_t *keys, struct error *err);

/* Text of a JSON value in a column (NULL: undeclared) of the dialect; "" is blank. */
void table_cell_text(const json_t *value, const struct column *column, struct text *out);

#endif
