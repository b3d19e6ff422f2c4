/* Interrupts: a flag and a pipe that becomes readable, set from the handler. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;
static int stop_pipe[2] = {-1, -1};

static void on_signal(int sig)
{
    const int saved = errno;
    if (stop_signal == 0)
        stop_signal = sig;
    /* Never drained, so one byte is enough; a full pipe is readable too. */
    if (stop_pipe[1] >= 0 && write(stop_pipe[1], "", 1) < 0)
        errno = saved;
    errno = saved;
}

static void set_action(int sig, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(sig, &action, NULL);
}

static void make_pipe(void)
{
    int fds[2];
    if (stop_pipe[0] >= 0 || pipe(fds) != 0)
        return;
    for (int i = 0; i < 2; i++) {
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
    }
    stop_pipe[0] = fds[0];
    stop_pipe[1] = fds[1];
}

/* A write that cannot be done (a closed pipe, the limit of ulimit -f) returns its error, which says
 * more than a death by signal and leaves nothing half-written. */
static void ignore_failed_writes(void)
{
    set_action(SIGPIPE, SIG_IGN);
    set_action(SIGXFSZ, SIG_IGN);
}

void os_catch_signals(void)
{
    make_pipe();
    set_action(SIGINT, on_signal);
    set_action(SIGTERM, on_signal);
    struct sigaction old;
    /* Under nohup SIGHUP is ignored on entry, and stays so. */
    if (sigaction(SIGHUP, NULL, &old) != 0 || old.sa_handler != SIG_IGN)
        set_action(SIGHUP, on_signal);
    ignore_failed_writes();
}

void os_ignore_interrupts(void)
{
    set_action(SIGINT, SIG_IGN);
    set_action(SIGHUP, SIG_IGN);
    ignore_failed_writes();
}

int os_stop_requested(void)
{
    return stop_signal;
}

int os_stop_fd(void)
{
    return stop_pipe[0];
}

_Noreturn void os_die_by_signal(int sig)
{
    sigset_t one;
    set_action(sig, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    /* Reached for signals that end nobody. */
    _exit(128 + sig);
}
