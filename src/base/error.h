/* Errors: a function that can fail returns false (or NULL) and fills a struct error with one
 * sentence that says what went wrong, where, and what to do about it.  The command line prints it
 * once; nobody else prints errors.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The class decides the exit code: USAGE is 2 (nothing was done), all others are 1. */
enum error_class {
    ERROR_NONE = 0,
    ERROR_USAGE,    /* the command line or a definition cannot be used as written */
    ERROR_DATA,     /* a file or data set is missing, truncated or malformed */
    ERROR_SYSTEM,   /* the operating system refused: disk full, no memory, no lock */
    ERROR_RUN,      /* training failed: diverged, a worker died, a device was lost */
    ERROR_INTERNAL, /* a bug in fugue */
};

struct error {
    enum error_class class_;
    char text[1600];
};

/* Start value: struct error err = ERROR_INIT; */
#define ERROR_INIT                                                                                 \
    {                                                                                              \
        ERROR_NONE,                                                                                \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* Fills *err (err may be NULL) and returns false, so that "return error_set(...)" reads well.
 * A long text is cut with an ellipsis, never overflows. */
bool error_set(struct error *err, enum error_class class_, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set with class ERROR_SYSTEM, appending ": <strerror(errnum)>", which survives a cut. */
bool error_errno(struct error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "format: " before the text already in *err, keeping its class; returns false. */
bool error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

void error_clear(struct error *err);

/* Exit code of an error: ERROR_USAGE 2, anything else 1, ERROR_NONE 0. */
int error_exit_code(const struct error *err);

#ifdef __cplusplus
}
#endif
#endif
