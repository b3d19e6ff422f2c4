/* Child processes, the same on Linux and Darwin. */
#include "base/clock.h"
#include "base/os.h"
#include "base/os_internal.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __APPLE__
extern char **environ; /* which Darwin has but does not declare */
#endif

/* The descriptors a child gets; above all that it uses, so that a dup2 never lands on another. */
#define FIRST_FREE_FD 10

/* malloc'd environment: ours, with the variable that names the parent set anew.  *own gets the one
 * malloc'd entry. */
static char **child_environment(char **own)
{
    const size_t name_len = strlen(OS_PARENT_VARIABLE "=");
    size_t n = 0;
    while (environ[n])
        n++;
    char **list = xcalloc(n + 2, sizeof *list);
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], OS_PARENT_VARIABLE "=", name_len) != 0)
            list[used++] = environ[i];
    *own = xasprintf(OS_PARENT_VARIABLE "=%ld:%llu", (long)getpid(),
                     (unsigned long long)os_process_start_time(getpid()));
    list[used] = *own;
    return list;
}

int os_parent_is_alive(void)
{
    const char *value = getenv(OS_PARENT_VARIABLE);
    if (!value)
        return -1;
    char *copy = xstrdup(value);
    char *colon = strchr(copy, ':');
    int64_t pid = 0;
    uint64_t start = 0;
    bool told = false;
    if (colon) {
        *colon = '\0';
        told = text_to_int64(copy, &pid) && text_to_uint64(colon + 1, &start) && pid > 0;
    }
    free(copy);
    unsetenv(OS_PARENT_VARIABLE);
    if (!told)
        return -1;
    return getppid() == (pid_t)pid && os_process_start_time((pid_t)pid) == start;
}

/* No descriptor but the four may reach the child.  Everything of ours is opened O_CLOEXEC; this
 * catches what libraries left open. */
static int close_the_rest(posix_spawn_file_actions_t *actions, int first)
{
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
#endif
#elif defined(__APPLE__)
    /* POSIX_SPAWN_CLOEXEC_DEFAULT closes everything that no action names. */
    int rc = 0;
    for (int fd = STDOUT_FILENO; rc == 0 && fd <= STDERR_FILENO; fd++)
        rc = posix_spawn_file_actions_addinherit_np(actions, fd);
    (void)first;
    return rc;
#endif
    (void)actions;
    (void)first;
    return 0;
}

static int set_actions(posix_spawn_file_actions_t *actions, int log_fd, int channel_fd)
{
    int rc = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0 && log_fd >= 0)
        rc = posix_spawn_file_actions_adddup2(actions, log_fd, STDOUT_FILENO);
    if (rc == 0 && log_fd >= 0)
        rc = posix_spawn_file_actions_adddup2(actions, log_fd, STDERR_FILENO);
    if (rc == 0 && channel_fd >= 0)
        rc = posix_spawn_file_actions_adddup2(actions, channel_fd, OS_CHANNEL_FD);
    if (rc == 0)
        rc = close_the_rest(actions, channel_fd >= 0 ? OS_CHANNEL_FD + 1 : OS_CHANNEL_FD);
    return rc;
}

static int set_attributes(posix_spawnattr_t *attr, bool new_group)
{
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, ours;
    sigemptyset(&none);
    sigemptyset(&ours);
    /* What we ignore for ourselves (os_catch_signals, tests of full disks); an inherited "ignore
     * SIGHUP" is the user's nohup and stays. */
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    if (new_group)
        flags |= POSIX_SPAWN_SETPGROUP;
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    int rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &ours);
    if (rc == 0 && new_group)
        rc = posix_spawnattr_setpgroup(attr, 0);
    return rc == 0 ? posix_spawnattr_setflags(attr, flags) : rc;
}

