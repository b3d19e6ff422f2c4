/* What os_posix.c asks of os_linux.c and os_darwin.c: for this room only. */
#ifndef BASE_OS_INTERNAL_H
#define BASE_OS_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor that is readable once the child has ended; -1 where there is no such thing. */
int os_open_pidfd(pid_t pid);

/* A child inherits the affinity of the thread that starts it: around a spawn a pinned thread is
 * given back all cores of the process. */
struct os_affinity {
    bool changed;
    unsigned char saved[1024]; /* cpu_set_t of up to 8192 cores */
};
void os_unpin_for_spawn(struct os_affinity *a);
void os_repin_after_spawn(const struct os_affinity *a);

/* The variable in which os_spawn tells a child who its parent is ("PID:START_TIME"). */
#define OS_PARENT_VARIABLE "_FUGUE_PARENT"
/* Reads the variable and removes it.  1: the parent lives; 0: it is gone; -1: not told. */
int os_parent_is_alive(void);

#endif
