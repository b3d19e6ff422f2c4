/* Every column of every result file, declared once: files, docs/results.md and readers come from
 * these tables.  The reference's 27 columns come first, in its order (runtime.md 7.2, 7.3; extras
 * scheduler, features in its place), then ours.
 */
#ifndef RESULTS_COLUMNS_H
#define RESULTS_COLUMNS_H

enum column_type { COLUMN_TEXT, COLUMN_INT, COLUMN_REAL, COLUMN_BOOL /* True / False */ };

struct column {
    const char *name;
    enum column_type type;
    const char *unit; /* "s", "J", "MB", "" */
    const char *meaning;
    const char *blank; /* when it is blank; "never" */
};

enum results_file { RESULTS_INDIVIDUAL, RESULTS_GROUPS, RESULTS_HISTORY, RESULTS_FILE_COUNT };

struct column_table {
    const char *file_name; /* "master_individual.csv"; history: "history/<group_id>.csv" */
    const struct column *columns;
    int n;
};
extern const struct column_table column_tables[RESULTS_FILE_COUNT];

/* NULL when the file has no such column. */
const struct column *column_find(enum results_file file, const char *name);

#endif
