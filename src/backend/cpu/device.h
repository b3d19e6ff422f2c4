/* The CPU as a device: worker threads that live as long as it does, and the run they work on. */
#ifndef BACKEND_CPU_DEVICE_H
#define BACKEND_CPU_DEVICE_H

#include "backend/cpu/team.h"

#include <pthread.h>

struct backend_device;

/* A model of the run in progress. */
enum entry_state { ENTRY_WAITING, ENTRY_RUNNING, ENTRY_FINISHED };
struct entry {
    struct model_run *run;
    enum entry_state state;
    double remaining;
};

/* A team's place: one a thread, because every team has a thread of its own that leads it. */
struct place {
    struct team team;
    bool open; /* may be joined */
    double remaining;
    int max_members;
};

struct worker {
    struct backend_device *dev;
    pthread_t thread;
    int index;
};

struct backend_device {
    struct bucket_use use;
    bool pin;
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    bool closing;
    struct worker *workers;
    int n_started;
    struct place *places;
    /* The run in progress, under the lock. */
    struct entry *entries;
    int n_entries, n_waiting, n_unfinished, n_open, n_idle;
    const struct run_hooks *hooks;
    _Atomic bool stopping;
};

/* A worker's life: leads teams, joins teams, waits. */
void *cpu_thread_main(void *arg);
bool device_run(struct backend_device *dev, struct model_run *const *runs, int n,
                const struct run_hooks *hooks, struct error *err);

#endif
