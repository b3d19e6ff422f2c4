/* The worker protocol: one JSON line a message over a socket pair on descriptor OS_CHANNEL_FD.
 * First each way {"type":"hello","protocol":1,"build_id":...,"pid":...,"start_time":...}; a
 * mismatch is refused.  Lines of at most 1 MiB; reals with 17 digits; non-finite numbers as
 * strings.  Death is end of file (and the pidfd); silence is measured by the reader (last_heard_s).
 * Used between the campaign and its cell processes, and between mp and its workers.
 */
#ifndef EXEC_CHANNEL_H
#define EXEC_CHANNEL_H

#include "base/error.h"

#include <jansson.h>

#define CHANNEL_PROTOCOL 1
#define CHANNEL_MAX_LINE (1 << 20)

struct channel {
    int fd;
    char *buf; /* partial line */
    size_t len, cap;
    double last_heard_s;
    void *lock; /* writers of several threads */
};

/* A connected pair, close-on-exec: ours and the child's descriptor. */
bool channel_pair(int *ours, int *theirs, struct error *err);
void channel_init(struct channel *c, int fd);
void channel_release(struct channel *c); /* closes fd */

/* Sends one message (takes no reference).  Thread-safe.  False when the peer is gone. */
bool channel_send(struct channel *c, const json_t *msg, struct error *err);
/* Sends {"type": type, ...} built as json_pack does. */
bool channel_sendf(struct channel *c, struct error *err, const char *type, const char *format, ...);

enum channel_status { CHANNEL_MESSAGE, CHANNEL_NOTHING, CHANNEL_CLOSED, CHANNEL_BROKEN };
/* Next message (new reference) waiting at most wait_s; NOTHING on time-out; BROKEN: malformed or
 * over-long line (err says). */
enum channel_status channel_receive(struct channel *c, double wait_s, json_t **msg,
                                    struct error *err);

/* The hello exchange: the child sends first. */
bool channel_hello_child(struct channel *c, struct error *err);
bool channel_hello_parent(struct channel *c, double wait_s, struct error *err);
/* The parent's half for a message that was already received: checks it and sends ours. */
bool channel_answer_hello(struct channel *c, const json_t *msg, struct error *err);

/* A thread that sends {"type":"heartbeat"} each second until stopped.  NULL when there can be no
 * thread; heartbeat_stop takes NULL. */
struct heartbeat;
struct heartbeat *heartbeat_start(struct channel *c);
void heartbeat_stop(struct heartbeat *h);

/* Child side of mp: takes jobs until end of file.  Returns the exit code. */
int worker_main(void);

#endif
