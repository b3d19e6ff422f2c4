/* Progress of several tracks (one a job, a bucket or a download): redrawn bars with ETA on a
 * terminal, plain lines (one a track at most every few seconds and at its end) in a log, nothing
 * when quiet. Written to stderr.  Not thread-safe: one thread owns it.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum progress_mode { PROGRESS_AUTO, PROGRESS_BARS, PROGRESS_LINES, PROGRESS_QUIET };

struct progress;

/* AUTO: BARS on a terminal, LINES otherwise.  clock_now may be NULL (the real clock); tests pass
 * their own. */
struct progress *progress_new(FILE *out, enum progress_mode mode, double (*clock_now)(void));
/* True when it draws bars. */
bool progress_has_bars(const struct progress *p);
/* Erases the bars, frees. */
void progress_free(struct progress *p);

/* State of a track after an epoch or part of one. */
struct progress_state {
    double done, total;   /* epochs, fractions allowed */
    double samples_per_s; /* <= 0: unknown */
    double loss;          /* NaN: unknown */
    bool finished;
    const char *note; /* "failed: ...", may be NULL */
    bool bytes;       /* done, total and samples_per_s count bytes, not epochs and samples */
};
/* A track is made at its first update; name is copied.  ETA comes from what was done since that
 * first update.  Bars are redrawn at most ten times a second, and show the screen's height less two
 * rows (running tracks first) with a line that counts the others. */
void progress_update(struct progress *p, const char *name, const struct progress_state *s);
/* Prints a whole line above the bars (or as it is): notices, warnings.  QUIET prints it too: it
 * silences progress, not warnings. */
void progress_line(struct progress *p, const char *text);
/* Ends all tracks: erases the bars (BARS) so that what follows starts on a clean line; the next
 * update starts afresh. */
void progress_clear(struct progress *p);

/* "12 s", "3 min 20 s", "1 h 05 min" */
void progress_duration(char *out, size_t size, double seconds);

#endif
