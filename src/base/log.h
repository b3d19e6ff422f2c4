/* What fugue says beside results: notices and warnings, one line each on stderr, prefixed and
 * coloured only on a terminal without NO_COLOR.  A process that reports to a parent (cell, worker)
 * installs a sink instead. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_NOTICE, LOG_WARNING };

/* LOG_DEBUG lines are dropped unless log_set_level(LOG_DEBUG). */
void log_set_level(enum log_level level);
void log_msg(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says each distinct text once per process. */
void log_once(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All messages go to fn instead of stderr; NULL restores stderr.  Thread-safe; fn is called with a
 * lock held and must not log. */
typedef void (*log_sink_fn)(void *ctx, enum log_level level, const char *text);
void log_set_sink(log_sink_fn fn, void *ctx);

/* True when fd is a terminal, TERM is not "dumb" and NO_COLOR is unset or empty. */
bool log_use_color(int fd);

#endif
