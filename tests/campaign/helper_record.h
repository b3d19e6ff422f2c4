/* Records of cells for tests, without running any. */
#ifndef TESTS_CAMPAIGN_HELPER_RECORD_H
#define TESTS_CAMPAIGN_HELPER_RECORD_H

#include "campaign/record.h"

extern const char *const def_ensemble, *const def_cv, *const def_hpo, *const def_multi_model;

/* A spec of this definition (single quotes stand for double ones) under a strategy. */
void test_spec_make(struct cell_spec *spec, const char *definition, const char *executor);
/* A record of it, group id "<executor>_00000001". */
void test_record_make(struct record *r, struct cell_spec *spec);
/* A job that ended well with these scores. */
void test_result_ok(struct job_result *r, double train_score, double val_score, double val_loss);

#endif
