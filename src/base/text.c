#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The one place where the process is given up: see the header. */
static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr, "fugue: out of memory (asked for %zu bytes)\n", size);
    abort();
}

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory(size && count > SIZE_MAX / size ? SIZE_MAX : count * size);
    return p;
}

void *xrealloc(void *ptr, size_t size)
{
    void *p = realloc(ptr, size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

char *xstrdup(const char *s)
{
    const size_t size = strlen(s) + 1;
    return memcpy(xmalloc(size), s, size);
}

/* Length of the formatted text; a format that cannot be printed counts as empty. */
__attribute__((format(printf, 1, 0))) static size_t format_length(const char *format, va_list args)
{
    va_list copy;
    va_copy(copy, args);
    const int n = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    return n < 0 ? 0 : (size_t)n;
}

char *xasprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t n = format_length(format, args);
    char *s = xmalloc(n + 1);
    s[0] = '\0';
    vsnprintf(s, n + 1, format, args);
    va_end(args);
    return s;
}

void text_init(struct text *t)
{
    t->cap = 32;
    t->len = 0;
    t->data = xmalloc(t->cap);
    t->data[0] = '\0';
}

void text_release(struct text *t)
{
    free(t->data);
    *t = (struct text){0};
}

void text_clear(struct text *t)
{
    t->len = 0;
    t->data[0] = '\0';
}

/* Makes room for n more bytes and the NUL. */
static void text_reserve(struct text *t, size_t n)
{
    if (n < t->cap - t->len)
        return;
    if (n > SIZE_MAX / 2 - t->len - 1)
        out_of_memory(n);
    while (t->cap - t->len <= n)
        t->cap *= 2;
    t->data = xrealloc(t->data, t->cap);
}

void text_add_n(struct text *t, const char *s, size_t n)
{
    text_reserve(t, n);
    if (n > 0)
        memcpy(t->data + t->len, s, n);
    t->len += n;
    t->data[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
    text_add_n(t, s, strlen(s));
}

void text_addf(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t n = format_length(format, args);
    text_reserve(t, n);
    if (n > 0)
        vsnprintf(t->data + t->len, n + 1, format, args);
    t->len += n;
    va_end(args);
}

char *text_take(struct text *t)
{
    char *s = t->data;
    text_init(t);
    return s;
}

void text_list_init(struct text_list *l)
{
    *l = (struct text_list){0};
}

void text_list_release(struct text_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    *l = (struct text_list){0};
}

/* Takes ownership of s. */
static void text_list_give(struct text_list *l, char *s)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 8;
        l->items = xrealloc(l->items, l->cap * sizeof *l->items);
    }
    l->items[l->n++] = s;
}

void text_list_add(struct text_list *l, const char *s)
{
    text_list_give(l, xstrdup(s));
}

bool text_list_has(const struct text_list *l, const char *s)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], s) == 0)
            return true;
    return false;
}

void text_split(struct text_list *out, const char *s, char c)
{
    for (;;) {
        const char *end = s;
        while (*end && *end != c)
            end++;
        const size_t n = (size_t)(end - s);
        char *part = xmalloc(n + 1);
        memcpy(part, s, n);
        part[n] = '\0';
        text_list_give(out, part);
        if (!*end)
            return;
        s = end + 1;
    }
}

/* strtoll and friends skip blanks and take what they can: an integer here is a sign and digits. */
static bool is_integer(const char *s, bool negative_too)
{
    if (*s == '+' || (negative_too && *s == '-'))
        s++;
    if (!*s)
        return false;
    for (; *s; s++)
        if (*s < '0' || *s > '9')
            return false;
    return true;
}

bool text_to_int64(const char *s, int64_t *out)
{
    if (!s || !is_integer(s, true))
        return false;
    errno = 0;
    const long long v = strtoll(s, NULL, 10);
    if (errno != 0)
        return false;
    *out = v;
    return true;
}

bool text_to_uint64(const char *s, uint64_t *out)
{
    if (!s || !is_integer(s, false))
        return false;
    errno = 0;
    const unsigned long long v = strtoull(s, NULL, 10);
    if (errno != 0)
        return false;
    *out = v;
    return true;
}

bool text_to_double(const char *s, double *out)
{
    /* The character set keeps blanks, hexadecimal, "nan" and "inf" out; strtod does the rest. */
    if (!s || !*s || s[strspn(s, "0123456789+-.eE")] != '\0')
        return false;
    char *end;
    const double v = strtod(s, &end);
    /* Too large is refused; too small is the nearest double there is. */
    if (*end != '\0' || end == s || !isfinite(v))
        return false;
    *out = v;
    return true;
}

bool text_to_real(const char *s, double *out)
{
    static const struct {
        const char *name;
        double value;
    } names[] = {{"nan", NAN}, {"inf", INFINITY}, {"+inf", INFINITY}, {"-inf", -INFINITY}};
    if (!s)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (text_equal_nocase(s, names[i].name)) {
            *out = names[i].value;
            return true;
        }
    }
    return text_to_double(s, out);
}

bool text_equal_nocase(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

bool text_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}
