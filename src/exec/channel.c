/* The worker protocol's lines: framing, sending, receiving and the hello exchange. */
#include "exec/channel.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_STEP 65536

bool channel_pair(int *ours, int *theirs, struct error *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        return error_errno(err, errno, "cannot make a socket pair for a child process");
    for (int i = 0; i < 2; i++)
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
    *ours = fds[0];
    *theirs = fds[1];
    return true;
}

void channel_init(struct channel *c, int fd)
{
    pthread_mutex_t *lock = xmalloc(sizeof *lock);
    pthread_mutex_init(lock, NULL);
    *c = (struct channel){.fd = fd, .last_heard_s = clock_now_s(), .lock = lock};
}

void channel_release(struct channel *c)
{
    if (c->fd >= 0)
        close(c->fd);
    if (c->lock)
        pthread_mutex_destroy(c->lock);
    free(c->lock);
    free(c->buf);
    *c = (struct channel){.fd = -1};
}

/* Sends all bytes; a peer that has gone is an error, never a signal. */
static bool send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

bool channel_send(struct channel *c, const json_t *msg, struct error *err)
{
    char *line = json_line(msg);
    if (!line)
        return error_set(err, ERROR_INTERNAL, "a message to another process is not valid JSON");
    const size_t len = strlen(line);
    if (len >= CHANNEL_MAX_LINE) {
        free(line);
        return error_set(err, ERROR_INTERNAL,
                         "a message of %zu bytes to another process is over the limit of %d", len,
                         CHANNEL_MAX_LINE);
    }
    line[len] = '\n'; /* in place of the NUL: one call, so one packet in the usual case */
    pthread_mutex_lock(c->lock);
    const bool sent = c->fd >= 0 && send_all(c->fd, line, len + 1);
    const int why = errno;
    pthread_mutex_unlock(c->lock);
    free(line);
    if (!sent)
        return error_errno(err, why, "the other end of a channel between processes is gone");
    return true;
}

bool channel_sendf(struct channel *c, struct error *err, const char *type, const char *format, ...)
{
    json_t *msg = json_pack("{s:s}", "type", type);
    bool packed = msg != NULL;
    if (packed && format) {
        va_list args;
        va_start(args, format);
        json_t *rest = json_vpack_ex(NULL, 0, format, args);
        va_end(args);
        packed = rest && json_object_update(msg, rest) == 0;
        json_decref(rest);
    }
    if (!packed) {
        json_decref(msg);
        return error_set(err, ERROR_INTERNAL, "a message of type '%s' cannot be built", type);
    }
    const bool sent = channel_send(c, msg, err);
    json_decref(msg);
    return sent;
}

/* Takes the first complete line out of the buffer.  NOTHING when there is none yet. */
static enum channel_status take_line(struct channel *c, json_t **msg, struct error *err)
{
    const char *end = c->len ? memchr(c->buf, '\n', c->len) : NULL;
    const size_t len = end ? (size_t)(end - c->buf) : c->len;
    if (len >= CHANNEL_MAX_LINE) {
        error_set(err, ERROR_RUN, "a message from another process is over the limit of %d bytes",
                  CHANNEL_MAX_LINE);
        return CHANNEL_BROKEN;
    }
    if (!end)
        return CHANNEL_NOTHING;
    *msg = json_read_text(c->buf, len, "message from another process", err);
    c->len -= len + 1;
    memmove(c->buf, end + 1, c->len);
    if (!*msg)
        return CHANNEL_BROKEN;
    if (!json_is_string(json_object_get(*msg, "type"))) {
        json_decref(*msg);
        *msg = NULL;
        error_set(err, ERROR_RUN, "a message from another process is no object with a \"type\"");
        return CHANNEL_BROKEN;
    }
    return CHANNEL_MESSAGE;
}

