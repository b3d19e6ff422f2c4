/* Jobs trained alone and in company, and the proof that it makes no difference. */
#ifndef TESTS_ENGINE_HELPER_COMPANY_H
#define TESTS_ENGINE_HELPER_COMPANY_H

#include "helper_engine.h"

#define COMPANY_MAX 15

/* Jobs that differ in all a bucket lets differ. */
struct scenario {
    const char *name, *data, *model, *optimizer;
    bool synthetic;
    int batch;
    int64_t limit;
    enum split_kind split;
    bool eval_each_epoch;
    double lr;
    int models;           /* at least 4 */
    const char *schedule; /* NULL: none; else of every second job, and two in three clip */
};

/* Job i of a scenario. */
struct train_spec company_job(const struct scenario *s, int i);
/* Trains jobs [first, first + n) as one bucket; writes their records and states. */
void company_train(const struct scenario *s, const struct dataset *d, int threads, int first, int n,
                   struct model_record *records, struct blob *blobs);
/* All jobs alone on one thread, then in buckets of several sizes on 1, 2 and 3 threads. */
void company_check(const struct scenario *s);

#endif
