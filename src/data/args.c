/* Arguments of data sets: held against what the row declares, and taken by its loader. */
#include "base/file.h"
#include "base/text.h"
#include "data/loader.h"

#include <stdlib.h>
#include <string.h>

static const struct data_arg *find(const struct data_info *info, const char *name)
{
    for (int i = 0; i < info->n_args; i++)
        if (strcmp(info->args[i].name, name) == 0)
            return &info->args[i];
    return NULL;
}

/* ---- taking ---- */

bool data_arg_given(const struct data_args *args, const char *name)
{
    return spec_get(&args->spec, name) != NULL;
}

const char *data_arg_text(const struct data_args *args, const char *name)
{
    const char *given = spec_get(&args->spec, name);
    const struct data_arg *arg = find(&args->def->info, name);
    return given ? given : arg ? arg->fallback : NULL;
}

int64_t data_arg_int(const struct data_args *args, const char *name)
{
    int64_t v = 0;
    text_to_int64(data_arg_text(args, name), &v);
    return v;
}

double data_arg_number(const struct data_args *args, const char *name)
{
    double v = 0;
    text_to_double(data_arg_text(args, name), &v);
    return v;
}

char *data_arg_path(const struct data_args *args, const char *name, const char *root)
{
    const char *path = data_arg_text(args, name);
    return path ? data_path(path, root) : NULL;
}

char *data_path(const char *path, const char *root)
{
    const char *home = getenv("HOME");
    if (text_starts_with(path, "~/") && home && *home)
        return path_join(home, path + 2);
    if (*path != '/' && !file_exists_maybe_gz(path)) {
        char *below = path_join(root, path);
        if (file_exists_maybe_gz(below))
            return below;
        free(below);
    }
    return xstrdup(path);
}

/* ---- checking ---- */

char *data_arg_form(const struct data_arg *arg)
{
    static const char *const kind[] = {[DATA_ARG_TEXT] = "TEXT",
                                       [DATA_ARG_FILE] = "FILE",
                                       [DATA_ARG_CHOICE] = NULL,
                                       [DATA_ARG_INT] = "N",
                                       [DATA_ARG_NUMBER] = "X"};
    const char *value = arg->value ? arg->value : kind[arg->type];
    return xasprintf("%s=%s", arg->name, value ? value : arg->choices);
}

static bool is_choice(const char *choices, const char *value)
{
    struct text_list all;
    text_list_init(&all);
    text_split(&all, choices, '|');
    const bool found = text_list_has(&all, value);
    text_list_release(&all);
    return found;
}

static bool check_choice(const struct data_arg *arg, const char *name, const char *value,
                         struct error *err)
{
    if (is_choice(arg->choices, value))
        return true;
    struct text_list all;
    struct text list;
    text_list_init(&all);
    text_init(&list);
    text_split(&all, arg->choices, '|');
    for (size_t i = 0; i < all.n; i++)
        text_addf(&list, "%s%s", i == 0 ? "" : i + 1 == all.n ? " or " : ", ", all.items[i]);
    error_set(err, ERROR_USAGE, "%s: argument %s=%.60s%s; it is %s", name, arg->name, value,
              text_did_you_mean(value, (const char *const *)all.items, all.n), list.data);
    text_release(&list);
    text_list_release(&all);
    return false;
}

static bool check_value(const struct data_args *args, const struct data_arg *arg, struct error *err)
{
    const char *given = spec_get(&args->spec, arg->name), *name = args->def->info.name;
    int64_t whole;
    double number;
    if (!given) {
        if (!arg->required)
            return true;
        char *form = data_arg_form(arg);
        error_set(err, ERROR_USAGE, "%s needs the argument %s: %s", name, form, arg->meaning);
        free(form);
        return false;
    }
    switch (arg->type) {
    case DATA_ARG_CHOICE:
        return check_choice(arg, name, given, err);
    case DATA_ARG_INT:
        return spec_get_int(&args->spec, arg->name, 0, (int64_t)arg->min, (int64_t)arg->max, &whole,
                            err);
    case DATA_ARG_NUMBER:
        return spec_get_number(&args->spec, arg->name, 0, arg->min, arg->max, &number, err);
    case DATA_ARG_TEXT:
    case DATA_ARG_FILE:
        break;
    }
    return true;
}

bool data_args_check(const struct data_args *args, struct error *err)
{
    const struct data_info *info = &args->def->info;
    const char *known[SPEC_MAX_ARGS];
    for (int i = 0; i < info->n_args; i++)
        known[i] = info->args[i].name;
    if (!spec_only(&args->spec, known, info->n_args, err))
        return false;
    for (int i = 0; i < info->n_args; i++)
        if (!check_value(args, &info->args[i], err))
            return false;
    return true;
}
