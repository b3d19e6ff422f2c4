/* What differs between operating systems: os_linux.c and os_darwin.c implement the same functions.
 * Processes are started by posix_spawn only, never by fork after threads.
 */
#ifndef BASE_OS_H
#define BASE_OS_H

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

/* Absolute path of the running executable, in a static buffer; NULL when unknown. */
const char *os_executable(void);
/* Hex build id of the running executable (ELF note / Mach-O UUID), in a static buffer; "unknown"
 * when it has none. */
const char *os_build_id(void);

/* Cores this process may use: affinity and cgroup CPU quota considered, at least 1. */
int os_cpu_count(void);
/* Pins the calling thread to the i-th core it may use (i mod count).  False when not possible. */
bool os_pin_thread(int i);
/* First "model name" of the CPU; "unknown" otherwise.  Static buffer. */
const char *os_cpu_model(void);

/* Peak and current resident set in bytes; pid 0 is this process.  -1 when unknown. */
int64_t os_peak_rss(pid_t pid);
int64_t os_current_rss(pid_t pid);
/* Memory that can be had without swapping, in bytes (cgroup limit considered); -1 when unknown. */
int64_t os_available_memory(void);

/* Start time of a process in clock ticks since boot: (pid, start time) names a process for good.
 * 0 when there is none. */
uint64_t os_process_start_time(pid_t pid);

/* A child process.  argv ends with NULL, path holds a slash.  fds: stdin is /dev/null; stdout and
 * stderr go to log_fd (or are inherited when log_fd < 0); channel_fd (>= 0) becomes descriptor
 * OS_CHANNEL_FD in the child; no other descriptor is inherited.  new_group puts it into a process
 * group of its own. */
#define OS_CHANNEL_FD 3
struct os_child {
    pid_t pid;
    uint64_t start_time;
    int pidfd; /* becomes readable when the child ends; -1 where the system has none, and after */
    bool own_group;
    bool ended; /* reaped: pid may mean another process now, so signal it no more */
    int status; /* once ended, as waitpid's */
};
bool os_spawn(struct os_child *child, const char *path, char *const argv[], int log_fd,
              int channel_fd, bool new_group, struct error *err);
/* Waits at most wait_s for the child to end and reaps it.  True when it ended: *status (may be
 * NULL) as waitpid's.  May be asked again afterwards.  A child reaped by somebody else counts as
 * exit code 255. */
bool os_wait(struct os_child *child, double wait_s, int *status);
/* SIGTERM, wait_s, SIGKILL (to the whole group where the child has its own), reap.  Nothing happens
 * to a child that has ended. */
void os_end_child(struct os_child *child, double wait_s, int *status);
/* "exit code 3", "killed by signal 9 (Killed)"; written into out. */
void os_describe_status(int status, char *out, size_t size);

/* Makes orphaned grandchildren ours (Linux), so that none outlives us unreaped. */
void os_become_subreaper(void);
/* Called by a child at its start: asks the system to end it (SIGKILL) when its parent ends (Linux;
 * where there is no such call the end of file on the channel does it), and ends it at once when the
 * parent is gone already.  Linux counts the thread that spawned as the parent: spawn from one that
 * stays. */
void os_die_with_parent(void);

/* Interrupts.  os_catch_signals installs handlers for SIGINT, SIGTERM, SIGHUP (unless started under
 * nohup) that set a flag (async-signal-safe) and make os_stop_fd readable; SIGPIPE and SIGXFSZ are
 * ignored.  A second SIGINT within the run stays a flag: whoever waits polls os_stop_requested. */
void os_catch_signals(void);
/* Workers ignore SIGINT, SIGHUP, SIGPIPE, SIGXFSZ: a Ctrl-C reaches the whole terminal, and their
 * parent decides.  SIGTERM still ends them. */
void os_ignore_interrupts(void);
/* 0, or the first signal that asked to stop. */
int os_stop_requested(void);
/* -1 before os_catch_signals.  Never read from it: it stays readable. */
int os_stop_fd(void);
/* Restores the default action of `sig` and raises it: the shell sees a death by signal. */
_Noreturn void os_die_by_signal(int sig);

#endif