/* posix_spawn with everything set; 0 or an errno. */
static int spawn(pid_t *pid, const char *path, char *const argv[], char **env, int log_fd,
                 int channel_fd, bool new_group)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attr);
    if (rc == 0) {
        rc = set_actions(&actions, log_fd, channel_fd);
        if (rc == 0)
            rc = set_attributes(&attr, new_group);
        struct os_affinity affinity;
        os_unpin_for_spawn(&affinity);
        if (rc == 0)
            rc = posix_spawn(pid, path, &actions, &attr, argv, env);
        os_repin_after_spawn(&affinity);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* A duplicate out of the way of 0..3; -1 stays -1.  False (errno set) when there is none. */
static bool move_away(int fd, int *moved)
{
    *moved = -1;
    if (fd >= 0)
        *moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    return fd < 0 || *moved >= 0;
}

bool os_spawn(struct os_child *child, const char *path, char *const argv[], int log_fd,
              int channel_fd, bool new_group, struct error *err)
{
    *child = (struct os_child){.pidfd = -1};
    int log = -1, channel = -1;
    if (!move_away(log_fd, &log) || !move_away(channel_fd, &channel)) {
        const int why = errno;
        if (log >= 0)
            close(log);
        return error_errno(err, why, "cannot start '%s': a descriptor for it is not to be had",
                           path);
    }
    char *own;
    char **env = child_environment(&own);
    const int rc = spawn(&child->pid, path, argv, env, log, channel, new_group);
    free(env);
    free(own);
    if (log >= 0)
        close(log);
    if (channel >= 0)
        close(channel);
    if (rc != 0) {
        child->pid = 0;
        child->ended = true;
        return error_errno(err, rc, "cannot start '%s'", path);
    }
    child->own_group = new_group;
    child->start_time = os_process_start_time(child->pid);
    child->pidfd = os_open_pidfd(child->pid);
    return true;
}

/* Reaps when the child has ended.  A child that somebody else reaped counts as failed: how it ended
 * is lost. */
static bool try_reap(struct os_child *child)
{
    int status = 0;
    pid_t pid;
    do
        pid = waitpid(child->pid, &status, WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return false;
    child->ended = true;
    child->status = pid < 0 ? 255 << 8 : status;
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pidfd = -1;
    return true;
}

/* Sleeps until the child may have ended, at most left_s. */
static void wait_a_little(const struct os_child *child, double left_s, double *pause_s)
{
    if (child->pidfd >= 0) {
        struct pollfd p = {.fd = child->pidfd, .events = POLLIN};
        const double ms = left_s * 1e3 + 1;
        poll(&p, 1, ms < 60000 ? (int)ms : 60000);
        return;
    }
    clock_sleep_s(*pause_s < left_s ? *pause_s : left_s);
    *pause_s = *pause_s < 0.02 ? 2 * *pause_s : *pause_s;
}

bool os_wait(struct os_child *child, double wait_s, int *status)
{
    const double end = clock_now_s() + wait_s;
    double pause_s = 0.0005;
    while (!child->ended && !try_reap(child)) {
        const double left_s = end - clock_now_s();
        if (left_s <= 0)
            return false;
        wait_a_little(child, left_s, &pause_s);
    }
    if (status)
        *status = child->status;
    return true;
}

void os_end_child(struct os_child *child, double wait_s, int *status)
{
    if (!child->ended) {
        kill(child->pid, SIGTERM);
        /* A stopped process would sit on the signal until it is continued. */
        kill(child->pid, SIGCONT);
    }
    if (os_wait(child, wait_s, status))
        return;
    if (child->own_group)
        kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    /* Even SIGKILL waits for a call into a driver to return. */
    while (!os_wait(child, 60, status))
        continue;
}

void os_describe_status(int status, char *out, size_t size)
{
    if (WIFEXITED(status)) {
        snprintf(out, size, "exit code %d", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
        const char *name = strsignal(WTERMSIG(status));
        snprintf(out, size, "killed by signal %d (%s)", WTERMSIG(status), name ? name : "unknown");
    } else {
        snprintf(out, size, "wait status 0x%x", (unsigned)status);
    }
}
