/* Which bars a cell shows and what stands in them: for this room only.
 *
 * Bars: one a bucket where the strategy stacks jobs, else one a job, under one for the whole cell
 * where there are several.  Lines (a log): the whole cell only, so that a thousand networks do not
 * write a thousand lines.
 */
#ifndef CLI_RUN_TRACKS_H
#define CLI_RUN_TRACKS_H

#include "base/progress.h"
#include "campaign/cell.h"

struct run_tracks;

/* progress and spec are borrowed.  clock_now may be NULL (the real clock).  NULL when the spec
 * cannot be expanded, which the cell itself reports. */
struct run_tracks *run_tracks_new(struct progress *progress, const struct cell_spec *spec,
                                  double (*clock_now)(void));
void run_tracks_free(struct run_tracks *t);

/* Where job number `job` of the expanded list stands; what is NaN is not known, and what was known
 * before stays. */
struct job_news {
    double epochs_done;
    double samples_per_s;
    double loss;
};
void run_tracks_update(struct run_tracks *t, int job, const struct job_news *news);
/* The end of a job; note NULL: it ended well. */
void run_tracks_finish(struct run_tracks *t, int job, const struct job_news *news,
                       const char *note);

#endif
