/* One attempt to get one file from one URL, onto the end of what is there already. */
#ifndef FETCH_TRANSFER_H
#define FETCH_TRANSFER_H

#include "base/error.h"

#include <stdint.h>

enum transfer_result {
    TRANSFER_WHOLE,   /* the server says that is all, and it sent it */
    TRANSFER_CUT,     /* the connection was lost or stalled, or the server is busy: try again */
    TRANSFER_REFUSED, /* this source does not have the file: try another one */
    TRANSFER_LOCAL,   /* the file cannot be written: no source can help */
    TRANSFER_STOPPED, /* os_stop_requested */
};

struct transfer {
    const char *url;
    const char *part; /* file that grows: its present length is where the transfer resumes */
    int64_t size;     /* what the whole file must have; 0: not known */
    double stall_s;   /* without a byte for so long, the connection counts as lost */
    /* Called with the length of the part; may be NULL. */
    void (*progress)(void *ctx, int64_t have, int64_t total);
    void *ctx;
    /* Filled: */
    bool restarted;         /* the server sends whole files only: what was there was dropped */
    int64_t got;            /* bytes this attempt added */
    int64_t stated_size;    /* length of the whole file as the server says; 0: it does not */
    char stated_sha256[65]; /* digest as the server says (X-Linked-ETag of Hugging Face); "" none */
};

/* A resumed part is asked for by Range; a server that ignores it sends the whole, and the part
 * starts over.  Only the body of a 200 or 206 is written.  At most 8 redirects, to http or https
 * (from https: https only).  The error is filled for every result but TRANSFER_WHOLE. */
enum transfer_result transfer_run(struct transfer *t, struct error *err);

#endif
