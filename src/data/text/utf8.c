#include "data/text/utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character that starts at s, 0 when there is no valid one. */
static size_t char_len(const unsigned char *s, size_t n)
{
    if (s[0] < 0x80)
        return 1;
    const size_t len = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || len > n)
        return 0;
    /* The second byte alone tells overlong forms, surrogates and what lies above U+10FFFF. */
    const unsigned char least = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < least || s[1] > most)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return len;
}

size_t utf8_valid_len(const char *s, size_t n)
{
    const unsigned char *const u = (const unsigned char *)s;
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (n - i >= sizeof eight) {
            memcpy(&eight, u + i, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof eight;
                continue;
            }
        }
        const size_t len = char_len(u + i, n - i);
        if (len == 0)
            break;
        i += len;
    }
    return i;
}

static long long line_of(const char *text, size_t at)
{
    long long line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

bool utf8_check(const char *text, size_t n, const char *path, struct error *err)
{
    const size_t valid = utf8_valid_len(text, n);
    if (valid < n)
        return error_set(err, ERROR_DATA, "%s:%lld: byte 0x%02x is not UTF-8; the file is damaged",
                         path, line_of(text, valid), (unsigned)(unsigned char)text[valid]);
    const char *nul = n ? memchr(text, '\0', n) : NULL;
    if (nul)
        return error_set(err, ERROR_DATA, "%s:%lld: a NUL byte; the file is damaged", path,
                         line_of(text, (size_t)(nul - text)));
    return true;
}

/* White space of three bytes: U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000. */
static bool is_wide_space(uint32_t c)
{
    return c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t utf8_space_len(const char *s, const char *end)
{
    const unsigned char *const u = (const unsigned char *)s;
    if (s >= end)
        return 0;
    if (u[0] < 0x80)
        return u[0] == ' ' || (u[0] >= 0x09 && u[0] <= 0x0D) || (u[0] >= 0x1C && u[0] <= 0x1F);
    if (u[0] == 0xC2 && end - s >= 2)
        return u[1] == 0x85 || u[1] == 0xA0 ? 2 : 0;
    if (u[0] >= 0xE1 && u[0] <= 0xE3 && end - s >= 3) {
        const uint32_t c = (u[0] & 0x0Fu) << 12 | (u[1] & 0x3Fu) << 6 | (u[2] & 0x3Fu);
        return is_wide_space(c) ? 3 : 0;
    }
    return 0;
}
