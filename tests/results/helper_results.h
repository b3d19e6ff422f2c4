/* What the tests of the result store share. */
#ifndef HELPER_RESULTS_H
#define HELPER_RESULTS_H

#include "results/results.h"

#include <stdbool.h>
#include <stddef.h>

/* cmocka wants these before it, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A fresh folder, its name in *state; removed with all in it afterwards. */
int make_folder(void **state);
int remove_folder(void **state);
/* In memory where there is such a place: fsync costs nothing there, so that races are likelier. */
int make_fast_folder(void **state);

/* Whole content, malloc'd; fails the test when it cannot be read. */
char *content(const char *folder, const char *name);
void put(const char *folder, const char *name, const char *text);
void put_n(const char *folder, const char *name, const char *data, size_t n);
char *in(const char *folder, const char *name); /* malloc'd path */
bool there(const char *folder, const char *name);

/* A row of a job or group with a few columns filled. */
json_t *job_row(const char *group_id, const char *job_id, double loss);
json_t *group_row(const char *group_id, double t_group);
/* A history of n epochs. */
json_t *job_history(const char *job_id, int n);

struct results *open_ok(const char *folder);
void add_job_ok(struct results *r, const char *group_id, const char *job_id, double loss);
void sync_ok(struct results *r);

/* Rows of a master file. */
json_t *rows(const char *folder, const char *name);
/* How many rows have this value in this column. */
int count(const json_t *rows_, const char *column, const char *value);

/* From now on messages are kept and not printed. */
void catch_log(void);
bool logged(const char *part);

/* The page docs/results.md, malloc'd. */
char *results_page(void);

#endif
