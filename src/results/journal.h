/* <runs>/journal.jsonl: the truth the CSV files are projections of.  Internal to the room; every
 * function wants the lock held, because a tail without its newline is then a dead writer's and may
 * be repaired. */
#ifndef RESULTS_JOURNAL_H
#define RESULTS_JOURNAL_H

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

/* Makes the file when it is absent and repairs a torn tail. */
bool journal_prepare(const char *path, struct error *err);
/* Repairs a torn tail, then appends line (without newline) and its newline, on disk when this
 * returns true; cut back when it falls short. */
bool journal_append(const char *path, const char *line, struct error *err);

/* Calls fn for each record from byte `offset` on; a line that is no record is left out with a
 * warning.  want (may be NULL) is asked first, by kind and key, whether the record is needed: lines
 * written by fugue are then not even parsed.  *end gets the offset after the last complete line. */
struct journal_reader {
    void *ctx;
    bool (*want)(void *ctx, const char *kind, const char *key);
    bool (*record)(void *ctx, const char *kind, const char *key, const json_t *record,
                   struct error *err);
};
bool journal_read(const char *path, int64_t offset, const struct journal_reader *reader,
                  int64_t *end, struct error *err);

#endif
