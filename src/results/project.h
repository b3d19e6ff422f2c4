/* Journal -> CSV files.  Internal to the room; the lock is held by the caller. */
#ifndef RESULTS_PROJECT_H
#define RESULTS_PROJECT_H

#include "base/error.h"

struct project_paths {
    const char *journal, *hint, *history; /* history: the folder */
    const char *csv[2];                   /* by enum results_file */
};

/* Brings the CSV files up to date.  Each journal line is projected exactly once: where the hint
 * does not say how far the files are, their keys are compared with the journal's. */
bool project(const struct project_paths *paths, struct error *err);

#endif
