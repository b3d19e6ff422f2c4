/* The result store: journal first, CSV files as its projections.
 *
 * A finished job or group is first one fsync'd line of <runs>/journal.jsonl:
 *   {"kind":"job"|"group","key":"...","row":{column: value, ...},"history":[[...],...]}
 * master_individual.csv, master_groups.csv and history/<group_id>.csv are brought up to date from
 * it under the lock <runs>/results.lock (flock, never renamed), each line projected exactly once
 * however often and wherever a process died in between.  Dialect: comma, minimal quoting, CRLF,
 * True/False, blank for null, shortest text of a real that reads back equal.
 */
#ifndef RESULTS_RESULTS_H
#define RESULTS_RESULTS_H

#include "base/error.h"
#include "results/columns.h"

#include <jansson.h>

struct results;

/* Makes the folder, checks that it can be locked and written, repairs a torn journal tail (a
 * warning says what was cut; complete lines are never touched). */
struct results *results_open(const char *runs_dir, struct error *err);
void results_close(struct results *r);

/* Appends one journal line; it is on disk when this returns true.  A short write (disk full) is cut
 * back and reported.  row: object keyed by column names, every key a declared column (else an
 * internal error); absent or null is blank.  history: array of arrays in the order of the history
 * columns, or NULL.  Borrowed references. */
bool results_add_job(struct results *r, const json_t *row, const json_t *history,
                     struct error *err);
bool results_add_group(struct results *r, const json_t *row, struct error *err);

/* Projects journal lines that are not in the CSV files yet.  Upgrades older headers: the
 * reference's own files and foreign columns keep every value (copy kept as
 * <name>.pre-upgrade.<n>.bak, atomic rename); an empty file gets a header; a torn last CSV line is
 * repaired. */
bool results_sync(struct results *r, struct error *err);

const char *results_path(const struct results *r, enum results_file file); /* borrowed */
const char *results_journal_path(const struct results *r);

/* Rows of a CSV file as objects (strings as they stand; blank cells absent), in file order. */
json_t *results_read(const char *csv_path, struct error *err);

/* One CSV cell or line in the dialect above, for printing elsewhere; malloc'd. */
char *csv_line(const char *const *cells, int n);

#endif
