/* Groups for tests of strategies: jobs from a definition, a sink that keeps everything. */
#ifndef TESTS_EXEC_HELPER_GROUP_H
#define TESTS_EXEC_HELPER_GROUP_H

#include "exec/executor.h"

struct test_group {
    struct experiment *experiment;
    struct job *jobs;
    int32_t n;
};

/* From a definition in JSON (single quotes stand for double ones). */
void test_group_make(struct test_group *g, const char *definition);
void test_group_release(struct test_group *g);

struct recorder;
typedef void (*recorder_hook)(struct recorder *r, int job, const struct epoch_report *e);

struct recorder {
    int n;
    struct job_result *results; /* with copies of the histories */
    int *times;                 /* how often each job was reported */
    int *order;                 /* jobs in the order they were reported */
    int n_done, begins, ends;
    bool late; /* something was reported outside begin .. end */
    pid_t pids[64];
    int n_pids, alive;
    double phase_s[PHASE_COUNT];
    recorder_hook on_epoch; /* may be NULL */
    void *hook_data;
};

void recorder_init(struct recorder *r, int n);
void recorder_release(struct recorder *r);

/* Runs the group; options NULL: CPU, 2 threads.  Every job must be reported exactly once. */
void recorder_run(struct recorder *r, const char *slug, const struct test_group *g,
                  const struct exec_options *options);
/* Options the tests start from. */
struct exec_options test_options(int threads, int max_parallel);

#endif
