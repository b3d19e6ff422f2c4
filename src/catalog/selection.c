/* The selection grammar of --exp. */
#include "catalog/registry.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct selection {
    const struct registry *registry;
    const struct experiment **chosen;
    int32_t n;
};

static void choose(struct selection *s, int32_t position)
{
    const struct experiment *e = s->registry->items[position];
    for (int32_t i = 0; i < s->n; i++)
        if (s->chosen[i] == e)
            return;
    s->chosen[s->n++] = e;
}

static int32_t find(const struct registry *r, const char *id)
{
    for (int32_t i = 0; i < r->n; i++)
        if (strcmp(r->items[i]->id, id) == 0)
            return i;
    return -1;
}

/* "3", "e3" -> "E03"; "d1" -> "D01".  malloc'd; NULL when it is no such thing. */
static char *padded(const char *part)
{
    const char letter = isalpha((unsigned char)part[0]) ? part[0] : 'E';
    const char *digits = isalpha((unsigned char)part[0]) ? part + 1 : part;
    int64_t number;
    if (!isdigit((unsigned char)digits[0]) || !text_to_int64(digits, &number))
        return NULL;
    return xasprintf("%c%02lld", toupper((unsigned char)letter), (long long)number);
}

/* Position of the experiment a part names; -1 with an error. */
static int32_t resolve(const struct registry *r, const char *part, struct error *err)
{
    int32_t i = find(r, part);
    if (i >= 0)
        return i;
    char *upper = xstrdup(part);
    for (char *p = upper; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    i = find(r, upper);
    free(upper);
    char *id = i < 0 ? padded(part) : NULL;
    if (id)
        i = find(r, id);
    free(id);
    if (i >= 0)
        return i;
    const char **ids = xcalloc((size_t)r->n, sizeof(const char *));
    for (int32_t k = 0; k < r->n; k++)
        ids[k] = r->items[k]->id;
    error_set(err, ERROR_USAGE, "unknown experiment '%.80s'%s; 'fugue list' shows what there is",
              part, text_did_you_mean(part, ids, (size_t)r->n));
    free(ids);
    return -1;
}

static bool unreadable(const char *part, struct error *err)
{
    return error_set(err, ERROR_USAGE,
                     "cannot read '%.80s' as a selection: give ids (E05), numbers (5), ranges "
                     "(E01:E05, 3:, :7), or 'all' alone",
                     part);
}

static bool choose_range(struct selection *s, const char *part, struct error *err)
{
    const size_t colon = strcspn(part, ":");
    if (strchr(part + colon + 1, ':'))
        return unreadable(part, err);
    char *low = xasprintf("%.*s", (int)colon, part);
    const char *high = part + colon + 1;
    const int32_t first = *low ? resolve(s->registry, low, err) : 0;
    const int32_t last = first < 0 ? -1
                         : *high   ? resolve(s->registry, high, err)
                                   : s->registry->n - 1;
    free(low);
    if (first < 0 || last < 0)
        return false;
    for (int32_t i = first; i <= last; i++)
        choose(s, i);
    return true;
}

static bool choose_part(struct selection *s, const char *part, struct error *err)
{
    if (!*part || text_equal_nocase(part, "all"))
        return unreadable(part, err);
    if (strchr(part, ':'))
        return choose_range(s, part, err);
    const int32_t i = resolve(s->registry, part, err);
    if (i >= 0)
        choose(s, i);
    return i >= 0;
}

static bool choose_token(struct selection *s, const char *token, struct error *err)
{
    struct text_list parts;
    text_list_init(&parts);
    text_split(&parts, token, ',');
    bool ok = true;
    for (size_t i = 0; ok && i < parts.n; i++)
        ok = choose_part(s, parts.items[i], err);
    text_list_release(&parts);
    return ok;
}

bool registry_select(const struct registry *r, const char *const *tokens, int n_tokens,
                     const struct experiment ***out, int32_t *n, struct error *err)
{
    struct selection s = {r, xcalloc((size_t)r->n + 1, sizeof(const struct experiment *)), 0};
    bool ok = true;
    if (n_tokens == 0 || (n_tokens == 1 && text_equal_nocase(tokens[0], "all"))) {
        for (int32_t i = 0; i < r->n; i++)
            choose(&s, i);
    } else {
        for (int i = 0; ok && i < n_tokens; i++)
            ok = choose_token(&s, tokens[i], err);
    }
    if (ok && s.n == 0)
        ok = error_set(err, ERROR_USAGE,
                       "the selection is empty: a range runs from the earlier to "
                       "the later experiment of 'fugue list'");
    if (!ok) {
        free(s.chosen);
        return false;
    }
    *out = s.chosen;
    *n = s.n;
    return true;
}
