#include "cli/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where the parser stands. */
struct reader {
    const struct command *command;
    int argc;
    char *const *argv;
    int next;
    struct parsed *out;
};

int option_index(const struct option *options, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(options[i].name, name) == 0)
            return i;
    return -1;
}

/* "--" followed by something, or "-x"; "-" and negative numbers are values. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && word[1] != '.' && !isdigit((unsigned char)word[1]);
}

static bool is_end(const char *word)
{
    return strcmp(word, "--") == 0;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static bool unknown_option(const struct command *c, const char *name, struct error *err)
{
    const char **names = xcalloc((size_t)c->n_options + 1, sizeof *names);
    size_t n = 0;
    names[n++] = "--help";
    for (int i = 0; i < c->n_options; i++)
        if (c->options[i].type != OPTION_REFUSED)
            names[n++] = c->options[i].name;
    error_set(err, ERROR_USAGE, "unknown option '%.80s'%s", name,
              text_did_you_mean(name, names, n));
    free(names);
    return false;
}

static bool missing_value(const struct option *o, struct error *err)
{
    struct text choices;
    text_init(&choices);
    for (int i = 0; o->choices && o->choices[i]; i++)
        text_addf(&choices, "%s%s", i ? "|" : "", o->choices[i]);
    error_set(err, ERROR_USAGE, "%s needs a value: %s %s", o->name, o->name,
              o->arg        ? o->arg
              : choices.len ? choices.data
                            : "VALUE");
    text_release(&choices);
    return false;
}

static bool bad_choice(const struct option *o, const char *value, struct error *err)
{
    struct text list;
    size_t n = 0;
    text_init(&list);
    for (; o->choices[n]; n++)
        text_addf(&list, "%s%s", n ? ", " : "", o->choices[n]);
    error_set(err, ERROR_USAGE, "%s: '%.80s' is none of %s%s", o->name, value, list.data,
              text_did_you_mean(value, o->choices, n));
    text_release(&list);
    return false;
}

/* ---- values -----------------------------------------------------------------------------------
 */

static bool take_switch(const struct option *o, const char *value, struct option_value *v,
                        struct error *err)
{
    (void)o;
    (void)value;
    (void)v;
    (void)err;
    return true;
}

static bool take_text(const struct option *o, const char *value, struct option_value *v,
                      struct error *err)
{
    if (!*value)
        return missing_value(o, err);
    v->text = value;
    return true;
}

static bool take_int(const struct option *o, const char *value, struct option_value *v,
                     struct error *err)
{
    const bool ranged = o->min != 0 || o->max != 0;
    const bool ok = text_to_int64(value, &v->integer);
    v->text = value;
    if (!ranged)
        return ok || error_set(err, ERROR_USAGE, "%s must be a whole number, not '%.80s'", o->name,
                               value);
    if (ok && v->integer >= o->min && v->integer <= o->max)
        return true;
    if (o->max == INT64_MAX)
        return error_set(err, ERROR_USAGE, "%s must be a whole number, at least %lld, not '%.80s'",
                         o->name, (long long)o->min, value);
    return error_set(err, ERROR_USAGE, "%s must be a whole number from %lld to %lld, not '%.80s'",
                     o->name, (long long)o->min, (long long)o->max, value);
}

static bool take_number(const struct option *o, const char *value, struct option_value *v,
                        struct error *err)
{
    v->text = value;
    return text_to_double(value, &v->number) ||
           error_set(err, ERROR_USAGE, "%s must be a finite number, not '%.80s'", o->name, value);
}

static bool take_choice(const struct option *o, const char *value, struct option_value *v,
                        struct error *err)
{
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], value) != 0)
            continue;
        v->text = o->choices[i];
        return true;
    }
    return bad_choice(o, value, err);
}

static bool take_item(const struct option *o, const char *value, struct option_value *v,
                      struct error *err)
{
    struct option_value unused;
    if (!*value)
        return missing_value(o, err);
    if (o->choices && !take_choice(o, value, &unused, err))
        return false;
    text_list_add(&v->list, value);
    return true;
}

