#include "helper_child.h"
#include "base/clock.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int exit_3(void)
{
    return 3;
}

static int sleep_long(void)
{
    clock_sleep_s(60);
    return 0;
}

/* Says so on the channel, then sits on SIGTERM. */
static int ignore_term(void)
{
    signal(SIGTERM, SIG_IGN);
    if (write(OS_CHANNEL_FD, "r", 1) != 1)
        return 1;
    clock_sleep_s(60);
    return 0;
}

/* Prints its open descriptors, and what stdin is. */
static int list_fds(void)
{
    struct stat in, null;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    const bool is_null = fstat(0, &in) == 0 && stat("/dev/null", &null) == 0 &&
                         in.st_rdev == null.st_rdev && S_ISCHR(in.st_mode);
    printf("%s\n", is_null ? "null" : "other");
    fflush(stdout);
    fprintf(stderr, "err\n");
    return 0;
}

/* Sends back what comes over the channel until its end. */
static int echo(void)
{
    char buffer[256];
    ssize_t n;
    while ((n = read(OS_CHANNEL_FD, buffer, sizeof buffer)) > 0)
        if (write(OS_CHANNEL_FD, buffer, (size_t)n) != n)
            return 1;
    return n == 0 ? 0 : 2;
}

/* The signal state a child starts with, as an exit code: 0 when all is as it should be. */
static int signal_state(void)
{
    sigset_t mask;
    struct sigaction action;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int sig = 1; sig < 32; sig++)
        if (sigismember(&mask, sig) == 1)
            return 10 + sig;
    sigaction(SIGPIPE, NULL, &action);
    return action.sa_handler == SIG_DFL ? 0 : 1;
}

static int print_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    printf("%d\n", CPU_COUNT(&set));
    return 0;
}

/* An affinity set before the process looks for the first time counts. */
static int one_core(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&all);
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int i = CPU_SETSIZE - 1; i >= 0; i--) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    }
    sched_setaffinity(0, sizeof one, &one);
    return os_cpu_count();
}

static int print_peak(void)
{
    printf("%lld\n", (long long)os_peak_rss(0));
    return 0;
}

/* Checks flag and descriptor, then dies of the signal it caught. */
static int catch_signals(void)
{
    os_catch_signals();
    struct pollfd p = {.fd = os_stop_fd(), .events = POLLIN};
    if (p.fd < 0 || os_stop_requested() != 0 || poll(&p, 1, 0) != 0)
        return 1;
    raise(SIGPIPE); /* ignored */
    raise(SIGTERM);
    if (os_stop_requested() != SIGTERM || poll(&p, 1, 0) != 1)
        return 2;
    for (int i = 0; i < 100000; i++) /* more than a pipe holds */
        raise(SIGINT);
    if (os_stop_requested() != SIGTERM || poll(&p, 1, 0) != 1)
        return 3;
    if ((fcntl(p.fd, F_GETFD) & FD_CLOEXEC) == 0)
        return 4;
    os_die_by_signal(os_stop_requested());
}

/* Under nohup a hang-up stays ignored. */
static int catch_under_nohup(void)
{
    signal(SIGHUP, SIG_IGN);
    os_catch_signals();
    raise(SIGHUP);
    return os_stop_requested();
}

static int ignore_interrupts(void)
{
    os_ignore_interrupts();
    raise(SIGINT);
    raise(SIGHUP);
    raise(SIGPIPE);
    raise(SIGTERM); /* ends it */
    return 0;
}

static int harmless_signal(void)
{
    os_die_by_signal(SIGCHLD); /* which ends nobody by default */
}

/* Waits for its parent's end, having told the channel its own pid. */
static int orphan(bool late)
{
    char line[32];
    const pid_t parent = getppid();
    const int n = snprintf(line, sizeof line, "%ld\n", (long)getpid());
    if (late) {
        /* The parent ends before os_die_with_parent is called. */
        if (write(OS_CHANNEL_FD, line, (size_t)n) != n)
            return 1;
        while (getppid() == parent)
            clock_sleep_s(0.002);
        os_die_with_parent();
    } else {
        os_die_with_parent();
        if (write(OS_CHANNEL_FD, line, (size_t)n) != n)
            return 1;
    }
    clock_sleep_s(60);
    return 0;
}

static int orphan_early(void)
{
    return orphan(false);
}

static int orphan_late(void)
{
    return orphan(true);
}

/* Starts an orphan-to-be on its own channel, and ends when it is told. */
static int parent_of(const char *mode)
{
    struct os_child child;
    char *argv[] = {"child", "child", (char *)mode, NULL};
    if (!os_spawn(&child, os_executable(), argv, -1, OS_CHANNEL_FD, false, NULL))
        return 1;
    clock_sleep_s(60);
    return 0;
}

static int parent_early(void)
{
    return parent_of("orphan_early");
}

static int parent_late(void)
{
    return parent_of("orphan_late");
}

/* The parent is alive: nothing happens, and the variable is gone. */
static int with_parent(void)
{
    os_die_with_parent();
    return getenv("_FUGUE_PARENT") ? 1 : 0;
}

static int print_build_id(void)
{
    printf("%s\n", os_build_id());
    return 0;
}

static const struct {
    const char *mode;
    int (*run)(void);
} modes[] = {
    {"exit_3", exit_3},
    {"sleep", sleep_long},
    {"ignore_term", ignore_term},
    {"list_fds", list_fds},
    {"echo", echo},
    {"signal_state", signal_state},
    {"print_cores", print_cores},
    {"one_core", one_core},
    {"print_peak", print_peak},
    {"catch_signals", catch_signals},
    {"catch_under_nohup", catch_under_nohup},
    {"ignore_interrupts", ignore_interrupts},
    {"harmless_signal", harmless_signal},
    {"orphan_early", orphan_early},
    {"orphan_late", orphan_late},
    {"parent_early", parent_early},
    {"parent_late", parent_late},
    {"with_parent", with_parent},
    {"print_build_id", print_build_id},
};

int child_main(const char *mode)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(mode, modes[i].mode) == 0)
            return modes[i].run();
    return 99;
}
