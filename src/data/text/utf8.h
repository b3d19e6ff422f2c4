/* UTF-8 (RFC 3629): validity and white space. */
#ifndef DATA_TEXT_UTF8_H
#define DATA_TEXT_UTF8_H

#include "base/error.h"

#include <stddef.h>

/* Length of the longest valid start of s: n when all of it is UTF-8.  Overlong forms, surrogates
 * and code points above U+10FFFF are invalid. */
size_t utf8_valid_len(const char *s, size_t n);
/* The text of a file is UTF-8 without NUL bytes; else an error "path:line: what". */
bool utf8_check(const char *text, size_t n, const char *path, struct error *err);
/* Bytes of the white space that s begins with, 0 when it begins with none: the characters that
 * Python's str.split() splits at.  s is valid UTF-8 up to end. */
size_t utf8_space_len(const char *s, const char *end);

#endif
