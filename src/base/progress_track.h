/* How one track of progress.c reads: for this room only. */
#ifndef BASE_PROGRESS_TRACK_H
#define BASE_PROGRESS_TRACK_H

#include "base/progress.h"
#include "base/text.h"

#define PROGRESS_BAR_CELLS 10

struct progress_track {
    char *name; /* owned */
    char *note; /* owned, may be NULL */
    bool bytes;
    double done, total, samples_per_s, loss;
    bool finished;
    double start_s, start_done; /* first update: what ETA and duration count from */
    double now_s;               /* latest update */
    double line_s;              /* when its last line was printed (LINES) */
};

/* Adds "name  [####------]  3.2/10 epochs  12.3 k samples/s  loss 0.1234  ETA 12 s" to *out, the
 * name padded to name_width, without a newline; of bytes "1.2/170.1 MB  3.4 MB/s".  with_bar false
 * leaves the bar out.  A finished
 * track ends with "done in 12 s" instead of ETA; a note stands in place of either. */
void progress_track_text(const struct progress_track *t, int name_width, bool with_bar,
                         struct text *out);

/* Characters of a UTF-8 string. */
int progress_width(const char *s);
/* Cuts text that starts at byte `from` to at most `columns` characters. */
void progress_cut(struct text *t, size_t from, int columns);

#endif
