/* What the tests of this room share: engines and data that must open, a recorder of events, jobs
 * that differ in everything a bucket lets differ.
 */
#ifndef TESTS_ENGINE_HELPER_H
#define TESTS_ENGINE_HELPER_H

#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (!strstr((text), (part)))                                                               \
            fail_msg("'%s' does not contain '%s'", (text), (part));                                \
    } while (0)

/* What open_engine opens: the CPU unless a test (tests/gpu) says otherwise. */
extern struct engine_options test_engine;

/* Each fails the test with the error's sentence when it cannot. */
struct engine *open_engine(int threads);
struct dataset *load_data(const char *name, bool synthetic);
struct bucket *make_bucket(struct engine *e, const struct bucket_spec *spec);
void run_buckets(struct engine *e, struct bucket *const *buckets, int n,
                 const struct engine_events *events);

/* Default options of an optimiser. */
struct optim_args optim_defaults(const char *name, double lr);

#define RECORD_MODELS 16
#define RECORD_EPOCHS 32
struct model_record {
    struct epoch_report epochs[RECORD_EPOCHS];
    int n_epochs;
    struct model_result result;
    int n_results;
    int n_train_passes, n_eval_passes, n_progress;
    double last_progress; /* position in epochs */
};
struct recorder {
    struct model_record model[RECORD_MODELS]; /* of one bucket */
    struct bucket *const *buckets;            /* several: model k of bucket i is i * 8 + k */
    int n_buckets;
    int stop_after_epochs;       /* should_stop turns true after so many epoch events; 0: never */
    int stop_after_train_passes; /* the same, before the epoch is reported */
    int n_epochs, n_train_passes;
    volatile bool stop;
    int inside; /* events at the same time: must stay below 2 */
    bool overlapped;
};
struct engine_events recorder_events(struct recorder *r);

/* Everything of an epoch that is not a time is the same bits. */
void assert_same_epochs(const struct model_record *a, const struct model_record *b);
void assert_same_result(const struct model_result *a, const struct model_result *b);

/* State of a model, compared byte by byte. */
struct blob {
    void *data;
    size_t len;
};
struct blob export_model(const struct bucket *b, int model);

#endif
