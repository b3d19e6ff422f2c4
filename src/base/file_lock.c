#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define PATIENCE_S 1.0 /* a wait longer than this is said, so that it does not look like a hang */

/* Without locks two campaigns would tear each other's rows, so such a place is refused. */
static bool refuse(struct error *err, int errnum, const char *path)
{
    static const int no_locks[] = {ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP, EINVAL};
    for (size_t i = 0; i < sizeof no_locks / sizeof *no_locks; i++) {
        if (errnum == no_locks[i])
            return error_errno(err, errnum,
                               "the file system of '%s' has no file locks, so two fugue processes "
                               "could damage each other's files there; choose a folder on a local "
                               "disk",
                               path);
    }
    return error_errno(err, errnum, "cannot lock '%s'", path);
}

static int open_lock(const char *path, struct error *err)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        error_errno(err, errno, "cannot open the lock file '%s'", path);
    return fd;
}

/* True when taken; else *busy, or an error. */
static bool try_lock(int fd, const char *path, bool *busy, struct error *err)
{
    *busy = false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    *busy = errno == EWOULDBLOCK || errno == EINTR;
    return *busy ? false : refuse(err, errno, path);
}

bool file_lock_try(struct file_lock *lock, const char *path, bool *busy, struct error *err)
{
    *busy = false;
    lock->fd = -1;
    const int fd = open_lock(path, err);
    if (fd < 0)
        return false;
    if (try_lock(fd, path, busy, err))
        lock->fd = fd;
    else
        close(fd);
    return lock->fd >= 0;
}

bool file_lock_take(struct file_lock *lock, const char *path, double wait_s, struct error *err)
{
    lock->fd = -1;
    const int fd = open_lock(path, err);
    if (fd < 0)
        return false;
    const double start = clock_now_s();
    double pause_s = 0.001;
    bool busy;
    while (!try_lock(fd, path, &busy, err)) {
        const double waited = clock_now_s() - start;
        if (busy && waited >= wait_s) {
            error_set(err, ERROR_SYSTEM,
                      "'%s' is still locked by another fugue process after %.1f s; wait for it to "
                      "end and try again",
                      path, waited);
            busy = false;
        }
        if (!busy) {
            close(fd);
            return false;
        }
        if (waited > PATIENCE_S)
            log_once(LOG_WARNING,
                     "'%s' is locked by another fugue process: waiting up to %.0f s for it", path,
                     wait_s);
        clock_sleep_s(pause_s < wait_s - waited ? pause_s : wait_s - waited);
        pause_s = pause_s < 0.02 ? 2 * pause_s : pause_s;
    }
    lock->fd = fd;
    return true;
}

void file_unlock(struct file_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}
