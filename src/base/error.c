#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX sizeof(((struct error *)0)->text)

/* Cuts text to fewer than `room` bytes, ending in "...", never inside a UTF-8 sequence. */
static void cut_text(char *text, size_t room)
{
    size_t end = room - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xC0u) == 0x80u)
        end--;
    memcpy(text + end, "...", sizeof "...");
}

/* Formats into a buffer of its own first: the arguments may point into err->text. */
__attribute__((format(printf, 3, 0))) static void fill_text(char *out, size_t room,
                                                            const char *format, va_list args)
{
    char whole[TEXT_MAX + 8];
    const int n = vsnprintf(whole, sizeof whole, format, args);
    if (n < 0)
        snprintf(whole, sizeof whole, "%s", format);
    if (n >= 0 && (size_t)n >= room)
        cut_text(whole, room);
    const size_t len = strnlen(whole, room - 1);
    memcpy(out, whole, len);
    out[len] = '\0';
}

bool error_set(struct error *err, enum error_class class_, const char *format, ...)
{
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    fill_text(err->text, sizeof err->text, format, args);
    va_end(args);
    err->class_ = class_;
    return false;
}

bool error_errno(struct error *err, int errnum, const char *format, ...)
{
    if (!err)
        return false;
    /* The cause is the part that must survive a cut, so its room is set aside first. */
    char cause[160];
    const int n = snprintf(cause, sizeof cause, ": %s", strerror(errnum));
    const size_t cause_len = n < 0 ? 0 : (size_t)n < sizeof cause ? (size_t)n : sizeof cause - 1;
    va_list args;
    va_start(args, format);
    fill_text(err->text, sizeof err->text - cause_len, format, args);
    va_end(args);
    const size_t len = strlen(err->text);
    memcpy(err->text + len, cause, cause_len);
    err->text[len + cause_len] = '\0';
    err->class_ = ERROR_SYSTEM;
    return false;
}

bool error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return false;
    char prefix[TEXT_MAX];
    va_list args;
    va_start(args, format);
    fill_text(prefix, sizeof prefix, format, args);
    va_end(args);
    return error_set(err, err->class_, "%s: %s", prefix, err->text);
}

void error_clear(struct error *err)
{
    if (!err)
        return;
    err->class_ = ERROR_NONE;
    err->text[0] = '\0';
}

int error_exit_code(const struct error *err)
{
    if (!err || err->class_ == ERROR_NONE)
        return 0;
    return err->class_ == ERROR_USAGE ? 2 : 1;
}
