#include "data/number.h"

#include "base/text.h"

#include <stdint.h>
#include <string.h>

/* A plain decimal of at most 15 digits: digits and power of ten are exact doubles, so their
 * quotient is correctly rounded (Clinger 1990).  Nearly all numbers of tables are such; the general
 * way is ten times slower.  False for any other text, good or bad. */
static bool plain_decimal(const char *at, const char *end, double *out)
{
    static const double ten_to[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool negative = at < end && *at == '-';
    int64_t digits = 0;
    int n_digits = 0, n_fraction = 0;
    bool dot = false;
    for (at += negative; at < end; at++) {
        if (*at == '.' && !dot && n_digits > 0) {
            dot = true;
        } else if (*at >= '0' && *at <= '9' && n_digits < 15) {
            digits = 10 * digits + (*at - '0');
            n_digits++;
            n_fraction += dot;
        } else {
            return false;
        }
    }
    if (n_digits == 0 || (dot && n_fraction == 0))
        return false;
    const double v = (double)digits / ten_to[n_fraction];
    *out = negative ? -v : v;
    return true;
}

bool number_parse(const char *at, const char *end, double *out)
{
    char copy[64];
    const size_t len = (size_t)(end - at);
    if (plain_decimal(at, end, out))
        return true;
    if (len >= sizeof copy || memchr(at, '\0', len))
        return false;
    memcpy(copy, at, len);
    copy[len] = '\0';
    return text_to_double(copy, out);
}

void field_shown(const char *at, const char *end, char out[FIELD_SHOWN])
{
    int n = 0;
    for (; at < end && n < 20; at++)
        out[n++] = *at >= ' ' && *at <= '~' ? *at : '?';
    out[n] = '\0';
}
