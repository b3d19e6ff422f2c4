/* Text: a growing string, splitting, strict number parsing, closest-match suggestions.
 * Allocation failure inside these aborts the process with a message (as xmalloc does): a few bytes
 * of text that cannot be had leave nothing sensible to do.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* malloc family that aborts with a message instead of returning NULL.  free() releases. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A growing string.  Invariant: data is NUL-terminated and never NULL after text_init. */
struct text {
    char *data;
    size_t len, cap;
};
void text_init(struct text *t);
void text_release(struct text *t);
void text_clear(struct text *t);
void text_add(struct text *t, const char *s);
void text_add_n(struct text *t, const char *s, size_t n);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Gives the heap string to the caller and leaves *t empty (initialised again). */
char *text_take(struct text *t);

/* A list of owned strings. */
struct text_list {
    char **items;
    size_t n, cap;
};
void text_list_init(struct text_list *l);
void text_list_release(struct text_list *l);
void text_list_add(struct text_list *l, const char *s);
bool text_list_has(const struct text_list *l, const char *s);
/* Splits s at each c and adds the parts to *out (initialised by the caller); empty parts are kept;
 * "" gives one empty part. */
void text_split(struct text_list *out, const char *s, char c);

/* Strict parsing: the whole string, decimal, no blanks around, no overflow; a leading "+" is fine;
 * NULL is refused; *out is untouched on failure.  "nan", "inf", "-inf" (any case) are refused by
 * text_to_double and accepted by text_to_real. */
bool text_to_int64(const char *s, int64_t *out);
bool text_to_uint64(const char *s, uint64_t *out);
bool text_to_double(const char *s, double *out);
bool text_to_real(const char *s, double *out);

bool text_equal_nocase(const char *a, const char *b);
bool text_starts_with(const char *s, const char *prefix);

/* Damerau-Levenshtein distance (adjacent transpositions count 1), case-insensitive. */
size_t text_distance(const char *a, const char *b);
/* Closest of n candidates to word, NULL when none is near enough to be meant
 * (distance <= max(1, len/3) and below len; else word is a prefix of exactly one candidate, case
 * aside).  The first of several equally near ones. */
const char *text_closest(const char *word, const char *const *candidates, size_t n);
/* " (did you mean 'x'?)" or "" ; returned in a static thread-local buffer. */
const char *text_did_you_mean(const char *word, const char *const *candidates, size_t n);

#endif
