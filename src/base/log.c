#include "base/log.h"
#include "base/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum log_level lowest = LOG_NOTICE;
static log_sink_fn sink;
static void *sink_ctx;
static struct text_list said;

static const struct {
    const char *label, *colour;
} levels[] = {
    [LOG_DEBUG] = {"debug: ", "\033[2m"},
    [LOG_NOTICE] = {"", ""},
    [LOG_WARNING] = {"warning: ", "\033[33m"},
};

bool log_use_color(int fd)
{
    const char *term = getenv("TERM"), *refused = getenv("NO_COLOR");
    return isatty(fd) && (!term || strcmp(term, "dumb") != 0) && (!refused || !*refused);
}

void log_set_level(enum log_level level)
{
    pthread_mutex_lock(&lock);
    lowest = level;
    pthread_mutex_unlock(&lock);
}

void log_set_sink(log_sink_fn fn, void *ctx)
{
    pthread_mutex_lock(&lock);
    sink = fn;
    sink_ctx = ctx;
    pthread_mutex_unlock(&lock);
}

/* One write a line, so that lines of several processes on one stderr do not mix.  Lock held. */
static void say(enum log_level level, const char *message)
{
    if (sink) {
        sink(sink_ctx, level, message);
        return;
    }
    const bool coloured = levels[level].colour[0] && log_use_color(STDERR_FILENO);
    char *line = xasprintf("fugue: %s%s%s%s\n", coloured ? levels[level].colour : "",
                           levels[level].label, coloured ? "\033[0m" : "", message);
    fputs(line, stderr);
    fflush(stderr);
    free(line);
}

static void log_text(enum log_level level, bool once, const char *message)
{
    pthread_mutex_lock(&lock);
    if (level >= lowest && !(once && text_list_has(&said, message))) {
        if (once)
            text_list_add(&said, message);
        say(level, message);
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((format(printf, 3, 0))) static void log_args(enum log_level level, bool once,
                                                           const char *format, va_list args)
{
    va_list copy;
    va_copy(copy, args);
    const int n = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    const size_t size = n < 0 ? 1 : (size_t)n + 1;
    char *message = xmalloc(size);
    message[0] = '\0';
    vsnprintf(message, size, format, args);
    log_text(level, once, message);
    free(message);
}

void log_msg(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_args(level, false, format, args);
    va_end(args);
}

void log_once(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_args(level, true, format, args);
    va_end(args);
}
