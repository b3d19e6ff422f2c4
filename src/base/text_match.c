/* How near two words are, and which of several was likely meant. */
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static unsigned char lower(char c)
{
    return (unsigned char)tolower((unsigned char)c);
}

/* The unrestricted Damerau-Levenshtein distance (Lowrance and Wagner, "An extension of the
 * string-to-string correction problem", J. ACM 22, 1975): d has a border of two rows and columns;
 * last_row[c] is the last row whose character is c. */
size_t text_distance(const char *a, const char *b)
{
    const size_t na = strlen(a), nb = strlen(b), width = nb + 2, far = na + nb;
    size_t *d = xcalloc((na + 2) * width, sizeof *d);
    size_t last_row[256] = {0};

    d[0] = far;
    for (size_t i = 0; i <= na; i++) {
        d[(i + 1) * width] = far;
        d[(i + 1) * width + 1] = i;
    }
    for (size_t j = 0; j <= nb; j++) {
        d[j + 1] = far;
        d[width + j + 1] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t last_match = 0;
        for (size_t j = 1; j <= nb; j++) {
            const size_t row = last_row[lower(b[j - 1])], col = last_match;
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            const size_t replace = d[i * width + j] + (same ? 0 : 1);
            const size_t insert = d[(i + 1) * width + j] + 1;
            const size_t erase = d[i * width + j + 1] + 1;
            const size_t swap = d[row * width + col] + (i - row - 1) + 1 + (j - col - 1);
            if (same)
                last_match = j;
            d[(i + 1) * width + j + 1] = least(least(replace, insert), least(erase, swap));
        }
        last_row[lower(a[i - 1])] = i;
    }
    const size_t distance = d[(na + 1) * width + nb + 1];
    free(d);
    return distance;
}

const char *text_closest(const char *word, const char *const *candidates, size_t n)
{
    const size_t len = strlen(word);
    const size_t limit = len / 3 > 1 ? len / 3 : 1;
    const char *best = NULL, *prefixed = NULL;
    size_t best_distance = limit + 1, prefixes = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t other = strlen(candidates[i]);
        if (len > 0 && strncasecmp(word, candidates[i], len) == 0) {
            prefixed = candidates[i];
            prefixes++;
        }
        /* The lengths alone rule most out, so that an absurdly long word costs nothing. */
        if ((other > len ? other - len : len - other) > limit)
            continue;
        const size_t distance = text_distance(word, candidates[i]);
        /* A distance as large as the word means that nothing of it was kept. */
        if (distance < best_distance && distance < len) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    if (best)
        return best;
    return prefixes == 1 ? prefixed : NULL;
}

const char *text_did_you_mean(const char *word, const char *const *candidates, size_t n)
{
    static _Thread_local char hint[160];
    const char *closest = text_closest(word, candidates, n);
    if (closest)
        snprintf(hint, sizeof hint, " (did you mean '%s'?)", closest);
    else
        hint[0] = '\0';
    return hint;
}
