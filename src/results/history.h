/* history/<group_id>.csv: a line a job and epoch.  Internal to the room. */
#ifndef RESULTS_HISTORY_H
#define RESULTS_HISTORY_H

#include "base/error.h"

#include <jansson.h>

/* True when the id can be a file name: letters, digits, "_", "-", ".", not starting with ".". */
bool history_name_ok(const char *group_id);
/* Puts jobs (array of histories: arrays of rows in the order of the history columns) into
 * folder/<group_id>.csv.  Rows of those jobs that stand there already (a sync that was ended half
 * way) are replaced, so doing it twice is doing it once. */
bool history_write(const char *folder, const char *group_id, const json_t *jobs, struct error *err);

#endif
