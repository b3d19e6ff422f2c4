#include "exec/mp_worker.h"
#include "base/text.h"
#include "exec/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file for what a worker prints.  It loses its name at once, so that no way of dying leaves it
 * behind; -1 when there can be none (the worker then writes where we do). */
static int open_log(void)
{
    const char *dir = getenv("TMPDIR");
    char *path = xasprintf("%s/fugue-worker-XXXXXX", dir && *dir ? dir : "/tmp");
    const int fd = mkstemp(path);
    if (fd >= 0) {
        unlink(path);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        /* Writers after a restart of the offset must not overwrite each other's lines. */
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND);
    }
    free(path);
    return fd;
}

bool mp_worker_start(struct mp_worker *w, struct error *err)
{
    int ours, theirs;
    const char *self = os_executable();
    if (!self)
        return error_set(err, ERROR_SYSTEM,
                         "cannot start a worker: the path of the running "
                         "program is unknown");
    if (!channel_pair(&ours, &theirs, err))
        return false;
    char name[] = "fugue", command[] = "__worker";
    char *argv[] = {name, command, NULL};
    w->log_fd = open_log();
    const bool started = os_spawn(&w->child, self, argv, w->log_fd, theirs, false, err);
    close(theirs);
    if (!started) {
        close(ours);
        if (w->log_fd >= 0)
            close(w->log_fd);
        w->log_fd = -1;
        return error_prefix(err, "cannot start a worker process");
    }
    channel_init(&w->channel, ours);
    w->running = true;
    w->greeted = false;
    return true;
}

void mp_worker_stop(struct mp_worker *w, double wait_s, int *status)
{
    if (!w->running)
        return;
    /* End of file is what a healthy worker ends at. */
    channel_release(&w->channel);
    if (!os_wait(&w->child, wait_s, status))
        os_end_child(&w->child, 0, status);
    if (w->log_fd >= 0)
        close(w->log_fd);
    w->log_fd = -1;
    w->running = false;
}

void mp_worker_last_words(const struct mp_worker *w, char *out, size_t size)
{
    struct stat info;
    out[0] = '\0';
    if (w->log_fd < 0 || fstat(w->log_fd, &info) != 0 || info.st_size == 0)
        return;
    const off_t from = info.st_size > (off_t)size - 1 ? info.st_size - (off_t)size + 1 : 0;
    const ssize_t n = pread(w->log_fd, out, size - 1, from);
    size_t len = n > 0 ? (size_t)n : 0;
    while (len > 0 && (out[len - 1] == '\n' || out[len - 1] == '\r'))
        len--;
    out[len] = '\0';
    /* Line ends become " | "-like marks, anything that is no printable ASCII a question mark. */
    for (size_t i = 0; i < len; i++)
        if (out[i] == '\n')
            out[i] = '|';
        else if (out[i] < ' ' || out[i] > '~')
            out[i] = out[i] == '\t' ? ' ' : '?';
}

void mp_worker_place(const struct mp_worker *w, int32_t epochs, char *out, size_t size)
{
    const int32_t done = w->result.n_history;
    if (done >= epochs)
        snprintf(out, size, "while it was evaluated");
    else if (done == 0 && !w->in_epoch)
        snprintf(out, size, "before its first epoch");
    else
        snprintf(out, size, "at epoch %d of %d", done + 1, epochs);
}
