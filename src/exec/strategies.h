/* The strategies of this room, one file each: for executor.c only. */
#ifndef EXEC_STRATEGIES_H
#define EXEC_STRATEGIES_H

#include "exec/executor.h"

extern const struct executor_info executor_seq, executor_mp, executor_unified_model;

/* Checks every strategy needs: there are jobs, and the device is one this version has. */
bool executor_check_common(const struct job *jobs, int32_t n, const struct exec_options *o,
                           struct error *err);

/* layout.c: how many units at once and with how many threads. */
int layout_threads(const struct exec_options *o);
void layout_seq(const struct job *jobs, int32_t n, const struct exec_options *o,
                struct layout *out);
void layout_mp(const struct job *jobs, int32_t n, const struct exec_options *o, struct layout *out);
void layout_unified_model(const struct job *jobs, int32_t n, const struct exec_options *o,
                          struct layout *out);
/* Threads of process `slot` of mp: an even share, the first ones one more, at least 1. */
int layout_slot_threads(const struct layout *l, int slot);

extern const char layout_source_fixed[], layout_source_default[], layout_source_option[];

#endif
