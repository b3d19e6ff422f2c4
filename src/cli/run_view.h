/* What is seen while cells run: progress for people on stderr, or every event as a line of JSON on
 * stdout.  For this room only.
 */
#ifndef CLI_RUN_VIEW_H
#define CLI_RUN_VIEW_H

#include "campaign/cell.h"

struct run_view;

/* Takes over the log (messages go above the bars) until it is freed.  quiet: warnings only. */
struct run_view *run_view_new(bool json, bool quiet, int n_cells);
void run_view_free(struct run_view *v);

/* Before and after each cell; spec is borrowed between them. */
void run_view_begin(struct run_view *v, int cell, const struct cell_spec *spec);
void run_view_end(struct run_view *v);
/* The handler of its events (cell_event_fn). */
void run_view_event(void *view, const json_t *event);

/* One line of JSON on stdout, at once. */
void run_view_print(struct run_view *v, const json_t *message);
/* Nobody reads that any more: the pipe is closed. */
bool run_view_reader_gone(const struct run_view *v);

#endif
