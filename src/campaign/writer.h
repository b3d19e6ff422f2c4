/* Journals finished jobs from a thread of its own, so that waiting for the disk is no part of
 * T_group: for cell.c only. */
#ifndef CAMPAIGN_WRITER_H
#define CAMPAIGN_WRITER_H

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>

struct results;
struct writer;

/* store NULL: rows are not kept, only announced.  `written` is called from the writer's thread once
 * the row is on disk (or could not be put there). */
struct writer *writer_start(struct results *store,
                            void (*written)(void *ctx, int job, const json_t *row), void *ctx,
                            struct error *err);
/* Takes both references. */
void writer_add(struct writer *w, int job, json_t *row, json_t *history);
/* Waits for all rows.  Adds the job_id of each that could not be written to *lost (initialised);
 * the first reason is in *err. */
void writer_finish(struct writer *w, struct text_list *lost, struct error *err);

#endif