/* Reads what is there without waiting.  NOTHING: would block or was read. */
static enum channel_status fill(struct channel *c)
{
    if (c->cap - c->len < READ_STEP) {
        c->cap = c->len + 2 * READ_STEP;
        c->buf = xrealloc(c->buf, c->cap);
    }
    ssize_t n;
    do
        n = recv(c->fd, c->buf + c->len, c->cap - c->len, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        c->len += (size_t)n;
        c->last_heard_s = clock_now_s();
        return CHANNEL_MESSAGE;
    }
    /* A reset is an end too: the peer died with unread bytes. */
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) ? CHANNEL_CLOSED : CHANNEL_NOTHING;
}

/* Milliseconds for poll, rounded up so that a short wait never spins. */
static int poll_ms(double seconds)
{
    if (!(seconds > 0))
        return 0;
    return seconds > 1e6 ? 1000000000 : (int)ceil(seconds * 1e3);
}

enum channel_status channel_receive(struct channel *c, double wait_s, json_t **msg,
                                    struct error *err)
{
    const double deadline = clock_now_s() + wait_s;
    *msg = NULL;
    if (c->fd < 0)
        return CHANNEL_CLOSED;
    for (;;) {
        const enum channel_status taken = take_line(c, msg, err);
        if (taken != CHANNEL_NOTHING)
            return taken;
        const enum channel_status got = fill(c);
        if (got == CHANNEL_MESSAGE)
            continue;
        if (got == CHANNEL_CLOSED)
            return CHANNEL_CLOSED;
        const double left = deadline - clock_now_s();
        if (left <= 0)
            return CHANNEL_NOTHING;
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        poll(&p, 1, poll_ms(left));
    }
}

static bool send_hello(struct channel *c, struct error *err)
{
    return channel_sendf(c, err, "hello", "{s:i,s:s,s:I,s:I}", "protocol", CHANNEL_PROTOCOL,
                         "build_id", os_build_id(), "pid", (json_int_t)getpid(), "start_time",
                         (json_int_t)os_process_start_time(getpid()));
}

static bool check_hello(const json_t *msg, struct error *err)
{
    const char *type, *build;
    int64_t protocol;
    if (!json_get_string(msg, "type", "hello", &type, err))
        return false;
    if (strcmp(type, "hello") != 0)
        return error_set(err, ERROR_RUN, "a process began with '%s' where 'hello' was expected",
                         type);
    if (!json_get_int(msg, "protocol", "hello", &protocol, err) ||
        !json_get_string(msg, "build_id", "hello", &build, err))
        return false;
    if (protocol != CHANNEL_PROTOCOL)
        return error_set(err, ERROR_RUN,
                         "a process speaks protocol %lld and this one %d: they are different "
                         "versions of fugue; start the run again",
                         (long long)protocol, CHANNEL_PROTOCOL);
    if (strcmp(build, os_build_id()) != 0)
        return error_set(err, ERROR_RUN,
                         "a process is of build %s and this one of %s: fugue was replaced while "
                         "it ran; start the run again",
                         build, os_build_id());
    return true;
}

/* Waits for the peer's hello and checks it. */
static bool receive_hello(struct channel *c, double wait_s, struct error *err)
{
    json_t *msg;
    const enum channel_status status = channel_receive(c, wait_s, &msg, err);
    if (status == CHANNEL_MESSAGE) {
        const bool good = check_hello(msg, err);
        json_decref(msg);
        return good;
    }
    if (status == CHANNEL_CLOSED)
        return error_set(err, ERROR_RUN, "a process ended before its first message");
    if (status == CHANNEL_NOTHING)
        return error_set(err, ERROR_RUN, "a process sent no first message within %g s", wait_s);
    return false;
}

bool channel_hello_child(struct channel *c, struct error *err)
{
    /* A parent that starts many children answers late, but its death is an end of file. */
    return send_hello(c, err) && receive_hello(c, 60, err);
}

bool channel_hello_parent(struct channel *c, double wait_s, struct error *err)
{
    return receive_hello(c, wait_s, err) && send_hello(c, err);
}

bool channel_answer_hello(struct channel *c, const json_t *msg, struct error *err)
{
    return check_hello(msg, err) && send_hello(c, err);
}