static bool refuse(const struct option *o, const char *value, struct option_value *v,
                   struct error *err)
{
    (void)value;
    (void)v;
    return error_set(err, ERROR_USAGE, "%s: %s", o->name, o->help);
}

static const struct {
    bool (*take)(const struct option *o, const char *value, struct option_value *v,
                 struct error *err);
    bool needs_value, repeats;
} types[] = {
    [OPTION_SWITCH] = {take_switch, false, false}, [OPTION_TEXT] = {take_text, true, false},
    [OPTION_INT] = {take_int, true, false},        [OPTION_NUMBER] = {take_number, true, false},
    [OPTION_CHOICE] = {take_choice, true, false},  [OPTION_LIST] = {take_item, true, true},
    [OPTION_REFUSED] = {refuse, false, true},
};

/* ---- words ------------------------------------------------------------------------------------
 */

/* The words of a list, up to the next option. */
static bool take_list(struct reader *r, const struct option *o, struct option_value *v,
                      struct error *err)
{
    const int first = r->next;
    while (r->next < r->argc && !is_option(r->argv[r->next]))
        if (!take_item(o, r->argv[r->next++], v, err))
            return false;
    return r->next > first || missing_value(o, err);
}

static bool take_option(struct reader *r, const char *word, struct error *err)
{
    const struct command *c = r->command;
    const char *equals = strchr(word, '=');
    char *name = equals ? xasprintf("%.*s", (int)(equals - word), word) : xstrdup(word);
    const int i = option_index(c->options, c->n_options, name);
    bool ok = i >= 0 || unknown_option(c, name, err);
    free(name);
    if (!ok)
        return false;
    const struct option *o = &c->options[i];
    struct option_value *v = &r->out->values[i];
    if (v->given && !types[o->type].repeats)
        return error_set(err, ERROR_USAGE, "%s is given twice: keep one", o->name);
    v->given = true;
    if (o->type == OPTION_SWITCH && equals)
        return error_set(err, ERROR_USAGE, "%s takes no value: write it alone", o->name);
    if (equals || !types[o->type].needs_value)
        return types[o->type].take(o, equals ? equals + 1 : "", v, err);
    if (o->type == OPTION_LIST)
        return take_list(r, o, v, err);
    if (r->next >= r->argc || is_option(r->argv[r->next]))
        return missing_value(o, err);
    return types[o->type].take(o, r->argv[r->next++], v, err);
}

static bool take_word(struct reader *r, const char *word, struct error *err)
{
    if (!r->command->takes_words)
        return error_set(err, ERROR_USAGE, "'%.80s' is not expected here: '%s' takes options only",
                         word, r->command->name);
    text_list_add(&r->out->words, word);
    return true;
}

/* Help is asked for whatever else is wrong on the line. */
static bool wants_help(int argc, char *const *argv)
{
    for (int i = 0; i < argc && !is_end(argv[i]); i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

bool parse_words(const struct command *c, int argc, char *const *argv, struct parsed *out,
                 struct error *err)
{
    struct reader r = {c, argc, argv, 0, out};
    memset(out, 0, sizeof *out);
    out->values = xcalloc((size_t)c->n_options + 1, sizeof *out->values);
    for (int i = 0; i < c->n_options; i++)
        text_list_init(&out->values[i].list);
    text_list_init(&out->words);
    out->help = wants_help(argc, argv);
    bool ok = true, ended = false;
    while (ok && !out->help && r.next < argc) {
        const char *word = argv[r.next++];
        if (!ended && is_end(word))
            ended = true;
        else if (!ended && is_option(word))
            ok = take_option(&r, word, err);
        else
            ok = take_word(&r, word, err);
    }
    if (!ok)
        parsed_release(c, out);
    return ok;
}

void parsed_release(const struct command *c, struct parsed *p)
{
    for (int i = 0; p->values && i < c->n_options; i++)
        text_list_release(&p->values[i].list);
    free(p->values);
    text_list_release(&p->words);
    memset(p, 0, sizeof *p);
}
