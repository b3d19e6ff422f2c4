/* One worker process as its parent sees it: start, last words, end.  For mp.c only. */
#ifndef EXEC_MP_WORKER_H
#define EXEC_MP_WORKER_H

#include "base/os.h"
#include "exec/channel.h"
#include "exec/executor.h"

struct mp_worker {
    bool running; /* started and not given up */
    bool greeted; /* its hello was answered */
    struct os_child child;
    struct channel channel;
    int log_fd; /* its stdout and stderr: a file without a name, or -1 */
    int threads;
    int job;                  /* index of the job it has, -1 none */
    bool in_epoch;            /* the job was seen to train */
    struct job_result result; /* of that job, as far as known */
};

/* Starts the process; its channel then waits for its hello. */
bool mp_worker_start(struct mp_worker *w, struct error *err);
/* Ends it: closes the channel, waits so long, then signals; frees what it holds.  *status (may be
 * NULL) as waitpid's. */
void mp_worker_stop(struct mp_worker *w, double wait_s, int *status);
/* The end of what it printed, on one line; "" when it printed nothing. */
void mp_worker_last_words(const struct mp_worker *w, char *out, size_t size);
/* "at epoch 3 of 10", "before its first epoch", "while it was evaluated" */
void mp_worker_place(const struct mp_worker *w, int32_t epochs, char *out, size_t size);

#endif
