/* Fetching a download of data/download.h: its files come from the sources in turn, each is checked
 * (size, digests), archives are unpacked beside, and only what is whole is moved into place.
 *
 * Under the root: .prefetch/<name>.lock (one fetch of a set at a time; another waits and then finds
 * it present) and .prefetch/<name>/, which holds what an interrupted fetch resumes from: NAME.part,
 * a file that is still growing, and NAME, one that is whole and checked.
 */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include "base/error.h"
#include "base/progress.h"
#include "data/download.h"

#include <stdint.h>

/* How long a fetch bears with a server.  Tests shorten it. */
struct fetch_patience {
    double stall_s; /* without a byte for so long a connection counts as lost: 30 */
    double pause_s; /* before the second try, doubled for each further one up to 8 times: 1 */
    int tries;      /* of one source in a row that bring nothing new: 5 */
};
extern struct fetch_patience fetch_patience;

struct fetch_options {
    const char *root;
    /* NULL or "": the sources of the table.  Else base URLs, separated by blanks, that stand in for
     * all of them: a file is BASE/<download>/<file name>. */
    const char *mirrors;
    struct progress *progress; /* may be NULL */
};

enum fetch_state { FETCH_PRESENT, FETCH_PARTIAL, FETCH_MISSING };
/* *have: bytes of an interrupted fetch that are there. */
enum fetch_state fetch_state(const struct download *d, const char *root, int64_t *have);

/* Brings the download to the root; a present one is left alone.  *bytes: fetched now.  Warns
 * (log_msg) about each source that fails.  Stops soon after os_stop_requested, with an error of
 * class ERROR_RUN, keeping what can be resumed. */
bool fetch_run(const struct download *d, const struct fetch_options *o, int64_t *bytes,
               struct error *err);

/* Removes what an interrupted fetch left.  A fetch under way is an error.  *bytes: what it took. */
bool fetch_clean(const struct download *d, const char *root, int64_t *bytes, struct error *err);

#endif
