/* Where a value stands in a JSON text: jansson drops positions once it has parsed, and errors about
 * the content of an entry should still name a line.  The text is expected to be valid; anything
 * else ends the search. */
#include "base/json.h"

#include "base/text.h"

#include <string.h>

struct scanner {
    const char *p;
    int line, column;
};

static void step(struct scanner *s)
{
    if (*s->p == '\n') {
        s->line++;
        s->column = 1;
    } else if (((unsigned char)s->p[1] & 0xC0u) != 0x80u) {
        /* A column is a character: the bytes that continue one do not count. */
        s->column++;
    }
    s->p++;
}

static void skip_blanks(struct scanner *s)
{
    while (*s->p && strchr(" \t\r\n", *s->p))
        step(s);
}

/* Past the string that starts here.  False when it does not end. */
static bool skip_string(struct scanner *s)
{
    if (*s->p != '"')
        return false;
    for (step(s); *s->p && *s->p != '"'; step(s))
        if (*s->p == '\\' && s->p[1])
            step(s);
    if (!*s->p)
        return false;
    step(s);
    return true;
}

/* Past the value that starts here: brackets are counted, what they hold does not matter. */
static bool skip_value(struct scanner *s)
{
    int depth = 0;
    do {
        skip_blanks(s);
        if (*s->p == '"') {
            if (!skip_string(s))
                return false;
        } else if (*s->p == '{' || *s->p == '[') {
            depth++;
            step(s);
        } else if (*s->p == '}' || *s->p == ']') {
            depth--;
            step(s);
        } else if (*s->p == '\0') {
            return false;
        } else if (*s->p == ',' || *s->p == ':') {
            if (depth == 0)
                return false;
            step(s);
        } else {
            while (*s->p && !strchr(" \t\r\n,:{}[]\"", *s->p))
                step(s);
        }
    } while (depth > 0);
    return depth == 0;
}

/* Does the quoted string at start, ending before end, mean key?  jansson decodes the escapes. */
static bool means(const char *start, const char *end, const char *key)
{
    const size_t len = (size_t)(end - start);
    if (!memchr(start, '\\', len))
        return len == strlen(key) + 2 && memcmp(start + 1, key, len - 2) == 0;
    json_t *value = json_loadb(start, len, JSON_DECODE_ANY, NULL);
    const char *text = json_string_value(value);
    const bool same = text && strcmp(text, key) == 0;
    json_decref(value);
    return same;
}

/* From the brace of an object to the value of one of its members. */
static bool enter(struct scanner *s, const char *key)
{
    skip_blanks(s);
    if (*s->p != '{')
        return false;
    step(s);
    for (;;) {
        skip_blanks(s);
        const char *start = s->p;
        if (!skip_string(s))
            return false;
        const bool found = means(start, s->p, key);
        skip_blanks(s);
        if (*s->p != ':')
            return false;
        step(s);
        skip_blanks(s);
        if (found)
            return *s->p != '\0';
        if (!skip_value(s))
            return false;
        skip_blanks(s);
        if (*s->p != ',')
            return false;
        step(s);
    }
}

/* From the bracket of an array to one of its elements. */
static bool enter_element(struct scanner *s, int64_t index)
{
    step(s);
    for (;;) {
        skip_blanks(s);
        if (*s->p == ']' || *s->p == '\0')
            return false;
        if (index-- == 0)
            return true;
        if (!skip_value(s))
            return false;
        skip_blanks(s);
        if (*s->p != ',')
            return false;
        step(s);
    }
}

bool json_locate_path(const char *text, const char *const *path, int n, int *line, int *column)
{
    struct scanner s = {text, 1, 1};
    skip_blanks(&s);
    for (int i = 0; i < n; i++) {
        int64_t index = -1;
        if (*s.p == '[') {
            if (!text_to_int64(path[i], &index) || index < 0 || !enter_element(&s, index))
                return false;
        } else if (!enter(&s, path[i])) {
            return false;
        }
    }
    *line = s.line;
    *column = s.column;
    return true;
}

bool json_locate(const char *text, const char *key, const char *member, int *line, int *column)
{
    return json_locate_path(text, (const char *const[]){key, member}, member ? 2 : 1, line, column);
}
